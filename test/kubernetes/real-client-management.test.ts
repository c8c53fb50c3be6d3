/**
 * The common cases of mirrord's own client, its certificates and what goes wrong, on real control planes with a primary
 * that only manages. Suites share a playground, because control planes are slow to start.
 */

import { subnetOf } from "../address-plan.ts"
import { badInput } from "../real/bad-input.ts"
import { realClientCases } from "../real/client-cases.ts"
import { clientCertificates } from "../real/client-certificates.ts"
import { failures } from "../real/failures.ts"
import { describeReal, useKubernetesPlayground, type UsePlayground } from "../real/harness.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const subnet = subnetOf("real client, kubernetes, management")
const where = "real control planes"

describeKubernetes("on real control planes", (assets) => {
  describeReal("with a primary that only manages", ["mirrord", "layerApp"], () => {
    const shared = useKubernetesPlayground(assets, { topology: "management", subnet })
    const use: UsePlayground = () => shared

    realClientCases("topology management", () => shared)
    badInput(where, use)
    clientCertificates(where, use)
    // The last suite: its last test leaves a primary that has just started.
    failures(where, use)
  })
})
