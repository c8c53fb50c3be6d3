import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { dialAgent } from "../../../src/adapters/agents/agent-channel.ts"
import type { AgentIdentity, DialAgent } from "../../../src/adapters/agents/agent-starter.ts"
import { tlsValue, tlsValueOf } from "../../../src/adapters/agents/agent-tls-variable.ts"
import { podAgents } from "../../../src/adapters/agents/pod-agents.ts"
import type { AgentTls } from "../../../src/adapters/agents/secure-agent.ts"
import { type AgentCertificate, agentCertificateLife } from "../../../src/domain/agents/agent-transport.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import { jobs, nodes, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { OwnerReference } from "../../../src/domain/resources/object-meta.ts"
import type { AgentPlacement } from "../../../src/domain/targets/pod-choice.ts"
import { AgentUnreachable } from "../../../src/ports/agents.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { placement, settings, tlsPort } from "./agent-examples.ts"

const dial: DialAgent = (host, port, tls) => dialAgent(host, port, { tls })

const owner = (uid: string): OwnerReference => ({
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordClusterSession",
  name: `session-${uid}`,
  uid
})

/** The agent's pod as a kubelet reports it. */
const pod = (
  api: MemoryKubeApi,
  job: { readonly name: string; readonly uid: string | undefined },
  status: object,
  name = `${job.name}-x`
) =>
  api.write(
    pods,
    name,
    {
      metadata: {
        labels: { "job-name": job.name },
        ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: job.name, uid: job.uid }]
      },
      status
    },
    "mirrord"
  )
const running = { phase: "Running", podIP: "10.1.1.1", containerStatuses: [{ name: "mirrord-agent", ready: true }] }

const onlyJob = (api: MemoryKubeApi) => {
  const [job, ...more] = api.peekAll(jobs)
  if (job === undefined || more.length > 0) throw new Error(`${more.length + 1} jobs`)
  return { ...job, name: job.metadata.name, uid: job.metadata.uid }
}

/** Starts `ensure`, lets it make its job, and has the pod say something. */
const ensured = Effect.fnUntraced(function* (
  api: MemoryKubeApi,
  status: object,
  target: AgentPlacement | undefined = placement,
  by = owner("1"),
  with_ = settings
) {
  const fiber = yield* Effect.forkChild(Effect.result(podAgents(api, with_, dial).ensure(target, by)))
  yield* TestClock.adjust(1)
  pod(api, onlyJob(api), status)
  yield* TestClock.adjust(400)
  return yield* Fiber.join(fiber)
})

describe("agents as pods", () => {
  it.effect("are made once and returned when they run", function* () {
    const api = new MemoryKubeApi("c")
    const result = yield* ensured(api, running)
    const { name } = onlyJob(api)
    expect(result).toMatchObject({ _tag: "Success", success: { name, host: "10.1.1.1", port: 4_000 } })
    expect(onlyJob(api).metadata.ownerReferences).toEqual([owner("1")])
  })

  it.effect("are told of by a watch as soon as they run: one list and one watch are all that is asked", function* () {
    const api = new MemoryKubeApi("c")
    const fiber = yield* Effect.forkChild(podAgents(api, settings, dial).ensure(placement, owner("1")))
    yield* TestClock.adjust(1)
    const job = onlyJob(api)
    for (const phase of ["Pending", "Pending"]) pod(api, job, { phase })
    pod(api, { ...job, uid: "of-an-earlier-job" }, running, "another")
    yield* TestClock.adjust(900)
    expect(fiber.pollUnsafe()).toBeUndefined()
    pod(api, job, running)
    yield* TestClock.adjust(1)
    expect(yield* Fiber.join(fiber)).toMatchObject({ host: "10.1.1.1" })
    const looks = api.calls.filter(({ plural }) => plural === "pods").map(({ verb }) => verb)
    expect(looks).toEqual(["list", "watch"])
  })

  it.effect("are found by looks where no watch works", function* () {
    const api = new MemoryKubeApi("c")
    const denied = new KubeError({ cluster: "c", operation: "watch", reason: "Forbidden", detail: "no" })
    api.before = ({ verb }) => (verb === "watch" ? Effect.fail(denied) : Effect.void)
    const fiber = yield* Effect.forkChild(podAgents(api, settings, dial).ensure(placement, owner("1")))
    yield* TestClock.adjust(1)
    pod(api, onlyJob(api), running)
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(fiber)).toMatchObject({ host: "10.1.1.1" })
  })

  it.effect("take a random port where none is set, and say which", function* () {
    const api = new MemoryKubeApi("c")
    const result = yield* ensured(api, running, placement, owner("1"), { ...settings, port: undefined })
    const args = JSON.stringify(onlyJob(api))
    if (result._tag === "Failure") throw result.failure
    expect(result.success.port).toBeGreaterThanOrEqual(30_000)
    expect(args).toContain(`"-l","${result.success.port}"`)
  })

  it.effect("are shared by the sessions on a container: the second owner is added, once", function* () {
    const api = new MemoryKubeApi("c")
    yield* ensured(api, running)
    for (const uid of ["2", "2", "1"]) yield* ensured(api, running, placement, owner(uid))
    expect(onlyJob(api).metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(["1", "2"])
  })

  it.effect("without target are not shared", function* () {
    const api = new MemoryKubeApi("c")
    for (const uid of ["1", "2"]) {
      yield* Effect.forkChild(Effect.result(podAgents(api, settings, dial).ensure(undefined, owner(uid))))
      yield* TestClock.adjust(1)
    }
    expect(api.peekAll(jobs)).toHaveLength(2)
  })

  it.effect("keep both owners when two sessions come at the same moment", function* () {
    const api = new MemoryKubeApi("c")
    api.before = () => Effect.sleep(10)
    const agents = podAgents(api, settings, dial)
    const fibers = yield* Effect.forEach(["1", "2", "3"], (uid) =>
      Effect.forkChild(agents.ensure(placement, owner(uid)))
    )
    for (let i = 0; i < 20; i++) yield* TestClock.adjust(10)
    pod(api, onlyJob(api), running)
    for (let i = 0; i < 200; i++) yield* TestClock.adjust(10)
    yield* Effect.forEach(fibers, Fiber.join)
    expect(
      onlyJob(api)
        .metadata.ownerReferences?.map(({ uid }) => uid)
        .sort()
    ).toEqual(["1", "2", "3"])
  })

  it.effect("are made again where the Job goes with its last session before the next one is its owner", function* () {
    const api = new MemoryKubeApi("c")
    yield* ensured(api, running)
    const { name, uid } = onlyJob(api)
    api.before = ({ verb }) => {
      if (verb !== "patch") return Effect.void
      api.before = () => Effect.void
      return Effect.asVoid(Effect.ignore(api.delete(jobs, name, { namespace: "mirrord" })))
    }
    const fiber = yield* Effect.forkChild(Effect.result(podAgents(api, settings, dial).ensure(placement, owner("2"))))
    for (let i = 0; i < 10; i++) yield* TestClock.adjust(200)
    expect(onlyJob(api).uid).not.toBe(uid)
    expect(onlyJob(api).metadata.ownerReferences).toEqual([owner("2")])
    pod(api, onlyJob(api), running, `${name}-y`)
    for (let i = 0; i < 10; i++) yield* TestClock.adjust(200)
    expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Success", success: { name } })
  })

  it.effect("that are finished are replaced, and the old pod's end is not taken for the new one's", function* () {
    const api = new MemoryKubeApi("c")
    yield* ensured(api, running)
    const old = onlyJob(api)
    api.write(jobs, old.name, { metadata: { finalizers: ["foreground"] }, status: { failed: 1 } }, "mirrord")
    pod(api, old, { phase: "Failed" }, "a-pod-that-lingers")
    const fiber = yield* Effect.forkChild(podAgents(api, settings, dial).ensure(placement, owner("2")))
    yield* TestClock.adjust(500)
    expect(onlyJob(api).metadata.deletionTimestamp).toBeDefined()
    api.write(jobs, old.name, { metadata: { finalizers: [] } }, "mirrord")
    pod(api, old, { phase: "Failed" }, "a-pod-that-lingers")
    yield* TestClock.adjust(500)
    expect(onlyJob(api).uid).not.toBe(old.uid)
    pod(api, onlyJob(api), running, "the-new-pod")
    yield* TestClock.adjust(500)
    expect(yield* Fiber.join(fiber)).toMatchObject({ host: "10.1.1.1" })
    expect(onlyJob(api).metadata.ownerReferences).toEqual([owner("2")])
  })

  it.effect(
    "whose pod has ended are replaced before their Job says so; the next cleans up after a killed one",
    function* () {
      for (const exitCode of [1, 137]) {
        const api = new MemoryKubeApi("c")
        yield* ensured(api, running)
        const old = onlyJob(api)
        const containerStatuses = [{ name: "mirrord-agent", state: { terminated: { exitCode } } }]
        pod(api, old, { phase: "Failed", containerStatuses })
        const fiber = yield* Effect.forkChild(podAgents(api, settings, dial).ensure(placement, owner("2")))
        yield* TestClock.adjust(500)
        expect(onlyJob(api).uid).not.toBe(old.uid)
        expect(JSON.stringify(onlyJob(api)).includes("--clean-iptables-on-start")).toBe(exitCode === 137)
        pod(api, onlyJob(api), running, "the-new-pod")
        yield* TestClock.adjust(500)
        expect(yield* Fiber.join(fiber)).toMatchObject({ host: "10.1.1.1" })
      }
    }
  )

  it.effect("whose pod ends while another session waits for it are replaced", function* () {
    const api = new MemoryKubeApi("c")
    yield* ensured(api, running)
    const old = onlyJob(api)
    pod(api, old, { phase: "Pending" })
    const fiber = yield* Effect.forkChild(podAgents(api, settings, dial).ensure(placement, owner("2")))
    yield* TestClock.adjust(300)
    expect(onlyJob(api).uid).toBe(old.uid)
    pod(api, old, { phase: "Failed" })
    yield* TestClock.adjust(500)
    expect(onlyJob(api).uid).not.toBe(old.uid)
    pod(api, onlyJob(api), running, "the-new-pod")
    yield* TestClock.adjust(500)
    expect(yield* Fiber.join(fiber)).toMatchObject({ host: "10.1.1.1" })
  })

  it.effect.each([
    [
      "whose image cannot be pulled",
      {
        phase: "Pending",
        containerStatuses: [
          { name: "mirrord-agent", state: { waiting: { reason: "ImagePullBackOff", message: "no agent:1" } } }
        ]
      },
      /image cannot be pulled: no agent:1/
    ],
    ["whose pod fails", { phase: "Failed" }, /its pod ended \(Failed\)/],
    ["that end", { phase: "Succeeded" }, /its pod ended \(Succeeded\)/]
  ] as const)("%s fail with the reason", function* ([_what, status, reason]) {
    const api = new MemoryKubeApi("c")
    const result = yield* ensured(api, status)
    expect(result).toMatchObject({
      _tag: "Failure",
      failure: { _tag: "AgentFailed", detail: expect.stringMatching(reason) }
    })
  })

  it.effect("that never run fail after their time", function* () {
    const api = new MemoryKubeApi("c")
    const fiber = yield* Effect.forkChild(Effect.result(podAgents(api, settings, dial).ensure(placement, owner("1"))))
    yield* TestClock.adjust("31 seconds")
    expect(yield* Fiber.join(fiber)).toMatchObject({
      _tag: "Failure",
      failure: { detail: "it was not running within 30 s" }
    })
  })

  it.effect("that no node takes fail after their time and say what the scheduler said", function* () {
    const api = new MemoryKubeApi("c")
    const fiber = yield* Effect.forkChild(Effect.result(podAgents(api, settings, dial).ensure(placement, owner("1"))))
    yield* TestClock.adjust(1)
    const conditions = [{ type: "PodScheduled", status: "False", message: "0/1 nodes are available: Too many pods" }]
    pod(api, onlyJob(api), { phase: "Pending", conditions })
    yield* TestClock.adjust("31 seconds")
    expect(yield* Fiber.join(fiber)).toMatchObject({
      _tag: "Failure",
      failure: { detail: "it was not running within 30 s: 0/1 nodes are available: Too many pods" }
    })
  })

  /** An Event about an object, of its own kind. */
  const warning = (api: MemoryKubeApi, uid: string | undefined, reason: string, message: string, second = 1) =>
    api.write(
      events,
      `${reason}-${second}`,
      { involvedObject: { uid }, type: "Warning", reason, message, lastTimestamp: `2026-01-01T00:00:0${second}Z` },
      "mirrord"
    )
  const starting = Effect.fnUntraced(function* (api: MemoryKubeApi) {
    const fiber = yield* Effect.forkChild(Effect.result(podAgents(api, settings, dial).ensure(placement, owner("1"))))
    yield* TestClock.adjust(1)
    return fiber
  })
  const podSecurity =
    'pods "mirrord-agent-x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'

  it.effect.each([
    ["Pod Security", podSecurity],
    [
      "a quota",
      'pods "mirrord-agent-x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    ],
    ["a webhook", 'admission webhook "validate.kyverno.svc" denied the request: no hostPath']
  ] as const)("that %s keeps from having a pod fail within seconds, with the reason", function* ([_what, words]) {
    const api = new MemoryKubeApi("c")
    const fiber = yield* starting(api)
    warning(api, onlyJob(api).uid, "FailedCreate", `Error creating: ${words}`)
    warning(api, "another", "FailedCreate", "Error creating: of somebody else", 2)
    yield* TestClock.adjust("5 seconds")
    expect(yield* Fiber.join(fiber)).toMatchObject({ failure: { detail: `its pod cannot be made: ${words}` } })
  })

  it.effect("whose pod was refused once, and made then, start", function* () {
    const api = new MemoryKubeApi("c")
    const fiber = yield* starting(api)
    warning(api, onlyJob(api).uid, "FailedCreate", "Error creating: failed calling webhook")
    yield* TestClock.adjust("3 seconds")
    pod(api, onlyJob(api), running)
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Success" })
  })

  it.effect("whose pod was deleted before it ran fail within seconds", function* () {
    const api = new MemoryKubeApi("c")
    const fiber = yield* starting(api)
    const conditions = [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded" }]
    api.write(jobs, onlyJob(api).name, { status: { conditions } }, "mirrord")
    yield* TestClock.adjust("5 seconds")
    expect(yield* Fiber.join(fiber)).toMatchObject({
      failure: { detail: "its pod was deleted (BackoffLimitExceeded)" }
    })
  })

  it.effect("that their node cannot set up say so, in the newest words about the pod", function* () {
    const api = new MemoryKubeApi("c")
    const fiber = yield* starting(api)
    const { metadata } = pod(api, onlyJob(api), { phase: "Pending" })
    warning(api, metadata.uid, "FailedMount", "MountVolume.SetUp failed", 2)
    warning(api, metadata.uid, "FailedCreatePodSandBox", "plugin type=calico failed: no IP left.", 3)
    yield* TestClock.adjust("31 seconds")
    expect(yield* Fiber.join(fiber)).toMatchObject({
      failure: { detail: "it was not running within 30 s: plugin type=calico failed: no IP left" }
    })
  })

  it.effect("are waited for where the Events cannot be read", function* () {
    const api = new MemoryKubeApi("c")
    const denied = new KubeError({ cluster: "c", operation: "list", reason: "Forbidden", detail: "no" })
    api.before = ({ plural }) => (plural === "events" ? Effect.fail(denied) : Effect.void)
    const fiber = yield* starting(api)
    yield* TestClock.adjust("10 seconds")
    pod(api, onlyJob(api), running)
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Success" })
  })

  describe("where the node is asked for room first", () => {
    const asking = { ...settings, checkOutOfPods: true }
    const nodeWith = (allocatable: string, running: number) => {
      const api = new MemoryKubeApi("c")
      api.write(nodes, "node-1", { status: { allocatable: { pods: allocatable } } })
      for (const [index, phase] of [...Array<string>(running).fill("Running"), "Pending", "Succeeded"].entries())
        api.write(pods, `pod-${index}`, { spec: { nodeName: "node-1" }, status: { phase } }, "default")
      api.write(pods, "elsewhere", { spec: { nodeName: "node-2" }, status: { phase: "Running" } }, "default")
      return api
    }

    it.effect("are not made on a full node, and say so at once", function* () {
      const api = nodeWith("3", 3)
      const error = yield* Effect.flip(podAgents(api, asking, dial).ensure(placement, owner("1")))
      expect(error.detail).toBe("node node-1 is full: 3 pods run there, and it takes 3")
      expect(api.peekAll(jobs)).toEqual([])
      // Nobody is asked unless the settings say so.
      yield* Effect.forkChild(Effect.result(podAgents(api, settings, dial).ensure(placement, owner("1"))))
      yield* TestClock.adjust(1)
      expect(api.peekAll(jobs)).toHaveLength(1)
    })

    it.effect.each([
      ["with room", nodeWith("4", 3), placement],
      ["that cannot be read", new MemoryKubeApi("c"), placement],
      ["that is full, without a target there", nodeWith("0", 0), undefined]
    ] as const)("are made on a node %s", function* ([_what, api, target]) {
      yield* Effect.forkChild(Effect.result(podAgents(api, asking, dial).ensure(target, owner("1"))))
      yield* TestClock.adjust(1)
      expect(api.peekAll(jobs)).toHaveLength(1)
    })
  })

  it.effect("that are given up are replaced when their pod has ended, and the next cleans up after them", function* () {
    const api = new MemoryKubeApi("c")
    const agents = podAgents(api, settings, dial)
    const start = (uid: string) => Effect.forkChild(Effect.result(agents.ensure(placement, owner(uid))))
    const first = yield* start("1")
    yield* TestClock.adjust(1)
    const old = onlyJob(api)
    pod(api, old, running)
    yield* TestClock.adjust(400)
    const handle = yield* Effect.fromResult(yield* Fiber.join(first))
    expect(handle).toMatchObject({ name: old.name, uid: old.uid })
    // The kubelet takes its time to end the pod.
    api.write(pods, `${old.name}-x`, { metadata: { ownerReferences: [] } }, "mirrord")
    yield* agents.giveUp(handle)
    expect(api.peekAll(jobs)).toEqual([])
    const second = yield* start("1")
    yield* TestClock.adjust(5_000)
    expect(api.peekAll(jobs)).toEqual([])
    api.erase(pods, `${old.name}-x`, "mirrord")
    yield* TestClock.adjust(400)
    expect(JSON.stringify(onlyJob(api))).toContain("--clean-iptables-on-start")
    pod(api, onlyJob(api), running, "the-new-pod")
    yield* TestClock.adjust(400)
    expect(yield* Fiber.join(second)).toMatchObject({ success: { uid: onlyJob(api).uid } })
    // The old one was given up by another session too: the new one stays.
    yield* agents.giveUp(handle)
    expect(onlyJob(api).uid).not.toBe(old.uid)
  })

  it.effect("that are given up do not wait for a lost node for ever, and leave its redirects alone", function* () {
    const api = new MemoryKubeApi("c")
    const agents = podAgents(api, settings, dial)
    yield* ensured(api, running)
    const { name, uid } = onlyJob(api)
    api.write(pods, `${name}-x`, { metadata: { ownerReferences: [] } }, "mirrord")
    yield* agents.giveUp({ name, uid: uid ?? "", host: "10.1.1.1", port: 4_000 })
    yield* Effect.forkChild(Effect.result(agents.ensure(placement, owner("1"))))
    yield* TestClock.adjust("16 seconds")
    expect(onlyJob(api).uid).not.toBe(uid)
    expect(JSON.stringify(onlyJob(api))).not.toContain("clean-iptables")
  })

  it.effect("that are given up while the API server fails are not taken for the next", function* () {
    const api = new MemoryKubeApi("c")
    const agents = podAgents(api, settings, dial)
    yield* ensured(api, running)
    const { name, uid } = onlyJob(api)
    const failed = new KubeError({ cluster: "c", operation: "delete", reason: "Unreachable", detail: "no" })
    api.before = ({ verb }) => (verb === "delete" ? Effect.fail(failed) : Effect.void)
    const error = yield* Effect.flip(agents.giveUp({ name, uid: uid ?? "", host: "10.1.1.1", port: 4_000 }))
    expect(error.detail).toContain("its Job cannot be deleted")
    api.before = () => Effect.void
    yield* Effect.forkChild(Effect.result(agents.ensure(placement, owner("1"))))
    yield* TestClock.adjust("1 second")
    expect(onlyJob(api).uid).not.toBe(uid)
  })

  it.effect("that may not be made, or whose name somebody else's Job has, fail and say so", function* () {
    const api = new MemoryKubeApi("c")
    api.before = ({ verb }) =>
      verb === "create"
        ? Effect.fail(
            new KubeError({
              cluster: "c",
              operation: "create jobs",
              reason: "Forbidden",
              code: 403,
              detail: "jobs is forbidden"
            })
          )
        : Effect.void
    expect(yield* Effect.flip(podAgents(api, settings, dial).ensure(placement, owner("1")))).toMatchObject({
      detail: expect.stringContaining("jobs is forbidden")
    })
    api.before = () => Effect.void
    yield* ensured(api, running)
    const { name } = onlyJob(api)
    api.erase(jobs, name, "mirrord")
    api.write(jobs, name, { spec: { template: { spec: { containers: [{ args: ["serve"] }] } } } }, "mirrord")
    expect(yield* Effect.flip(podAgents(api, settings, dial).ensure(placement, owner("1")))).toMatchObject({
      detail: expect.stringContaining("argument -l")
    })
  })

  describe("whose target has ports with TLS", () => {
    const other = { ...tlsPort, port: 8443 }
    /** Starts `ensure` with these ports, and answers for the pod of whichever Job there is then. */
    const withTls = Effect.fnUntraced(function* (
      api: MemoryKubeApi,
      session: string,
      tls: ReadonlyArray<typeof tlsPort>
    ) {
      const { metadata } = api.write(mirrordClusterSessions, `session-${session}`, {})
      const by = { ...owner(session), uid: metadata.uid ?? "" }
      const agents = podAgents(api, settings, dial)
      const fiber = yield* Effect.forkChild(Effect.result(agents.ensure(placement, by, tls)))
      yield* TestClock.adjust(400)
      const [job] = api.peekAll(jobs)
      if (job !== undefined) pod(api, { name: job.metadata.name, uid: job.metadata.uid }, running)
      yield* TestClock.adjust(400)
      return yield* Fiber.join(fiber)
    })
    const ownersOf = (api: MemoryKubeApi) => onlyJob(api).metadata.ownerReferences?.map(({ name }) => name)
    const tlsOf = (api: MemoryKubeApi) => tlsValueOf(onlyJob(api))

    it.effect("are told them, and shared by sessions for which the same holds", function* () {
      const api = new MemoryKubeApi("c")
      for (const uid of ["1", "2"]) expect((yield* withTls(api, uid, [tlsPort]))._tag).toBe("Success")
      expect(tlsOf(api)).toBe(tlsValue([tlsPort], {}))
      expect(ownersOf(api)).toEqual(["session-1", "session-2"])
    })

    it.effect(
      "are not given to a session for which something else holds while another session uses them",
      function* () {
        const api = new MemoryKubeApi("c")
        yield* withTls(api, "1", [])
        const { uid } = onlyJob(api)
        const refused = yield* withTls(api, "2", [tlsPort])
        if (refused._tag === "Success") throw new Error("it was not refused")
        expect(refused.failure.message).toMatch(
          /cannot be started: it runs with other TLS settings .*: session-1; wait/
        )
        expect([onlyJob(api).uid, ownersOf(api)]).toEqual([uid, ["session-1"]])
      }
    )

    it.effect("are replaced once nobody else uses them", function* () {
      const api = new MemoryKubeApi("c")
      yield* withTls(api, "1", [tlsPort])
      api.erase(mirrordClusterSessions, "session-1")
      expect((yield* withTls(api, "2", [other]))._tag).toBe("Success")
      expect(tlsOf(api)).toBe(tlsValue([other], {}))
      expect(ownersOf(api)).toEqual(["session-2"])
    })

    it.effect("are kept by a session that has them, whatever holds now", function* () {
      const api = new MemoryKubeApi("c")
      for (const uid of ["1", "2"]) yield* withTls(api, uid, [tlsPort])
      const { uid } = onlyJob(api)
      expect((yield* withTls(api, "1", [other]))._tag).toBe("Success")
      expect([onlyJob(api).uid, tlsOf(api)]).toEqual([uid, tlsValue([tlsPort], {})])
    })

    it.effect("are not made if the variable is longer than Linux takes", function* () {
      const api = new MemoryKubeApi("c")
      const many = Array.from({ length: 600 }, (_, i) => ({ ...tlsPort, port: i + 1 }))
      const refused = yield* withTls(api, "1", many)
      expect(refused).toMatchObject({ failure: { detail: expect.stringContaining("give it fewer ports") as string } })
      expect(api.peekAll(jobs)).toEqual([])
    })
  })

  describe("that speak TLS", () => {
    /** An operator whose certificates are texts: its mark, and the agent. */
    const identityOf = (mark: string): Effect.Effect<AgentIdentity, KubeError> =>
      Effect.succeed({
        keyPem: Redacted.make(`key of ${mark}`),
        issue: (agent) => Effect.succeed(`${mark}:${agent}`),
        read: (pem): AgentCertificate => {
          if (pem === undefined) return { _tag: "None" }
          const life = agentCertificateLife(0)
          const [of, agent] = pem.split(":")
          return of === mark ? { _tag: "Ours", serverName: `${agent}-1`, life } : { _tag: "Foreign" }
        }
      })
    const ours = identityOf("ours")
    const variable = "AGENT_OPERATOR_CERT_ENV"

    /** Records how agents are dialled. */
    const recordingDial = () => {
      const dialled: Array<AgentTls | undefined> = []
      const dial: DialAgent = (host, _port, tls) => {
        dialled.push(tls)
        return Effect.fail(new AgentUnreachable({ agent: host, detail: "nobody is there" }))
      }
      return { dial, dialled }
    }

    /** Starts `ensure` of one operator and lets its pod run. */
    const started = Effect.fnUntraced(function* (
      api: MemoryKubeApi,
      identity: Effect.Effect<AgentIdentity, KubeError> | undefined,
      dial: DialAgent = recordingDial().dial
    ) {
      const agents = podAgents(api, settings, dial, identity)
      const fiber = yield* Effect.forkChild(Effect.result(agents.ensure(placement, owner("1"))))
      yield* TestClock.adjust(1)
      for (const { metadata } of api.peekAll(jobs)) pod(api, { name: metadata.name, uid: metadata.uid }, running)
      yield* TestClock.adjust(400)
      return { agents, fiber }
    })

    it.effect("get a certificate of their own and no key, and are dialled with it", function* () {
      const api = new MemoryKubeApi("c")
      const { dial, dialled } = recordingDial()
      const { agents, fiber } = yield* started(api, ours, dial)
      const { name } = onlyJob(api)
      const certificatePem = `ours:${name}`
      expect(JSON.stringify(onlyJob(api))).toContain(JSON.stringify({ name: variable, value: certificatePem }))
      expect(JSON.stringify(api.calls)).not.toContain("key of")
      const handle = yield* Effect.fromResult(yield* Fiber.join(fiber))
      yield* Effect.flip(agents.connect(handle))
      expect(dialled).toEqual([{ certificatePem, keyPem: Redacted.make("key of ours"), serverName: `${name}-1` }])
    })

    it.effect("are taken over by the next leader, which has the same key", function* () {
      const api = new MemoryKubeApi("c")
      yield* started(api, ours)
      const { uid } = onlyJob(api)
      const { dial, dialled } = recordingDial()
      const { agents, fiber } = yield* started(api, identityOf("ours"), dial)
      expect(onlyJob(api).uid).toBe(uid)
      yield* Effect.flip(agents.connect(yield* Effect.fromResult(yield* Fiber.join(fiber))))
      expect(dialled).toMatchObject([{ serverName: `${onlyJob(api).name}-1` }])
    })

    it.effect.each([
      ["of an operator with another key", identityOf("theirs"), ours, "ours:"],
      ["that speak clear text, where they are to speak TLS", undefined, ours, "ours:"],
      ["that speak TLS, where they are to speak clear text", ours, undefined, undefined]
    ] as const)("%s are replaced, never beside their successors", function* ([_what, before, now, certificate]) {
      const api = new MemoryKubeApi("c")
      yield* started(api, before)
      const old = onlyJob(api)
      // The kubelet takes its time to end the pod.
      api.write(pods, `${old.name}-x`, { metadata: { ownerReferences: [] } }, "mirrord")
      const { fiber } = yield* started(api, now)
      yield* TestClock.adjust("5 seconds")
      expect(api.peekAll(jobs)).toEqual([])
      api.erase(pods, `${old.name}-x`, "mirrord")
      yield* TestClock.adjust(400)
      const text = JSON.stringify(onlyJob(api))
      expect(text).toContain("--clean-iptables-on-start")
      if (certificate === undefined) expect(text).not.toContain(variable)
      else expect(text).toContain(`"value":"${certificate}`)
      pod(api, onlyJob(api), running, "the-new-pod")
      yield* TestClock.adjust(400)
      expect(yield* Fiber.join(fiber)).toMatchObject({ success: { uid: onlyJob(api).uid } })
    })

    it.effect("are never dialled in clear text, nor with a certificate of others", function* () {
      const { dial, dialled } = recordingDial()
      const agents = podAgents(new MemoryKubeApi("c"), settings, dial, ours)
      const handle = { name: "a", uid: "1", host: "10.1.1.1", port: 4_000 }
      for (const certificatePem of [undefined, "theirs:a", "ours:b"]) {
        const error = yield* Effect.flip(agents.connect({ ...handle, certificatePem }))
        expect(error.message).toBe(
          "agent a cannot be reached: it was not started with a certificate that this operator made for it"
        )
      }
      expect(dialled).toEqual([])
    })

    it.effect("are not taken for a Job of somebody else's, which is left alone", function* () {
      const api = new MemoryKubeApi("c")
      yield* started(api, ours)
      const { name } = onlyJob(api)
      api.erase(jobs, name, "mirrord")
      api.write(jobs, name, { spec: { template: { spec: { containers: [{ args: ["serve"] }] } } } }, "mirrord")
      const { uid } = onlyJob(api)
      const error = yield* Effect.flip(podAgents(api, settings, dial, ours).ensure(placement, owner("1")))
      expect(error.detail).toContain("argument -l")
      expect(onlyJob(api).uid).toBe(uid)
    })

    it.effect("are not started without the operator's key, which is asked for again", function* () {
      const api = new MemoryKubeApi("c")
      const error = new KubeError({ cluster: "c", operation: "get", reason: "Forbidden", detail: "no Secret for you" })
      let asked = 0
      const identity = Effect.suspend(() => (++asked === 1 ? Effect.fail(error) : ours))
      const agents = podAgents(api, settings, dial, identity)
      const failure = yield* Effect.flip(agents.ensure(placement, owner("1")))
      expect(failure.message).toContain("cannot be started: ")
      expect(failure.message).toContain("no Secret for you")
      expect(api.peekAll(jobs)).toEqual([])
      for (const uid of ["1", "2"]) {
        yield* Effect.forkChild(Effect.result(agents.ensure(undefined, owner(uid))))
        yield* TestClock.adjust(1)
      }
      expect([api.peekAll(jobs).length, asked]).toEqual([2, 2])
    })
  })
})
