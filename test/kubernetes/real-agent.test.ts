/**
 * mirrord's own agent with a target on real control planes, where its Job and its ephemeral containers, and the
 * administrators' TLS configuration, pass a real API server; without a target; and beside agents of earlier releases.
 * The Job's agent speaks TLS, the ephemeral one does not: in clusters of this repository it is the other way round.
 */

import { subnetOf } from "../address-plan.ts"
import { earlierAgents } from "../real/earlier-agents.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { describePodNetworks } from "../real/namespaces/describe-pod-networks.ts"
import { agentIdleTtlSecs, ephemeralCases } from "../real/namespaces/ephemeral-cases.ts"
import { usePodWorldOnKubernetes } from "../real/namespaces/pod-world.ts"
import { stealCases } from "../real/namespaces/steal-cases.ts"
import { targetlessAgent } from "../real/targetless-agent.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const network = "real agent on kubernetes"

describeKubernetes("on real control planes", (assets) => {
  describePodNetworks(
    "the real agent in the target's network namespace",
    ["mirrord", "agent", "layerApp"],
    ({ agent, ...programs }) => {
      stealCases(usePodWorldOnKubernetes(assets, agent, { network, agentTls: true }), programs)
    }
  )

  describePodNetworks(
    "the real agent as an ephemeral container",
    ["mirrord", "agent", "layerApp"],
    ({ agent, ...programs }) => {
      const world = usePodWorldOnKubernetes(assets, agent, { network, agentIdleTtlSecs, ephemeralAgents: true })
      ephemeralCases(world, { agentTls: false, ...programs })
    }
  )

  targetlessAgent("real control planes", (options) =>
    useKubernetesPlayground(assets, { ...options, subnet: subnetOf(network) })
  )

  earlierAgents("real control planes", (options) =>
    useKubernetesPlayground(assets, { ...options, subnet: subnetOf(network) })
  )
})
