/**
 * Eight suites of `test/real` for mirrord's own client, on real control planes with operators installed by helm. They
 * run one after the other, in the same networks. `test/kubernetes/real-client.test.ts` has the common cases.
 */

import { subnetOf } from "../address-plan.ts"
import { describeKubernetes } from "../kubernetes/describe-kubernetes.ts"
import { clientBehaviour } from "../real/client-behaviour.ts"
import { clientCertificates } from "../real/client-certificates.ts"
import { clientEnds } from "../real/client-ends.ts"
import { clientFeatures } from "../real/client-features.ts"
import { copyTargets } from "../real/copy-targets.ts"
import { fleetCopyTargets } from "../real/fleet-copy-targets.ts"
import { useKubernetesPlayground, type UsePlayground } from "../real/harness.ts"
import { labelTargets } from "../real/label-targets.ts"
import { clientPolicies } from "../real/policies.ts"

const where = "real control planes"

describeKubernetes("on real control planes", (assets) => {
  const use: UsePlayground = (options) =>
    useKubernetesPlayground(assets, {
      ...options,
      subnet: subnetOf("real client, kubernetes, one suite after the other")
    })

  clientBehaviour(where, use)
  clientEnds(where, use)
  clientFeatures(where, use)
  clientCertificates(where, use)
  clientPolicies(where, use)
  labelTargets(where, use)
  copyTargets(where, use)
  fleetCopyTargets(where, use)
})
