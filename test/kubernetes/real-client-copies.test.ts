/** Copies of targets for mirrord's own client, and its label targets, on real control planes. */

import { subnetOf } from "../address-plan.ts"
import { copyTargets } from "../real/copy-targets.ts"
import { fleetCopyTargets } from "../real/fleet-copy-targets.ts"
import { describeReal, useKubernetesPlayground, type UsePlayground } from "../real/harness.ts"
import { labelTargets } from "../real/label-targets.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("on real control planes", (assets) => {
  const use: UsePlayground = (options) =>
    useKubernetesPlayground(assets, { ...options, subnet: subnetOf("real client, kubernetes, copies") })

  describeReal("with a primary that is the default", ["mirrord", "layerApp"], () => {
    const shared = use({ topology: "primary-default", agentIdleTtlSecs: 5 })

    copyTargets("real control planes", () => shared)
    labelTargets("real control planes", () => shared)
  })
  fleetCopyTargets("real control planes", use)
})
