/** mirrord's own client during sessions and at their ends, on real control planes. */

import { subnetOf } from "../address-plan.ts"
import { clientBehaviour } from "../real/client-behaviour.ts"
import { clientEnds } from "../real/client-ends.ts"
import { useKubernetesPlayground, type UsePlayground } from "../real/harness.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("on real control planes", (assets) => {
  const use: UsePlayground = (options) =>
    useKubernetesPlayground(assets, { ...options, subnet: subnetOf("real client, kubernetes, sessions") })

  clientBehaviour("real control planes", use)
  clientEnds("real control planes", use)
})
