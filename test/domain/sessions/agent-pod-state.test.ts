import { describe, expect, it } from "vitest"
import type { Pod } from "../../../src/domain/resources/core-kinds.ts"
import { agentPodState } from "../../../src/domain/sessions/agent-pod-state.ts"
import type { AgentPlacement } from "../../../src/domain/targets/pod-choice.ts"

const placement: AgentPlacement = {
  podName: "myapp-1",
  podNamespace: "default",
  podUid: "u1",
  podLabels: {},
  podOwners: [],
  podIps: ["10.0.0.1"],
  nodeName: "node",
  containerName: "app",
  containerId: "c1",
  runtime: "containerd",
  guessed: false,
  shareProcessNamespace: false,
  mesh: undefined
}
const pod = (metadata: object = {}, status: object = {}): Pod => ({
  metadata: { name: "myapp-1", namespace: "default", uid: "u1", ...metadata },
  status: {
    phase: "Running",
    containerStatuses: [
      { name: "app", ready: true, containerID: "containerd://c1" },
      { name: "sidecar", ready: false, containerID: "containerd://c2" }
    ],
    ...status
  }
})

describe("the pod beside which an agent works", () => {
  it.each<[string, Pod | undefined, string]>([
    ["is there", pod(), "There"],
    ["is there while it is not ready", pod({}, { conditions: [{ type: "Ready", status: "False" }] }), "There"],
    ["is there while nobody has said anything of its containers", pod({}, { containerStatuses: null }), "There"],
    ["is gone", undefined, "Gone"],
    ["is gone when another has its name", pod({ uid: "u2" }), "Gone"],
    [
      "is gone when its container was started again",
      pod(
        {},
        {
          containerStatuses: [{ name: "app", ready: true, containerID: "containerd://c9" }]
        }
      ),
      "Gone"
    ],
    ["is gone when it has ended", pod({}, { phase: "Failed" }), "Gone"],
    ["is gone when nobody knows about it", pod({}, { phase: "Unknown" }), "Gone"],
    ["leaves while it is being deleted", pod({ deletionTimestamp: "2026-01-01T00:00:00Z" }), "Leaving"]
  ])("%s", (_what, found, expected) => expect(agentPodState(placement, found)).toBe(expected))
})
