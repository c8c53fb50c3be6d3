/** mirrord's own client while leaders are killed and stopped, with two replicas of the primary. */

import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { failoverCases } from "./failover-cases.ts"
import { usePlayground } from "./harness.ts"

failoverCases("embedded clusters", {
  use: () =>
    usePlayground({
      topology: "management",
      subnet: subnetOf("real client, failover"),
      primaryReplicas: 2,
      sessionTtlSecs: 30
    }),
  removePod: async (real, name) => {
    real
      .playground()
      .primary.cluster.store.delete({ group: "", version: "v1", resource: "pods" }, operatorNamespace, name)
  }
})
