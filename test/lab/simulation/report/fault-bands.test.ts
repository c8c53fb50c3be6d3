/** Which faults last in the report, and from when to when. */

import { describe, expect, it } from "vitest"
import { FaultBands } from "../../../../lab/simulation/report/fault-bands.ts"

const clusters = { primary: "p", all: new Set(["s1", "p", "a", "b"]) }

/** Steps at 0, 10, 20, … s; each brings the fault that is named after it. The story ends at 100 s. */
const bandsOf = (...steps: ReadonlyArray<readonly [step: string, fault?: string]>) => {
  const bands = new FaultBands(clusters)
  const moments = steps.flatMap(([step, fault], i) => {
    bands.step(i * 10, step)
    return fault === undefined || bands.fault(i * 10, fault, `${fault}!`) ? [] : [[i * 10, fault, ...bands.lanes()]]
  })
  return { bands: bands.finish(100).map(({ from, kind, lane, to }) => [lane, kind, from, to]), moments }
}

describe("faults that last", () => {
  it.each<[string, string, string, ReadonlyArray<string>]>([
    ["cut p b", "cut", "heal b p", ["b"]],
    ["cut p b one-way", "cut", "heal all", ["b"]],
    ["cut s1 p", "cut", "settle", ["s1"]],
    ["cut a b", "cut", "heal a b", ["a", "b"]],
    ["stop server a", "server down", "restart server a", ["a"]],
    ["stop server p", "server down", "restart server p", ["p"]],
    ["pause operator b", "operator pause", "resume operator b", ["b"]],
    ["leave operator b", "operator gone", "return operator b", ["b"]],
    ["images a missing", "image missing", "images a back", ["a"]],
    ["watch a drop", "lost events", "watch a restore", ["a"]],
    ["pods b unready", "pods not ready", "pods b ready", ["b"]],
    ["node b cut", "nodes cut off", "node b back", ["b"]],
    ["node b lost", "node lost", "heal all", ["b"]],
    ["slow agents a 1s 2s", "slow agents", "heal all", ["a"]],
    ["skew operator a +10m", "clock skew", "heal all", ["a"]]
  ])("%s is a band until %s… %s", (begin, fault, end, lanes) => {
    expect(bandsOf([begin, fault], ["tick 10s"], [end])).toEqual({
      bands: lanes.map((lane) => [lane, fault, 0, 20]),
      moments: []
    })
  })

  it("lasts until faults end if nothing ends it before, and is not ended by what ends another", () => {
    expect(bandsOf(["cut p b", "cut"], ["heal p a"], ["restart server b"]).bands).toEqual([["b", "cut", 0, 100]])
  })

  it("lasts as long as its step says", () => {
    expect(bandsOf(["errors a conflict for 20s", "call conflict"]).bands).toEqual([["a", "call conflict", 0, 20]])
    expect(bandsOf(["stale b 5 for 5s", "stale lists"]).bands).toEqual([["b", "stale lists", 0, 5]])
    expect(bandsOf(["swizzle 30s", "swizzle"]).bands.map(([, , from, to]) => [from, to])).toContainEqual([0, 30])
  })

  it("is begun again by the same step", () => {
    expect(bandsOf(["latency p b 1ms 2ms", "latency"], ["latency b p 9ms 9ms", "latency"]).bands).toEqual([
      ["b", "latency", 0, 10],
      ["b", "latency", 10, 100]
    ])
  })

  it("is a moment where it is over at once, or after a number of calls", () => {
    expect(
      bandsOf(
        ["crash operator a", "operator crash"],
        ["reset p b", "reset"],
        ["errors p conflict for 3 calls", "call conflict"]
      )
    ).toEqual({
      bands: [],
      moments: [
        [0, "operator crash", "a"],
        [10, "reset", "b"],
        [20, "call conflict", "p"]
      ]
    })
  })
})
