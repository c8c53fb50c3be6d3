/** The report on the health of clusters, of all spans at once. */

import {
  clusterHealth,
  healthPeriod,
  type HealthReport,
  healthReport
} from "../../../src/domain/usage/health-report.ts"
import type { HealthSpan } from "../../../src/domain/usage/health-spans.ts"

export const reportOf = (
  spans: ReadonlyArray<HealthSpan>,
  query: { readonly from: number | undefined; readonly to: number | undefined },
  now: number
): HealthReport => {
  const first = spans.length === 0 ? undefined : Math.min(...spans.map(({ from }) => from))
  const period = healthPeriod({ format: "json", ...query }, first, now)
  const clusters = [...new Set(spans.map(({ cluster }) => cluster))]
  return healthReport(
    period,
    clusters.map((cluster) =>
      clusterHealth(
        cluster,
        spans.filter((span) => span.cluster === cluster),
        period
      )
    )
  )
}
