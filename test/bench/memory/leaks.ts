import type { Left } from "./operators.ts"

/** An operator at rest: before its sessions, and after the last one. */
export interface Rests {
  readonly before: Left
  readonly after: Left
}

/** The least of what several looks at an operator have seen: what comes and goes at rest is not there at every look. */
export const least = (one: Left, other: Left): Left => ({
  ...one,
  sockets: Math.min(one.sockets, other.sockets),
  timers: Math.min(one.timers, other.timers)
})

/** Things of ended sessions that an operator still has; empty if there are none. Memory depends on the machine. */
export const leaks = ({ after, before }: Rests): ReadonlyArray<string> => {
  const counted = ({ holdings, sockets, timers }: Left): Readonly<Record<string, number>> => ({
    ...holdings,
    sockets,
    timers
  })
  const usual = counted(before)
  return Object.entries(counted(after)).flatMap(([kind, count]) =>
    count > (usual[kind] ?? 0) ? [`${kind}: ${count}, before ${usual[kind] ?? 0}`] : []
  )
}
