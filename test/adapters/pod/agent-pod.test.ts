import { describe, expect, it } from "vitest"
import { agentPodState } from "../../../src/adapters/pod/agent-pod.ts"

const waiting = (reason: string, message?: string) => ({
  phase: "Pending",
  containerStatuses: [{ ready: false, state: { waiting: { reason, message } } }]
})

describe("the pod of an agent", () => {
  it("that is not there yet is waited for", () => expect(agentPodState(undefined)).toMatchObject({ _tag: "Waiting" }))

  it.each([
    [{}, { _tag: "Waiting" }],
    [
      { phase: "Running", podIP: "10.1.1.1", containerStatuses: [{ ready: true }] },
      { _tag: "Running", host: "10.1.1.1" }
    ],
    [{ phase: "Running", podIP: "10.1.1.1", containerStatuses: [{ ready: false }] }, { _tag: "Waiting" }],
    [{ phase: "Running", podIP: "10.1.1.1" }, { _tag: "Waiting" }],
    [{ phase: "Running", containerStatuses: [{ ready: true }] }, { _tag: "Waiting" }],
    [
      { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available" }] },
      { _tag: "Waiting", detail: "0/3 nodes are available" }
    ],
    [waiting("ContainerCreating"), { _tag: "Waiting" }],
    [waiting("ErrImagePull", "no such tag"), { _tag: "Failed", detail: "its image cannot be pulled: no such tag" }],
    [waiting("InvalidImageName"), { _tag: "Failed", detail: "its image cannot be pulled: InvalidImageName" }],
    [{ phase: "Failed" }, { _tag: "Failed", detail: "its pod ended (Failed); `kubectl logs` of it says why" }],
    [{ phase: "Succeeded" }, { _tag: "Failed", detail: "its pod ended (Succeeded); `kubectl logs` of it says why" }]
  ])("with status %j is %j", (status, state) =>
    expect(agentPodState({ metadata: { name: "mirrord-agent-x" }, status })).toEqual(state)
  )
})
