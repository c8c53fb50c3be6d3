/** T1 to T10: what becomes of tunnels, by events made by hand in a world whose member b dials out. */

import { describe, expect, it } from "vitest"
import type { Invariant } from "../../../../lab/simulation/invariants/invariant.ts"
import { tunnelInvariants } from "../../../../lab/simulation/invariants/tunnel-invariants.ts"
import type { TimedEvent, WorldEvent } from "../../../../lab/simulation/world/world-event.ts"
import type { World } from "../../../../lab/simulation/world/world.ts"
import { outpostSecret } from "../../../../src/app/outbound/outpost-identity.ts"
import { admittedKeysData } from "../../../../src/domain/outbound/admitted-keys.ts"
import { secrets } from "../../../../src/domain/resources/core-kinds.ts"
import { at, find, findAtRest, makeWorld } from "./fixture.ts"

const second = 1_000
const step = at(0, { _tag: "Step", text: "" })
const key = "a".repeat(64)

const invariant = (id: string): Invariant => {
  const found = tunnelInvariants.find((one) => one.id === id)
  if (found === undefined) throw new Error(`there is no invariant ${id}`)
  return found
}

/** A world whose member b has its tunnel. */
const ofTunnels = (): World => {
  const world = makeWorld({ outbound: { members: ["b"], lifetime: 1_800_000 } })
  world.pass(12 * second)
  expect(world.isWell).toBe(true)
  return world
}

const found = (id: string, events: ReadonlyArray<TimedEvent>, world = ofTunnels()): string | undefined =>
  find(invariant(id), [step, ...events], world)

const lane = (ms: number, more: Partial<Extract<WorldEvent, { readonly _tag: "LaneOpened" }>> = {}): TimedEvent =>
  at(ms, {
    _tag: "LaneOpened",
    cluster: "b",
    tunnel: 1,
    process: "operator-primary-1",
    certificate: { name: "b", keyId: key, until: Number.MAX_SAFE_INTEGER },
    ...more
  })

const line = (ms: number, message: object, side: "cell" | "outpost" = "outpost", is: "come" | "sent" = "sent") =>
  at(ms, { _tag: "ControlLine", cluster: "b", tunnel: 1, side, is, line: JSON.stringify(message) })

const fault = (ms: number, kind = "tunnel reset") => at(ms, { _tag: "Fault", kind, text: "" })

/** A Secret with these keys in place of others. */
const keys = (ms: number, before: ReadonlyArray<string>, after: ReadonlyArray<string>): TimedEvent => {
  const secret = (all: ReadonlyArray<string>) => ({ metadata: { name: "b" }, data: admittedKeysData(all) })
  const commit = { version: 1, ref: secrets, before: secret(before), after: secret(after) }
  return at(ms, { _tag: "Committed", cluster: "primary", commit })
}

describe("T1", () => {
  it("finds a lane on a tunnel whose certificate has ended", () => {
    const ended = { name: "b", keyId: key, until: 5 }
    expect(found("T1", [lane(10, { certificate: ended })])).toContain("whose certificate has ended")
    expect(found("T1", [lane(1, { certificate: ended })])).toBeUndefined()
  })

  it("finds one whose key is shut out, unless the primary may not know it yet, or it is admitted again", () => {
    const out = keys(0, [key], [])
    expect(found("T1", [out, lane(11 * second)])).toContain("has been shut out for 11 s")
    expect(found("T1", [out, lane(9 * second)])).toBeUndefined()
    expect(found("T1", [out, fault(5 * second), lane(11 * second)])).toBeUndefined()
    expect(found("T1", [out, keys(1, [], [key]), lane(11 * second)])).toBeUndefined()
  })
})

describe("T2", () => {
  it("finds a lane on an older tunnel after one on a newer", () => {
    const back = [lane(0, { tunnel: 2 }), lane(1, { tunnel: 1 })]
    expect(found("T2", back)).toContain("on tunnel 1 after one on tunnel 2")
    expect(found("T2", back.toReversed())).toBeUndefined()
  })

  it("finds a tunnel that a process does not know, once it should", () => {
    const world = ofTunnels()
    const stands = at(0, { _tag: "TunnelStands", cluster: "b", tunnel: 1, process: "", from: "b" })
    const look = (ms: number) => [stands, at(ms, { _tag: "Step", text: "" })]
    expect(found("T2", look(2 * second), world)).toBeUndefined()
    world.primary.host.replicas[0]?.process?.pause()
    expect(found("T2", look(2 * second), world)).toBeUndefined()
  })
})

describe("T3", () => {
  const stands = at(0, { _tag: "TunnelStands", cluster: "b", tunnel: 1, process: "", from: "b" })
  const holds = (number: number, hash = "x") => line(0, { type: "holds", epoch: "e", number, hash })
  const hello = (number: number) => line(0, { type: "hello", holds: { epoch: "e", number, hash: "x" } })

  it("finds a command after a later one, or another with its number", () => {
    expect(found("T3", [stands, holds(2), hello(1)])).toContain("holds command 1 of its primary after command 2")
    expect(found("T3", [stands, holds(2), holds(2, "y")])).toContain("holds command 2")
    expect(found("T3", [stands, hello(1), holds(2), hello(2)])).toBeUndefined()
    // Another operator than the member's says what it likes.
    expect(found("T3", [holds(2), hello(1)])).toBeUndefined()
  })

  it("takes an earlier one after another token", () => {
    const secret = (token: string) => ({ metadata: { name: outpostSecret }, data: { token } })
    const commit = { version: 1, ref: secrets, before: secret("one"), after: secret("two") }
    const joined = at(0, { _tag: "Committed", cluster: "b", commit })
    expect(found("T3", [stands, holds(2), joined, hello(1)])).toBeUndefined()
  })

  it("finds a token that is traded twice", () => {
    const traded = (token: string) => at(0, { _tag: "TokenTraded", cluster: "b", token })
    expect(found("T3", [traded("1"), traded("1")])).toContain("another certificate for its token 1")
    expect(found("T3", [traded("1"), traded("2")])).toBeUndefined()
  })
})

describe("T4", () => {
  const beat = (ms: number, number: number) => line(ms, { type: "beat", number })
  const beats = [beat(0, 1), beat(10 * second, 2), beat(20 * second, 3)]
  it("finds a beat without an answer, unless something was wrong", () => {
    expect(found("T4", beats)).toContain("Beat 1 of b on tunnel 1 has had no answer for 20 s")
    const answer = line(second, { type: "answer", number: 1 }, "outpost", "come")
    expect(found("T4", beats.toSpliced(1, 0, answer))).toBeUndefined()
    expect(found("T4", beats.toSpliced(1, 0, fault(9 * second)))).toBeUndefined()
    const world = ofTunnels()
    world.network.cut("primary", "b")
    expect(found("T4", beats, world)).toBeUndefined()
  })
})

describe("T5", () => {
  const looks = [0, 60, 104, 106].map((seconds) => at(seconds * second, { _tag: "Step", text: "" }))
  it("finds a tunnel that carries nothing, and that its sides keep", () => {
    const world = ofTunnels()
    expect(found("T5", looks, world)).toBeUndefined()
    for (const wire of world.outbound?.tunnels.wiresOf("b") ?? []) wire.lose("up")
    expect(found("T5", looks.slice(0, 3), world)).toBeUndefined()
    expect(found("T5", looks, world)).toContain("has carried nothing for 106 s, and its cell keeps it")
  })
})

describe("T6", () => {
  it("finds a lane for one member on the tunnel of another", () => {
    expect(found("T6", [lane(0, { cluster: "a" })])).toContain("A lane for a is opened on tunnel 1 of b")
    expect(found("T6", [lane(0)])).toBeUndefined()
  })
})

describe("T7", () => {
  const looks = [0, 44, 46].map((seconds) => at(seconds * second, { _tag: "Step", text: "" }))
  it("finds a member without a tunnel that carries anything, though all else is well", () => {
    const world = ofTunnels()
    expect(found("T7", looks, world)).toBeUndefined()
    for (const wire of world.outbound?.tunnels.wiresOf("b") ?? []) wire.lose("up")
    expect(found("T7", looks.slice(0, 2), world)).toBeUndefined()
    expect(found("T7", looks, world)).toContain("b has had no tunnel for 46 s")
    world.network.cut("primary", "b")
    expect(found("T7", looks, world)).toBeUndefined()
  })
})

describe("T8", () => {
  it("finds lanes that nothing uses, and a member with no tunnel", () => {
    const world = ofTunnels()
    const left = (): string => findAtRest(invariant("T8"), world, "left").join(" ")
    expect(left()).toBe("")
    const [wire] = world.outbound?.tunnels.wiresOf("b") ?? []
    for (let i = 0; i < 9; i++) wire?.cell.openLane()
    expect(left()).toMatch(/has 1\d lanes, and .* lanes for/u)
    wire?.reset()
    world.pass(1)
    expect(left()).toContain("b has 0 tunnels.")
  })
})

describe("T9", () => {
  const asks = at(second, { _tag: "ClientAsks", client: "s1" })
  const ended = at(3 * second, { _tag: "ClientEnded", client: "s1", rule: "wire.md §5.4", message: "gone" })
  const startAt = (home: string): World => {
    const world = ofTunnels()
    world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp", at: home })
    return world
  }
  it("finds a session of b alone that ends, unless more than the tunnel was wrong", () => {
    expect(found("T9", [asks, fault(2 * second), ended], startAt("b"))).toContain("nothing but a tunnel was wrong")
    expect(found("T9", [asks, fault(2 * second, "agent crash"), ended], startAt("b"))).toBeUndefined()
    expect(found("T9", [asks, fault(2 * second), ended], startAt("a"))).toBeUndefined()
    expect(found("T9", [fault(0, "agent crash"), asks, ended], startAt("b"))).toBeUndefined()
  })
})

describe("T10", () => {
  const late = at(9 * second, { _tag: "Step", text: "" })
  const log = (process: string, message: string, details = {}) =>
    at(second, { _tag: "Log", process, line: { level: "WARN", message, details } })
  it("finds a refused command that one side does not tell", () => {
    const behind = line(0, { type: "behind" }, "cell", "come")
    const [atPrimary, atMember] = [
      log("operator-primary-r0-1", "command is refused by a member"),
      log("operator-b-1", "command of the primary is refused: it is older")
    ]
    expect(found("T10", [behind, atPrimary, late, late])).toContain("The operator of b does not tell")
    expect(found("T10", [behind, atMember, late, late])).toContain("The operator of primary does not tell")
    expect(found("T10", [behind, atPrimary, atMember, late, late])).toBeUndefined()
  })

  it("finds a refused tunnel whose cause is not told", () => {
    const refused = line(0, { type: "refused", why: "two operators" }, "outpost", "come")
    const told = (process: string) => log(process, "tunnel is over", { why: "two operators" })
    expect(found("T10", [refused, told("operator-b-1"), late, late])).toContain("The operator of primary does not tell")
    expect(found("T10", [refused, told("operator-b-1"), told("operator-primary-1"), late, late])).toBeUndefined()
  })
})
