/**
 * mirrord's own agent with a target, under braid's operators and mirrord's own client: stealing and mirroring from pods
 * with network namespaces of their own, in a fleet of a primary and three clusters with two pods each.
 */

import { expect, it } from "vitest"
import { describePodNetworks } from "./namespaces/describe-pod-networks.ts"
import { machineNetwork } from "./namespaces/machine-network.ts"
import { agentRules } from "./namespaces/pod-rules.ts"
import { usePodWorld } from "./namespaces/pod-world.ts"
import { stealCases } from "./namespaces/steal-cases.ts"
import { nothingLeft } from "./sessions.ts"

describePodNetworks(
  "the real agent in the target's network namespace",
  ["mirrord", "agent", "layerApp"],
  ({ agent, ...programs }) => {
    const before = machineNetwork()
    const world = usePodWorld(agent, {
      network: "real client, real agent in the target's network",
      topology: "three-workloads"
    })

    stealCases(world, programs)

    it("leaves no session, no agent and no rule behind, and the machine's own network as it was", async () => {
      await nothingLeft(world.real)
      for (const pod of world.pods()) expect(await agentRules(pod.pid)).toEqual([])
      expect(machineNetwork()).toEqual(before)
    })
  }
)
