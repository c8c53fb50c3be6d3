/**
 * The common cases of mirrord's own client and its further commands, on real control planes with a primary that is the
 * default. Suites share a playground, because control planes are slow to start.
 */

import { subnetOf } from "../address-plan.ts"
import { realClientCases } from "../real/client-cases.ts"
import { furtherCommands } from "../real/further-commands.ts"
import { describeReal, useKubernetesPlayground } from "../real/harness.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"
import { printedClusters } from "./printed-clusters.ts"

const subnet = subnetOf("real client, kubernetes")
const where = "real control planes"

describeKubernetes("on real control planes", (assets) => {
  describeReal("with a primary that is the default", ["mirrord", "layerApp"], () => {
    const shared = useKubernetesPlayground(assets, { topology: "primary-default", subnet })

    realClientCases("topology primary-default", () => shared)
    furtherCommands(where, () => shared)
    printedClusters(assets, shared)
  })
})
