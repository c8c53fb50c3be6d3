import { describe, expect, it } from "vitest"
import { agentPodState } from "../../../src/adapters/agents/agent-pod.ts"

const ours = (state: object, more: object = {}) => ({ name: "mirrord-agent", ready: false, state, ...more })
const waiting = (reason: string, message?: string) => ({
  phase: "Pending",
  containerStatuses: [ours({ waiting: { reason, message } })]
})
/** A container that a webhook has added, which comes first by its name. */
const sidecar = { name: "istio-proxy", ready: true, state: { running: {} } }
const logs = "`kubectl -n mirrord logs mirrord-agent-x`"
const nodesWords = "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110"

describe("the pod of an agent", () => {
  it("that is not there yet is waited for", () => expect(agentPodState(undefined)).toMatchObject({ _tag: "Waiting" }))

  it.each([
    [{}, { _tag: "Waiting" }],
    [
      { phase: "Running", podIP: "10.1.1.1", containerStatuses: [ours({}, { ready: true })] },
      { _tag: "Running", host: "10.1.1.1" }
    ],
    [{ phase: "Running", podIP: "10.1.1.1", containerStatuses: [ours({})] }, { _tag: "Waiting" }],
    [{ phase: "Running", podIP: "10.1.1.1" }, { _tag: "Waiting" }],
    [{ phase: "Running", containerStatuses: [ours({}, { ready: true })] }, { _tag: "Waiting" }],
    [
      { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available" }] },
      { _tag: "Waiting", detail: "0/3 nodes are available" }
    ],
    [waiting("ContainerCreating"), { _tag: "Waiting" }],
    [waiting("PodInitializing"), { _tag: "Waiting" }],
    [waiting("ErrImagePull", "no such tag"), { _tag: "Failed", detail: "its image cannot be pulled: no such tag" }],
    [waiting("ImagePullBackOff"), { _tag: "Failed", detail: "its image cannot be pulled: ImagePullBackOff" }],
    [{ phase: "Failed" }, { _tag: "Failed", detail: `its pod ended (Failed); ${logs} says why` }],
    [{ phase: "Succeeded" }, { _tag: "Failed", detail: `its pod ended (Succeeded); ${logs} says why` }]
  ])("with status %j is %j", (status, state) =>
    expect(agentPodState({ metadata: { name: "mirrord-agent-x", namespace: "mirrord" }, status })).toEqual(state)
  )

  it.each([
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ReasonOfANewerKubelet"
  ])("whose container waits for %s fails at once, in the kubelet's words", (reason) => {
    const message = "container has runAsNonRoot and image will run as root"
    expect(agentPodState({ metadata: { name: "x" }, status: waiting(reason, `${message}.`) })).toEqual({
      _tag: "Failed",
      detail: `container "mirrord-agent" cannot start (${reason}): ${message}`
    })
  })

  it.each([
    [
      "that its node refuses",
      { phase: "Failed", reason: "OutOfpods", message: nodesWords },
      `its pod ended: OutOfpods: ${nodesWords}`
    ],
    [
      "that is evicted, with its container",
      {
        phase: "Failed",
        reason: "Evicted",
        message: "The node was low on resource: memory. ",
        containerStatuses: [ours({ terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } })]
      },
      "its pod ended: Evicted: The node was low on resource: memory"
    ],
    [
      "whose container needs more memory than it may have",
      { phase: "Failed", containerStatuses: [sidecar, ours({ terminated: { exitCode: 137, reason: "OOMKilled" } })] },
      `its pod ended: container "mirrord-agent" ended (OOMKilled, exit code 137); ${logs} says more`
    ],
    [
      "whose container has ended while another one keeps it running",
      {
        phase: "Running",
        podIP: "10.1.1.1",
        containerStatuses: [sidecar, ours({ terminated: { exitCode: 1, reason: "Error", message: "no nftables" } })]
      },
      `its pod ended: container "mirrord-agent" ended (exit code 1): no nftables; ${logs} says more`
    ],
    [
      "whose container ends again and again",
      {
        phase: "Running",
        containerStatuses: [
          ours(
            { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s restarting failed container" } },
            { lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } }
          )
        ]
      },
      'container "mirrord-agent" cannot start (CrashLoopBackOff): its last run ended (OOMKilled, exit code 137)'
    ],
    [
      "with an image that is missing for a container of somebody else",
      {
        phase: "Pending",
        containerStatuses: [
          { name: "istio-proxy", state: { waiting: { reason: "ImagePullBackOff", message: "no proxyv2" } } },
          ours({ running: {} }, { ready: true })
        ]
      },
      'container "istio-proxy" cannot start (ImagePullBackOff): no proxyv2'
    ]
  ])("%s fails with the reason", (_what, status, detail) =>
    expect(agentPodState({ metadata: { name: "mirrord-agent-x", namespace: "mirrord" }, status })).toEqual({
      _tag: "Failed",
      detail
    })
  )

  it("runs whatever stands before its container by name", () =>
    expect(
      agentPodState({
        metadata: { name: "x" },
        status: {
          phase: "Running",
          podIP: "10.1.1.1",
          containerStatuses: [{ ...sidecar, ready: false }, ours({}, { ready: true })]
        }
      })
    ).toEqual({ _tag: "Running", host: "10.1.1.1" }))
})
