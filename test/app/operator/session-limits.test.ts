import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber, Result, Scope } from "effect"
import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { at } from "../../../src/domain/json.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { SessionInfo } from "../../../src/domain/resources/session.ts"
import { defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { stealHeader, stealPort } from "../../domain/relay/scenario.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../support/memory-session.ts"
import { deploy, type MemoryCluster, openConnection } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"

const bob = { user: "bob", groups: ["developers"], extra: {} }

const objectsOf = ({ api }: MemoryCluster): number =>
  api.peekAll(mirrordMultiClusterSessions).length + api.peekAll(mirrordClusterSessions).length

/** A primary that is its own default cluster, with a workload. */
const startOwnDefault = (settings: Parameters<typeof startWorld>[0] = {}) =>
  Effect.tap(
    startWorld({ managementOnly: false, defaultCluster: clusterName("primary"), ...settings }),
    ({ world: { primary } }) => Effect.sync(() => deploy(primary, "myapp"))
  )

/** Connects in a scope of its own, which ends with a refusal, or when the result closes it. */
const session = Effect.fnUntraced(function* (cluster: MemoryCluster, wanted: ConnectRequest) {
  const scope = yield* Scope.make()
  const result = yield* connectTo(cluster, wanted).pipe(Scope.provide(scope))
  const leave = Scope.close(scope, Exit.void)
  if (Result.isFailure(result)) yield* leave
  return { result, leave }
})

const caller = { user: "admin", groups: [], extra: {} }

describe("the bounds of an operator", () => {
  const limits = { bounds: { ...defaultBounds, sessionsPerUser: 2, sessions: 3, connectionsPerSession: 3 } }

  it.effect("refuse a user's session beyond them with 403 and a sentence, and let everything else be", function* () {
    const { certificate, world } = yield* startWorld({}, { limits })
    const ask = (sessionId: string, more: Partial<ConnectRequest> = {}) =>
      connectTo(world.primary, request(certificate, { sessionId, ...more }))
    opened(yield* ask("1"))
    opened(yield* ask("2"))
    const refused = refusedWith(yield* ask("3"))
    assert.deepStrictEqual([refused.code, refused.reason], [403, "Forbidden"])
    assert.match(refused.message, /^The bound of sessions of user ann is reached: there are 2, and 2 are allowed/)
    assert.strictEqual(objectsOf(world.primary), 2)
    // The second connection of a session, and another user.
    opened(yield* ask("1"))
    opened(yield* ask("4", { caller: bob, certificate: yield* certificateOf(world.primary) }))
    const all = refusedWith(yield* ask("5", { caller: bob }))
    assert.match(all.message, /^The bound of sessions of all users is reached: there are 3/)
    assert.strictEqual(objectsOf(world.primary), 3)
  })

  it.effect("count requests of the same moment, which have no objects yet", function* () {
    const { certificate, world } = yield* startWorld({}, { limits })
    const results = yield* Effect.forEach(
      ["1", "2", "3", "4", "1"],
      (sessionId) => connectTo(world.primary, request(certificate, { sessionId })),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(
      results.map((result) => Result.isSuccess(result)),
      [true, true, false, false, true]
    )
    assert.strictEqual(objectsOf(world.primary), 2)
  })

  it.effect("count sessions that failed, and let a client come back to its own session", function* () {
    const { certificate, world } = yield* startWorld({}, { limits })
    const ask = (sessionId: string, target = "deployment.myapp") =>
      session(world.primary, request(certificate, { sessionId, target }))
    const first = yield* ask("1")
    opened(first.result)
    assert.strictEqual(refusedWith((yield* ask("2", "deployment.nothing")).result).code, 404)
    assert.match(refusedWith((yield* ask("3")).result).message, /sessions of user ann is reached: there are 2/)
    yield* first.leave
    yield* pass("5 seconds")
    opened((yield* ask("1")).result)
    // A session that failed counts only as long as it is there.
    for (let i = 0; i < 8; i++) yield* pass("5 seconds")
    opened((yield* ask("3")).result)
  })

  it.effect("hold for the connections of one session, and give them back", function* () {
    const { certificate, world } = yield* startWorld({}, { limits })
    const ask = () => session(world.primary, request(certificate))
    const connections = [yield* ask(), yield* ask(), yield* ask()]
    for (const { result } of connections) opened(result)
    const refused = refusedWith((yield* ask()).result)
    assert.strictEqual(refused.code, 403)
    assert.match(refused.message, /^The bound of connections of session mc-00000000000000ff is reached: there are 3/)
    yield* connections[0]?.leave ?? Effect.void
    opened((yield* ask()).result)
    // Somebody else, who knows the session's id, uses up none of its connections.
    const stranger = yield* certificateOf(world.primary)
    assert.match(refusedWith((yield* session(world.primary, request(stranger))).result).message, /another user/)
  })

  it.effect("hold for sessions of one cluster as well", function* () {
    const { world } = yield* startWorld({}, { limits })
    const a = memberOf(world, "a")
    const certificate = yield* certificateOf(a)
    const ask = (sessionId: string) => Effect.result(openConnection(a, request(certificate, { sessionId })))
    opened(yield* ask("1"))
    opened(yield* ask("2"))
    assert.strictEqual(refusedWith(yield* ask("3")).code, 403)
    assert.lengthOf(a.api.peekAll(mirrordClusterSessions), 2)
  })

  it.effect("hold for agents in the cluster of the target, whose reason reaches the user", function* () {
    const { certificate, world } = yield* startWorld({}, { limits: { bounds: { ...defaultBounds, agentsPerUser: 1 } } })
    const ask = (sessionId: string, target: string) =>
      connectTo(world.primary, request(certificate, { sessionId, target }))
    opened(yield* ask("1", "targetless"))
    const refused = refusedWith(yield* ask("2", "targetless"))
    assert.strictEqual(refused.code, 403)
    assert.match(
      refused.message,
      /^The session failed in cluster a: the bound of agents of user ann is reached: there are 1, and 1 are allowed/
    )
  })
})

describe("a target in a protected namespace", () => {
  const inNamespace = (namespace: string) => ({ namespace, target: "deployment.system" })

  it.effect("is refused by the cluster that it is in, although the primary may not know", function* () {
    const { certificate, world } = yield* startWorld()
    for (const cluster of world.members.values()) deploy(cluster, "system", "mirrord")
    const refused = refusedWith(yield* connectTo(world.primary, request(certificate, inNamespace("mirrord"))))
    assert.deepStrictEqual([refused.code, refused.reason], [403, "Forbidden"])
    assert.match(refused.message, /^The session failed in cluster a: targets in namespace mirrord are refused, since/)
    for (const { agentConnections } of world.members.values()) assert.strictEqual(agentConnections, 0)
  })

  it.effect(
    "is refused before anything is made, in a single cluster and by a primary that is its own default",
    function* () {
      const { world } = yield* startWorld({ managementOnly: false, defaultCluster: clusterName("primary") })
      for (const cluster of [memberOf(world, "a"), world.primary]) {
        deploy(cluster, "system", "kube-system")
        const certificate = yield* certificateOf(cluster)
        const refused = refusedWith(yield* connectTo(cluster, request(certificate, inNamespace("kube-system"))))
        assert.strictEqual(refused.code, 403)
        assert.match(refused.message, /targets in namespace kube-system are refused/)
        assert.strictEqual(objectsOf(cluster), 0)
        opened(yield* connectTo(cluster, request(certificate, { namespace: "kube-system", target: "targetless" })))
      }
    }
  )
})

describe("a stranger with the id of a session", () => {
  it.effect("is refused, and keeps the session alive for no moment", function* () {
    const { certificate, world } = yield* startWorld()
    const { leave, result } = yield* session(world.primary, request(certificate))
    opened(result)
    const stranger = yield* certificateOf(world.primary)
    yield* leave
    for (let i = 0; i < 11; i++) yield* pass("5 seconds")
    assert.strictEqual(objectsOf(world.primary), 1)
    assert.strictEqual(refusedWith((yield* session(world.primary, request(stranger))).result).code, 403)
    for (let i = 0; i < 5; i++) yield* pass("5 seconds")
    assert.strictEqual(objectsOf(world.primary), 0)
  })
})

describe("a session of the longest time", () => {
  it.effect("ends although its client is there, and no other of its id begins", function* () {
    const { certificate, world } = yield* startWorld({}, { limits: { maxSessionSecs: 100 } })
    for (const cluster of [memberOf(world, "a"), world.primary]) {
      const own = cluster === world.primary ? certificate : yield* certificateOf(cluster)
      opened((yield* session(cluster, request(own))).result)
      const kept = objectsOf(cluster)
      for (let i = 0; i < 18; i++) yield* pass("5 seconds")
      assert.strictEqual(objectsOf(cluster), kept)
      for (let i = 0; i < 5; i++) yield* pass("5 seconds")
      assert.strictEqual(objectsOf(cluster), 0)
      const gone = refusedWith(yield* connectTo(cluster, request(own)))
      assert.deepStrictEqual([gone.code, gone.reason], [410, "ReconnectNotPossible"])
      opened(yield* connectTo(cluster, request(own, { sessionId: "257" })))
    }
  })

  it.effect("is over in all its clusters when it is over at its primary, and not before", function* () {
    const { certificate, world } = yield* startWorld({}, { limits: { maxSessionSecs: 100 } })
    opened((yield* session(world.primary, request(certificate))).result)
    const children = () => [...world.members.values()].map(objectsOf)
    for (let i = 0; i < 18; i++) yield* pass("5 seconds")
    assert.deepStrictEqual(children(), [1, 1])
    for (let i = 0; i < 5; i++) yield* pass("5 seconds")
    assert.deepStrictEqual(children(), [0, 0])
  })
})

/** The end of a connection by its other side. */
const ended = (channel: FrameChannel): Effect.Effect<void> =>
  Effect.callback((resume) => {
    channel.open({ message: () => {}, ended: () => resume(Effect.void), drained: () => {}, ignored: () => {} })
  })

describe("a session whose target has no pods any more", () => {
  const bringBack = (cluster: MemoryCluster) => deploy(cluster, "myapp")
  const wait = Effect.fnUntraced(function* (seconds: number) {
    for (let i = 0; i < seconds / 5; i++) yield* pass("5 seconds")
  })

  /** A client that comes back whenever its connection ends, until it is told that it cannot; the answer to that. */
  const stayingClient = Effect.fnUntraced(function* (cluster: MemoryCluster, wanted: ConnectRequest) {
    for (;;) {
      const answer = yield* Effect.result(openConnection(cluster, wanted))
      if (Result.isSuccess(answer)) yield* ended(answer.success)
      else if ("code" in answer.failure && answer.failure.code === 410) return answer
      yield* Effect.sleep("1 second")
    }
  })

  it.effect("ends with a sentence, although its client is there, and no other of its id begins", function* () {
    const { world } = yield* startWorld({}, { limits: { podlessMillis: 100_000 } })
    const cluster = memberOf(world, "a")
    const own = yield* certificateOf(cluster)
    const client = yield* Effect.forkScoped(stayingClient(cluster, request(own)), { startImmediately: true })
    yield* wait(5)
    cluster.api.erase(pods, "myapp-1", "default")
    yield* wait(95)
    assert.strictEqual(objectsOf(cluster), 1)
    yield* wait(60)
    assert.strictEqual(objectsOf(cluster), 0)
    bringBack(cluster)
    for (const answer of [yield* Fiber.join(client), yield* connectTo(cluster, request(own))]) {
      const gone = refusedWith(answer)
      assert.deepStrictEqual([gone.code, gone.reason], [410, "ReconnectNotPossible"])
      assert.include(gone.message, "its target had no pods any more")
    }
    opened(yield* connectTo(cluster, request(own, { sessionId: "257" })))
  })
})

describe("a session that was stopped", () => {
  it.effect("stays stopped when its client comes back, although nothing of it is left", function* () {
    const { certificate, world } = yield* startWorld()
    for (const cluster of [memberOf(world, "a"), world.primary]) {
      const own = cluster === world.primary ? certificate : yield* certificateOf(cluster)
      for (const stop of ["one", "all"] as const) {
        const sessionId = stop === "one" ? "255" : "256"
        const { leave, result } = yield* session(cluster, request(own, { sessionId }))
        opened(result)
        yield* leave
        const { operator } = cluster
        if (operator === undefined) throw new Error("no operator")
        yield* stop === "one" ? operator.deleteSession(sessionId, caller) : operator.deleteSessions("All", caller)
        for (let i = 0; i < 10; i++) yield* pass("1 second")
        assert.strictEqual(objectsOf(cluster), 0)
        const gone = refusedWith(yield* connectTo(cluster, request(own, { sessionId })))
        assert.deepStrictEqual([gone.code, gone.reason], [410, "ReconnectNotPossible"])
        assert.match(gone.message, /^Session \S+ has ended for good: a user stopped it, .+; start a new one\.$/)
        assert.strictEqual(objectsOf(cluster), 0)
      }
      opened(yield* connectTo(cluster, request(own, { sessionId: "257" })))
    }
  })

  it.effect("may be any that has no client, at a primary, in its own cluster and in a member", function* () {
    const { certificate, world } = yield* startOwnDefault({ sessionTtlSecs: 600 })
    const member = yield* certificateOf(memberOf(world, "a"))
    const cases = [
      { cluster: world.primary, wanted: request(certificate, { query: "connect=true" }) },
      { cluster: world.primary, wanted: request(certificate, { query: "multi_cluster=false" }) },
      { cluster: memberOf(world, "a"), wanted: request(member, { query: "multi_cluster=false" }) }
    ]
    for (const { cluster, wanted } of cases) {
      const { operator } = cluster
      if (operator === undefined) throw new Error("no operator")
      const [used, left] = [
        { ...wanted, sessionId: "1", query: `${wanted.query}&key=mine` },
        { ...wanted, sessionId: "2" }
      ]
      const client = yield* session(cluster, used)
      opened(client.result)
      const gone = yield* session(cluster, left)
      opened(gone.result)
      yield* gone.leave
      yield* pass("5 seconds")
      // Its client may just be coming back.
      assert.strictEqual(yield* operator.deleteSessions("Inactive", caller), 0)
      for (let i = 0; i < 8; i++) yield* pass("5 seconds")
      assert.strictEqual(yield* operator.deleteSessions("Inactive", caller), 1)
      for (let i = 0; i < 8; i++) yield* pass("1 second")
      assert.strictEqual(refusedWith(yield* connectTo(cluster, left)).code, 410)
      opened(yield* connectTo(cluster, used))
      assert.lengthOf(yield* operator.listSessions(undefined), 1)
      assert.lengthOf(yield* operator.listSessions(undefined, "mine"), 1)
      assert.lengthOf(yield* operator.listSessions(undefined, "another key"), 0)
      assert.strictEqual(yield* operator.deleteSessions("All", caller), 1)
      yield* client.leave
      for (let i = 0; i < 8; i++) yield* pass("1 second")
    }
  })

  it.effect("is not stopped if that cannot be remembered", function* () {
    const { certificate, world } = yield* startWorld()
    opened(yield* connectTo(world.primary, request(certificate)))
    const { api, operator } = world.primary
    if (operator === undefined) throw new Error("no operator")
    api.setReachable(false)
    const refused = refusedWith(yield* Effect.result(operator.deleteSession("255", caller)))
    assert.strictEqual(refused.code, 500)
    assert.match(refused.message, /^Nothing was stopped/)
    api.setReachable(true)
    assert.strictEqual(objectsOf(world.primary), 1)
  })
})

describe("the sessions in the operator's status and in lists", () => {
  const status = (cluster: MemoryCluster) =>
    Effect.map(cluster.operator?.describe ?? Effect.die("no operator"), (object) => {
      const { status: found } = object as {
        readonly status: {
          readonly sessions: ReadonlyArray<SessionInfo>
          readonly statistics: object
          readonly multi_cluster_sessions?: ReadonlyArray<{ readonly id: string }>
        }
      }
      return found
    })
  const listed = (cluster: MemoryCluster) =>
    Effect.map(cluster.operator?.listSessions(undefined) ?? Effect.die("no operator"), (objects) =>
      objects.map((object) => (object as { readonly metadata: { readonly name: string } }).metadata.name)
    )

  it.effect("are those of the fleet and those of the cluster alone, each once, and at a member its part", function* () {
    const { certificate, world } = yield* startOwnDefault()
    const { primary } = world
    const ci = `&session_ci_info=${encodeURIComponent('{"provider":"gh"}')}`
    opened(yield* connectTo(primary, request(certificate, { query: `${request(certificate).query}${ci}` })))
    opened(yield* connectTo(primary, request(certificate, { sessionId: "10", query: "multi_cluster=false" })))
    yield* pass("5 seconds")
    // The fleet's session has a child here.
    assert.lengthOf(primary.api.peekAll(mirrordClusterSessions), 2)
    const { multi_cluster_sessions: parents, sessions, statistics } = yield* status(primary)
    assert.deepStrictEqual(sessions.map(({ id }) => id).toSorted(), ["A", "FF"])
    assert.deepInclude(
      sessions.find(({ id }) => id === "FF"),
      { user: "Ann/ann@laptop", target: "deployment/myapp", namespace: "default", key: "abc12" }
    )
    assert.deepStrictEqual(
      parents?.map(({ id }) => id),
      ["mc-00000000000000ff"]
    )
    assert.deepStrictEqual(statistics, { dau: 1, mau: 1, active_ci_sessions_count: 1 })
    assert.deepStrictEqual((yield* listed(primary)).toSorted(), ["a", "ff"])
    // A member lists its part of another cluster's session under that session's id and owner, and cannot stop it.
    const member = memberOf(world, "a")
    const parts = (yield* status(member)).sessions
    assert.deepStrictEqual(
      parts.map(({ id, user }) => [id, user]),
      [["FF", "Ann/ann@laptop"]]
    )
    assert.deepStrictEqual(yield* listed(member), ["ff"])
    const { operator } = member
    if (operator === undefined) throw new Error("no operator")
    assert.strictEqual(yield* operator.deleteSessions("All", caller), 0)
    const refused = refusedWith(yield* Effect.result(operator.deleteSession("ff", caller)))
    assert.deepStrictEqual([refused.code, refused.reason], [403, "Forbidden"])
    assert.match(refused.message, /; stop it at the operator of its primary cluster\.$/)
  })

  it.effect(
    "are also those that users began at members, which end for good there when they are stopped here",
    function* () {
      const { certificate, world } = yield* startOwnDefault()
      const { primary } = world
      const member = memberOf(world, "a")
      const own = yield* certificateOf(member)
      opened(yield* connectTo(primary, request(certificate)))
      for (const id of ["10", "11", "12"]) opened(yield* connectTo(member, request(own, { sessionId: id })))
      yield* pass("5 seconds")
      assert.deepStrictEqual((yield* listed(primary)).toSorted(), ["a", "b", "c", "ff"])
      assert.deepStrictEqual((yield* status(primary)).sessions.map(({ id }) => id).toSorted(), ["A", "B", "C", "FF"])
      const { operator } = primary
      if (operator === undefined) throw new Error("no operator")
      // A member knows which of its sessions are inactive.
      assert.strictEqual(yield* operator.deleteSessions("Inactive", caller), 0)
      const elsewhere = yield* Effect.result(operator.deleteSession("a", caller, "other"))
      assert.strictEqual(refusedWith(elsewhere).code, 404)
      yield* operator.deleteSession("a", caller, "default")
      yield* pass("5 seconds")
      assert.deepStrictEqual((yield* listed(primary)).toSorted(), ["b", "c", "ff"])
      const again = refusedWith(yield* connectTo(member, request(own, { sessionId: "10" })))
      assert.deepStrictEqual([again.code, again.reason], [410, "ReconnectNotPossible"])
      member.api.setReachable(false)
      const refused = refusedWith(yield* Effect.result(operator.deleteSession("b", caller)))
      assert.strictEqual(refused.code, 500)
      assert.match(refused.message, /^Session 000000000000000b of cluster a is not stopped: /)
      member.api.setReachable(true)
      yield* pass("5 seconds")
      assert.strictEqual(yield* operator.deleteSessions("All", caller), 3)
      yield* pass("90 seconds")
      assert.deepStrictEqual(yield* listed(primary), [])
    }
  )

  it.effect("are told from memory: no API server is asked, and all may be away", function* () {
    const { certificate, world } = yield* startOwnDefault()
    opened(yield* connectTo(world.primary, request(certificate)))
    const clusters = [world.primary, ...world.members.values()]
    for (const { api } of clusters) api.setReachable(false)
    const before = clusters.map(({ api }) => api.calls.length)
    const { multi_cluster_sessions: parents, sessions } = yield* status(world.primary)
    assert.deepStrictEqual([sessions.length, parents?.length], [1, 1])
    assert.lengthOf(yield* listed(world.primary), 1)
    assert.deepStrictEqual(
      clusters.map(({ api }) => api.calls.length),
      before
    )
  })

  it.effect("have the header filter that the client was given, in the fleet and in the cluster alone", function* () {
    const { certificate, world } = yield* startOwnDefault()
    const { primary } = world
    const parameters = { connect: "true", key: "k", header_filter: "x-user: ann" }
    const query = (more: object = {}) => new URLSearchParams({ ...parameters, ...more }).toString()
    opened(yield* connectTo(primary, request(certificate, { query: query() })))
    const alone = { sessionId: "10", query: query({ multi_cluster: "false" }) }
    opened(yield* connectTo(primary, request(certificate, alone)))
    const { sessions } = yield* status(primary)
    assert.deepStrictEqual(
      sessions.map(({ http_filter: filter }) => filter),
      Array.from({ length: 2 }, () => ({ headerFilter: "x-user: ann" }))
    )
  })

  it.effect(
    "have the ports that clients steal, with their filters, in the fleet and in the cluster alone",
    function* () {
      const { certificate, world } = yield* startOwnDefault()
      const { primary } = world
      for (const wanted of [{}, { sessionId: "10", query: "multi_cluster=false" }]) {
        const client = opened(yield* connectTo(primary, request(certificate, wanted)))
        client.open({ message: () => {}, ended: () => {}, drained: () => {}, ignored: () => {} })
        for (const message of [stealHeader(8080, `x-user: ${wanted.sessionId ?? "ff"}`), stealHeader(81, "\u202e")])
          client.send(clientMessage.encode(message))
      }
      yield* pass("1 second")
      const { sessions } = yield* status(primary)
      const ports = (id: string) => sessions.find((session) => session.id === id)?.locked_ports
      const cleaned = { port: 81, kind: "steal", filter: "header=\ufffd" }
      assert.deepStrictEqual(ports("FF"), [cleaned, { port: 8080, kind: "steal", filter: "header=x-user: ff" }])
      assert.deepStrictEqual(ports("A"), [cleaned, { port: 8080, kind: "steal", filter: "header=x-user: 10" }])
    }
  )

  it.effect("lock the ports that they steal whole, for their target in their namespace", function* () {
    const { certificate, world } = yield* startWorld()
    const { operator } = world.primary
    if (operator === undefined) throw new Error("no operator")
    const client = opened(yield* connectTo(world.primary, request(certificate)))
    client.open({ message: () => {}, ended: () => {}, drained: () => {}, ignored: () => {} })
    for (const message of [stealPort(8080), stealHeader(81, "x-user: ann")]) client.send(clientMessage.encode(message))
    yield* pass("1 second")
    const found = yield* operator.portLocks("default", "deploy.myapp.container.main")
    assert.deepStrictEqual(found, {
      apiVersion: "operator.metalbear.co/v1",
      kind: "Target",
      metadata: { name: "deployment.myapp.container.main", namespace: "default" },
      spec: {
        target: { deployment: "myapp", container: "main" },
        port_locks: [{ target_hash: sha256Hex("target default/deployment/myapp"), port: 8080 }]
      }
    })
    for (const [namespace, target] of [
      ["other", "deploy.myapp"],
      ["default", "pod.myapp"],
      ["default", "targetless"]
    ] as const)
      assert.deepStrictEqual(at(yield* operator.portLocks(namespace, target), "spec", "port_locks"), [])
    assert.strictEqual(refusedWith(yield* Effect.result(operator.portLocks("default", "deploy."))).code, 400)
  })

  it.effect("have users who count once, also after their sessions", function* () {
    const { certificate, world } = yield* startWorld()
    assert.deepStrictEqual((yield* status(world.primary)).statistics, { dau: 0, mau: 0, active_ci_sessions_count: 0 })
    const other = yield* certificateOf(world.primary)
    for (const [sessionId, own] of [
      ["1", certificate],
      ["2", certificate],
      ["3", other]
    ] as const) {
      const { leave, result } = yield* session(world.primary, request(own, { sessionId }))
      opened(result)
      yield* leave
    }
    for (let i = 0; i < 30; i++) yield* pass("10 seconds")
    assert.strictEqual(objectsOf(world.primary), 0)
    assert.deepStrictEqual((yield* status(world.primary)).statistics, { dau: 2, mau: 2, active_ci_sessions_count: 0 })
    yield* pass("1 day")
    assert.deepStrictEqual((yield* status(world.primary)).statistics, { dau: 0, mau: 2, active_ci_sessions_count: 0 })
  })

  it.effect("have users who count also after the operator has started again", function* () {
    const { certificate, world } = yield* startWorld({}, { keepsUsers: true })
    const { leave, result } = yield* session(world.primary, request(certificate))
    opened(result)
    yield* leave
    for (let i = 0; i < 12; i++) yield* pass("10 seconds")
    yield* world.kill(world.primary)
    yield* world.start(world.primary)
    yield* pass("1 second")
    assert.deepStrictEqual((yield* status(world.primary)).statistics, { dau: 1, mau: 1, active_ci_sessions_count: 0 })
  })
})
