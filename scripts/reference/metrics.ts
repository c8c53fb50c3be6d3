/** The page of metrics. */

import { metricCatalogue, type MetricFamily } from "../../src/domain/metrics/catalogue.ts"
import { code, type Page, table } from "./page.ts"

export const metrics: Page = {
  file: "metrics.md",
  title: "Metrics",
  source: "src/domain/metrics/catalogue.ts",
  body: [
    "The metrics of each replica. Labels are bounded by the program and by the configuration: no label names a user, " +
      "a session or a pod. Counters begin at 0 with the process.",
    table(
      ["metric", "type", "labels", "meaning"],
      Object.entries<MetricFamily>(metricCatalogue).map(([name, { help, labels, type }]) => [
        code(name),
        type,
        labels.map(code).join(", ") || "–",
        help
      ])
    )
  ]
}
