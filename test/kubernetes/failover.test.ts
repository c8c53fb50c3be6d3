import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { failoverCases } from "../real/failover-cases.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("on real control planes", (assets) => {
  failoverCases("installed by helm", {
    use: () =>
      useKubernetesPlayground(assets, {
        topology: "management",
        subnet: subnetOf("failover on kubernetes"),
        primaryReplicas: 2,
        sessionTtlSecs: 30
      }),
    removePod: async (real, name) => {
      const kubeconfig = `--kubeconfig=${real.playground().primary.cluster.kubeconfigPath}`
      await promisify(execFile)(programsIn(assets).kubectl, [
        kubeconfig,
        "delete",
        "pod",
        name,
        `--namespace=${operatorNamespace}`,
        "--grace-period=0",
        "--force"
      ])
    }
  })
})
