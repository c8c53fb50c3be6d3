/** Features, certificates, policies and label targets of mirrord's own client, on real control planes. */

import { subnetOf } from "../address-plan.ts"
import { clientCertificates } from "../real/client-certificates.ts"
import { clientFeatures } from "../real/client-features.ts"
import { useKubernetesPlayground, type UsePlayground } from "../real/harness.ts"
import { labelTargets } from "../real/label-targets.ts"
import { clientPolicies } from "../real/policies.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("on real control planes", (assets) => {
  const use: UsePlayground = (options) =>
    useKubernetesPlayground(assets, { ...options, subnet: subnetOf("real client, kubernetes, features") })

  clientFeatures("real control planes", use)
  clientCertificates("real control planes", use)
  clientPolicies("real control planes", use)
  labelTargets("real control planes", use)
})
