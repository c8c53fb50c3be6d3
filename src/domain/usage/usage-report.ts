/**
 * The report on use: sums over sessions, in the published names of fields. It takes records one by one and the sums of
 * whole spans, in the order of their starts, so that a store of years needs no more memory than its users and targets.
 *
 * Not here: reading records and writing formats (app/usage).
 */

import { timestamp } from "../resources/object-meta.ts"
import { Concurrency, type Period } from "./concurrency.ts"
import type { SpanSums, SummedPair, SummedTarget, SummedUser } from "./span-sums.ts"
import type { PrimaryKey, UsageQuery } from "./usage-query.ts"
import { isOfMachine, lasted, type UsageRecord } from "./usage-record.ts"
import { dayNumber } from "./usage-spans.ts"

/** The facts of a report that no record has. */
export interface Installation {
  readonly operatorVersion: string
  readonly chartVersion: string
  /** Name of the primary's cluster; `null` outside of a fleet. */
  readonly clusterName: string | null
  readonly clusters: ReadonlyArray<string>
}

/** A user's row. Times are RFC 3339. */
export interface UserMetric {
  readonly identifier: string
  readonly displayName: string
  readonly firstActive: string
  readonly lastSeen: string
  readonly totalSessionCount: number
  readonly totalSessionTimeSeconds: number
  /** Sessions per day of UTC, from the day of the first one in the period to that of the last. */
  readonly averageDailySessions: number
  readonly averageSessionDurationSeconds: number
}

interface TargetMetric {
  readonly namespace: string
  readonly target: string
  readonly totalSessionCount: number
  readonly totalSessionTimeSeconds: number
  readonly uniqueUsers: number
}

interface UserTargetMetric extends Omit<TargetMetric, "uniqueUsers"> {
  readonly identifier: string
}

interface ClusterSetMetric {
  /** The clusters that took part; empty for sessions in one cluster. */
  readonly clusters: ReadonlyArray<string>
  readonly totalSessionCount: number
  readonly totalSessionTimeSeconds: number
}

/** The answer of `reports/usage?format=json` (RFC 0002). */
export interface UsageReport {
  readonly generalMetrics: {
    /** braid has no licences. */
    readonly totalLicenses: null
    readonly usedLicenses: null
    readonly tier: string
    readonly activeUsers: number
    readonly reportPeriod: { readonly from: string; readonly to: string }
    readonly operatorVersion: string
    readonly chartVersion: string
    readonly lastOperatorEvent: string | null
    readonly clusterName: string | null
    readonly clusters: ReadonlyArray<string>
  }
  readonly allTimeMetrics: {
    readonly totalSessionCount: number
    readonly totalSessionTimeSeconds: number
    readonly totalCiSessionCount: number
    readonly maxConcurrentUserSessions: number
    readonly maxConcurrentCiSessions: number
  }
  readonly ciMetrics: {
    readonly currentRunningSessions: number
    readonly maxConcurrentCiSessions: number
    readonly totalCiSessions: number
    readonly avgCiSessionDurationSeconds: number | null
  }
  readonly liveMetrics: { readonly userSessions: number; readonly ciSessions: number }
  readonly userMetrics: ReadonlyArray<UserMetric>
  readonly targetMetrics: ReadonlyArray<TargetMetric>
  readonly userTargetMetrics: ReadonlyArray<UserTargetMetric>
  readonly clusterSetMetrics: ReadonlyArray<ClusterSetMetric>
}

/** Rows of the tables by target and by user and target, at most. */
const [maxTargets, maxUserTargets] = [50, 200]

const seconds = (millis: number): number => Math.round(millis / 1000)
/** Two places are enough for a person, and the same for every reader. */
const rounded = (value: number): number => Math.round(value * 100) / 100

/** The user of a session, by the key of the report. */
export const userOf = (record: SummedUser, key: PrimaryKey): string => {
  switch (key) {
    case "machine_id":
      return record.machineId
    case "username":
      return record.kubernetesUser
    case "client_username":
      return record.clientUser
    case "client_hostname":
      return record.clientHost
  }
}

const displayNameOf = (record: SummedUser, key: PrimaryKey): string =>
  key === "machine_id" ? `${record.clientUser}@${record.clientHost}` : userOf(record, key)

interface Sum {
  count: number
  millis: number
}

interface TargetSum extends Sum, SummedTarget {
  readonly users: Set<UserSum>
}

interface UserSum extends Sum {
  readonly displayName: string
  firstDay: number
  lastDay: number
  lastSeen: number
  readonly targets: Map<TargetSum, Sum>
}

const none = { count: 0, millis: 0 }

const add = (sum: Sum, { count, millis }: Sum): void => {
  sum.count += count
  sum.millis += millis
}

const addTo = <Key, S extends Sum>(sums: Map<Key, S>, key: Key, made: () => S, more: Sum): S => {
  const sum = sums.get(key) ?? made()
  add(sum, more)
  sums.set(key, sum)
  return sum
}

const bySize = (a: Sum, b: Sum): number => b.count - a.count || b.millis - a.millis

const totals = ({ count, millis }: Sum) => ({ totalSessionCount: count, totalSessionTimeSeconds: seconds(millis) })

/** A name for several texts, of which none can be taken for two. */
const joined = (...texts: ReadonlyArray<string>): string => JSON.stringify(texts)

/** Adds sessions up to a report. */
export class UsageSums {
  readonly #query: UsageQuery
  readonly #now: number
  readonly #period: Period
  readonly #peaks: { readonly user: Concurrency; readonly machine: Concurrency; readonly inPeriod: Concurrency }
  readonly #ever: { readonly user: Sum; readonly machine: Sum } = {
    user: { count: 0, millis: 0 },
    machine: { count: 0, millis: 0 }
  }
  readonly #machines: Sum = { count: 0, millis: 0 }
  readonly #live = { user: 0, ci: 0 }
  readonly #firstActive = new Map<string, number>()
  readonly #users = new Map<string, UserSum>()
  readonly #targets = new Map<string, TargetSum>()
  readonly #sets = new Map<string, Sum & { readonly clusters: ReadonlyArray<string> }>()
  #first: number | undefined
  #last: number | undefined

  /** `now`: epoch ms, where running sessions end for the moment. */
  constructor(query: UsageQuery, now: number) {
    this.#query = query
    this.#now = now
    this.#period = { from: query.from ?? -Infinity, to: query.to ?? Infinity }
    this.#peaks = { user: new Concurrency(), machine: new Concurrency(), inPeriod: new Concurrency(this.#period) }
  }

  /** Takes the next session. Records and spans come in the order of their starts. */
  readonly add = (record: UsageRecord): void => {
    const { startedAt, stoppedAt } = record
    const millis = lasted(record, this.#now)
    const span = { from: startedAt, to: startedAt + millis }
    this.#first ??= startedAt
    this.#last = Math.max(this.#last ?? 0, stoppedAt ?? record.lastSeenAt)
    const isInPeriod = startedAt >= this.#period.from && startedAt < this.#period.to
    if (stoppedAt === undefined && record.kind === "exec") this.#live.user++
    if (stoppedAt === undefined && record.kind === "ci") this.#live.ci++
    if (isOfMachine(record)) {
      this.#addMachine(span, isInPeriod)
      return
    }
    this.#peaks.user.add(span)
    this.#ever.user.count++
    this.#ever.user.millis += millis
    const user = userOf(record, this.#query.primaryKey)
    if (!this.#firstActive.has(user)) this.#firstActive.set(user, startedAt)
    if (isInPeriod) this.#addUser(record, user, millis)
  }

  #addMachine(span: Period, isInPeriod: boolean): void {
    const millis = span.to - span.from
    this.#peaks.machine.add(span)
    this.#peaks.inPeriod.add(span)
    this.#ever.machine.count++
    this.#ever.machine.millis += millis
    if (!isInPeriod) return
    this.#machines.count++
    this.#machines.millis += millis
  }

  #addUser(record: UsageRecord, identifier: string, millis: number): void {
    const { startedAt, stoppedAt } = record
    const user = this.#userOf(record, identifier, startedAt)
    const target = this.#targetOf(record)
    this.#addPair(user, target, [0, 0, 1, millis, startedAt, startedAt, stoppedAt ?? record.lastSeenAt])
    this.#addSet(record.clusters, { count: 1, millis })
  }

  #userOf(record: SummedUser, identifier: string, startedAt: number): UserSum {
    const known = this.#users.get(identifier)
    if (known !== undefined) return known
    const displayName = displayNameOf(record, this.#query.primaryKey)
    const day = dayNumber(startedAt)
    const made = { ...none, displayName, firstDay: day, lastDay: day, lastSeen: startedAt, targets: new Map() }
    this.#users.set(identifier, made)
    return made
  }

  #targetOf({ namespace, target }: SummedTarget): TargetSum {
    const name = joined(namespace, target)
    const sum = this.#targets.get(name) ?? { ...none, namespace, target, users: new Set() }
    this.#targets.set(name, sum)
    return sum
  }

  #addPair(user: UserSum, target: TargetSum, [, , count, millis, , lastStart, lastSeen]: SummedPair): void {
    add(user, { count, millis })
    user.lastDay = Math.max(user.lastDay, dayNumber(lastStart))
    user.lastSeen = Math.max(user.lastSeen, lastSeen)
    add(target, { count, millis })
    target.users.add(user)
    addTo(user.targets, target, () => ({ ...none }), { count, millis })
  }

  #addSet(clusters: ReadonlyArray<string>, sum: Sum): void {
    addTo(this.#sets, joined(...clusters), () => ({ ...none, clusters }), sum)
  }

  /** Takes all sessions that began in a span, which is within the period or outside of it. */
  readonly addSums = (span: Period, sums: SpanSums): void => {
    const isInPeriod = span.from >= this.#period.from && span.to <= this.#period.to
    this.#peaks.user.addSpan({ ...span, peak: sums.peaks.user, later: sums.later.user })
    for (const peak of [this.#peaks.machine, this.#peaks.inPeriod])
      peak.addSpan({ ...span, peak: sums.peaks.machine, later: sums.later.machine })
    this.#first ??= sums.first
    if (sums.last !== undefined) this.#last = Math.max(this.#last ?? 0, sums.last)
    add(this.#ever.machine, sums.machines)
    if (isInPeriod) add(this.#machines, sums.machines)
    const identifiers = sums.users.map((user) => userOf(user, this.#query.primaryKey))
    for (const [user, , count, millis, firstStart] of sums.pairs) {
      add(this.#ever.user, { count, millis })
      const identifier = identifiers[user] ?? ""
      if (!this.#firstActive.has(identifier)) this.#firstActive.set(identifier, firstStart)
    }
    if (isInPeriod) this.#addPairs(sums, identifiers)
  }

  #addPairs({ pairs, sets, targets, users }: SpanSums, identifiers: ReadonlyArray<string>): void {
    const found: Array<UserSum> = []
    const ofTargets = targets.map((target) => this.#targetOf(target))
    for (const pair of pairs) {
      const [user, target, , , firstStart] = pair
      const [record, ofTarget] = [users[user], ofTargets[target]]
      if (record === undefined || ofTarget === undefined) continue
      found[user] ??= this.#userOf(record, identifiers[user] ?? "", firstStart)
      this.#addPair(found[user], ofTarget, pair)
    }
    for (const { clusters, ...sum } of sets) this.#addSet(clusters, sum)
  }

  #userMetrics(): ReadonlyArray<UserMetric> {
    return [...this.#users]
      .toSorted(([, a], [, b]) => b.millis - a.millis || b.count - a.count)
      .map(([identifier, sum]) => ({
        identifier,
        displayName: sum.displayName,
        firstActive: timestamp(this.#firstActive.get(identifier) ?? sum.lastSeen),
        lastSeen: timestamp(sum.lastSeen),
        ...totals(sum),
        averageDailySessions: rounded(sum.count / (sum.lastDay - sum.firstDay + 1)),
        averageSessionDurationSeconds: seconds(sum.millis / sum.count)
      }))
  }

  #userTargetMetrics(): ReadonlyArray<UserTargetMetric> {
    return [...this.#users]
      .flatMap(([identifier, { targets }]) =>
        [...targets].map(([{ namespace, target }, sum]) => ({ identifier, namespace, target, ...sum }))
      )
      .toSorted(bySize)
      .slice(0, maxUserTargets)
      .map(({ count, identifier, millis, namespace, target }) => ({
        identifier,
        namespace,
        target,
        ...totals({ count, millis })
      }))
  }

  /** The report of the sessions so far. */
  readonly report = (installation: Installation): UsageReport => {
    const { from = this.#first ?? this.#now, to = this.#now } = this.#query
    return {
      generalMetrics: {
        totalLicenses: null,
        usedLicenses: null,
        tier: "Enterprise",
        activeUsers: this.#users.size,
        reportPeriod: { from: timestamp(from), to: timestamp(to) },
        ...installation,
        lastOperatorEvent: this.#last === undefined ? null : timestamp(this.#last)
      },
      allTimeMetrics: {
        ...totals(this.#ever.user),
        totalCiSessionCount: this.#ever.machine.count,
        maxConcurrentUserSessions: this.#peaks.user.peak,
        maxConcurrentCiSessions: this.#peaks.machine.peak
      },
      ciMetrics: {
        currentRunningSessions: this.#live.ci,
        maxConcurrentCiSessions: this.#peaks.inPeriod.peak,
        totalCiSessions: this.#machines.count,
        avgCiSessionDurationSeconds:
          this.#machines.count === 0 ? null : seconds(this.#machines.millis / this.#machines.count)
      },
      liveMetrics: { userSessions: this.#live.user, ciSessions: this.#live.ci },
      userMetrics: this.#userMetrics(),
      targetMetrics: [...this.#targets.values()]
        .toSorted(bySize)
        .slice(0, maxTargets)
        .map((sum) => ({
          namespace: sum.namespace,
          target: sum.target,
          ...totals(sum),
          uniqueUsers: sum.users.size
        })),
      userTargetMetrics: this.#userTargetMetrics(),
      clusterSetMetrics: [...this.#sets.values()]
        .toSorted(bySize)
        .map((sum) => ({ clusters: sum.clusters, ...totals(sum) }))
    }
  }
}
