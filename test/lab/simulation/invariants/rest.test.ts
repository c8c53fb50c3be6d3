/** Invariants that hold at rest, in a real simulated world: each is made to break by hand. */

import { describe, expect, it } from "vitest"
import { desiredIsActual } from "../../../../lab/simulation/invariants/l01-desired-is-actual.ts"
import { deadSessionsGo } from "../../../../lab/simulation/invariants/l02-dead-sessions-go.ts"
import { leftoversAreOwed } from "../../../../lab/simulation/invariants/l03-leftovers-are-owed.ts"
import { credentialsFresh } from "../../../../lab/simulation/invariants/l04-credentials-fresh.ts"
import { clientsComeBack } from "../../../../lab/simulation/invariants/l05-clients-come-back.ts"
import { queuesDrain } from "../../../../lab/simulation/invariants/l06-queues-drain.ts"
import { ledger } from "../../../../lab/simulation/invariants/ledger.ts"
import { restIsQuiet } from "../../../../lab/simulation/invariants/n04-rest-is-quiet.ts"
import { requestsAnswered } from "../../../../lab/simulation/invariants/n07-requests-answered.ts"
import type { World } from "../../../../lab/simulation/world/world.ts"
import { configMaps } from "../../../../src/domain/resources/core-kinds.ts"
import { parentName } from "../../../../src/domain/sessions/names.ts"
import type { SessionId } from "../../../../src/domain/sessions/session-id.ts"
import {
  asked,
  at,
  called,
  childObject,
  children,
  committed,
  find,
  findAtRest,
  makeWorld,
  mirrordClusterSessions,
  mirrordMultiClusterSessions,
  parent,
  parentObject,
  sessionId
} from "./fixture.ts"

/** A world with a session that steals port 80 in both clusters. */
const served = (): World => {
  const world = makeWorld()
  const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp", sessionId })
  client.do({ _tag: "Steal", type: { _tag: "All", value: 80 } })
  world.pass(100_000)
  expect(client.isServing).toBe(true)
  return world
}
const child = (cluster: string): string => `${parentName(sessionId as SessionId)}-${cluster}`
const owe = (world: World, name: string, cluster: string): void =>
  void world.primary.server.objects.write(
    configMaps,
    "mirrord-operator-debts",
    { data: { [name]: JSON.stringify({ cluster, parentUid: "u" }) } },
    { namespace: "mirrord", now: world.now }
  )

describe("a real world at rest", () => {
  it("breaks nothing while it serves", () => {
    const world = served()
    for (const invariant of [
      desiredIsActual,
      deadSessionsGo,
      leftoversAreOwed,
      clientsComeBack,
      queuesDrain,
      restIsQuiet,
      requestsAnswered
    ]) {
      expect(findAtRest(invariant, world)).toEqual([])
    }
  })
})

describe("L1", () => {
  it("finds a lost subscription", () => {
    const world = served()
    for (const { name } of world.cluster("b").kubelet.agents) world.cluster("b").kubelet.crashAgent(name)
    expect(findAtRest(desiredIsActual, world)).toEqual([
      "s1 has port 80, but no agent brings it the traffic of myapp-1 in b."
    ])
  })
  it("finds a status that disagrees", () => {
    const world = served()
    const { objects } = world.primary.server
    objects.write(mirrordMultiClusterSessions, parent, { status: { clusterSessions: { b: { ready: false } } } })
    expect(findAtRest(desiredIsActual, world)[0]).toContain("is not ready in b, although that cluster is well")
    objects.write(mirrordMultiClusterSessions, parent, { status: { phase: "Pending" } })
    expect(findAtRest(desiredIsActual, world)[0]).toContain("is Pending, although its default cluster is well")
  })
  it("finds a child that only the parent believes in", () => {
    const world = served()
    world.cluster("b").server.objects.erase(mirrordClusterSessions, child("b"))
    expect(findAtRest(desiredIsActual, world)[0]).toContain("does not exist")
  })
  it("demands nothing without a primary", () => {
    const world = served()
    world.cluster("b").server.objects.erase(mirrordClusterSessions, child("b"))
    world.primary.host.leaveForEver()
    expect(findAtRest(desiredIsActual, world)).toEqual([])
  })
  it("leaves out a port that two sessions ask for", () => {
    const world = served()
    for (const { name } of world.cluster("b").kubelet.agents) world.cluster("b").kubelet.crashAgent(name)
    const has = (client: string) =>
      at(0, { _tag: "ClientEvent", client, event: { _tag: "Subscribed", port: 80, calls: 1, result: { _tag: "Ok" } } })
    expect(findAtRest(desiredIsActual, world, "healed", [has("s1")])).toHaveLength(1)
    expect(findAtRest(desiredIsActual, world, "healed", [has("s1"), has("s2")])).toEqual([])
  })
  it("demands nothing of a cluster whose operator is gone", () => {
    const world = served()
    world.cluster("b").host.leaveForEver()
    world.primary.server.objects.write(mirrordMultiClusterSessions, parent, {
      status: { clusterSessions: { b: { ready: false, error: "gone" } } }
    })
    expect(findAtRest(desiredIsActual, world)).toEqual([])
  })
})

describe("L2", () => {
  it("finds a parent and a child that outlive their client", () => {
    const world = makeWorld()
    const since = world.now
    world.primary.host.pause()
    world.cluster("a").host.pause()
    world.primary.server.objects.write(mirrordMultiClusterSessions, parent, parentObject({ phase: "Ready" }), {
      namespace: undefined,
      now: since
    })
    world.cluster("a").server.objects.write(mirrordClusterSessions, "mc-0-a", childObject("mc-0-a", "u", "mc-0"), {
      namespace: undefined,
      now: since
    })
    world.pass(395_000)
    const found = findAtRest(deadSessionsGo, world)
    expect(found[0]).toContain(`${parent} is still there (Ready)`)
    expect(found[1]).toContain("The child mc-0-a in a has neither")
  })
  it("takes what has just ended", () => {
    const world = served()
    world.client("s1").leave()
    const ended = at(world.now, { _tag: "ClientEnded", client: "s1", rule: undefined, message: "left" })
    expect(findAtRest(deadSessionsGo, world, "healed", [ended])).toEqual([])
  })
})

describe("L3", () => {
  const released = called(0, { verb: "patch", body: { metadata: { uid: "primary-uid-9", finalizers: [] } } })
  const gone = committed(
    "primary",
    mirrordMultiClusterSessions,
    undefined,
    parentObject({ clusterSessions: { a: { sessionName: child("a"), ready: true } } })
  )
  it("finds a child that is left behind without a debt", () => {
    const world = makeWorld()
    expect(find(leftoversAreOwed, [released, gone], world)).toBeUndefined()
    world.cluster("a").server.objects.write(mirrordClusterSessions, child("a"), childObject(child("a")))
    expect(find(leftoversAreOwed, [released, gone], world)).toContain("the ledger does not name it")
    // As if a person had removed the finalizer.
    expect(find(leftoversAreOwed, [gone], world)).toBeUndefined()
    owe(world, child("a"), "a")
    expect(find(leftoversAreOwed, [released, gone], world)).toBeUndefined()
  })
  it("finds a debt that nobody pays, unless its cluster is away", () => {
    const world = makeWorld()
    owe(world, child("a"), "a")
    expect(findAtRest(leftoversAreOwed, world)).toEqual([`${child("a")} is still owed in a, which is there.`])
    world.cluster("a").host.leaveForEver()
    expect(findAtRest(leftoversAreOwed, world)).toEqual([])
  })
})

describe("L4", () => {
  const refused = (ms: number) => asked(ms, { verb: "list", to: "a" }, "Unauthorized")
  it("finds a cluster that keeps refusing", () => {
    expect(find(credentialsFresh, [...refused(0), ...refused(70_000)])).toContain("has been refused for 70 s")
    expect(
      find(credentialsFresh, [...refused(0), ...asked(1, { verb: "list", to: "a" }), ...refused(70_000)])
    ).toBeUndefined()
    expect(findAtRest(credentialsFresh, makeWorld(), "healed", refused(0))).toEqual([
      "The last call of the operator of primary in a was refused: Unauthorized."
    ])
    expect(
      findAtRest(credentialsFresh, makeWorld(), "healed", [...refused(0), ...asked(1, { verb: "list", to: "a" })])
    ).toEqual([])
  })
})

describe("L5", () => {
  const lost = at(1, {
    _tag: "ClientEnded",
    client: "s1",
    rule: "operator-api.md §8.7",
    message: "no attempt to reconnect succeeded"
  })
  it("finds an end that nothing explains", () => {
    expect(find(clientsComeBack, [lost])).toContain("although nothing was wrong")
    expect(find(clientsComeBack, [at(0, { _tag: "Fault", kind: "cut", text: "" }), lost])).toBeUndefined()
  })
  const asks = at(0, { _tag: "ClientAsks", client: "s1" })
  const refused = (code: number, message = "") =>
    at(0, { _tag: "ClientRefused", client: "s1", code, reason: "", message })
  const ended = at(1, { _tag: "ClientEnded", client: "s1", rule: "operator-api.md §7.5", message: "refused" })
  const well = (): World => {
    const world = makeWorld()
    world.pass(1_000)
    expect(world.isWell).toBe(true)
    for (const [name, user] of [
      ["s1", "ann"],
      ["s1-as-bob", "bob"]
    ] as const) {
      world.startClient({ name, user, shape: "exec", target: "deployment.myapp", sessionId })
    }
    return world
  }
  it("takes an answer of substance to a first connect, and no other", () => {
    expect(find(clientsComeBack, [asks, refused(404), ended], well())).toBeUndefined()
    expect(find(clientsComeBack, [asks, refused(500), ended], well())).toContain("was refused")
    const tooLate = refused(410, "Session mc-1 did not become usable in time.")
    expect(find(clientsComeBack, [asks, tooLate, ended], well())).toContain("was refused")
  })
  it("takes no refusal for what was wrong before, and any for what is or goes wrong", () => {
    const fault = at(0, { _tag: "Fault", kind: "cut", text: "" })
    const crashed = at(0, { _tag: "Operator", cluster: "a", process: "operator-a-1", change: "crashed" })
    expect(find(clientsComeBack, [fault, crashed, asks, refused(500), ended], well())).toContain("was refused")
    for (const trouble of [fault, crashed])
      expect(find(clientsComeBack, [asks, trouble, refused(500), ended], well())).toBeUndefined()
    const world = well()
    world.network.cut("primary", "b")
    expect(find(clientsComeBack, [asks, refused(500), ended], world)).toBeUndefined()
  })
  it("takes the refusal of one who joins a session that had trouble", () => {
    const joins = [
      at(0, { _tag: "ClientAsks", client: "s1-as-bob" }),
      at(1, { _tag: "ClientEnded", client: "s1-as-bob", rule: "operator-api.md §7.5", message: "refused" })
    ] as const
    expect(find(clientsComeBack, [asks, ...joins], well())).toContain("s1-as-bob was refused")
    expect(
      find(clientsComeBack, [asks, at(0, { _tag: "Fault", kind: "cut", text: "" }), ...joins], well())
    ).toBeUndefined()
  })
  it("finds a client that still waits", () => {
    const world = makeWorld()
    world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp" })
    expect(findAtRest(clientsComeBack, world)).toEqual([
      "s1 is neither connected nor was it told that its session is over."
    ])
  })
})

describe("L6 and N4", () => {
  const now = (world: World): number => world.now
  it("find work at rest", () => {
    const world = served()
    const failing = asked(now(world) - 1_000, { verb: "list", to: "a", resource: children, name: "" }, "Other")
    expect(findAtRest(queuesDrain, world, "healed", failing)[0]).toContain(
      "list mirrordclustersessions in a: Other, 1 s ago"
    )
    expect(
      findAtRest(queuesDrain, world, "healed", asked(now(world) - 90_000, { verb: "list", to: "a" }, "Other"))
    ).toEqual([])
    // A session ends at its own time once; a child that is deleted at rest shows that somebody still works.
    expect(findAtRest(queuesDrain, world, "healed", asked(now(world) - 1_000, { verb: "delete" }))).toEqual([])
    const gone = asked(now(world) - 1_000, { verb: "delete", to: "a", resource: children, name: `${parent}-a` })
    expect(findAtRest(queuesDrain, world, "healed", gone)[0]).toContain("delete")
    const ended = asked(now(world) - 1_000, { verb: "delete" })
    expect(findAtRest(queuesDrain, world, "healed", [...ended, ...gone])).toEqual([])
    expect(
      findAtRest(queuesDrain, world, "healed", [
        committed("primary", mirrordMultiClusterSessions, parentObject({ phase: "Failed" })),
        ...asked(now(world) - 1_000, { verb: "delete" }, "Conflict")
      ])
    ).toEqual([])
    const write = called(now(world) - 1_000, {
      verb: "patch",
      subresource: "status",
      body: { status: { phase: "Ready" } }
    })
    expect(findAtRest(restIsQuiet, world, "healed", [write])[0]).toContain(
      `patch ${mirrordMultiClusterSessions.plural} ${parent} in primary, 1 s ago`
    )
  })
  it("find an Event about a session to which nothing happens", () => {
    const world = served()
    const told = (name: string, ago: number) => [
      called(now(world) - ago, { verb: "patch", resource: "events", name, body: { count: 7 } })
    ]
    expect(findAtRest(restIsQuiet, world, "healed", told(`${parent}.19a001`, 1_000))[0]).toContain(
      `patch events ${parent} in primary, 1 s ago`
    )
    expect(findAtRest(restIsQuiet, world, "healed", told(`${parent}.19a001`, 61_000))).toEqual([])
    expect(findAtRest(restIsQuiet, world, "left", told("mc-gone.19a001", 1_000))[0]).toContain("patch events mc-gone")
  })
  it("take heartbeats while the client is connected, and not when all have left", () => {
    const world = served()
    const beat = called(now(world) - 1_000, {
      verb: "patch",
      subresource: "status",
      body: { status: { connectedTimestamp: "x" } }
    })
    expect(findAtRest(restIsQuiet, world, "healed", [beat])).toEqual([])
    expect(findAtRest(restIsQuiet, world, "left", [beat])[0]).toContain("heartbeat of")
  })
})

describe("N7", () => {
  const entered = at(0, { _tag: "RequestEntered", id: 0, cluster: "a", pod: "myapp-1", path: "/0" })
  const answered = (by: "workload" | "client", body: string) =>
    at(1, { _tag: "RequestAnswered", id: 0, cluster: "a", by, status: 200, body })
  it("finds answers of others", () => {
    const world = served()
    expect(find(requestsAnswered, [entered, answered("client", "from s1: /0")], world)).toBeUndefined()
    expect(find(requestsAnswered, [entered, answered("client", "from s1: /1")], world)).toContain("from a client")
    expect(find(requestsAnswered, [entered, answered("workload", "hello from b: GET /0")], world)).toContain(
      "hello from b"
    )
    expect(
      find(
        requestsAnswered,
        [entered, answered("workload", "hello from a: GET /0"), answered("workload", "hello from a: GET /0")],
        world
      )
    ).toContain("answered twice")
  })
  it("finds a request that is dropped, or waits, while nothing is wrong", () => {
    const world = served()
    const early = at(world.now, { _tag: "Step", text: "tick 2s" })
    const calm = [called(world.now, {}), early, called(world.now + 1_000, {})]
    const enters = { ...entered, at: world.now + 2_000 }
    const drops = {
      ...answered("client", "mirrord-agent: the request was dropped"),
      status: 502,
      at: world.now + 2_100
    }
    const left = at(world.now + 2_050, { _tag: "ClientLost", client: "s1", connection: 1, reason: "connection reset" })
    expect(find(requestsAnswered, [...calm, enters, drops], world)).toContain(
      "is answered by 502 although nothing was wrong"
    )
    expect(find(requestsAnswered, [...calm, enters, called(world.now + 13_000, {})], world)).toContain(
      "has waited for 11 s although nothing was wrong"
    )
    expect(find(requestsAnswered, [...calm, enters, left, drops], world)).toBeUndefined()
    expect(
      find(
        requestsAnswered,
        [
          { ...enters, at: world.now },
          { ...drops, at: world.now + 1 }
        ],
        world
      )
    ).toBeUndefined()
  })
  it("finds a request that nobody answers", () => {
    const world = served()
    world.client("s1").process.pause()
    world.request("a", "/x")
    world.pass(61_000)
    expect(findAtRest(requestsAnswered, world)).toEqual(["Request 0 to /x at a has waited for 61 s."])
  })
})

describe("ledger", () => {
  it("finds everything that a session has, and nothing before one and after it", () => {
    const world = makeWorld()
    const events: Array<Parameters<typeof find>[1][number]> = []
    world.observe((event) => events.push(event))
    // The first watches were opened before the invariant looked; after a while each is opened again.
    world.pass(600_000)
    expect(findAtRest(ledger, world, "left", events)).toEqual([])
    const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp", sessionId })
    client.do({ _tag: "Steal", type: { _tag: "All", value: 80 } })
    world.pass(30_000)
    const found = findAtRest(ledger, world, "left", events).join("\n")
    for (const what of [
      "parents in primary",
      "children in a",
      "children in b",
      "Jobs of agents in a",
      "pods of agents in b",
      "running agents in a",
      "subscriptions in b",
      "connections: "
    ]) {
      expect(found).toContain(what)
    }
    client.leave()
    world.pass(600_000)
    expect(findAtRest(ledger, world, "left", events)).toEqual([])
  })
  it("takes what a cluster owes whose operator is gone, and only if the ledger says so", () => {
    const world = makeWorld()
    const events: Array<Parameters<typeof find>[1][number]> = []
    world.observe((event) => events.push(event))
    world.pass(600_000)
    world.cluster("b").host.leaveForEver()
    world.cluster("b").server.objects.write(mirrordClusterSessions, child("b"), childObject(child("b")))
    expect(findAtRest(ledger, world, "left", events)).toEqual([`Left over: children in b: ${child("b")}.`])
    owe(world, child("b"), "b")
    expect(findAtRest(ledger, world, "left", events)).toEqual([])
    owe(world, child("a"), "a")
    expect(findAtRest(ledger, world, "left", events)).toEqual([
      `Left over: a debt of ${child("a")} in a, which is there.`
    ])
  })
  it("finds watches that nobody needs", () => {
    const world = makeWorld()
    const events: Array<Parameters<typeof find>[1][number]> = []
    world.observe((event) => events.push(event))
    world.pass(600_000)
    world
      .cluster("a")
      .server.objects.watch(mirrordClusterSessions, "0", undefined, { event: () => {}, ended: () => {} })
    expect(findAtRest(ledger, world, "left", events)[0]).toContain("watches in a: ")
  })
})
