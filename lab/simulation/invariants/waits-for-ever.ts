import type { SimClient } from "../world/sim-client.ts"

/**
 * Whether a client would never notice that its connection is dead: it notices by its pings, of which `dump` sends none,
 * and no client any in its very first exchange.
 */
export const waitsForEver = ({ state }: SimClient): boolean => state.options.kind === "dump" || state.phase !== "main"
