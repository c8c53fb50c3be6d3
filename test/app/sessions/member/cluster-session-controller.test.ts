import { Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { deployments, namespaces, pods } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { timestamp } from "../../../../src/domain/resources/object-meta.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { addPod, addWorkload, day0, parentOf, pass, SessionFleet, writesSince } from "../session-fleet.ts"

const name = "session-1"
const spec = {
  namespace: "default",
  owner: { userId: "u", username: "d", hostname: "h", k8sUsername: "k" },
  target: { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" }
}

const start = Effect.gen(function* () {
  yield* TestClock.setTime(day0)
  const fleet = new SessionFleet(["cluster-a"])
  const api = fleet.member("cluster-a")
  const agents = fleet.agentsOf("cluster-a")
  const member = yield* fleet.startMember("cluster-a")
  yield* pass(1)
  const create = (more: object = {}, as = name) =>
    api.write(mirrordClusterSessions, as, { spec: { ...spec, ...more } }, undefined, day0 + 1_000)
  const condition = (of = name) =>
    (
      api.peek(mirrordClusterSessions, of)?.["status"] as
        | {
            readonly conditions?: ReadonlyArray<{
              readonly status: string
              readonly reason: string
              readonly message: string
            }>
          }
        | undefined
    )?.conditions?.[0]
  const connect = Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* member.sockets.track(name).pipe(Scope.provide(scope))
    return Scope.close(scope, Exit.void)
  })
  return { fleet, api, agents, member, create, condition, connect }
})

describe("one session in one cluster", () => {
  it.effect("gets an agent beside each pod of its target, owned by the session, and is ready", function* () {
    const { agents, api, condition, create, member } = yield* start
    addPod(api, "myapp-2")
    const { metadata } = create()
    yield* pass(1)
    expect(condition()).toMatchObject({ status: "True", reason: "AgentUsable" })
    expect(agents.ensured.map(({ pod }) => pod)).toEqual(["myapp-1", "myapp-2"])
    expect(agents.ensured[0]?.owner).toEqual({
      apiVersion: "mirrord.metalbear.co/v1alpha",
      kind: "MirrordClusterSession",
      name,
      uid: metadata.uid
    })
    expect(agents.open).toBe(2)
    expect(member.controller.agents(name).map(({ pod }) => pod)).toEqual(["myapp-1", "myapp-2"])
  })

  it.effect("writes nothing until its agent is asked for, though its client waits", function* () {
    const { agents, api, condition, connect, create } = yield* start
    const written: Array<ReadonlyArray<string>> = []
    const since = api.calls.length
    const writes = () => api.calls.slice(since).flatMap(({ plural, verb }) => (verb === "patch" ? [plural] : []))
    agents.beforeEnsure = () => Effect.sync(() => void written.push(writes()))
    const leave = yield* connect
    create()
    yield* pass(1)
    expect(condition()?.status).toBe("True")
    expect(written).toEqual([[]])
    // Starting, Ready, and the heartbeat.
    expect(writes()).toHaveLength(3)
    yield* leave
  })

  it.effect("has a line in the audit when somebody deletes its object, unless it is a primary's child", () => {
    const ended: Array<unknown> = []
    return Effect.gen(function* () {
      const { api, create } = yield* start
      create()
      create({ multiClusterParentName: parentOf }, `${parentOf}-cluster-a`)
      yield* pass(1)
      for (const one of [name, `${parentOf}-cluster-a`]) yield* api.delete(mirrordClusterSessions, one)
      yield* pass(1)
      expect(ended).toEqual([
        expect.objectContaining({ audit: true, act: "ended", cause: "Deleted", session: name, owner: "k" })
      ])
    }).pipe(
      Effect.provide(
        Logger.layer([Logger.map(Logger.formatJson, (line) => void ended.push(JSON.parse(line).annotations))])
      )
    )
  })

  it.effect(
    "that is a part of a fleet's ends with its namespace, within the turn, and begins again in another one",
    function* () {
      const { agents, api, condition, create, member } = yield* start
      const part = `${parentOf}-cluster-a`
      api.write(namespaces, "default", {})
      create({ multiClusterParentName: parentOf }, part)
      yield* pass(1)
      const session = member.controller.session(part)
      if (session === undefined) throw new Error("the part is not there")
      const { endWithNamespace, hasLeft } = member.controller
      expect([yield* endWithNamespace(session), hasLeft(part), condition(part)?.status]).toEqual([false, false, "True"])
      api.write(namespaces, "default", { metadata: { deletionTimestamp: timestamp(day0), finalizers: ["kubernetes"] } })
      expect([yield* endWithNamespace(session), hasLeft(part)]).toEqual([true, true])
      yield* pass(0)
      expect(condition(part)).toMatchObject({
        status: "False",
        reason: "NoPods",
        message: "namespace default is being deleted"
      })
      expect(agents.open).toBe(0)
      api.erase(namespaces, "default")
      expect(yield* endWithNamespace(session)).toBe(false)
      api.write(namespaces, "default", {})
      yield* pass(16)
      expect([hasLeft(part), condition(part)?.status]).toEqual([false, "True"])
    }
  )

  it.effect("without a target gets an agent of its own", function* () {
    const { agents, condition, create } = yield* start
    create({ target: null })
    yield* pass(1)
    expect(condition()?.status).toBe("True")
    expect(agents.ensured.map(({ pod }) => pod)).toEqual([undefined])
  })

  it.effect("says why its target cannot be used, looks again after 15 s, and recovers", function* () {
    const { api, condition, create } = yield* start
    api.erase(deployments, "myapp", "default")
    create()
    yield* pass(1)
    expect(condition()).toMatchObject({
      status: "False",
      reason: "NoSuchTarget",
      message: expect.stringContaining("myapp")
    })
    addWorkload(api)
    yield* pass(10)
    expect(condition()?.status).toBe("False")
    yield* pass(6)
    expect(condition()?.status).toBe("True")
  })

  it.effect("goes on without an agent that does not start, unless it is the representative one", function* () {
    const { agents, api, condition, create, member } = yield* start
    addPod(api, "myapp-2")
    const { ensure } = agents.service
    let broken = "myapp-2"
    Object.assign(agents.service, {
      ensure: (placement: Parameters<typeof ensure>[0], owner: Parameters<typeof ensure>[1]) => {
        agents.problem = placement?.podName === broken ? "no room" : undefined
        return ensure(placement, owner)
      }
    })
    create()
    yield* pass(1)
    expect(condition()?.status).toBe("True")
    expect(member.controller.agents(name).map(({ pod }) => pod)).toEqual(["myapp-1"])
    broken = "myapp-1"
    api.write(mirrordClusterSessions, "session-2", { spec }, undefined, day0)
    yield* pass(1)
    expect(condition("session-2")).toMatchObject({
      status: "False",
      reason: "Error",
      message: expect.stringContaining("no room")
    })
    expect(agents.open).toBe(1)
  })

  it.effect("starts over when an agent that was well ends, with the pod that is there now", function* () {
    const { agents, api, condition, create, member } = yield* start
    create()
    yield* pass(60)
    api.erase(pods, "myapp-1", "default")
    addPod(api, "myapp-new")
    agents.endAll()
    yield* pass(1)
    expect(condition()?.status).toBe("True")
    expect(member.controller.agents(name).map(({ pod }) => pod)).toEqual(["myapp-new"])
  })

  it.effect.each([spec.target, { apiVersion: "meta/v1", kind: "LabelSelector", name: "app=myapp", container: "" }])(
    "takes in pods that the target %j gets while it is used, and lets go of those that it loses",
    function* (target) {
      const { agents, api, create, member } = yield* start
      const running = () => member.controller.agents(name).map(({ pod }) => pod)
      create({ target })
      yield* pass(15)
      addPod(api, "myapp-2")
      yield* pass(3)
      expect(running()).toEqual(["myapp-1", "myapp-2"])
      expect(agents.open).toBe(2)
      api.erase(pods, "myapp-2", "default")
      yield* pass(15)
      agents.end("myapp-2")
      yield* pass(5)
      expect(running()).toEqual(["myapp-1"])
      expect(agents.open).toBe(1)
      yield* pass(60)
      expect(running()).toEqual(["myapp-1"])
    }
  )

  it.effect("takes in pods while more of them come, and not only when no pod changes any more", function* () {
    const { api, create, member } = yield* start
    create()
    yield* pass(15)
    for (let number = 2; number < 8; number++) {
      addPod(api, `myapp-${number}`)
      yield* pass(0.5)
    }
    expect(member.controller.agents(name).length).toBeGreaterThan(1)
  })

  it.effect("replaces the agent of one of several pods without touching the others", function* () {
    const { agents, api, condition, create, member } = yield* start
    addPod(api, "myapp-2")
    create()
    yield* pass(15)
    const [first] = member.controller.agents(name)
    agents.end("myapp-2")
    yield* pass(0.5)
    expect(member.controller.agents(name)).toEqual([first])
    expect(condition()?.status).toBe("True")
    yield* pass(3)
    expect(member.controller.agents(name).map(({ pod }) => pod)).toEqual(["myapp-1", "myapp-2"])
    expect(member.controller.agents(name)[0]).toBe(first)
  })

  it.effect("is not ready while its agent hangs, and gets another in its place", function* () {
    const { agents, condition, create, member } = yield* start
    create()
    yield* pass(15)
    agents.hanging.add("myapp-1")
    yield* pass(25)
    expect(condition()).toMatchObject({ status: "False", reason: "AgentSilent" })
    expect(agents.givenUp).toEqual([])
    agents.beforeEnsure = () => Effect.sync(() => agents.hanging.clear())
    yield* pass(17)
    expect(condition()?.status).toBe("True")
    expect(agents.givenUp).toEqual(["agent-of-myapp-1"])
    expect(agents.open).toBe(1)
    expect(member.controller.agents(name)[0]?.handle.uid).toBe("agent-of-myapp-1 1")
  })

  it.effect("is not ready before its agent has said a word; if it never does, another is made", function* () {
    const { agents, condition, create } = yield* start
    agents.hanging.add("myapp-1")
    create()
    yield* pass(30)
    expect(condition()?.status).not.toBe("True")
    expect(agents.givenUp).toEqual([])
    yield* pass(11)
    expect(agents.givenUp).toEqual(["agent-of-myapp-1"])
    expect(condition()).toMatchObject({
      status: "False",
      reason: "Error",
      message: expect.stringContaining("agent-of-myapp-1 cannot be reached: it does not answer any more")
    })
    expect(agents.open).toBe(0)
    agents.hanging.clear()
    yield* pass(16)
    expect(condition()?.status).toBe("True")
    expect(agents.open).toBe(1)
  })

  it.effect("dials an agent again that has not opened its port, and asks nothing about it meanwhile", function* () {
    const { agents, condition, create } = yield* start
    agents.refusals = 15
    create()
    yield* pass(1)
    expect(condition()?.status).toBe("True")
    expect(agents.ensured.length).toBe(1)
    expect(agents.open).toBe(1)
  })

  it.effect("looks for another agent in the place of one whose port stays closed", function* () {
    const { agents, condition, create } = yield* start
    agents.refusals = 25
    create()
    yield* pass(3)
    expect(condition()?.status).toBe("True")
    expect(agents.ensured.length).toBe(2)
  })

  it.effect("waits for an agent that is slow to say its first word", function* () {
    const { agents, condition, create } = yield* start
    agents.hanging.add("myapp-1")
    create()
    yield* pass(20)
    agents.wakeAll()
    yield* pass(1)
    expect(condition()?.status).toBe("True")
    expect(agents.ensured.length).toBe(1)
  })

  it.effect("is not ready by an agent that answers others and leaves its own connection unanswered", function* () {
    const { agents, api, condition, create } = yield* start
    create()
    yield* pass(15)
    const [first] = agents.held.keys()
    agents.hanging.add("myapp-1")
    api.write(mirrordClusterSessions, "session-2", { spec }, undefined, day0)
    for (let second = 0; second < 49; second++) {
      yield* pass(1)
      first?.message(agents.pong)
    }
    expect(condition()?.status).toBe("True")
    expect(condition("session-2")).toMatchObject({
      status: "False",
      message: expect.stringContaining("it does not answer on a new connection")
    })
    expect(agents.givenUp).toEqual([])
  })

  it.effect("takes another agent at once when the connection to the first ends before its first word", function* () {
    const { agents, condition, create } = yield* start
    agents.hanging.add("myapp-1")
    create()
    yield* pass(1)
    agents.hanging.clear()
    agents.endAll()
    yield* pass(1)
    expect(condition()?.status).toBe("True")
    expect(agents.ensured.length).toBe(2)
    expect(agents.open).toBe(1)
  })

  const broken = "Background task `TcpStealerTask` failed: iptables: Bad rule"

  it.effect("gets another agent in place of one that ends every connection, within seconds, and goes on", function* () {
    const { agents, condition, create } = yield* start
    agents.closing.set("agent-of-myapp-1 0", broken)
    create()
    yield* pass(5)
    expect(agents.givenUp).toEqual(["agent-of-myapp-1"])
    expect(condition()?.status).toBe("True")
  })

  it.effect(
    "gets another agent when its own breaks after it was well, and all sessions on that agent do",
    function* () {
      const { agents, api, condition, create } = yield* start
      create()
      api.write(mirrordClusterSessions, "session-2", { spec }, undefined, day0)
      yield* pass(60)
      agents.closing.set("agent-of-myapp-1 0", broken)
      yield* pass(10)
      expect(agents.givenUp).toEqual(["agent-of-myapp-1"])
      expect([condition()?.status, condition("session-2")?.status]).toEqual(["True", "True"])
    }
  )

  it.effect("says in the agents' own words why one after the other ends its connections", function* () {
    const { agents, condition, create } = yield* start
    for (let nth = 0; nth < 9; nth++) agents.closing.set(`agent-of-myapp-1 ${nth}`, broken)
    create()
    yield* pass(20)
    expect(condition()).toMatchObject({ status: "False", message: expect.stringContaining(broken) })
    expect(agents.givenUp.length).toBeLessThan(9)
  })

  it.effect("gets another agent in place of one that ends each connection at once without a word", function* () {
    const { agents, condition, create } = yield* start
    create()
    for (let i = 0; i < 2; i++) {
      yield* pass(1)
      agents.endAll()
      yield* pass(16)
    }
    expect(agents.givenUp).toEqual(["agent-of-myapp-1"])
    expect(condition()?.status).toBe("True")
  })

  it.effect("keeps an agent that was only busy", function* () {
    const { agents, condition, create } = yield* start
    create()
    yield* pass(15)
    agents.hanging.add("myapp-1")
    yield* pass(25)
    expect(condition()?.status).toBe("False")
    agents.wakeAll()
    yield* pass(120)
    expect(condition()?.status).toBe("True")
    expect(agents.givenUp).toEqual([])
  })

  it.effect("goes on with another pod while the agent of the first hangs, and takes the first in again", function* () {
    const { agents, api, condition, create, member } = yield* start
    addPod(api, "myapp-2")
    create()
    yield* pass(15)
    agents.hanging.add("myapp-1")
    // As on a lost node: no agent starts beside that pod any more.
    agents.beforeEnsure = (placement) => (placement?.podName === "myapp-1" ? Effect.never : Effect.void)
    yield* pass(45)
    expect(condition()?.status).toBe("True")
    expect(member.controller.agents(name).map(({ pod }) => pod)).toEqual(["myapp-2"])
    agents.hanging.clear()
    agents.beforeEnsure = () => Effect.void
    yield* pass(40)
    expect(member.controller.agents(name).map(({ pod }) => pod)).toEqual(["myapp-2", "myapp-1"])
  })

  it.effect(
    "gives up an agent that answers beside a pod that is gone, and one beside a pod that leaves for long",
    function* () {
      const { agents, api, condition, create, member } = yield* start
      create()
      yield* pass(15)
      api.erase(pods, "myapp-1", "default")
      addPod(api, "myapp-new")
      yield* pass(31)
      expect(condition()?.status).toBe("True")
      expect(member.controller.agents(name).map(({ pod }) => pod)).toEqual(["myapp-new"])
      const metadata = { finalizers: ["node"], deletionTimestamp: timestamp(day0) }
      api.write(pods, "myapp-new", { metadata }, "default")
      addPod(api, "myapp-last")
      yield* pass(15)
      expect(member.controller.agents(name)[0]?.pod).toBe("myapp-new")
      yield* pass(60)
      expect(member.controller.agents(name).map(({ pod }) => pod)).toEqual(["myapp-last"])
      expect(agents.givenUp).toEqual(["agent-of-myapp-1", "agent-of-myapp-new"])
    }
  )

  it.effect("keeps agents beside pods that are not ready, and of which the API server says nothing", function* () {
    const { agents, api, create } = yield* start
    create()
    yield* pass(15)
    api.write(pods, "myapp-1", { status: { containerStatuses: [{ name: "app", ready: false }] } }, "default")
    yield* pass(65)
    api.before = ({ plural }) =>
      plural === pods.plural
        ? Effect.fail(new KubeError({ cluster: "c", operation: "get", reason: "Unreachable", detail: "no" }))
        : Effect.void
    yield* pass(65)
    expect(agents.givenUp).toEqual([])
    expect(agents.open).toBe(1)
  })

  it.effect("shares what is known of an agent with the other sessions on it: it is given up once", function* () {
    const { agents, api, condition, create } = yield* start
    create()
    api.write(mirrordClusterSessions, "session-2", { spec }, undefined, day0)
    yield* pass(15)
    agents.hanging.add("myapp-1")
    yield* pass(25)
    expect([condition()?.status, condition("session-2")?.status]).toEqual(["False", "False"])
    agents.beforeEnsure = () => Effect.sync(() => agents.hanging.clear())
    yield* pass(17)
    expect([condition()?.status, condition("session-2")?.status]).toEqual(["True", "True"])
    expect(agents.givenUp).toEqual(["agent-of-myapp-1"])
  })

  it.effect("does not start agents in a hot loop when each ends at once", function* () {
    const { agents, condition, create } = yield* start
    create()
    for (let i = 0; i < 600; i++) {
      yield* pass(0.1)
      agents.endAll()
    }
    expect(agents.ensured.length).toBeLessThan(6)
    expect(condition()?.message).toContain("was given up: it ends its connections: the agent ended")
    yield* pass(120)
    expect(condition()?.status).toBe("True")
  })

  it.effect("reports a defect in starting an agent instead of starting for ever", function* () {
    const { agents, condition, create } = yield* start
    agents.beforeEnsure = () => Effect.die(new RangeError("port NaN"))
    create()
    yield* pass(1)
    expect(condition()).toMatchObject({ status: "False", reason: "Error" })
    agents.beforeEnsure = () => Effect.void
    yield* pass(16)
    expect(condition()?.status).toBe("True")
  })

  it.effect("that is deleted while its agents start lets go of those that were up already", function* () {
    const { agents, api, create } = yield* start
    addPod(api, "myapp-2")
    agents.beforeEnsure = (placement) => (placement?.podName === "myapp-2" ? Effect.never : Effect.void)
    create()
    yield* pass(1)
    expect(agents.open).toBe(1)
    api.erase(mirrordClusterSessions, name)
    yield* pass(1)
    expect(agents.open).toBe(0)
  })

  it.effect("that was made again under its name gets agents of its own", function* () {
    const { agents, api, create } = yield* start
    create()
    yield* pass(1)
    api.setMuted(true)
    api.erase(mirrordClusterSessions, name)
    const { metadata } = create()
    api.setMuted(false)
    api.forgetHistory(true)
    yield* pass(2)
    expect(agents.ensured.at(-1)?.owner.uid).toBe(metadata.uid)
    expect(agents.open).toBe(1)
  })

  it.effect("ends when no socket ever came within its time, and lets its agents go", function* () {
    const { agents, api, create } = yield* start
    create({ multiClusterParentName: "mc-1" })
    yield* pass(299)
    expect(api.peek(mirrordClusterSessions, name)).toBeDefined()
    yield* pass(3)
    expect(api.peek(mirrordClusterSessions, name)).toBeUndefined()
    expect(agents.open).toBe(0)
  })

  it.effect(
    "ends 15 s after the TTL when its last socket left; heartbeats are written while one is open",
    function* () {
      const { api, connect, create } = yield* start
      create({ multiClusterParentName: "mc-1" })
      const leave = yield* connect
      yield* pass(3)
      const before = api.calls.length
      yield* pass(600)
      expect(writesSince(api, before).length).toBe(60)
      yield* leave
      yield* pass(70)
      expect(api.peek(mirrordClusterSessions, name)).toBeDefined()
      yield* pass(30)
      expect(api.peek(mirrordClusterSessions, name)).toBeUndefined()
    }
  )

  it.effect("writes nothing at rest, and does nothing when only somebody's heartbeat changes", function* () {
    const { api, create } = yield* start
    create()
    yield* pass(2)
    const before = api.calls.length
    for (let i = 1; i <= 240; i++) {
      yield* pass(1)
      if (i % 10 === 0)
        api.write(mirrordClusterSessions, name, { status: { connectedTimestamp: timestamp(day0 + i * 1_000) } })
    }
    expect(writesSince(api, before)).toEqual([])
    // Eight looks at the target's pods, one each 30 s.
    expect(api.calls.slice(before).filter(({ verb }) => verb === "list")).toHaveLength(8)
    expect(api.peek(mirrordClusterSessions, name)).toBeDefined()
  })

  it.effect("repeats a status that met a conflict, and keeps what somebody else wrote", function* () {
    const { api, condition, create } = yield* start
    let left = 5
    api.before = ({ subresource, verb }) =>
      Effect.sync(() => {
        if (verb === "patch" && subresource === "status" && left-- > 0) {
          api.write(mirrordClusterSessions, name, { metadata: { labels: { count: String(left) } } })
        }
      })
    create()
    yield* pass(5)
    expect(condition()?.status).toBe("True")
    expect(api.peek(mirrordClusterSessions, name)?.metadata.labels).toEqual({ count: "0" })
  })

  it.effect("is not held up by garbage next to it", function* () {
    const { api, condition, create } = yield* start
    api.write(mirrordClusterSessions, "garbage", { spec: { target: 5 } })
    api.write(mirrordClusterSessions, "worse", { spec: null, status: "?" })
    yield* pass(1)
    // A write that changes nothing that anybody looks at, to a session without status.
    const managedFields = [{ manager: "kubectl", operation: "Apply" }]
    api.write(mirrordClusterSessions, "garbage", { metadata: { managedFields } })
    yield* pass(1)
    create()
    yield* pass(1)
    expect(condition()?.status).toBe("True")
    yield* pass(3_000)
    expect(api.calls.filter(({ name: of }) => of === "garbage" || of === "worse")).toEqual([])
  })

  it.effect("survives its operator: the next one finds the same session and makes it ready again", function* () {
    const { agents, api, condition, create, fleet, member } = yield* start
    create()
    yield* pass(1)
    yield* member.stop
    expect(agents.open).toBe(0)
    yield* fleet.startMember("cluster-a")
    yield* pass(2)
    expect(agents.open).toBe(1)
    expect(condition()?.status).toBe("True")
    expect(api.peekAll(mirrordClusterSessions)).toHaveLength(1)
  })

  it.effect("an API server that refuses status writes is not hammered", function* () {
    const { api, create } = yield* start
    api.before = ({ verb }) =>
      verb === "patch"
        ? Effect.fail(new KubeError({ cluster: "c", operation: "patch", reason: "Forbidden", code: 403, detail: "no" }))
        : Effect.void
    create()
    yield* pass(250)
    expect(writesSince(api).length).toBeLessThan(30)
  })
})
