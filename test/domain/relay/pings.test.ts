import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { limits } from "../../../src/domain/relay/limits.ts"
import { a, b, c, ping, pong, Scenario } from "./scenario.ts"

describe("pings", () => {
  it("wire.md §8.2: one Pong per Ping, when every live member has answered", () => {
    const s = Scenario.connected().client(ping).client(ping)
    expect([s.toMember(a).length, s.toMember(b).length]).toEqual([2, 2])
    s.member(b, pong).member(b, pong)
    expect(s.toClient()).toEqual([])
    s.member(a, pong)
    expect(s.toClient()).toEqual([pong])
    s.member(a, pong)
    expect(s.toClient()).toEqual([pong])
    expect(s.member(a, pong).toClient()).toEqual([])
    expect(s.has("Dropped")).toEqual([{ _tag: "Dropped", what: "unansweredPong" }])
  })

  it("a member is waited for up to the bound after the default's answer, and its late Pong is dropped", () => {
    const s = Scenario.connected().client(ping)
    s.later(60_000)
    expect(s.toClient()).toEqual([])
    s.member(a, pong)
    expect(s.has("WakeAt").at(-1)?.at).toBe(s.now + 2000)
    expect(s.later(1999).toClient()).toEqual([])
    expect(s.later(1).toClient()).toEqual([pong])
    expect(s.member(b, pong).toClient()).toEqual([])
    s.client(ping).member(b, pong).member(a, pong)
    expect(s.toClient()).toEqual([pong])
  })

  it("the default is waited for, however long ago the others have answered", () => {
    const s = Scenario.connected().client(ping).member(b, pong).later(60_000)
    expect([s.toClient(), s.has("WakeAt")]).toEqual([[], []])
    expect(s.member(a, pong).toClient()).toEqual([pong])
  })

  it("a lost member is not waited for, one that comes later owes nothing", () => {
    const s = Scenario.connected().client(ping).member(a, pong).lose(b)
    expect(s.toClient()).toEqual([pong])
    s.client(ping).put({ _tag: "MemberConnected", member: b }).member(a, pong)
    expect(s.toClient()).toEqual([pong])
  })

  it("wire.md §8.2: never a surplus Pong, never one before the default's, whatever the order", () => {
    const act = fc.constantFrom("ping", "a", "b", "c", "lose b", "return b", "wait")
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const s = Scenario.connected({}, { members: [a, b, c] })
        let [pings, byDefault, pongs] = [0, 0, 0]
        for (const one of acts) {
          if (one === "ping") {
            pings++
            s.client(ping)
          } else if (one === "a") {
            byDefault = Math.min(pings, byDefault + 1)
            s.member(a, pong)
          } else if (one === "b") s.member(b, pong)
          else if (one === "c") s.member(c, pong)
          else if (one === "lose b") s.lose(b)
          else if (one === "return b") s.put({ _tag: "MemberConnected", member: b })
          else s.later(1000)
          pongs += s.toClient().length
          expect(pongs).toBeLessThanOrEqual(byDefault)
        }
        for (let i = byDefault; i < pings; i++) s.member(a, pong)
        s.later(2000)
        expect(pongs + s.toClient().length).toBe(pings)
      }),
      { numRuns: 500 }
    )
  })

  it("wire.md §8.21: the router's own pings reach every member and their answers nobody", () => {
    const s = Scenario.connected({}, { pingMembersEvery: 20_000 })
    s.later(20_000)
    expect([s.toMember(a), s.toMember(b)]).toEqual([[ping], [ping]])
    s.client(ping).member(a, pong).member(b, pong)
    expect(s.toClient()).toEqual([])
    s.member(b, pong).member(a, pong)
    expect(s.toClient()).toEqual([pong])
    s.toMember(a)
    expect(s.later(20_000).toMember(a)).toEqual([ping])
    expect(s.later(20_000).toMember(a)).toEqual([])
    expect(s.has("Dropped")).toEqual([])
  })

  it("a member that does not answer is given up at the bound", () => {
    const s = Scenario.connected()
    for (let i = 0; i < limits.unanswered; i++) s.client(ping).member(a, pong)
    expect(s.has("DisconnectMember")).toEqual([])
    s.client(ping)
    expect(s.has("DisconnectMember").map((one) => one.member)).toEqual([b])
    expect(s.has("DropClient")).toEqual([])
  })

  it("a default that does not answer costs the client its connection at the bound", () => {
    const s = Scenario.connected({}, { members: [a] })
    for (let i = 0; i <= limits.unanswered; i++) s.client(ping)
    expect(s.has("DropClient")).toHaveLength(1)
  })
})
