import type { Left } from "./operators.ts"

/** An operator at rest: before its sessions, and after the last one. */
export interface Rests {
  readonly before: Left
  readonly after: Left
}

/**
 * Things of ended sessions that an operator still has; empty if there are none. `sessions`: how many there were.
 * Connections to API servers come and go at rest too, so that sockets count only if there is one for every second
 * session. Memory and timers are not judged: they depend on the machine.
 */
export const leaks = ({ after, before }: Rests, sessions: number): ReadonlyArray<string> => [
  ...Object.entries(after.holdings).flatMap(([kind, count]) => {
    const usual = before.holdings[kind] ?? 0
    return count > usual ? [`${kind}: ${count}, before ${usual}`] : []
  }),
  ...(after.sockets - before.sockets >= sessions / 2 ? [`sockets: ${after.sockets}, before ${before.sockets}`] : [])
]
