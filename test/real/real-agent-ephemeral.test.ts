/**
 * mirrord's own agent as an ephemeral container of its target's pod, under braid's operators and mirrord's own client:
 * in a fleet of a primary and two clusters, whose pods have network namespaces of their own.
 */

import { expect, it } from "vitest"
import { describePodNetworks } from "./namespaces/describe-pod-networks.ts"
import { agentIdleTtlSecs, ephemeralCases } from "./namespaces/ephemeral-cases.ts"
import { machineNetwork } from "./namespaces/machine-network.ts"
import { agentRules } from "./namespaces/pod-rules.ts"
import { usePodWorld } from "./namespaces/pod-world.ts"
import { nothingLeft } from "./sessions.ts"

describePodNetworks(
  "the real agent as an ephemeral container, over TLS",
  ["mirrord", "agent", "layerApp"],
  ({ agent, ...programs }) => {
    const before = machineNetwork()
    const world = usePodWorld(agent, {
      network: "real client, real agent as an ephemeral container",
      agentTls: true,
      agentIdleTtlSecs,
      ephemeralAgents: true
    })

    ephemeralCases(world, { agentTls: true, ...programs })

    it("leaves no session and no rule behind, and the machine's own network as it was", async () => {
      await nothingLeft(world.real)
      for (const pod of world.pods()) expect(await agentRules(pod.pid)).toEqual([])
      expect(machineNetwork()).toEqual(before)
    })
  }
)
