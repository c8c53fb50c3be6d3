import { subnetOf } from "../address-plan.ts"
import { changingFleet } from "./changing-fleet.ts"
import { clientFeatures } from "./client-features.ts"
import { describeReal, usePlayground } from "./harness.ts"
import { targetKinds } from "./target-kinds.ts"

describeReal("with three workload clusters", ["mirrord", "layerApp"], () => {
  const shared = usePlayground({
    topology: "three-workloads",
    findsClusters: true,
    agentIdleTtlSecs: 10,
    subnet: subnetOf("real client, features")
  })

  targetKinds(shared)
  clientFeatures(shared)
  changingFleet(shared)
})
