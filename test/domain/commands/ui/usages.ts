/** The use of a fleet for tests of the usage page, and its pages. */

import { pageClusters } from "../../../../src/domain/commands/ui/page-cluster.ts"
import { usageContent, type UsagePage } from "../../../../src/domain/commands/ui/usage-page.ts"
import type { HealthReport } from "../../../../src/domain/usage/health-report.ts"
import type { HealthSpan } from "../../../../src/domain/usage/health-spans.ts"
import type { UsageQuery } from "../../../../src/domain/usage/usage-query.ts"
import type { UsageRecord } from "../../../../src/domain/usage/usage-record.ts"
import { UsageSums } from "../../../../src/domain/usage/usage-report.ts"
import { TrendSums } from "../../../../src/domain/usage/usage-trends.ts"
import { reportOf } from "../../usage/some-health.ts"
import { record } from "../../usage/some-records.ts"
import { aCluster, now } from "./pages.ts"

export const hour = 3_600_000

/** A session of a user that began so many hours ago, and lasted an hour. */
export const use = (user: string, hoursAgo: number, more: Parameters<typeof record>[0] = {}): UsageRecord => {
  const startedAt = now - hoursAgo * hour
  const names = { machineId: `key-${user}`, clientUser: user, kubernetesUser: user }
  return record({ ...names, id: `${user} ${hoursAgo}`, startedAt, stoppedAt: startedAt + hour, ...more })
}

/** Ann with two sessions, one of which runs, bob with one over two clusters, and one of CI. */
export const someUse: ReadonlyArray<UsageRecord> = [
  use("ann", 50),
  use("bob", 26, { stoppedAt: now - 20 * hour, clusters: ["a", "b"], target: "deployment/api" }),
  use("ci", 3, { kind: "ci" }),
  use("ann", 2, { stoppedAt: undefined, clusters: ["a", "b", "c"] })
]

/**
 * The health since 2026-11-27: a has been ready; b was not for ten minutes of the 28th, and is not since half an hour.
 * No operator ran in the two hours before the 28th.
 */
export const someHealth = (clusters: ReadonlyArray<string> = ["a", "b"]): HealthReport => {
  const [from, day] = [Date.UTC(2026, 10, 27), Date.UTC(2026, 10, 28)]
  const span = (cluster: string, begin: number, to: number | undefined, message?: string): HealthSpan => ({
    cluster,
    unready: message === undefined ? undefined : { reason: "Lost", message },
    from: begin,
    lastSeen: to ?? now,
    to
  })
  const spans = clusters.flatMap((cluster) => [
    span(cluster, from, day - 2 * hour),
    ...(cluster === "a"
      ? [span(cluster, day, undefined)]
      : [
          span(cluster, day, day + hour),
          span(cluster, day + hour, day + hour + 600_000, "it hung"),
          span(cluster, day + hour + 600_000, now - hour / 2),
          span(cluster, now - hour / 2, undefined, "it does not answer")
        ])
  ])
  return reportOf(spans, { from, to: undefined }, now)
}

/** The page for these records, at {@link now}. */
export const aUsagePage = (
  records: ReadonlyArray<UsageRecord> = someUse,
  query: Partial<UsageQuery> = {},
  clusters = [aCluster("a"), aCluster("b", "Lost", "It is away.")],
  health: HealthReport | string = someHealth()
): UsagePage => {
  const sums = new UsageSums(
    { format: "json", primaryKey: "machine_id", from: undefined, to: undefined, ...query },
    now
  )
  const trends = new TrendSums(3_650, now)
  for (const one of records) {
    sums.add(one)
    trends.add(one)
  }
  const installation = { operatorVersion: "1.2.3", chartVersion: "1.2.3", clusterName: "main", clusters: ["a", "b"] }
  const seen = {
    report: sums.report(installation),
    trends: trends.trends(),
    clusters: { clusters: pageClusters([], clusters, now), note: "" },
    health
  }
  return { problem: undefined, content: usageContent(seen, now) }
}
