/** N25, N26, L4 and L5: a primary and members that it finds, or whose credentials it makes, by events made by hand. */

import { describe, expect, it } from "vitest"
import { hear } from "../../../../lab/simulation/invariants/invariant.ts"
import { credentialsFresh } from "../../../../lab/simulation/invariants/l04-credentials-fresh.ts"
import { clientsComeBack } from "../../../../lab/simulation/invariants/l05-clients-come-back.ts"
import { foundClustersStay } from "../../../../lab/simulation/invariants/n25-found-clusters-stay.ts"
import { lastCredentialsServe } from "../../../../lab/simulation/invariants/n26-last-credentials-serve.ts"
import type { TimedEvent } from "../../../../lab/simulation/world/world-event.ts"
import type { World } from "../../../../lab/simulation/world/world.ts"
import { mirrordMultiClusterSessions } from "../../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { asked, at, find, makeWorld } from "./fixture.ts"

/** A world in which b is found by a file, and a cloud makes the tokens of a, which live for ten minutes. */
const ofMembers = (): World => {
  const plan = { lifetime: 600_000, longest: Infinity, skew: 0 }
  return makeWorld({
    tokens: { a: plan, b: plan },
    members: {
      a: { _tag: "Configured", auth: "eks" },
      b: { _tag: "Kubeconfig", provider: "kubeconfigFile", auth: "token" }
    }
  })
}

const fault = (ms: number) => at(ms, { _tag: "Fault", kind: "", text: "" })

describe("N25", () => {
  const left = (ms: number) =>
    at(ms, {
      _tag: "Log",
      process: "operator-primary-1",
      line: { level: "Info", message: "cluster leaves the fleet", details: { cluster: "b" } }
    })

  it("finds a cluster that leaves although its provider names it, or cannot be read", () => {
    const world = ofMembers()
    expect(find(foundClustersStay, [left(0)], world)).toContain("lets b leave the fleet")
    world.authors.spoilFile()
    expect(find(foundClustersStay, [left(0)], world)).toContain("lets b leave the fleet")
    world.authors.withdraw("b")
    expect(find(foundClustersStay, [left(0)], world)).toBeUndefined()
  })

  it("gives a cluster time to leave that comes back", () => {
    const world = ofMembers()
    const checker = foundClustersStay.begin(() => world)
    const heard = (event: TimedEvent) => hear(checker, event)
    heard(fault(0))
    world.authors.withdraw("b")
    heard(fault(1_000))
    world.authors.provide("b")
    heard(fault(2_000))
    expect(heard(left(3_000))).toBeUndefined()
    expect(heard(left(60_000))).toContain("lets b leave")
  })
})

describe("N26", () => {
  const parent = (error: string | null) => ({
    metadata: { name: "mc-1" },
    status: { clusterSessions: { a: { ready: false, sessionName: "mc-1-a", error } } }
  })
  const said = (error: string, before: string | null = null) =>
    at(2_000, {
      _tag: "Committed",
      cluster: "primary",
      commit: { ref: mirrordMultiClusterSessions, version: 1, before: parent(before), after: parent(error) }
    })
  const without = "no token can be made for it: the cloud gives no token"
  const started = (world: World) =>
    at(world.now, { _tag: "Operator", cluster: "primary", process: "operator-primary-1", change: "started" })

  it("finds a cluster that is lost for want of a token while the last one is good", () => {
    const world = ofMembers()
    const first = started(world)
    world.pass(1_000)
    world.cluster("a").tokens.grant(600_000)
    expect(find(lastCredentialsServe, [first, said(without)], world)).toContain("a is lost although")
    expect(find(lastCredentialsServe, [first, said("connection refused")], world)).toBeUndefined()
    // It has said so before.
    expect(find(lastCredentialsServe, [first, said(without, without)], world)).toBeUndefined()
    // A process that has got none.
    world.pass(1_000)
    expect(find(lastCredentialsServe, [first, started(world), said(without)], world)).toBeUndefined()
  })
})

describe("a cloud that has failed", () => {
  /** A primary whose cloud has failed, and works again. */
  const recovering = (): World => {
    const world = ofMembers()
    world.makers.set("a", "fails")
    world.pass(20_000)
    world.heal()
    return world
  }

  it("is asked again within the longest pause", () => {
    const world = recovering()
    expect(world.makers.isAwaited).toBe(true)
    world.pass(80_000)
    expect(world.makers.isAwaited).toBe(false)
  })

  it("explains refusals and the ends of sessions for so long, and no longer (L4, L5)", () => {
    const world = recovering()
    const refusals = (from: number) =>
      find(
        credentialsFresh,
        [0, 70_000].flatMap((ms) => asked(from + ms, { verb: "list", to: "a" }, "Unauthorized")),
        world
      )
    expect(refusals(world.now)).toBeUndefined()
    world.startClient({ name: "s1", user: "u", shape: "exec", target: "deployment.myapp" })
    const ends = () =>
      find(
        clientsComeBack,
        [
          at(world.now, { _tag: "ClientAsks", client: "s1" }),
          at(world.now, {
            _tag: "ClientRefused",
            client: "s1",
            code: 500,
            reason: "InternalError",
            message: "no token"
          }),
          at(world.now, { _tag: "ClientEnded", client: "s1", rule: "operator-api.md §7.5", message: "no token" })
        ],
        world
      )
    expect(ends()).toBeUndefined()
    world.pass(80_000)
    expect(refusals(world.now)).toContain("has been refused for 70 s")
    expect(ends()).toContain("was refused although nothing was wrong")
  })
})
