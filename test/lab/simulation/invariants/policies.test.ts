/** N18 and N19: what agents hear, clients are told and children say, in a world that stands still. */

import { describe, expect, it } from "vitest"
import { policiesHold } from "../../../../lab/simulation/invariants/n18-policies-hold.ts"
import { firstWord } from "../../../../lab/simulation/invariants/n19-first-word.ts"
import type { TimedEvent } from "../../../../lab/simulation/world/world-event.ts"
import type { World } from "../../../../lab/simulation/world/world.ts"
import { clientMessage } from "../../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import { mirrordClusterPolicies } from "../../../../src/domain/resources/policies/mirrord-policies.ts"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"
import { at, committed, find, findAtRest, makeWorld, mirrordClusterSessions, ready } from "./fixture.ts"

const steal = clientMessage.encode({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } }
})

const policy = (spec: object): KubeObject => ({
  metadata: { name: "one", uid: "a-uid-9" },
  spec: { block: [], requireProfile: false, ...spec }
})
const noSteal = policy({ block: ["steal"] })

/** A world in which a client is served, and all is well. */
const served = (): { readonly world: World; readonly agent: string } => {
  const world = makeWorld()
  const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp" })
  world.pass(30_000)
  expect(client.isServing).toBe(true)
  expect(world.isWell).toBe(true)
  return { world, agent: world.cluster("a").kubelet.agents[0]?.name ?? "" }
}

/** A policy of a cluster is written at 0 s; the events come after `ms` of quiet. */
const after = (cluster: string, object: KubeObject | undefined, ms: number, ...events: ReadonlyArray<TimedEvent>) => {
  const written = committed(cluster, mirrordClusterPolicies, object, object === undefined ? noSteal : undefined)
  const steps = Array.from({ length: Math.floor(ms / 1_000) }, (_, i) => at(i * 1_000, { _tag: "Step", text: "" }))
  return [written, ...steps, ...events.map((event) => ({ ...event, at: ms }))]
}

const heard = (agent: string): TimedEvent =>
  at(0, { _tag: "AgentHeard", cluster: "a", agent, connection: 1, bytes: steal })
const connectedBy = (client: string): TimedEvent =>
  at(0, { _tag: "ClientConnected", client, connection: 2, sessionId: 1n })
const connected = connectedBy("s1")
const refused = at(0, {
  _tag: "ClientEvent",
  client: "s1",
  event: {
    _tag: "Subscribed",
    port: 80,
    calls: 1,
    result: {
      _tag: "Err",
      error: {
        _tag: "ForbiddenWithReason",
        blockedAction: { _tag: "Steal", value: { _tag: "All", value: 80 } },
        policyName: "one",
        reason: "it blocks stealing"
      }
    }
  }
})

describe("N18", () => {
  it.each(["a", "primary"])("breaks when an agent in a hears what a policy of %s forbids", (cluster) => {
    const { agent, world } = served()
    expect(find(policiesHold, after(cluster, noSteal, 40_000, heard(agent)), world)).toContain("policy one")
  })

  it("allows what is not forbidden, is forbidden elsewhere, or was forbidden a moment ago", () => {
    const { agent, world } = served()
    const about = (cluster: string, object: KubeObject | undefined, ms: number) =>
      find(policiesHold, after(cluster, object, ms, heard(agent)), world)
    expect(about("a", policy({ block: ["mirror"] }), 40_000)).toBeUndefined()
    expect(about("a", policy({ block: ["steal"], targetPath: "pod/x" }), 40_000)).toBeUndefined()
    expect(about("b", noSteal, 40_000)).toBeUndefined()
    expect(about("a", noSteal, 10_000)).toBeUndefined()
    expect(about("a", undefined, 40_000)).toBeUndefined()
  })

  it("breaks when an agent in a guarded workload's pod hears what a policy for that workload forbids", () => {
    const { world } = served()
    const { kubelet } = world.cluster("a")
    for (const name of ["a", "b"]) world.cluster(name).kubelet.scaleCanary(0)
    world.startClient({ name: "s2", user: "ann", shape: "exec", target: "service.web" })
    world.pass(10_000)
    kubelet.scaleCanary(1)
    world.pass(40_000)
    const agentOf = (owner: string | undefined) =>
      kubelet.agents.find(({ containerId }) => kubelet.ownerOf(containerId) === owner)?.name ?? ""
    const guard = policy({ block: ["steal"], targetPath: "deployment/myapp-canary" })
    const about = (cluster: string, owner?: string) =>
      find(policiesHold, after(cluster, guard, 40_000, heard(agentOf(owner))), world)
    expect(about("a", "deployment/myapp-canary")).toContain("policy one")
    expect(about("b", "deployment/myapp-canary"), "another cluster's").toBeUndefined()
    expect(about("a"), "the other workload's pod").toBeUndefined()
  })

  it("allows it while something is wrong", () => {
    const { agent, world } = served()
    world.network.cut("primary", "b")
    expect(find(policiesHold, after("a", noSteal, 40_000, heard(agent)), world)).toBeUndefined()
  })

  it("breaks when a session begins that needs a profile, by the policies of the primary alone", () => {
    const { world } = served()
    const profile = policy({ requireProfile: true })
    expect(find(policiesHold, after("primary", profile, 40_000, connected), world)).toContain("forbids it")
    expect(find(policiesHold, after("a", profile, 40_000, connected), world)).toBeUndefined()
  })

  it("breaks when a copy takes pods against a policy of its cluster, or its session lacks a profile", () => {
    const { world } = served()
    const onCopy = (name: string, scaleDown: boolean): TimedEvent => {
      const copy = { kind: "deployment", name: "myapp", scaleDown, idleTtl: 30 } as const
      world.startClient({ name, user: "ann", shape: "exec", target: "deployment.myapp", at: "b", copy })
      return connectedBy(name)
    }
    const [replacing, beside] = [onCopy("c1", true), onCopy("c2", false)]
    const found = (spec: object, event: TimedEvent) =>
      find(policiesHold, after("b", policy(spec), 40_000, event), world) !== undefined
    expect(found({ block: ["copy-target-scale-down"] }, replacing)).toBe(true)
    expect(found({ block: ["copy-target-scale-down"] }, beside)).toBe(false)
    expect(found({ requireProfile: true, appliesToCopyTargets: true }, beside)).toBe(true)
    expect(found({ requireProfile: true }, beside)).toBe(false)
    expect(found({ block: ["steal"], appliesToCopyTargets: true }, beside), "its steals are refused").toBe(false)
  })

  it("breaks when an agent on a copy over many clusters hears what a policy of the primary forbids for copies", () => {
    const agentOf = (at: string) => {
      const world = makeWorld()
      const copy = { kind: "deployment", name: "myapp", scaleDown: false, idleTtl: 30 } as const
      const client = world.startClient({ name: "c1", user: "ann", shape: "exec", target: "deployment.myapp", at, copy })
      world.pass(40_000)
      expect(client.isServing).toBe(true)
      return { world, agent: world.cluster("a").kubelet.agents[0]?.name ?? "" }
    }
    const found = (at: string, isForCopies: boolean) => {
      const { agent, world } = agentOf(at)
      const object = policy({ block: ["steal"], appliesToCopyTargets: isForCopies })
      return find(policiesHold, after("primary", object, 60_000, heard(agent)), world) !== undefined
    }
    expect([found("primary", true), found("primary", false), found("a", true)]).toEqual([true, false, false])
  })

  it("breaks when a policy that is gone refuses, and not when it is there", () => {
    const { world } = served()
    expect(find(policiesHold, after("primary", undefined, 40_000, refused), world)).toContain("which is gone")
    expect(find(policiesHold, after("primary", noSteal, 40_000, refused), world)).toBeUndefined()
  })

  it("breaks at rest when an agent gives a port that is forbidden", () => {
    const { world } = served()
    world.client("s1").do({ _tag: "Steal", type: { _tag: "All", value: 80 } })
    world.pass(5_000)
    const events = [committed("a", mirrordClusterPolicies, noSteal, undefined, world.now - 60_000)]
    expect(findAtRest(policiesHold, world, "healed", events)).toMatchObject([expect.stringContaining("gives port 80")])
    expect(findAtRest(policiesHold, world, "left", [])).toEqual([])
  })
})

describe("N19", () => {
  const said = (agent: string, connection: number): TimedEvent =>
    at(1, { _tag: "AgentSaid", cluster: "a", agent, connection, bytes: daemonMessage.encode({ _tag: "Pong" }) })

  /** The child in a becomes Ready. */
  const becomesReady = (world: World): TimedEvent => {
    const [child] = world.cluster("a").server.objects.peekAll(mirrordClusterSessions)
    if (child === undefined) throw new Error("there is no child")
    return committed(
      "a",
      mirrordClusterSessions,
      { ...child, status: { conditions: [ready(1)] } },
      {
        ...child,
        status: {}
      }
    )
  }

  it("breaks when no agent of it has said anything, or only on a connection that is gone", () => {
    const { agent, world } = served()
    expect(find(firstWord, [becomesReady(world)], world)).toContain("has said nothing")
    const gone = at(2, { _tag: "AgentDisconnected", cluster: "a", agent, connection: 7 })
    expect(find(firstWord, [said(agent, 7), gone, becomesReady(world)], world)).toContain("has said nothing")
  })

  it("holds after a word", () => {
    const { agent, world } = served()
    expect(find(firstWord, [said(agent, 7), becomesReady(world)], world)).toBeUndefined()
  })
})
