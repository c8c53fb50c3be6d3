/** The page of Events. */

import { eventCatalogue } from "../../src/domain/events/event-catalogue.ts"
import { code, type Page, table } from "./page.ts"

/** The short word for a kind of objects in the tables of Events and conditions. */
export const shortKinds = {
  MirrordMultiClusterSession: "parent",
  MirrordClusterSession: "child",
  both: "both",
  MirrordOperator: "operator",
  MirrordCluster: "cluster",
  BranchDatabase: "branch",
  MirrordClusterSplitSession: "split session",
  workload: "workload",
  "split configuration": "split configuration"
} as const

export const events: Page = {
  file: "events.md",
  title: "Events",
  source: "src/domain/events/event-catalogue.ts",
  body: [
    "The Events that operators record, by the object for which `kubectl describe` shows them: a session over many " +
      "clusters (parent), its part in one cluster or a session of one cluster (child), the operator, a cluster of a " +
      "primary, a branch of a database, a configuration of queue splits on a primary, a session's part in a split of " +
      "queues (split session), the workload of a split.",
    table(
      ["Event", "type", "on", "when"],
      Object.entries(eventCatalogue).map(([reason, { on, type, when }]) => [code(reason), type, shortKinds[on], when])
    )
  ]
}
