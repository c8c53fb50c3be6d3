import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { pods as podResource, deployments, services } from "../../../src/domain/resources/core-kinds.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { chooseContainer } from "../../../src/domain/targets/container-choice.ts"
import { choosePods, chooseSinglePod, podPlacement } from "../../../src/domain/targets/pod-choice.ts"
import {
  labelSelectorText,
  serviceSelector,
  servicePodsProblem,
  templateProblem,
  workloadSelector
} from "../../../src/domain/targets/pod-selector.ts"
import { targetFailure } from "../../../src/domain/targets/target-errors.ts"

interface Extra {
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
}
const status = (name: string, ready = true, containerID: string | undefined = `containerd://${name}-id`) => ({
  name,
  ready,
  ...(containerID === undefined ? {} : { containerID })
})
const pod = ({ metadata, spec, status: more }: Extra = {}) =>
  Result.getOrThrow(
    readResource(podResource, {
      metadata: { name: "web-1", namespace: "default", uid: "u", ...metadata },
      spec: { nodeName: "node-1", containers: [{ name: "app", image: "x" }], ...spec },
      status: {
        phase: "Running",
        podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
        containerStatuses: [status("app")],
        ...more
      }
    })
  )
const inMesh = (annotations: object, init: ReadonlyArray<string>, beside: ReadonlyArray<string>) =>
  podPlacement(
    pod({
      metadata: { annotations },
      status: {
        initContainerStatuses: init.map((name) => status(name)),
        containerStatuses: ["app", ...beside].map((name) => status(name))
      }
    }),
    "app"
  )
const problem = (extra: Extra, container?: string) => {
  const result = podPlacement(pod(extra), container)
  return Result.isFailure(result) ? result.failure : undefined
}

describe("podPlacement", () => {
  it("collects what an agent needs", () => {
    expect(podPlacement(pod(), undefined)).toEqual(
      Result.succeed({
        podName: "web-1",
        podNamespace: "default",
        podUid: "u",
        podLabels: {},
        podOwners: [],
        podIps: ["10.0.0.1", "fd00::1"],
        nodeName: "node-1",
        containerName: "app",
        containerId: "app-id",
        runtime: "containerd",
        guessed: false,
        shareProcessNamespace: false,
        mesh: undefined
      })
    )
  })

  it.each([
    [{}, [], ["istio-proxy"], undefined],
    [{}, ["setup"], ["helper"], undefined],
    [{}, ["istio-init"], ["istio-proxy"], "istio"],
    [{}, ["istio-proxy"], [], "istio"],
    [{}, ["istio-validation"], ["istio-proxy"], "istio-cni"],
    [{}, ["istio-validation"], [], undefined],
    [{}, ["linkerd-init"], ["linkerd-proxy"], "linkerd"],
    [{}, ["kuma-init"], ["kuma-sidecar"], "kuma"],
    [{ "ambient.istio.io/redirection": "enabled" }, [], [], "istio-ambient"],
    [{ "ambient.istio.io/redirection": "disabled" }, [], [], undefined]
  ])("with the annotations %j, init containers %j and sidecars %j sees the mesh %s", (notes, init, beside, mesh) =>
    expect(Result.map(inMesh(notes, init, beside), (placed) => placed.mesh)).toEqual(Result.succeed(mesh))
  )

  it.each([
    [{ metadata: { namespace: "" } }, { _tag: "MissingField", field: "metadata.namespace" }],
    [{ status: { phase: null } }, { _tag: "MissingField", field: "status.phase" }],
    [{ status: { phase: "Pending", containerStatuses: [] } }, { _tag: "NotRunning", phase: "Pending" }],
    [
      {
        status: {
          phase: "Failed",
          containerStatuses: [{ name: "app", state: { terminated: { reason: "OOMKilled", exitCode: 137 } } }]
        }
      },
      { _tag: "NotRunning", phase: "Failed", why: 'container "app" ended (OOMKilled, exit code 137)' }
    ],
    [
      {
        status: {
          phase: "Pending",
          conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available" }]
        }
      },
      { _tag: "NotRunning", phase: "Pending", why: "0/3 nodes are available" }
    ],
    [{ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }, { _tag: "InDeletion" }],
    [{ spec: { nodeName: null } }, { _tag: "MissingField", field: "spec.nodeName" }],
    [{ status: { podIPs: null } }, { _tag: "MissingField", field: "status.podIPs" }],
    [{ status: { containerStatuses: null } }, { _tag: "MissingField", field: "status.containerStatuses" }],
    [{ status: { containerStatuses: [] } }, { _tag: "NoViableContainer" }],
    [{ status: { containerStatuses: [status("app", false)] } }, { _tag: "ContainerNotReady", container: "app" }],
    [
      { status: { containerStatuses: [{ name: "app", ready: true }] } },
      { _tag: "UnreadableContainerId", container: "app" }
    ],
    [
      { status: { containerStatuses: [status("app", true, "rkt://x")] } },
      { _tag: "UnreadableContainerId", container: "app" }
    ],
    [
      { status: { containerStatuses: [status("app", true, "docker://")] } },
      { _tag: "UnreadableContainerId", container: "app" }
    ]
  ] as ReadonlyArray<readonly [Extra, object]>)("refuses %j", (extra, expected) =>
    expect(problem(extra)).toEqual(expected)
  )

  it("takes the first failure in the documented order, and an empty list of addresses", () => {
    expect(problem({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" }, status: { phase: "Failed" } })).toEqual({
      _tag: "NotRunning",
      phase: "Failed"
    })
    expect(problem({}, "other")).toEqual({ _tag: "ContainerNotFound", container: "other" })
    expect(problem({ status: { podIPs: [] } })).toBeUndefined()
  })

  it("gives the first address of each family alone, since two of one break an agent's redirect", () => {
    const addresses = (...ips: ReadonlyArray<string>) => {
      const placed = podPlacement(pod({ status: { podIPs: ips.map((ip) => ({ ip })) } }), undefined)
      return Result.getOrThrow(placed).podIps
    }
    expect(addresses("10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2")).toEqual(["10.0.0.1", "fd00::1"])
    expect(addresses("fd00::1", "", "10.0.0.300", "x", "10.0.0.2")).toEqual(["fd00::1", "10.0.0.2"])
  })

  it("needs only the chosen container to be ready", () =>
    expect(
      problem({ status: { containerStatuses: [status("app"), status("sidecar", false)] } }, "app")
    ).toBeUndefined())
})

describe("chooseContainer", () => {
  const choose = (names: ReadonlyArray<string>, annotation?: string, named?: string) => {
    const choice = chooseContainer(
      names.map((name) => status(name)),
      annotation === undefined ? {} : { "kubectl.kubernetes.io/default-container": annotation },
      named
    )
    return choice === undefined ? undefined : [choice.status.name, choice.guessed]
  }

  it.each([
    [["a", "b"], undefined, "b", ["b", false]],
    [["a", "b"], undefined, "c", undefined],
    [["a", "b"], "b", undefined, ["b", false]],
    [["a", "b"], "gone", undefined, ["a", true]],
    [["istio-proxy", "web"], undefined, undefined, ["web", false]],
    [["istio-proxy", "vault-agent"], undefined, undefined, ["istio-proxy", true]],
    [["istio-proxy"], undefined, undefined, ["istio-proxy", false]],
    [["istio-proxy", "web"], undefined, "istio-proxy", ["istio-proxy", false]],
    [[], undefined, undefined, undefined]
  ] as const)("of %j with default %j and name %j takes %j", (names, annotation, named, expected) =>
    expect(choose(names, annotation, named)).toEqual(expected)
  )
})

describe("choosePods", () => {
  const search = { target: "deployment/web", selector: "app=web", isLabelTarget: false, container: undefined }

  it("gives every usable pod in list order", () => {
    const list = [
      pod({ metadata: { name: "w0" }, status: { phase: "Pending" } }),
      pod({ metadata: { name: "w1" } }),
      pod({ metadata: { name: "w2" } })
    ]
    expect(Result.getOrThrow(choosePods(list, search)).map(({ podName }) => podName)).toEqual(["w1", "w2"])
  })

  it("leaves out pods whose node seems lost, unless there is no other", () => {
    const conditions = [{ type: "Ready", status: "False" }]
    const named = (name: string, extra: object = {}) => pod({ metadata: { name }, status: extra })
    const namesOf = (...found: ReadonlyArray<ReturnType<typeof pod>>) =>
      Result.getOrThrow(choosePods(found, search)).map(({ podName }) => podName)
    const sidecar = [status("app"), status("sidecar", false)]
    expect(namesOf(named("lost", { conditions }), named("well"))).toEqual(["well"])
    expect(namesOf(named("lost", { conditions }))).toEqual(["lost"])
    // A container that is not ready explains the pod's condition, and says that its node is there.
    expect(namesOf(named("half", { conditions, containerStatuses: sidecar }), named("well"))).toEqual(["half", "well"])
    expect(namesOf(named("well", { conditions: [{ type: "Ready", status: "True" }] }))).toEqual(["well"])
  })

  it("tells no pod from no usable pod, and label targets apart", () => {
    const failure = (list: ReadonlyArray<ReturnType<typeof pod>>, isLabelTarget = false) => {
      const result = choosePods(list, { ...search, isLabelTarget })
      return Result.isFailure(result) ? targetFailure(result.failure) : undefined
    }
    expect(failure([])).toMatchObject({ reason: "TargetNotReady", message: expect.stringContaining("no pods") })
    expect(failure([pod({ status: { phase: "Pending" } })])).toMatchObject({
      reason: "TargetNotReady",
      message: expect.stringMatching(/none of the 1 pods/u)
    })
    expect(failure([], true)?.message).toContain("app=web")
  })

  it("gives a single pod's concrete reason", () => {
    const result = chooseSinglePod(pod(), "nope")
    expect(Result.isFailure(result) && targetFailure(result.failure)).toEqual({
      reason: "NoSuchTarget",
      message: "pod web-1 cannot be targeted: it has no container nope"
    })
  })
})

describe("selectors", () => {
  const workload = (spec: object) => Result.getOrThrow(readResource(deployments, { metadata: { name: "w" }, spec }))

  it("are labels, and requirements of those that have the labels", () => {
    const matchExpressions = [{ key: "x", operator: "Exists" }]
    const spec = { selector: { matchLabels: { b: "2", a: "1" }, matchExpressions } }
    expect(workloadSelector("deployment/w", workload(spec))).toEqual(
      Result.succeed({ _tag: "Labels", labels: { a: "1", b: "2" }, requirements: matchExpressions })
    )
    expect(labelSelectorText({ b: "2", a: "1" })).toBe("a=1,b=2")
    for (const none of [{}, { selector: {} }, { selector: { matchLabels: {} } }, { selector: { matchExpressions } }]) {
      expect(workloadSelector("deployment/w", workload(none))).toMatchObject({ failure: { _tag: "MissingSelector" } })
    }
  })

  it("follow a rollout's workloadRef", () => {
    const ref = (apiVersion: string, kind: string) =>
      workloadSelector("rollout/r", workload({ workloadRef: { apiVersion, kind, name: "d" } }))
    expect(ref("apps/v1", "Deployment")).toEqual(Result.succeed({ _tag: "Reference", kind: "Deployment", name: "d" }))
    expect(ref("v1", "PodTemplate")).toEqual(Result.succeed({ _tag: "Reference", kind: "PodTemplate", name: "d" }))
    expect(ref("batch/v1", "Job")).toMatchObject({ failure: { _tag: "UnknownWorkloadRef" } })
    const both = workload({
      workloadRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      template: { spec: { containers: [] } }
    })
    expect(workloadSelector("rollout/r", both)).toMatchObject({ failure: { _tag: "AmbiguousTemplate" } })
  })

  it("of a service are all of its selector", () => {
    const service = (spec: object) => Result.getOrThrow(readResource(services, { metadata: { name: "s" }, spec }))
    expect(serviceSelector("service/s", service({ selector: { a: "1" } }))).toEqual(Result.succeed({ a: "1" }))
    expect(serviceSelector("service/s", service({ type: "ExternalName" }))).toMatchObject({
      failure: { _tag: "MissingSelector" }
    })
  })

  it("demand a named container in the template, or in one pod of a service", () => {
    const web = workload({
      selector: { matchLabels: { a: "1" } },
      template: { spec: { containers: [{ name: "app" }] } }
    })
    expect(templateProblem("deployment/w", web, "app")).toBeUndefined()
    expect(templateProblem("deployment/w", web, undefined)).toBeUndefined()
    expect(templateProblem("deployment/w", web, "x")).toEqual({
      _tag: "NoSuchContainer",
      target: "deployment/w",
      container: "x"
    })
    expect(servicePodsProblem("service/s", [pod()], "app")).toBeUndefined()
    expect(servicePodsProblem("service/s", [pod()], "x")).toMatchObject({ _tag: "NoSuchContainer" })
  })
})
