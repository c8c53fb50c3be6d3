/** Copies of targets for mirrord's own client, on real control planes. */

import { subnetOf } from "../address-plan.ts"
import { copyTargets } from "../real/copy-targets.ts"
import { fleetCopyTargets } from "../real/fleet-copy-targets.ts"
import { useKubernetesPlayground, type UsePlayground } from "../real/harness.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("on real control planes", (assets) => {
  const use: UsePlayground = (options) =>
    useKubernetesPlayground(assets, { ...options, subnet: subnetOf("real client, kubernetes, copies") })

  copyTargets("real control planes", use)
  fleetCopyTargets("real control planes", use)
})
