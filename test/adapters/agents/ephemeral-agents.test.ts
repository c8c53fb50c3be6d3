import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { AgentIdentity, DialAgent } from "../../../src/adapters/agents/agent-starter.ts"
import { podAgents } from "../../../src/adapters/agents/pod-agents.ts"
import { agentCertificateLife } from "../../../src/domain/agents/agent-transport.ts"
import { asObjects, at } from "../../../src/domain/json.ts"
import { jobs, pods } from "../../../src/domain/resources/core-kinds.ts"
import type { OwnerReference } from "../../../src/domain/resources/object-meta.ts"
import { AgentUnreachable } from "../../../src/ports/agents.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { placement, settingsWith, tlsPort } from "./agent-examples.ts"

const settings = { ...settingsWith({ ephemeral: true }), port: undefined }
const nobodyThere: DialAgent = (host) => Effect.fail(new AgentUnreachable({ agent: host, detail: "nobody" }))
const owner = (uid: string): OwnerReference => ({
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordClusterSession",
  name: `session-${uid}`,
  uid
})

/** A cluster with the target's pod. */
const cluster = (spec: object = {}) => {
  const api = new MemoryKubeApi("c")
  const containers = [
    { name: "app", ports: [{ containerPort: 8080 }], env: [{ name: "GREETING", value: "hello" }] },
    { name: "sidecar" }
  ]
  const { metadata } = api.write(
    pods,
    placement.podName,
    { spec: { containers, ...spec }, status: { phase: "Running", podIP: "10.0.0.1" } },
    placement.podNamespace
  )
  return { api, target: { ...placement, podUid: metadata.uid } }
}
const podOf = (api: MemoryKubeApi) => api.peek(pods, placement.podName, placement.podNamespace)
const added = (api: MemoryKubeApi) => asObjects(at(podOf(api), "spec", "ephemeralContainers"))
const namesOf = (api: MemoryKubeApi) => added(api).map(({ name }) => String(name))
const portOf = (container: object | undefined) => Number((container as { args?: ReadonlyArray<string> })?.args?.[1])

/** The kubelet says something of all ephemeral containers: the last ones of these states are of the last containers. */
const say = (api: MemoryKubeApi, ...states: ReadonlyArray<object>) => {
  const names = namesOf(api)
  const ephemeralContainerStatuses = states.map((state, index) => ({
    name: names[names.length - states.length + index],
    state
  }))
  api.write(pods, placement.podName, { status: { ephemeralContainerStatuses } }, placement.podNamespace)
}
const running = { running: {} }
const ended = (exitCode: number) => ({ terminated: { exitCode } })
const updates = (api: MemoryKubeApi) => api.calls.filter(({ verb }) => verb === "update").length

describe("agents as ephemeral containers", () => {
  it.effect("are added to the pod of the target, and listen at its address", function* () {
    const { api, target } = cluster()
    const agents = podAgents(api, settings, nobodyThere)
    const fiber = yield* Effect.forkChild(agents.ensure(target, owner("1")))
    yield* TestClock.adjust(1)
    const [container] = added(api)
    expect(container).toMatchObject({ targetContainerName: "app", command: ["./mirrord-agent"] })
    expect(JSON.stringify(container)).toContain("GREETING")
    say(api, running)
    yield* TestClock.adjust(400)
    const handle = yield* Fiber.join(fiber)
    expect(handle).toEqual({
      name: expect.stringMatching(/^mirrord-agent-[0-9a-f]{10}$/u),
      uid: `${target.podUid}/${handle.name}-1`,
      host: "10.0.0.1",
      port: portOf(container),
      certificatePem: undefined,
      tellsOwnVariables: true
    })
    expect(handle.port).toBeGreaterThanOrEqual(30_000)
    expect(api.peekAll(jobs)).toEqual([])
    const { calls } = api
    expect(calls.filter(({ verb }) => verb === "update")).toMatchObject([
      { plural: "pods", name: "myapp-1", subresource: "ephemeralcontainers" }
    ])
  })

  it.effect("are one for all sessions on a container, and for the next leader", function* () {
    const { api, target } = cluster()
    const agents = podAgents(api, settings, nobodyThere)
    const fibers = yield* Effect.forEach(["1", "2", "3"], (uid) => Effect.forkChild(agents.ensure(target, owner(uid))))
    yield* TestClock.adjust(1_000)
    say(api, running)
    yield* TestClock.adjust(400)
    const handles = yield* Effect.forEach(fibers, Fiber.join)
    const next = yield* podAgents(api, settings, nobodyThere).ensure(target, owner("1"))
    expect(new Set([...handles, next].map(({ uid }) => uid)).size).toBe(1)
    expect(namesOf(api)).toHaveLength(1)
    expect(updates(api)).toBe(1)
  })

  it.effect("that have ended are followed by others, under names of their own", function* () {
    const { api, target } = cluster()
    const agents = podAgents(api, settings, nobodyThere)
    const first = yield* Effect.forkChild(agents.ensure(target, owner("1")))
    yield* TestClock.adjust(1)
    say(api, running)
    yield* TestClock.adjust(400)
    const before = yield* Fiber.join(first)
    say(api, ended(0))
    const second = yield* Effect.forkChild(agents.ensure(target, owner("2")))
    yield* TestClock.adjust(1)
    say(api, ended(0), running)
    yield* TestClock.adjust("3 seconds")
    const after = yield* Fiber.join(second)
    expect(namesOf(api)).toEqual([`${before.name}-1`, `${before.name}-2`])
    expect(after).toMatchObject({ name: before.name, uid: `${target.podUid}/${before.name}-2` })
    expect(JSON.stringify(added(api))).not.toContain("clean-iptables")
  })

  it.effect("are added once when others write the pod all the time, and not for ever", function* () {
    const { api, target } = cluster()
    let disturbances = 3
    api.before = ({ verb }) =>
      Effect.sync(() => {
        if (verb !== "update" || disturbances-- <= 0) return
        const metadata = { annotations: { at: String(disturbances) } }
        api.write(pods, placement.podName, { metadata }, placement.podNamespace)
      })
    yield* Effect.forkChild(Effect.result(podAgents(api, settings, nobodyThere).ensure(target, owner("1"))))
    yield* TestClock.adjust("1 second")
    expect(namesOf(api)).toHaveLength(1)
    expect(podOf(api)?.metadata.annotations).toEqual({ at: "0" })
    const other = cluster()
    other.api.before = ({ verb }) =>
      verb === "update"
        ? Effect.fail(new KubeError({ cluster: "c", operation: "update", reason: "Conflict", detail: "stale" }))
        : Effect.void
    const error = yield* Effect.forkChild(
      Effect.flip(podAgents(other.api, settings, nobodyThere).ensure(other.target, owner("1")))
    )
    yield* TestClock.adjust("5 seconds")
    expect((yield* Fiber.join(error)).detail).toContain("stale")
    expect(updates(other.api)).toBe(6)
  })

  it.effect("whose answer to the update was lost are found, not added again", function* () {
    const { api, target } = cluster()
    const lost = new KubeError({ cluster: "c", operation: "update", reason: "Unreachable", detail: "reset" })
    api.after = ({ verb }) => (verb === "update" ? Effect.fail(lost) : Effect.void)
    const agents = podAgents(api, settings, nobodyThere)
    const error = yield* Effect.flip(agents.ensure(target, owner("1")))
    expect(error.detail).toContain("reset")
    say(api, running)
    yield* agents.ensure(target, owner("1"))
    expect(namesOf(api)).toHaveLength(1)
  })

  it.effect.each([
    [
      "whose image cannot be pulled",
      { waiting: { reason: "ErrImagePull", message: "no agent:1" } },
      /cannot be pulled: no agent:1; an ephemeral container cannot be changed or removed/u
    ],
    [
      "that their kubelet does not create",
      { waiting: { reason: "CreateContainerConfigError", message: "container has runAsNonRoot" } },
      /cannot start \(CreateContainerConfigError\): container has runAsNonRoot; an ephemeral container/u
    ],
    [
      "that need more memory than the pod may have",
      { terminated: { exitCode: 137, reason: "OOMKilled" } },
      /ended with exit code 137 \(OOMKilled\); `kubectl/u
    ],
    [
      "that end at once",
      ended(1),
      /^its container mirrord-agent-\S+-1 ended with exit code 1; `kubectl -n default logs myapp-1 -c mirrord-agent-\S+-1` says why$/u
    ]
  ] as const)("%s fail with the reason, and no other is added", function* ([_what, state, reason]) {
    const { api, target } = cluster()
    const fiber = yield* Effect.forkChild(Effect.flip(podAgents(api, settings, nobodyThere).ensure(target, owner("1"))))
    yield* TestClock.adjust(1)
    say(api, state)
    yield* TestClock.adjust(400)
    expect((yield* Fiber.join(fiber)).detail).toMatch(reason)
    expect(namesOf(api)).toHaveLength(1)
  })

  it.effect("that take their time are looked at with longer pauses", function* () {
    const { api, target } = cluster()
    yield* Effect.forkChild(Effect.result(podAgents(api, settings, nobodyThere).ensure(target, owner("1"))))
    yield* TestClock.adjust("29 seconds")
    const looks = api.calls.filter(({ name, verb }) => verb === "get" && name === placement.podName).length
    expect(looks).toBeGreaterThan(15)
    expect(looks).toBeLessThan(30)
  })

  it.effect("that nobody starts fail after their time", function* () {
    const { api, target } = cluster()
    const fiber = yield* Effect.forkChild(Effect.flip(podAgents(api, settings, nobodyThere).ensure(target, owner("1"))))
    yield* TestClock.adjust("31 seconds")
    expect((yield* Fiber.join(fiber)).detail).toBe("it was not running within 30 s")
  })

  it.effect("with other TLS ports than their target has now are waited for, since nothing ends them", function* () {
    const { api, target } = cluster()
    const agents = podAgents(api, settings, nobodyThere)
    const first = yield* Effect.forkChild(agents.ensure(target, owner("1")))
    yield* TestClock.adjust(1)
    say(api, running)
    yield* TestClock.adjust(400)
    yield* Fiber.join(first)
    const second = yield* Effect.forkChild(agents.ensure(target, owner("2"), [tlsPort]))
    yield* TestClock.adjust("5 seconds")
    expect(namesOf(api)).toHaveLength(1)
    say(api, ended(0))
    yield* TestClock.adjust("3 seconds")
    say(api, ended(0), running)
    yield* TestClock.adjust("3 seconds")
    expect((yield* Fiber.join(second)).uid).toMatch(/-2$/u)
  })

  it.effect("that were given up are followed by another one when they have ended, never before", function* () {
    const { api, target } = cluster()
    const agents = podAgents(api, settings, nobodyThere)
    const first = yield* Effect.forkChild(agents.ensure(target, owner("1")))
    yield* TestClock.adjust(1)
    say(api, running)
    yield* TestClock.adjust(400)
    const handle = yield* Fiber.join(first)
    yield* agents.giveUp(handle)
    const silent = yield* Effect.forkChild(Effect.flip(agents.ensure(target, owner("1"))))
    yield* TestClock.adjust("31 seconds")
    expect((yield* Fiber.join(silent)).detail).toMatch(
      /^it was not running within 30 s: \S+-1 has to end first: it stopped answering/u
    )
    expect(namesOf(api)).toHaveLength(1)
    const second = yield* Effect.forkChild(agents.ensure(target, owner("1")))
    yield* TestClock.adjust("5 seconds")
    expect(namesOf(api)).toHaveLength(1)
    say(api, ended(0))
    yield* TestClock.adjust("3 seconds")
    say(api, ended(0), running)
    yield* TestClock.adjust("3 seconds")
    expect((yield* Fiber.join(second)).uid).not.toBe(handle.uid)
    expect(JSON.stringify(added(api)[1])).toContain("--clean-iptables-on-start")
  })

  it.effect("are not added to a pod that has another container's, and say so", function* () {
    const { api, target } = cluster()
    const agents = podAgents(api, settings, nobodyThere)
    yield* Effect.forkChild(agents.ensure(target, owner("1")))
    yield* TestClock.adjust(1)
    const other = { ...target, containerName: "sidecar", containerId: "def" }
    const error = yield* Effect.flip(agents.ensure(other, owner("2")))
    expect(error.detail).toMatch(/^the pod has an ephemeral agent already, \S+-1 beside container app, and two/u)
    expect(namesOf(api)).toHaveLength(1)
  })

  it.effect("of two containers that share their processes have ports and targets of their own", function* () {
    const { api, target } = cluster({ shareProcessNamespace: true })
    const shared = { ...target, shareProcessNamespace: true }
    const agents = podAgents(api, settings, nobodyThere)
    yield* Effect.forkChild(agents.ensure(shared, owner("1")))
    yield* Effect.forkChild(agents.ensure({ ...shared, containerName: "sidecar", containerId: "def" }, owner("2")))
    yield* TestClock.adjust(1_000)
    expect(added(api).map(({ targetContainerName }) => targetContainerName)).toEqual(["app", "sidecar"])
    expect(new Set(added(api).map(portOf)).size).toBe(2)
    expect(JSON.stringify(added(api))).toContain("MIRRORD_AGENT_EPHEMERAL_TARGET_CONTAINER_ID")
  })

  it.effect.each([
    [8080, "in pod myapp-1 port 8080 (agent.port) is in use"],
    [undefined, undefined]
  ] as const)("with the port %j: %j", function* ([port, problem]) {
    const { api, target } = cluster()
    const fiber = yield* Effect.forkChild(
      Effect.flip(podAgents(api, { ...settings, port }, nobodyThere).ensure(target, owner("1")))
    )
    yield* TestClock.adjust("31 seconds")
    expect((yield* Fiber.join(fiber)).detail).toBe(problem ?? "it was not running within 30 s")
  })

  it.effect("need a target, and say so", function* () {
    const { api } = cluster()
    const error = yield* Effect.flip(podAgents(api, settings, nobodyThere).ensure(undefined, owner("1")))
    expect(error.detail).toBe(
      "agents are ephemeral containers here (agent.extraConfig.ephemeral), which need the pod of a target, and " +
        "this session has none; name a target"
    )
    expect(error.isNotAllowed).toBe(true)
    expect(api.calls).toEqual([])
  })

  it.effect(
    "are not added to another pod of the same name, nor beside a container that is not in the spec",
    function* () {
      const { api, target } = cluster()
      const agents = podAgents(api, settings, nobodyThere)
      const replaced = yield* Effect.flip(agents.ensure({ ...target, podUid: "another" }, owner("1")))
      expect(replaced.detail).toBe("pod myapp-1 is another one by now")
      const unknown = yield* Effect.flip(agents.ensure({ ...target, containerName: "gone" }, owner("1")))
      expect(unknown.detail).toBe("pod myapp-1 has no container gone in its spec")
      expect(namesOf(api)).toEqual([])
    }
  )

  it.effect(
    "end first the Job of a time when agents were Jobs, and the other way round wait for the container",
    function* () {
      const { api, target } = cluster()
      const asJobs = { ...settings, ephemeral: false }
      yield* Effect.forkChild(Effect.result(podAgents(api, asJobs, nobodyThere).ensure(target, owner("1"))))
      yield* TestClock.adjust(1)
      const [job] = api.peekAll(jobs)
      const pod = { metadata: { labels: { "job-name": job?.metadata.name } }, status: { phase: "Running" } }
      api.write(pods, "agent", pod, "mirrord")
      yield* Effect.forkChild(Effect.result(podAgents(api, settings, nobodyThere).ensure(target, owner("1"))))
      yield* TestClock.adjust("5 seconds")
      expect([api.peekAll(jobs), namesOf(api)]).toEqual([[], []])
      api.erase(pods, "agent", "mirrord")
      yield* TestClock.adjust(400)
      const [name] = namesOf(api)
      const again = { ...target, ephemeralAgents: [String(name)] }
      const error = yield* Effect.flip(podAgents(api, asJobs, nobodyThere).ensure(again, owner("1")))
      expect(error.detail).toContain(`pod myapp-1 still has the agent ${name}, an ephemeral container`)
      expect(api.peekAll(jobs)).toEqual([])
    }
  )

  it.effect("speak TLS with a certificate in their container, and wait for the end of one that does not", function* () {
    const { api, target } = cluster()
    const identity = Effect.succeed<AgentIdentity>({
      keyPem: Redacted.make("the key"),
      issue: (agent) => Effect.succeed(`ours:${agent}`),
      read: (pem) =>
        pem === undefined
          ? { _tag: "None" }
          : { _tag: "Ours", serverName: `${pem.replace("ours:", "")}-1`, life: agentCertificateLife(0) }
    })
    const clear = yield* Effect.forkChild(podAgents(api, settings, nobodyThere).ensure(target, owner("1")))
    yield* TestClock.adjust(1)
    say(api, running)
    yield* TestClock.adjust(400)
    const { name } = yield* Fiber.join(clear)
    const fiber = yield* Effect.forkChild(podAgents(api, settings, nobodyThere, identity).ensure(target, owner("1")))
    yield* TestClock.adjust("5 seconds")
    expect(namesOf(api)).toHaveLength(1)
    say(api, ended(0))
    yield* TestClock.adjust("3 seconds")
    say(api, ended(0), running)
    yield* TestClock.adjust("3 seconds")
    expect(yield* Fiber.join(fiber)).toMatchObject({ certificatePem: `ours:${name}` })
    expect(JSON.stringify(podOf(api))).not.toContain("the key")
  })
})
