/**
 * Whether a client can never notice that its connection is dead, so that invariants do not wait for it. Clients notice
 * by their pings; `dump` sends none, and no client pings during its very first exchange.
 */

import type { SimClient } from "../world/sim-client.ts"

export const waitsForEver = ({ state }: SimClient): boolean => state.options.kind === "dump" || state.phase !== "main"
