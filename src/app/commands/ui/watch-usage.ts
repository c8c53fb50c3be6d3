/**
 * Follows the reports on use for the usage page, as long as a page is open and seen, and reads them once for a file.
 *
 * Not here: what the page makes of them (domain/commands/ui/usage-page.ts).
 */

import { Clock, Effect, Result, type Scope, Stream, SubscriptionRef } from "effect"
import { operatorOverview } from "../../../domain/commands/overview/operator-overview.ts"
import { pageClusters } from "../../../domain/commands/ui/page-cluster.ts"
import { usageContent, type UsageClusters, type UsagePage } from "../../../domain/commands/ui/usage-page.ts"
import type { MirrordCluster } from "../../../domain/resources/mirrord-cluster.ts"
import type { MirrordOperator } from "../../../domain/resources/mirrord-operator.ts"
import type { HealthReport } from "../../../domain/usage/health-report.ts"
import { maxTrendDays } from "../../../domain/usage/usage-query.ts"
import type { UsageReport } from "../../../domain/usage/usage-report.ts"
import { dayNumber } from "../../../domain/usage/usage-spans.ts"
import type { UsageTrends } from "../../../domain/usage/usage-trends.ts"
import { chosenCluster, type Unanswered } from "../overview/ask-cluster.ts"
import { readClusters } from "../overview/clusters-command.ts"
import { readOperator } from "../overview/read-operator.ts"
import { makeUsageReader, type UsageReader, type UsageWish } from "../overview/read-usage.ts"
import { usageFile, type UsageFileFormat } from "../overview/usage-command.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { lookAgain } from "./look-again.ts"

/** Shortest pause between two looks, ms: with the operator's own look a session is on the page within two seconds. */
const lookEvery = 700
/** The pause after a look as a multiple of its time: a report may cost the operator much. */
const restAfterLook = 3
/** Pause between two readings of the clusters' health, ms. */
const clustersEvery = 5_000
/** Longest age of the health over time, ms. */
const healthFor = 10_000
/** Longest age of the trends, ms; they are read again at once when there is another session. */
const trendsFor = 60_000

/** The use of sessions, as one connection reads it. */
export interface UsageConnection extends UsageReader {
  readonly clusters: Effect.Effect<UsageClusters>
}

type Connect = Effect.Effect<UsageConnection, Unanswered, Scope.Scope>

export interface WatchedUsage {
  /** The page now and after each look. */
  readonly pages: (wish: UsageWish) => Stream.Stream<UsagePage>
  readonly file: (format: UsageFileFormat, wish: UsageWish) => Effect.Effect<string | Uint8Array, Unanswered>
}

/** The clusters of a primary with their health now; without them the reason why they cannot be shown. */
export const usageClusters = (
  operator: Effect.Effect<MirrordOperator, Unanswered>,
  objects: Effect.Effect<ReadonlyArray<MirrordCluster>, Unanswered>
): Effect.Effect<UsageClusters> =>
  Effect.gen(function* () {
    const { clusters, isPrimary } = operatorOverview(yield* operator)
    const found = isPrimary ? yield* Effect.result(objects) : Result.succeed(undefined)
    return {
      clusters: pageClusters(clusters, Result.getOrUndefined(found), yield* Clock.currentTimeMillis),
      note: isPrimary ? "" : "This operator is no primary, so there is no fleet."
    }
  }).pipe(Effect.catch(({ fix, message }) => Effect.succeed({ clusters: [], note: `${message} ${fix}` })))

/** Connects to the cluster that a person has chosen. Without a right to the clusters their health is not shown. */
export const connectUsage = Effect.fnUntraced(function* (
  choice: KubeConfigChoice
): Effect.fn.Return<UsageConnection, Unanswered, Scope.Scope> {
  const reader = yield* makeUsageReader(choice)
  const api = yield* chosenCluster(choice)
  return { ...reader, clusters: usageClusters(readOperator(api), readClusters(api)) }
})

/** The number of all sessions, by which it is seen that there is another one. */
const sessionsOf = ({ allTimeMetrics }: UsageReport): number =>
  allTimeMetrics.totalSessionCount + allTimeMetrics.totalCiSessionCount

const daysSince = (from: string, now: number): number =>
  Math.min(maxTrendDays, dayNumber(now) - dayNumber(Date.parse(from)) + 1)

/** Reads the trends where the last ones may be out of date. */
const makeTrends = ({ trends }: UsageReader) => {
  let last: { readonly trends: UsageTrends; readonly key: string; readonly at: number } | undefined
  return Effect.fnUntraced(function* (report: UsageReport, now: number) {
    const days = Math.max(1, daysSince(report.generalMetrics.reportPeriod.from, now))
    const key = `${days} ${sessionsOf(report)} ${dayNumber(now)}`
    if (last === undefined || last.key !== key || now - last.at > trendsFor)
      last = { trends: yield* trends(days), key, at: now }
    return last.trends
  })
}

/** Reads the health over time where the last one may be out of date; without it the reason. */
const makeHealth = ({ health }: UsageReader, wish: UsageWish) => {
  let last: { readonly health: HealthReport | string; readonly at: number } | undefined
  const read = health(wish).pipe(
    Effect.catch(({ fix, message }) => Effect.succeed(`The health over time cannot be shown: ${message} ${fix}`))
  )
  return Effect.fnUntraced(function* (now: number) {
    if (last === undefined || now - last.at > healthFor) last = { health: yield* read, at: now }
    return last.health
  })
}

/** Looks until a look fails. `looked`: called after each look. */
const lookOn = (connect: Connect, wish: UsageWish, page: SubscriptionRef.SubscriptionRef<UsagePage>) =>
  Effect.fnUntraced(function* (looked: () => void) {
    const connection = yield* connect
    const [trendsOf, healthAt] = [makeTrends(connection), makeHealth(connection, wish)]
    let clusters: UsageClusters | undefined
    const readAgain = Effect.andThen(Effect.sleep(clustersEvery), connection.clusters)
    yield* Effect.forkScoped(Effect.forever(Effect.map(readAgain, (read) => (clusters = read))))
    for (;;) {
      const begun = yield* Clock.currentTimeMillis
      const report = yield* connection.report(wish)
      const trends = yield* trendsOf(report, begun)
      const health = yield* healthAt(begun)
      clusters ??= yield* connection.clusters
      const now = yield* Clock.currentTimeMillis
      yield* SubscriptionRef.set(page, {
        problem: undefined,
        content: usageContent({ report, trends, clusters, health }, now)
      })
      looked()
      yield* Effect.sleep(Math.max(lookEvery, restAfterLook * (now - begun)))
    }
  }, Effect.scoped)

/** Follows the use for pages. */
export const watchUsage = (connect: Connect): WatchedUsage => ({
  pages: (wish) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const page = yield* SubscriptionRef.make<UsagePage>({ problem: undefined, content: undefined })
        const stale = (problem: Unanswered): Effect.Effect<void> =>
          SubscriptionRef.update(page, ({ content }) => ({ problem, content }))
        yield* Effect.forkScoped(lookAgain(lookEvery, lookOn(connect, wish, page), stale))
        // The first state says nothing yet.
        return Stream.filter(
          SubscriptionRef.changes(page),
          ({ content, problem }) => content !== undefined || problem !== undefined
        )
      })
    ),
  file: (format, wish) =>
    Effect.flatMap(connect, ({ report }) => report(wish)).pipe(
      Effect.scoped,
      Effect.flatMap((report) => usageFile(format, report))
    )
})
