import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import { workloadClusters } from "../../../../src/domain/fleet/roles.ts"
import { secrets } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { timestamp } from "../../../../src/domain/resources/object-meta.ts"
import { childAnnotations, ownerLabel } from "../../../../src/domain/sessions/names.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { configurationOf, giveCredentials, operatorNamespace } from "../../../support/fleet.ts"
import { addWorkload, day0, parentOf, pass, SessionFleet, workloadCluster, writesSince } from "../session-fleet.ts"

const childA = `${parentOf}-cluster-a`
const childB = `${parentOf}-cluster-b`
const begin = TestClock.setTime(day0)
const refusedBy = (reason: "Forbidden" | "Unreachable", code?: number) =>
  new KubeError({
    cluster: "test",
    operation: "test",
    reason,
    detail: `${reason} as told`,
    ...(code === undefined ? {} : { code })
  })

/** A client's socket that stays until the returned effect runs. */
const openSocket = (
  sockets: { readonly track: (name: string) => Effect.Effect<void, never, Scope.Scope> },
  name = parentOf
) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* sockets.track(name).pipe(Scope.provide(scope))
    return { leave: Scope.close(scope, Exit.void) }
  })

const never = { track: () => Effect.die("there is no such member") }

/** A fleet that runs a session which is Ready, with one client. */
const running = (more: ConstructorParameters<typeof SessionFleet>[1] = {}) =>
  Effect.gen(function* () {
    yield* begin
    const fleet = new SessionFleet(undefined, more)
    const members = yield* fleet.startMembers()
    // The primary's links: without any a member ends its child on its own.
    for (const [index, child] of [childA, childB].entries()) yield* openSocket(members[index]?.sockets ?? never, child)
    const primary = yield* fleet.startPrimary()
    yield* pass(1)
    const { leave } = yield* openSocket(primary.sockets)
    fleet.createParent(day0 + 1_000)
    yield* pass(5)
    expect(fleet.status()?.phase).toBe("Ready")
    return { fleet, primary, leave }
  })

describe("the life of a multi-cluster session", () => {
  it.effect("goes Initializing, Pending, Ready; children are named in the status before they exist", function* () {
    yield* begin
    const fleet = new SessionFleet()
    const phases: Array<string | undefined> = []
    const early: Array<string> = []
    for (const [name, api] of fleet.members) {
      api.before = (call) =>
        Effect.sync(() => {
          if (call.verb === "create" && fleet.status()?.clusterSessions?.[name]?.sessionName !== call.name)
            early.push(call.name)
        })
    }
    fleet.primary.after = () => Effect.sync(() => void phases.push(fleet.status()?.phase))
    yield* fleet.startMembers()
    const { sockets } = yield* fleet.startPrimary()
    yield* pass(1)
    yield* openSocket(sockets)
    fleet.createParent(day0)
    yield* pass(5)
    expect(early).toEqual([])
    // The heartbeat of the client that waits comes later.
    expect([...new Set(phases)]).toEqual(["Initializing", "Pending", "Ready"])
    expect(fleet.status()?.clusterSessions).toMatchObject({
      "cluster-a": { sessionName: childA, ready: true },
      "cluster-b": { sessionName: childB, ready: true }
    })
    expect(fleet.children("cluster-a")).toEqual([childA])
    const child = fleet.member("cluster-b").peek(mirrordClusterSessions, childB)
    expect(child).toMatchObject({
      apiVersion: "mirrord.metalbear.co/v1alpha",
      kind: "MirrordClusterSession",
      spec: { multiClusterParentName: parentOf, namespace: "default" },
      metadata: { annotations: { [childAnnotations.sessionTtlSecs]: "60" } }
    })
  })

  it.effect("has each child created once, also while no watch shows it", function* () {
    yield* begin
    const fleet = new SessionFleet()
    yield* fleet.startMembers()
    const { manager, sockets } = yield* fleet.startPrimary()
    yield* pass(1)
    yield* openSocket(sockets)
    const member = fleet.member("cluster-a")
    member.setMuted(true)
    fleet.createParent(day0)
    yield* pass(1)
    manager.enqueueAll()
    yield* pass(1)
    member.setMuted(false)
    yield* pass(10)
    expect(fleet.status()?.phase).toBe("Ready")
    expect(member.calls.filter(({ name, verb }) => verb === "create" && name === childA)).toHaveLength(1)
  })

  it.effect(
    "is Ready well before the loss of silent clusters could be concluded: the first look is enough",
    function* () {
      yield* begin
      const fleet = new SessionFleet()
      yield* fleet.startMembers()
      const { sockets } = yield* fleet.startPrimary()
      yield* openSocket(sockets)
      fleet.createParent(day0)
      yield* pass(2)
      expect(fleet.status()?.phase).toBe("Ready")
    }
  )

  it.effect("ends with its parent: children first, then the finalizer, agents let go", function* () {
    const { fleet } = yield* running()
    const order: Array<string> = []
    for (const api of [...fleet.members.values(), fleet.primary]) {
      api.after = (call) =>
        Effect.sync(() => {
          if (call.verb === "delete" || call.subresource === undefined) order.push(`${call.verb} ${call.name}`)
        })
    }
    yield* fleet.primary.delete(mirrordMultiClusterSessions, parentOf)
    yield* pass(2)
    expect(fleet.primary.peekAll(mirrordMultiClusterSessions)).toEqual([])
    expect([fleet.children("cluster-a"), fleet.children("cluster-b")]).toEqual([[], []])
    expect([fleet.agentsOf("cluster-a").open, fleet.agentsOf("cluster-b").open]).toEqual([0, 0])
    expect(order.at(-1)).toBe(`patch ${parentOf}`)
    expect(order.filter((call) => call.startsWith("delete")).length).toBe(3)
  })

  it.effect("is deleted when no client was there for the TTL, not before", function* () {
    const { fleet, leave } = yield* running()
    yield* pass(600)
    expect(fleet.status()?.phase).toBe("Ready")
    yield* leave
    yield* pass(55)
    expect(fleet.status()?.phase).toBe("Ready")
    // Its last heartbeats, which only others count, make it no longer.
    yield* pass(6)
    expect(fleet.primary.peekAll(mirrordMultiClusterSessions)).toEqual([])
    expect([fleet.children("cluster-a"), fleet.children("cluster-b")]).toEqual([[], []])
  })

  it.effect(
    "takes another replica's heartbeats for life, by when they are seen and not by what they say",
    function* () {
      const { fleet, leave } = yield* running()
      yield* leave
      // A host whose clock is ten minutes behind.
      for (let i = 0; i < 30; i++) {
        yield* pass(10)
        fleet.primary.write(mirrordMultiClusterSessions, parentOf, {
          status: { connectedTimestamp: timestamp(day0 - 600_000 + i * 10_000) }
        })
      }
      yield* pass(50)
      expect(fleet.status()?.phase).toBe("Ready")
      yield* pass(30)
      expect(fleet.status()).toBeUndefined()
    }
  )

  it.effect(
    "writes one heartbeat per ten seconds and session while a socket is open, and nothing else, for an hour",
    function* () {
      const { fleet } = yield* running()
      yield* pass(60)
      const calls = [fleet.primary, ...fleet.members.values()].map((api) => [api, api.calls.length] as const)
      yield* pass(3600)
      for (const [api, from] of calls) {
        const writes = api.calls
          .slice(from)
          .filter(({ verb }) => verb === "create" || verb === "patch" || verb === "delete")
        expect(
          writes.filter(({ body }) => JSON.stringify(body ?? "").includes("connectedTimestamp") === false)
        ).toEqual([])
        expect(writes.length).toBe(360)
      }
    }
  )

  it.effect("plans nothing because of a heartbeat, be it the parent's or a child's", function* () {
    const { fleet, primary, leave } = yield* running()
    yield* leave
    yield* pass(30)
    let noticed = 0
    const toldBefore = primary.told.length
    yield* Effect.forkScoped(primary.notifier.until(parentOf, () => void noticed++))
    yield* pass(0.1)
    noticed = 0
    for (let i = 0; i < 20; i++) {
      fleet
        .member("cluster-b")
        .write(mirrordClusterSessions, childB, { status: { connectedTimestamp: timestamp(day0 + i) } })
      fleet.primary.write(mirrordMultiClusterSessions, parentOf, {
        status: { connectedTimestamp: timestamp(day0 + i) }
      })
      yield* pass(0.1)
    }
    expect([primary.told.length - toldBefore, noticed]).toEqual([0, 0])
    fleet.primary.write(mirrordMultiClusterSessions, parentOf, { metadata: { labels: { a: "b" } } })
    fleet.member("cluster-b").erase(mirrordClusterSessions, childB)
    yield* pass(0.1)
    expect(primary.told.length).toBeGreaterThan(toldBefore)
    expect(noticed).toBeGreaterThan(0)
  })
})

describe("members that are missing", () => {
  it.effect("are left out after their grace, with the reason in the status, and join when they are back", function* () {
    yield* begin
    const fleet = new SessionFleet()
    fleet.member("cluster-b").setReachable(false)
    yield* fleet.startMembers()
    const { sockets } = yield* fleet.startPrimary()
    yield* pass(1)
    yield* openSocket(sockets)
    fleet.createParent(day0 + 1_000)
    yield* pass(20)
    expect(fleet.status()?.phase).toBe("Ready")
    expect(fleet.status()?.clusterSessions?.["cluster-b"]).toMatchObject({
      ready: false,
      error: expect.stringContaining("connection refused")
    })
    fleet.member("cluster-b").setReachable(true)
    yield* pass(90)
    expect(fleet.status()?.clusterSessions?.["cluster-b"]).toEqual({ sessionName: childB, ready: true })
  })

  it.effect("without such a target are left out at once and join when the workload appears", function* () {
    yield* begin
    const fleet = new SessionFleet()
    const b = fleet.member("cluster-b")
    b.erase({ group: "apps", version: "v1", plural: "deployments", scope: "Namespaced" }, "myapp", "default")
    yield* fleet.startMembers()
    const { sockets } = yield* fleet.startPrimary()
    yield* openSocket(sockets)
    fleet.createParent(day0)
    yield* pass(5)
    expect(fleet.status()?.phase).toBe("Ready")
    expect(fleet.status()?.clusterSessions?.["cluster-b"]?.error).toContain("myapp")
    addWorkload(b)
    yield* pass(40)
    expect(fleet.status()?.clusterSessions?.["cluster-b"]).toEqual({ sessionName: childB, ready: true })
  })

  it.effect("that were lost from a running session are told so and come back", function* () {
    const { fleet } = yield* running()
    fleet.member("cluster-b").setReachable(false)
    yield* pass(30)
    expect(fleet.status()?.phase).toBe("Ready")
    expect(fleet.status()?.clusterSessions?.["cluster-b"]).toMatchObject({ ready: false, error: expect.any(String) })
    fleet.member("cluster-b").setReachable(true)
    yield* pass(90)
    expect(fleet.status()?.clusterSessions?.["cluster-b"]).toEqual({ sessionName: childB, ready: true })
  })

  it.effect("fail the session when it is the default cluster, and what was made elsewhere is taken back", function* () {
    yield* begin
    const fleet = new SessionFleet()
    fleet.member("cluster-a").setReachable(false)
    yield* fleet.startMembers()
    const { sockets } = yield* fleet.startPrimary()
    yield* pass(6)
    yield* openSocket(sockets)
    fleet.createParent(day0 + 6_000)
    yield* pass(10)
    expect(fleet.status()).toMatchObject({
      phase: "Failed",
      closed: expect.stringMatching(/cluster-a.*connection refused/)
    })
    expect(fleet.children("cluster-b")).toEqual([])
    yield* pass(15)
    expect(fleet.status()?.phase).toBe("Failed")
    // The child of the member that is away becomes a debt first.
    yield* pass(105)
    expect(fleet.status()).toBeUndefined()
  })

  it.effect("that refuse the child for good are asked again only after a pause", function* () {
    yield* begin
    const fleet = new SessionFleet()
    const b = fleet.member("cluster-b")
    b.before = ({ verb }) => (verb === "create" ? Effect.fail(refusedBy("Forbidden", 403)) : Effect.void)
    yield* fleet.startMembers()
    const { sockets } = yield* fleet.startPrimary()
    yield* openSocket(sockets)
    fleet.createParent(day0)
    yield* pass(40)
    expect(fleet.status()).toMatchObject({
      phase: "Ready",
      clusterSessions: { "cluster-b": { ready: false, error: "Forbidden as told" } }
    })
    expect(writesSince(b).length).toBeLessThanOrEqual(4)
    b.before = () => Effect.void
    yield* pass(20)
    expect(fleet.status()?.clusterSessions?.["cluster-b"]?.ready).toBe(true)
  })

  it.effect("that are away when the session ends owe its child, and pay when they are back", function* () {
    const { fleet } = yield* running()
    fleet.member("cluster-b").setReachable(false)
    yield* fleet.primary.delete(mirrordMultiClusterSessions, parentOf)
    yield* pass(30)
    expect(fleet.status()?.phase).toBe("Terminating")
    expect(fleet.children("cluster-a")).toEqual([])
    yield* pass(60)
    expect(fleet.status()).toBeUndefined()
    expect(fleet.children("cluster-b")).toEqual([childB])
    fleet.member("cluster-b").setReachable(true)
    yield* pass(120)
    expect(fleet.children("cluster-b")).toEqual([])
  })

  it.effect("that were never reached for want of credentials owe nothing when the session ends", function* () {
    yield* begin
    const fleet = new SessionFleet()
    fleet.primary.erase(secrets, "mirrord-cluster-cluster-b", "mirrord")
    yield* fleet.startMembers()
    const { debts, sockets } = yield* fleet.startPrimary()
    yield* pass(1)
    yield* openSocket(sockets)
    fleet.createParent(day0)
    yield* pass(30)
    expect(fleet.status()?.phase).toBe("Ready")
    expect(fleet.status()?.clusterSessions?.["cluster-b"]?.error).toMatch(/Secret/)
    yield* fleet.primary.delete(mirrordMultiClusterSessions, parentOf)
    yield* pass(5)
    expect(fleet.status()).toBeUndefined()
    expect([...debts.names()]).toEqual([])
  })
})

describe("a cluster that is new in the fleet and was never reached", () => {
  it.effect.each([
    ["is still there", false],
    ["has left again", true]
  ])("owes nothing when a running session ends that has taken it in, if it %s", function* ([, isGone]) {
    const { fleet, primary } = yield* running()
    yield* fleet.primary.mergePatch(mirrordMultiClusterSessions, parentOf, { metadata: { labels: ownerLabel } }, {})
    fleet.members.set("cluster-c", workloadCluster("cluster-c"))
    const secret = "mirrord-cluster-cluster-c"
    for (const cluster of workloadClusters(configurationOf(["cluster-a", "cluster-c"])))
      if (!cluster.isDefault) yield* primary.fleet.join(cluster)
    yield* pass(5)
    expect(fleet.status()?.clusterSessions).not.toHaveProperty("cluster-c")
    // It connects, and is lost again as soon as the session has taken it in.
    fleet.primary.after = ({ verb }) => {
      if (verb !== "patch" || fleet.primary.peek(secrets, secret, operatorNamespace) === undefined) return Effect.void
      fleet.primary.erase(secrets, secret, operatorNamespace)
      return Effect.sleep("1 second")
    }
    giveCredentials(fleet.primary, "cluster-c")
    yield* pass(5)
    expect(fleet.status()?.clusterSessions?.["cluster-c"]?.error).toMatch(/Secret/)
    if (isGone) yield* primary.fleet.leave(clusterName("cluster-c"))
    yield* fleet.primary.delete(mirrordMultiClusterSessions, parentOf)
    yield* pass(5)
    expect([fleet.status(), [...primary.debts.names()]]).toEqual([undefined, []])
  })
})

describe("what goes wrong in between", () => {
  it.effect("a create whose answer was lost is no child that is gone: it is deleted with its parent", function* () {
    const { fleet } = yield* running()
    const b = fleet.member("cluster-b")
    // The child vanishes and its DELETE is answered with 404, then it is made again and the answer is lost.
    fleet.primary.write(mirrordMultiClusterSessions, parentOf, { status: { phase: "Ready" } })
    yield* b.delete(mirrordClusterSessions, childB)
    b.after = ({ verb }) => (verb === "create" ? Effect.fail(refusedBy("Unreachable")) : Effect.void)
    yield* pass(5)
    b.after = () => Effect.void
    yield* fleet.primary.delete(mirrordMultiClusterSessions, parentOf)
    yield* pass(10)
    expect(fleet.status()).toBeUndefined()
    expect(fleet.children("cluster-b")).toEqual([])
  })

  it.effect("a neighbour whose name begins alike is left alone", function* () {
    const { fleet } = yield* running()
    const other = {
      metadata: {},
      spec: {
        namespace: "default",
        multiClusterParentName: `${parentOf}-cluster`,
        owner: { userId: "u", username: "d", hostname: "h", k8sUsername: "k" }
      }
    }
    fleet.member("cluster-b").write(mirrordClusterSessions, `${childB}-2`, other)
    yield* fleet.primary.delete(mirrordMultiClusterSessions, parentOf)
    yield* pass(5)
    expect(fleet.children("cluster-b")).toEqual([`${childB}-2`])
  })

  it.effect("garbage in custom resources stops no other session", function* () {
    yield* begin
    const fleet = new SessionFleet()
    fleet.primary.write(mirrordMultiClusterSessions, "mc-0000000000000001", { spec: 7 })
    fleet.primary.write(mirrordMultiClusterSessions, "mc-0000000000000002", {
      spec: { clusters: "all" },
      status: { phase: "Dancing" }
    })
    fleet.member("cluster-b").write(mirrordClusterSessions, "garbage", { spec: null, status: [1] })
    fleet.member("cluster-a").write(mirrordClusterSessions, "garbage", {
      spec: { multiClusterParentName: 3 },
      metadata: { annotations: { a: "b" } }
    })
    yield* fleet.startMembers()
    const { sockets } = yield* fleet.startPrimary()
    yield* openSocket(sockets)
    fleet.createParent(day0)
    yield* pass(10)
    expect(fleet.status()?.phase).toBe("Ready")
    expect(writesSince(fleet.primary).filter((write) => !write.includes(parentOf))).toEqual([])
    yield* pass(3600)
    expect(fleet.status()?.phase).toBe("Ready")
  })

  it.effect(
    "a write to a session without status that changes only its managed fields stops no other session",
    function* () {
      yield* begin
      const fleet = new SessionFleet()
      yield* fleet.startMembers()
      const { sockets } = yield* fleet.startPrimary()
      yield* openSocket(sockets)
      fleet.primary.write(mirrordMultiClusterSessions, "garbage", { spec: null })
      yield* pass(1)
      const managedFields = [{ manager: "kubectl", operation: "Apply" }]
      fleet.primary.write(mirrordMultiClusterSessions, "garbage", { metadata: { managedFields } })
      yield* pass(1)
      fleet.createParent(day0 + 1_000)
      yield* pass(5)
      expect(fleet.status()?.phase).toBe("Ready")
    }
  )

  it.effect("a slow member holds up neither the others nor the next plan for longer than its bound", function* () {
    yield* begin
    const fleet = new SessionFleet()
    fleet.member("cluster-b").before = ({ verb }) => (verb === "create" ? Effect.never : Effect.void)
    yield* fleet.startMembers()
    const { sockets } = yield* fleet.startPrimary()
    yield* openSocket(sockets)
    fleet.createParent(day0)
    yield* pass(40)
    expect(fleet.status()).toMatchObject({
      phase: "Ready",
      clusterSessions: { "cluster-a": { ready: true }, "cluster-b": { ready: false } }
    })
  })

  it.effect("a storm of conflicts loses nobody's field and comes to rest", function* () {
    const { fleet } = yield* running()
    fleet.primary.before = ({ subresource, verb }) =>
      Effect.sync(() => {
        if (verb !== "patch" || subresource !== "status") return
        const count = Number(fleet.primary.peek(mirrordMultiClusterSessions, parentOf)?.metadata.labels?.["count"] ?? 0)
        if (count < 10)
          fleet.primary.write(mirrordMultiClusterSessions, parentOf, {
            metadata: { labels: { count: String(count + 1) } }
          })
      })
    fleet.member("cluster-b").setReachable(false)
    yield* pass(60)
    expect(fleet.status()?.clusterSessions?.["cluster-b"]?.ready).toBe(false)
    expect(fleet.primary.peek(mirrordMultiClusterSessions, parentOf)?.metadata.labels?.["count"]).toBe("10")
  })
})

describe("a primary that is killed", () => {
  /** How many writes a whole life of a session takes, from the parent to nothing. */
  const life = (killAt: number) =>
    Effect.gen(function* () {
      yield* begin
      const fleet = new SessionFleet()
      yield* fleet.startMembers()
      let writes = 0
      let answer: "kept" | "lost" = "kept"
      const kill = () => {
        if (writes !== killAt) return Effect.void
        return answer === "lost" ? Effect.fail(refusedBy("Unreachable")) : Effect.never
      }
      const count = ({
        name,
        subresource,
        verb
      }: {
        readonly name: string
        readonly verb: string
        readonly subresource: string | undefined
      }) => {
        const byMember = fleet.members.size > 0 && subresource === "status" && name !== parentOf
        return (verb === "create" || verb === "patch" || verb === "delete") && !byMember
      }
      for (const api of [fleet.primary, ...fleet.members.values()]) {
        api.after = (call) =>
          Effect.suspend(() => {
            if (!count(call)) return Effect.void
            writes++
            return kill()
          })
      }
      answer = killAt % 2 === 0 ? "lost" : "kept"
      const first = yield* fleet.startPrimary()
      yield* openSocket(first.sockets)
      fleet.createParent(day0)
      yield* pass(3)
      yield* first.stop
      yield* pass(3)
      const second = yield* fleet.startPrimary()
      const { leave } = yield* openSocket(second.sockets)
      yield* pass(20)
      expect(fleet.status()).toMatchObject({
        phase: "Ready",
        clusterSessions: { "cluster-a": { ready: true }, "cluster-b": { ready: true } }
      })
      expect([fleet.children("cluster-a"), fleet.children("cluster-b")]).toEqual([[childA], [childB]])
      yield* fleet.primary
        .delete(mirrordMultiClusterSessions, parentOf)
        .pipe(Effect.ignore, Effect.timeoutOption(1), Effect.forkScoped)
      yield* pass(1)
      yield* second.stop
      yield* leave
      const third = yield* fleet.startPrimary()
      yield* pass(30)
      expect([fleet.status(), fleet.children("cluster-a"), fleet.children("cluster-b")]).toEqual([undefined, [], []])
      yield* third.stop
      return writes
    }).pipe(Effect.scoped)

  it.effect("after any of its writes leaves a session that its successor brings to life and to an end", function* () {
    const total = yield* life(-1)
    expect(total).toBeGreaterThan(8)
    for (let killAt = 1; killAt <= total; killAt++) yield* life(killAt)
  })

  it.effect("does not end a session whose client could not reach anybody meanwhile", function* () {
    const { fleet, primary } = yield* running()
    yield* primary.stop
    yield* pass(600)
    yield* fleet.startPrimary()
    yield* pass(180)
    expect(fleet.status()?.phase).toBe("Ready")
    yield* pass(120)
    expect(fleet.status()).toBeUndefined()
  })
})
