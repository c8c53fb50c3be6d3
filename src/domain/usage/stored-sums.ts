/**
 * The sums of a span as a short text, in which they are stored: times are counted from others that are near, because a
 * store of years has as many rows of numbers as sessions, or nearly.
 */

import type { Period } from "./concurrency.ts"
import type { SpanSums, SummedPair, SummedUser } from "./span-sums.ts"

/** The text is the JSON of this. A release that stores another form deletes the rows that have this one. */
interface StoredSums {
  readonly users: ReadonlyArray<
    readonly [machineId: SummedUser["machineId"], kubernetesUser: string, clientUser: string, clientHost: string]
  >
  readonly targets: ReadonlyArray<readonly [namespace: string, target: string]>
  /** Seven numbers for each pair. */
  readonly pairs: ReadonlyArray<number>
  readonly sets: ReadonlyArray<readonly [clusters: ReadonlyArray<string>, count: number, millis: number]>
  readonly machines: readonly [count: number, millis: number]
  readonly seen: readonly [first: number, last: number] | null
  readonly days: ReadonlyArray<
    readonly [day: number, sessions: number, millis: number, ciSessions: number, users: ReadonlyArray<number>]
  >
  readonly peaks: readonly [user: number, machine: number]
  readonly later: readonly [user: ReadonlyArray<number>, machine: ReadonlyArray<number>]
}

export const storedSums = ({ from }: Period, sums: SpanSums): string => {
  const stored: StoredSums = {
    users: sums.users.map((user) => [user.machineId, user.kubernetesUser, user.clientUser, user.clientHost]),
    targets: sums.targets.map(({ namespace, target }) => [namespace, target]),
    pairs: sums.pairs.flatMap(([user, target, count, millis, firstStart, lastStart, lastSeen]) => [
      user,
      target,
      count,
      millis,
      firstStart - from,
      lastStart - firstStart,
      // Nothing for a session alone.
      lastSeen - lastStart - millis
    ]),
    sets: sums.sets.map(({ clusters, count, millis }) => [clusters, count, millis]),
    machines: [sums.machines.count, sums.machines.millis],
    seen: sums.first === undefined || sums.last === undefined ? null : [sums.first, sums.last],
    days: sums.days.map(({ ciSessions, day, millis, sessions, users }) => [day, sessions, millis, ciSessions, users]),
    peaks: [sums.peaks.user, sums.peaks.machine],
    later: [sums.later.user, sums.later.machine]
  }
  return JSON.stringify(stored)
}

const pairsIn = (from: number, numbers: ReadonlyArray<number>): ReadonlyArray<SummedPair> => {
  const pairs: Array<SummedPair> = []
  for (let at = 0; at < numbers.length; at += 7) {
    const [user = 0, target = 0, count = 0, millis = 0, first = 0, last = 0, seen = 0] = numbers.slice(at, at + 7)
    const lastStart = from + first + last
    pairs.push([user, target, count, millis, from + first, lastStart, lastStart + millis + seen])
  }
  return pairs
}

/** The sums in a text of {@link storedSums}, which nothing else writes. */
export const sumsIn = ({ from }: Period, text: string): SpanSums => {
  const stored = JSON.parse(text) as StoredSums
  const [first, last] = stored.seen ?? []
  return {
    users: stored.users.map(([machineId, kubernetesUser, clientUser, clientHost]) => ({
      machineId,
      kubernetesUser,
      clientUser,
      clientHost
    })),
    targets: stored.targets.map(([namespace, target]) => ({ namespace, target })),
    pairs: pairsIn(from, stored.pairs),
    sets: stored.sets.map(([clusters, count, millis]) => ({ clusters, count, millis })),
    machines: { count: stored.machines[0], millis: stored.machines[1] },
    first,
    last,
    days: stored.days.map(([day, sessions, millis, ciSessions, users]) => ({
      day,
      sessions,
      millis,
      ciSessions,
      users
    })),
    peaks: { user: stored.peaks[0], machine: stored.peaks[1] },
    later: { user: stored.later[0], machine: stored.later[1] }
  }
}
