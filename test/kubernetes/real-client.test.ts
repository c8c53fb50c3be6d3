import { subnetOf } from "../address-plan.ts"
import { realClientCases } from "../real/client-cases.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("on real control planes", (assets) => {
  realClientCases(
    "topology management",
    () => useKubernetesPlayground(assets, { topology: "management", subnet: subnetOf("real client, kubernetes") }),
    20
  )
})
