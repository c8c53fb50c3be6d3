/**
 * The sums of all sessions that began in a day or a month, from which reports are made without reading records.
 *
 * A span has sums only when it is past and each session that began in it has ended. They follow from the records that
 * begin or end in the span, and from no others: a session that runs through all of it is counted by its start.
 */

import { Concurrency, type Period } from "./concurrency.ts"
import { isOfMachine, lasted, type UsageRecord } from "./usage-record.ts"
import { dayNumber } from "./usage-spans.ts"

/** A number for people's sessions, and one for those of machines. */
interface Both<A> {
  readonly user: A
  readonly machine: A
}

/** A user, as one who may be the same as another one by the key of a report. */
export type SummedUser = Pick<UsageRecord, "machineId" | "kubernetesUser" | "clientUser" | "clientHost">

export interface SummedTarget {
  readonly namespace: string
  readonly target: string
}

/** Sessions of one user with one target. Times are epoch ms; users and targets are numbers in the lists of the sums. */
export type SummedPair = readonly [
  user: number,
  target: number,
  count: number,
  millis: number,
  firstStart: number,
  lastStart: number,
  lastSeen: number
]

/** A day's sessions, and the numbers of the users with sessions on it. */
interface SummedDay {
  readonly day: number
  readonly sessions: number
  readonly millis: number
  readonly ciSessions: number
  readonly users: ReadonlyArray<number>
}

/** Everything in the order in which it was seen first. */
export interface SpanSums {
  readonly users: ReadonlyArray<SummedUser>
  readonly targets: ReadonlyArray<SummedTarget>
  readonly pairs: ReadonlyArray<SummedPair>
  readonly sets: ReadonlyArray<{
    readonly clusters: ReadonlyArray<string>
    readonly count: number
    readonly millis: number
  }>
  readonly machines: { readonly count: number; readonly millis: number }
  /** The first start and the last end, epoch ms; `undefined` without sessions. */
  readonly first: number | undefined
  readonly last: number | undefined
  readonly days: ReadonlyArray<SummedDay>
  /** The most sessions at one moment, without those that ran through all of the span. */
  readonly peaks: Both<number>
  /** The ends of sessions that began in the span and ended after it. */
  readonly later: Both<ReadonlyArray<number>>
}

/** The ends of running sessions, epoch ms; infinite for sessions that still run. */
export type RunningEnds = Both<ReadonlyArray<number>>

export const noneRunning: RunningEnds = { user: [], machine: [] }

/** The sessions that run at the end of a span. `before`: those that ran at its start. */
export const runningAfter = ({ to }: Period, { later }: SpanSums, before: RunningEnds): RunningEnds => {
  const after = (kind: "user" | "machine") => [...before[kind].filter((end) => end > to), ...later[kind]]
  return { user: after("user"), machine: after("machine") }
}

/** Numbers of targets are below this one, so that a pair has one number. */
const maxTargets = 2 ** 26

/** Things with numbers by the order in which they were seen first. */
class Numbered<A> {
  readonly all: Array<A> = []
  readonly #numbers = new Map<string, number>()

  readonly of = (one: A, ...texts: ReadonlyArray<string>): number => {
    const name = JSON.stringify(texts)
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.all.length)
    return this.all.push(one) - 1
  }
}

interface DayTally {
  readonly day: number
  sessions: number
  millis: number
  ciSessions: number
  readonly users: Set<number>
}

interface SetTally {
  readonly clusters: ReadonlyArray<string>
  count: number
  millis: number
}

/** The peak of one kind of sessions within a span, and the ends after it. */
class SpanPeak {
  readonly #span: Period
  readonly #concurrency: Concurrency
  readonly later: Array<number> = []

  constructor(span: Period, running: ReadonlyArray<number>) {
    this.#span = span
    this.#concurrency = new Concurrency(span)
    for (const end of running) if (end < span.to) this.#concurrency.add({ from: span.from, to: end })
  }

  get peak(): number {
    return this.#concurrency.peak
  }

  readonly add = (session: Period): void => {
    this.#concurrency.add(session)
    if (session.to > this.#span.to) this.later.push(session.to)
  }

  readonly addSums = (span: Period, peak: number, later: ReadonlyArray<number>): void => {
    this.#concurrency.addSpan({ ...span, peak, later })
    for (const end of later) if (end > this.#span.to) this.later.push(end)
  }
}

/** Adds up the sessions that began in a span: records, and sums of spans within it, in the order of their starts. */
export class SpanSumming {
  readonly #peaks: Both<SpanPeak>
  readonly #users = new Numbered<SummedUser>()
  readonly #targets = new Numbered<SummedTarget>()
  readonly #pairs = new Map<number, [...SummedPair]>()
  readonly #sets = new Map<string, SetTally>()
  readonly #days = new Map<number, DayTally>()
  readonly #machines = { count: 0, millis: 0 }
  #first: number | undefined
  #last: number | undefined
  #isOpen = false

  /** `running`: the ends of the sessions that run when the span begins. */
  constructor(span: Period, running: RunningEnds) {
    this.#peaks = { user: new SpanPeak(span, running.user), machine: new SpanPeak(span, running.machine) }
  }

  /** Whether a session that began in the span still runs: then it can have no sums yet. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  readonly add = (record: UsageRecord): void => {
    const { startedAt, stoppedAt } = record
    this.#isOpen ||= stoppedAt === undefined
    const millis = lasted(record, Infinity)
    const isMachine = isOfMachine(record)
    this.#peaks[isMachine ? "machine" : "user"].add({ from: startedAt, to: startedAt + millis })
    this.#see(startedAt, stoppedAt ?? record.lastSeenAt)
    const day = this.#dayOf(dayNumber(startedAt))
    if (isMachine) {
      day.ciSessions++
      this.#machines.count++
      this.#machines.millis += millis
      return
    }
    const user = this.#userOf(record)
    const target = this.#targets.of(
      { namespace: record.namespace, target: record.target },
      record.namespace,
      record.target
    )
    day.sessions++
    day.millis += millis
    day.users.add(user)
    this.#addPair([user, target, 1, millis, startedAt, startedAt, stoppedAt ?? record.lastSeenAt])
    this.#addSet(record.clusters, 1, millis)
  }

  /** `isOpen`: whether the sums have a session that still runs. */
  readonly addSums = (span: Period, sums: SpanSums, isOpen: boolean): void => {
    this.#isOpen ||= isOpen
    for (const kind of ["user", "machine"] as const) this.#peaks[kind].addSums(span, sums.peaks[kind], sums.later[kind])
    if (sums.first !== undefined) this.#see(sums.first, sums.last ?? sums.first)
    this.#machines.count += sums.machines.count
    this.#machines.millis += sums.machines.millis
    const users = sums.users.map(this.#userOf)
    const targets = sums.targets.map((one) => this.#targets.of(one, one.namespace, one.target))
    for (const [user, target, ...rest] of sums.pairs) this.#addPair([users[user] ?? 0, targets[target] ?? 0, ...rest])
    for (const { clusters, count, millis } of sums.sets) this.#addSet(clusters, count, millis)
    for (const one of sums.days) {
      const day = this.#dayOf(one.day)
      day.sessions += one.sessions
      day.millis += one.millis
      day.ciSessions += one.ciSessions
      for (const user of one.users) day.users.add(users[user] ?? 0)
    }
  }

  /** The sums of the sessions so far. */
  readonly sums = (): SpanSums => ({
    users: this.#users.all,
    targets: this.#targets.all,
    pairs: [...this.#pairs.values()],
    sets: [...this.#sets.values()],
    machines: this.#machines,
    first: this.#first,
    last: this.#last,
    days: [...this.#days.values()].map(({ users, ...day }) => ({ ...day, users: [...users] })),
    peaks: { user: this.#peaks.user.peak, machine: this.#peaks.machine.peak },
    later: { user: this.#peaks.user.later, machine: this.#peaks.machine.later }
  })

  readonly #userOf = ({ clientHost, clientUser, kubernetesUser, machineId }: SummedUser): number =>
    this.#users.of(
      { machineId, kubernetesUser, clientUser, clientHost },
      machineId,
      kubernetesUser,
      clientUser,
      clientHost
    )

  #see(start: number, end: number): void {
    this.#first ??= start
    this.#last = Math.max(this.#last ?? 0, end)
  }

  #dayOf(number: number): DayTally {
    const day = this.#days.get(number) ?? { day: number, sessions: 0, millis: 0, ciSessions: 0, users: new Set() }
    this.#days.set(number, day)
    return day
  }

  #addPair([user, target, count, millis, firstStart, lastStart, lastSeen]: SummedPair): void {
    const name = user * maxTargets + target
    const pair = this.#pairs.get(name)
    if (pair === undefined) {
      this.#pairs.set(name, [user, target, count, millis, firstStart, lastStart, lastSeen])
      return
    }
    pair[2] += count
    pair[3] += millis
    pair[5] = Math.max(pair[5], lastStart)
    pair[6] = Math.max(pair[6], lastSeen)
  }

  #addSet(clusters: ReadonlyArray<string>, count: number, millis: number): void {
    const name = JSON.stringify(clusters)
    const set = this.#sets.get(name) ?? { clusters, count: 0, millis: 0 }
    set.count += count
    set.millis += millis
    this.#sets.set(name, set)
  }
}
