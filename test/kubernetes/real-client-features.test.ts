/** Kinds of targets, features, changing fleets and policies of the real client, on real control planes. */

import { subnetOf } from "../address-plan.ts"
import { changingFleet } from "../real/changing-fleet.ts"
import { clientFeatures } from "../real/client-features.ts"
import { describeReal, useKubernetesPlayground, type UsePlayground } from "../real/harness.ts"
import { clientPolicies } from "../real/policies.ts"
import { targetKinds } from "../real/target-kinds.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("on real control planes", (assets) => {
  const use: UsePlayground = (options) =>
    useKubernetesPlayground(assets, { ...options, subnet: subnetOf("real client, kubernetes, features") })

  describeReal("with three workload clusters", ["mirrord", "layerApp"], () => {
    const shared = use({ topology: "three-workloads", findsClusters: true, agentIdleTtlSecs: 10 })

    targetKinds("real control planes", () => shared)
    clientFeatures("real control planes", () => shared)
    changingFleet("real control planes", () => shared)
  })
  clientPolicies("real control planes", use)
})
