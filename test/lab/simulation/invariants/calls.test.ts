/** Invariants over operators' calls and objects, each with events that break it and events that do not. */

import { describe, expect, it } from "vitest"
import { noDefects } from "../../../../lab/simulation/invariants/n02-no-defects.ts"
import { heartbeats } from "../../../../lab/simulation/invariants/n03-heartbeats.ts"
import { readyIsComplete } from "../../../../lab/simulation/invariants/n05-ready-is-complete.ts"
import { noFlipFlop } from "../../../../lab/simulation/invariants/n06-no-flip-flop.ts"
import { noHammering } from "../../../../lab/simulation/invariants/n08-no-hammering.ts"
import { ownFieldsOnly } from "../../../../lab/simulation/invariants/n09-own-fields-only.ts"
import { oneAgentPerPod } from "../../../../lab/simulation/invariants/n10-one-agent-per-pod.ts"
import { namesAreValid } from "../../../../lab/simulation/invariants/n11-names-are-valid.ts"
import { retryAfter } from "../../../../lab/simulation/invariants/n12-retry-after.ts"
import { unreadIsTold } from "../../../../lab/simulation/invariants/n27-unread-is-told.ts"
import { childAfterParent } from "../../../../lab/simulation/invariants/s05-child-after-parent.ts"
import { noDeleteWithoutAList } from "../../../../lab/simulation/invariants/s06-no-delete-without-a-list.ts"
import { noDeleteInUse } from "../../../../lab/simulation/invariants/s07-no-delete-in-use.ts"
import { noSecretsTold } from "../../../../lab/simulation/invariants/s08-no-secrets-told.ts"
import { readyForWhatIsSeen } from "../../../../lab/simulation/invariants/s09-ready-for-what-is-seen.ts"
import { noCallFromTheDead } from "../../../../lab/simulation/invariants/s10-no-call-from-the-dead.ts"
import { canary } from "../../../../lab/simulation/world/canary.ts"
import { configMaps, leases, secrets } from "../../../../src/domain/resources/core-kinds.ts"
import {
  asked,
  at,
  called,
  childObject,
  children,
  committed,
  find,
  makeWorld,
  mirrordClusterSessions,
  mirrordMultiClusterSessions,
  parent,
  parentObject,
  ready,
  sessionId
} from "./fixture.ts"

const child = `${parent}-a`
const names = { clusterSessions: { a: { sessionName: child, ready: false } } }

describe("N12", () => {
  const write = { verb: "patch", subresource: "status" } as const
  const told = asked(0, write, "TooManyRequests").map((event) =>
    event._tag === "Answered" ? { ...event, retryAfterMs: 5_000 } : event
  )
  it("finds what is tried again before it is time", () =>
    expect(find(retryAfter, [...told, called(4_000, write)])).toContain("1000 ms too soon"))
  it("holds for what is tried in time, for other things and where nothing was said", () => {
    expect(find(retryAfter, [...told, called(5_000, write)])).toBeUndefined()
    expect(find(retryAfter, [...told, called(1_000, { ...write, name: "mc-other" })])).toBeUndefined()
    expect(find(retryAfter, [...asked(0, write, "TooManyRequests"), called(1, write)])).toBeUndefined()
  })
  it("excuses the first try of the ledger for a child that was handed over to it, and no other", () => {
    const end = { verb: "delete", resource: children, name: child, to: "a" } as const
    const refused = asked(0, end, "TooManyRequests").map((event) =>
      event._tag === "Answered" ? { ...event, retryAfterMs: 5_000 } : event
    )
    const world = makeWorld()
    expect(find(retryAfter, [...refused, called(1_000, end)], world)).toContain("4000 ms too soon")
    world.primary.server.objects.write(
      configMaps,
      "mirrord-operator-debts",
      { data: { [child]: JSON.stringify({ cluster: "a", parentUid: "u" }) } },
      { namespace: "mirrord", now: 0 }
    )
    expect(find(retryAfter, [...refused, called(1_000, end)], world)).toBeUndefined()
    expect(find(retryAfter, [...refused, called(1_000, end), called(2_000, end)], world)).toContain("3000 ms too soon")
  })
})

describe("N27", () => {
  const list = { verb: "list", name: "" } as const
  const failed = (ms: number, call: Partial<Parameters<typeof called>[1]> = list) => asked(ms, call, "Other")
  const told = at(15_000, {
    _tag: "Log",
    process: "operator-primary-1",
    line: {
      level: "Warn",
      message: "a collection cannot be read",
      details: { cluster: "primary", resource: `${mirrordMultiClusterSessions.plural}.operator.metalbear.co` }
    }
  })
  const lasting = [0, 6_000, 12_000, 18_000, 24_000, 30_000, 36_000]
  it("finds a list that fails and is told to nobody", () =>
    expect(
      find(
        unreadIsTold,
        lasting.flatMap((ms) => failed(ms))
      )
    ).toContain("for 36 s, and its log does not say so"))
  it("holds for a list that is told, that fails for a short time, or that somebody waits for", () => {
    expect(find(unreadIsTold, [...failed(0), told, ...[30_000, 36_000, 90_000].flatMap((ms) => failed(ms))])).toBe(
      undefined
    )
    expect(find(unreadIsTold, [...failed(0), ...asked(20_000, list), ...failed(30_000), ...failed(50_000)])).toBe(
      undefined
    )
    // The operator had lost its lease, and leads again.
    expect(find(unreadIsTold, [...failed(0), ...[40_000, 41_000].flatMap((ms) => failed(ms))])).toBe(undefined)
    const ofPods = { ...list, group: "", resource: "pods" }
    expect(
      find(
        unreadIsTold,
        lasting.flatMap((ms) => failed(ms, ofPods))
      )
    ).toBeUndefined()
  })
})

describe("S5", () => {
  const recorded = committed("primary", mirrordMultiClusterSessions, parentObject(names))
  it("holds for a child that was recorded", () =>
    expect(
      find(childAfterParent, [recorded, committed("a", mirrordClusterSessions, childObject(child))])
    ).toBeUndefined())
  it("finds a child that was not", () =>
    expect(find(childAfterParent, [committed("a", mirrordClusterSessions, childObject(child))])).toContain("no status"))
  it("finds a child of another parent of that name", () =>
    expect(
      find(childAfterParent, [recorded, committed("a", mirrordClusterSessions, childObject(child, "primary-uid-10"))])
    ).toContain("no status"))
  it("finds a wrong name", () =>
    expect(
      find(childAfterParent, [recorded, committed("a", mirrordClusterSessions, childObject(`${parent}-b`))])
    ).toContain("not mc-"))
})

describe("S6", () => {
  const list = asked(0, { verb: "list", to: "a", resource: children, name: "" })
  const deletion = called(1, { verb: "delete", to: "a", resource: children, name: child })
  it("finds a delete before any list", () => {
    expect(find(noDeleteWithoutAList, [deletion])).toContain("has read neither")
    expect(
      find(noDeleteWithoutAList, [
        ...asked(0, { verb: "list", to: "a", resource: children, name: "" }, "Unreachable"),
        deletion
      ])
    ).toContain("has read neither")
  })
  it("holds after a list or a get", () => {
    expect(find(noDeleteWithoutAList, [...list, deletion])).toBeUndefined()
    expect(
      find(noDeleteWithoutAList, [...asked(0, { verb: "get", to: "a", resource: children, name: child }), deletion])
    ).toBeUndefined()
  })
  it("finds the delete of a child that its parent wants, and not once the parent is at its end", () => {
    const world = makeWorld()
    const { objects } = world.primary.server
    const { uid = "" } = objects.write(mirrordMultiClusterSessions, parent, {
      ...parentObject({ ...names, phase: "Ready" })
    }).metadata
    world.cluster("a").server.objects.write(mirrordClusterSessions, child, childObject(child, uid))
    expect(find(noDeleteWithoutAList, [...list, deletion], world)).toContain("still wants")
    objects.write(mirrordMultiClusterSessions, parent, { status: { phase: "Failed" } })
    expect(find(noDeleteWithoutAList, [...list, deletion], world)).toBeUndefined()
  })
})

describe("S7", () => {
  const connected = at(0, { _tag: "ClientConnected", client: "s1", connection: 1, sessionId })
  const heard = at(100_000, { _tag: "ClientHeard", client: "s1", connection: 1, bytes: new Uint8Array([7]) })
  const later = called(115_000, { verb: "list", name: "" })
  const world = () => {
    const made = makeWorld()
    made.primary.server.objects.write(mirrordMultiClusterSessions, parent, parentObject({ phase: "Ready" }))
    return made
  }
  it("finds the delete of a session that its client has just heard of", () =>
    expect(find(noDeleteInUse, [connected, heard, called(101_000, { verb: "delete" }), later], world())).toContain(
      "while s1 is connected"
    ))
  it("holds when the client is told, was silent, or somebody asked for it", () => {
    const ended = at(101_500, {
      _tag: "ClientEnded",
      client: "s1",
      rule: "wire.md §6.2 E",
      message: "the session was closed: over"
    })
    expect(
      find(noDeleteInUse, [connected, heard, called(101_000, { verb: "delete" }), ended, later], world())
    ).toBeUndefined()
    expect(find(noDeleteInUse, [connected, called(101_000, { verb: "delete" }), later], world())).toBeUndefined()
    const slow = world()
    slow.network.setBandwidth("primary", "laptop-s1", 1)
    slow.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp", sessionId })
    expect(find(noDeleteInUse, [connected, heard, called(101_000, { verb: "delete" }), later], slow)).toBeUndefined()
    expect(
      find(
        noDeleteInUse,
        [
          connected,
          heard,
          at(100_500, { _tag: "Step", text: "delete session s1" }),
          called(101_000, { verb: "delete" }),
          later
        ],
        world()
      )
    ).toBeUndefined()
  })
})

describe("S8", () => {
  const log = (message: string, details = {}) =>
    at(0, { _tag: "Log", process: "operator-a-1", line: { level: "Info", message, details } })
  it("finds the canary in every sink, plain and as base64", () => {
    expect(find(noSecretsTold, [log(`token ${canary}-token`)])).toContain("log of operator-a-1")
    expect(find(noSecretsTold, [log("x", { header: Buffer.from(`id:${canary}-token`).toString("base64") })])).toContain(
      "log of operator-a-1"
    )
    expect(find(noSecretsTold, [called(0, { verb: "patch", body: { status: { error: canary } } })])).toContain(
      `patch ${mirrordMultiClusterSessions.plural}`
    )
    expect(
      find(noSecretsTold, [at(0, { _tag: "ClientRefused", client: "s1", code: 500, reason: "", message: canary })])
    ).toContain("refusal of s1")
    expect(
      find(noSecretsTold, [
        committed("a", mirrordClusterSessions, { ...childObject(child), spec: { namespace: canary } })
      ])
    ).toContain(child)
    const span = { name: "link open", traceId: "t", spanId: "s", parentSpanId: undefined, startedAt: 0, endedAt: 1 }
    const told = { ...span, moments: [], failure: `refused: ${canary}`, attributes: {} }
    expect(find(noSecretsTold, [at(0, { _tag: "Span", cluster: "a", process: "operator-a-1", span: told })])).toContain(
      "span of operator-a-1"
    )
  })
  it("lets Secrets have it", () =>
    expect(
      find(noSecretsTold, [
        committed("primary", secrets, { metadata: { name: "x" }, data: { bearerToken: canary } }),
        log("fine")
      ])
    ).toBeUndefined())
})

describe("S9", () => {
  const write = (status: object, generation: number, before: object = {}) =>
    committed(
      "primary",
      mirrordMultiClusterSessions,
      parentObject(status, { generation }),
      parentObject(before, { generation })
    )
  it("finds a claim for an old generation", () =>
    expect(find(readyForWhatIsSeen, [write({ phase: "Ready", conditions: [ready(1)] }, 2)])).toContain("it has 2"))
  it("finds a claim for none, and a phase without its condition", () => {
    expect(
      find(readyForWhatIsSeen, [write({ conditions: [{ ...ready(1), observedGeneration: undefined }] }, 1)])
    ).toContain("without an observedGeneration")
    expect(find(readyForWhatIsSeen, [write({ phase: "Ready" }, 1)])).toContain("is missing")
  })
  it("holds for what was seen, and while a new generation was not looked at", () => {
    expect(find(readyForWhatIsSeen, [write({ phase: "Ready", conditions: [ready(2)] }, 2)])).toBeUndefined()
    const old = { phase: "Ready", conditions: [ready(1)] }
    expect(find(readyForWhatIsSeen, [write({ ...old, connectedTimestamp: "x" }, 2, old)])).toBeUndefined()
  })
})

describe("S10", () => {
  const operator = (process: string, change: "started" | "crashed" | "paused" | "resumed") =>
    at(0, { _tag: "Operator", cluster: "primary", process, change })
  const call = called(1, { verb: "list", name: "" })
  it("holds for the one that runs", () =>
    expect(find(noCallFromTheDead, [operator("operator-primary-1", "started"), call])).toBeUndefined())
  it("finds calls of a process that crashed, was replaced, or is paused", () => {
    const started = operator("operator-primary-1", "started")
    expect(find(noCallFromTheDead, [started, operator("operator-primary-1", "crashed"), call])).toContain(
      "nobody is the operator"
    )
    expect(
      find(noCallFromTheDead, [
        started,
        operator("operator-primary-1", "crashed"),
        operator("operator-primary-2", "started"),
        call
      ])
    ).toContain("operator-primary-2 is")
    expect(find(noCallFromTheDead, [started, operator("operator-primary-1", "paused"), call])).toContain(
      "while it is paused"
    )
    expect(find(noCallFromTheDead, [started, operator("operator-primary-2", "started")])).toContain("still runs")
  })
})

describe("N2", () => {
  it("finds errors and ends", () => {
    expect(
      find(noDefects, [
        at(0, { _tag: "Log", process: "operator-a-1", line: { level: "Error", message: "boom", details: {} } })
      ])
    ).toContain("boom")
    expect(
      find(noDefects, [
        at(0, { _tag: "Operator", cluster: "a", process: "operator-a-1", change: "ended", detail: "why" })
      ])
    ).toContain("why")
    expect(
      find(noDefects, [
        at(0, { _tag: "Log", process: "operator-a-1", line: { level: "Warn", message: "hm", details: {} } })
      ])
    ).toBeUndefined()
  })
})

describe("N3", () => {
  const beat = (ms: number, uid = "u1") =>
    called(ms, {
      verb: "patch",
      subresource: "status",
      body: { metadata: { uid }, status: { connectedTimestamp: "x" } }
    })
  it("finds two at once, and takes those at their time", () => {
    expect(find(heartbeats, [beat(0), beat(5_000)])).toContain("5000 ms after")
    expect(find(heartbeats, [beat(0), beat(10_000), beat(12_000, "u2")])).toBeUndefined()
  })
  it("counts per term: whoever leads again remembers nothing", () => {
    const lease = (leaseTransitions: number) =>
      committed("primary", leases, { metadata: { name: "mirrord-operator" }, spec: { leaseTransitions } })
    expect(find(heartbeats, [lease(0), beat(0), lease(1), beat(5_000)])).toBeUndefined()
    expect(find(heartbeats, [lease(1), beat(0), lease(1), beat(5_000)])).toContain("5000 ms after")
  })
  it("finds one long after the client has gone", () => {
    const world = makeWorld()
    const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp", sessionId })
    expect(client.sessionId).toBe(sessionId)
    // A stranger who tries the same session id and is refused says nothing about the session's own client.
    world.startClient({ name: "s1-as-bob", user: "bob", shape: "exec", target: "deployment.myapp", sessionId })
    const bob = at(0, { _tag: "ClientEnded", client: "s1-as-bob", rule: "operator-api.md §7.5", message: "403" })
    expect(find(heartbeats, [bob, beat(30_000)], world)).toBeUndefined()
    world.client("s1-as-bob").leave()
    const ended = at(0, { _tag: "ClientEnded", client: "s1", rule: undefined, message: "left" })
    expect(find(heartbeats, [ended, beat(30_000)], world)).toBeUndefined()
    client.leave()
    expect(find(heartbeats, [ended, beat(20_000)], world)).toBeUndefined()
    expect(find(heartbeats, [ended, beat(30_000)], world)).toContain("30000 ms after its client")
    expect(
      find(heartbeats, [at(0, { _tag: "Fault", kind: "cut", text: "" }), ended, beat(30_000)], world)
    ).toBeUndefined()
  })
})

describe("N5", () => {
  const becomes = (clusterSessions: object) =>
    committed(
      "primary",
      mirrordMultiClusterSessions,
      parentObject({ phase: "Ready", clusterSessions }),
      parentObject({ phase: "Pending" })
    )
  it("finds a Ready that is not complete", () => {
    expect(find(readyIsComplete, [becomes({ a: { ready: false, error: "x" }, b: { ready: true } })])).toContain(
      "default cluster a is not ready"
    )
    expect(find(readyIsComplete, [becomes({ a: { ready: true }, b: { ready: false } })])).toContain("does not say why")
  })
  it("takes a cluster that is left out with a reason", () =>
    expect(
      find(readyIsComplete, [becomes({ a: { ready: true }, b: { ready: false, error: "away" } })])
    ).toBeUndefined())
})

describe("N6", () => {
  const change = (ms: number, from: object, to: object) =>
    committed("primary", mirrordMultiClusterSessions, parentObject(to), parentObject(from), ms)
  it("finds a status that goes back and forth", () => {
    const flips = Array.from({ length: 20 }, (_, i) =>
      change(i * 1_000, { closed: i % 2 === 0 ? "x" : "y" }, { closed: i % 2 === 0 ? "y" : "x" })
    )
    expect(find(noFlipFlop, flips)).toContain("closed of mc-")
    const slow = Array.from({ length: 20 }, (_, i) =>
      change(i * 20_000, { closed: i % 2 === 0 ? "x" : "y" }, { closed: i % 2 === 0 ? "y" : "x" })
    )
    expect(find(noFlipFlop, slow)).toBeUndefined()
  })
  it("finds a phase that an operator sets back, not one that a person does", () => {
    const back = change(1, { phase: "Ready" }, { phase: "Pending" })
    expect(
      find(noFlipFlop, [
        called(0, { verb: "patch", subresource: "status", body: { status: { phase: "Pending" } } }),
        back
      ])
    ).toContain("goes back from Ready to Pending")
    expect(find(noFlipFlop, [back])).toBeUndefined()
  })
  it("takes heartbeats", () => {
    const beats = Array.from({ length: 20 }, (_, i) =>
      change(i * 1_000, { connectedTimestamp: `${i % 2}` }, { connectedTimestamp: `${(i + 1) % 2}` })
    )
    expect(find(noFlipFlop, beats)).toBeUndefined()
  })
})

describe("N8", () => {
  it("finds hammering", () => {
    expect(
      find(
        noHammering,
        Array.from({ length: 80 }, (_, i) => called(i * 100, { verb: "patch" }))
      )
    ).toContain("61 times within 10 s")
    expect(
      find(
        noHammering,
        Array.from({ length: 80 }, (_, i) => called(i * 250, { verb: "patch" }))
      )
    ).toBeUndefined()
  })
  it("finds a storm of conflicts", () =>
    expect(
      find(noHammering, Array.from({ length: 60 }, (_, i) => asked(i * 100, { verb: "patch" }, "Conflict")).flat())
    ).toContain("51 conflicts"))
})

describe("N9", () => {
  const patch = (body: object, subresource?: "status") => called(0, { verb: "patch", body, subresource })
  it("holds for a status with its object's uid, and for finalizers with a version", () => {
    expect(
      find(ownFieldsOnly, [patch({ metadata: { uid: "u" }, status: { phase: "Ready" } }, "status")])
    ).toBeUndefined()
    expect(
      find(ownFieldsOnly, [patch({ metadata: { uid: "u", resourceVersion: "1", finalizers: [] } })])
    ).toBeUndefined()
  })
  it("finds what is others'", () => {
    expect(find(ownFieldsOnly, [patch({ spec: {} })])).toContain("the spec")
    expect(find(ownFieldsOnly, [patch({ metadata: { labels: { x: null } } })])).toContain("labels")
    expect(find(ownFieldsOnly, [patch({ metadata: { uid: "u", finalizers: [] } })])).toContain(
      "without a resourceVersion"
    )
    expect(find(ownFieldsOnly, [patch({ status: { phase: "Ready" } }, "status")])).toContain("no uid")
  })
  it("holds for clusters that join a session which an operator has created, as it has seen it", () => {
    const join = (metadata: object, clusters: ReadonlyArray<string> = []) => {
      const body = { metadata, spec: { clusters } }
      return called(0, { name: parent, resource: "mirrordmulticlustersessions", verb: "patch", body })
    }
    expect(find(ownFieldsOnly, [join({ uid: "u", resourceVersion: "1" })])).toBeUndefined()
    expect(find(ownFieldsOnly, [join({ resourceVersion: "1" })])).toContain("the spec")
    const changed = (clusters: ReadonlyArray<string>, spec: object = {}, labels?: Record<string, string>) => {
      const before = { ...parentObject({}, labels === undefined ? {} : { labels }), spec: { clusters: ["a"], ...spec } }
      const after = { ...before, spec: { ...before.spec, clusters } }
      const commit = committed("primary", mirrordMultiClusterSessions, after, before)
      expect(find(ownFieldsOnly, [commit]), "people may").toBeUndefined()
      return find(ownFieldsOnly, [join({ uid: "u", resourceVersion: "1" }, clusters), commit])
    }
    expect(changed(["a", "b"])).toBeUndefined()
    expect(changed(["b"])).toContain("loses clusters")
    expect(changed(["a", "b"], {}, {})).toContain("made by hand")
    expect(changed(["a", "b"], { copyTarget: {} })).toContain("runs on a copy")
    expect(changed(["a"], {}, {})).toBeUndefined()
  })
  it("finds owners in other clusters", () => {
    const owned = {
      ...childObject(child),
      metadata: {
        ...childObject(child).metadata,
        ownerReferences: [{ apiVersion: "v1", kind: "X", name: "x", uid: "primary-uid-9" }]
      }
    }
    expect(find(ownFieldsOnly, [committed("a", mirrordClusterSessions, owned)])).toContain("another cluster")
    expect(find(ownFieldsOnly, [committed("a", mirrordClusterSessions, childObject(child))])).toBeUndefined()
  })
})

describe("N10", () => {
  const agent = (_tag: "AgentStarted" | "AgentEnded", name: string) =>
    at(0, { _tag, cluster: "a", agent: name, pod: _tag === "AgentStarted" ? "myapp-1" : "" })
  it("finds two agents in one pod", () => {
    expect(find(oneAgentPerPod, [agent("AgentStarted", "x"), agent("AgentStarted", "y")])).toContain(
      "where x still runs"
    )
    expect(
      find(oneAgentPerPod, [agent("AgentStarted", "x"), agent("AgentEnded", "x"), agent("AgentStarted", "y")])
    ).toBeUndefined()
  })
})

describe("N11", () => {
  it("finds names and labels that no server takes", () => {
    expect(find(namesAreValid, [committed("a", mirrordClusterSessions, childObject("Not_A_Name"))])).toContain(
      "is no name"
    )
    expect(
      find(namesAreValid, [
        committed("a", mirrordClusterSessions, { metadata: { name: "x", labels: { l: "a".repeat(64) } } })
      ])
    ).toContain("no label's value")
    expect(find(namesAreValid, [committed("a", mirrordClusterSessions, childObject(child))])).toBeUndefined()
  })
})
