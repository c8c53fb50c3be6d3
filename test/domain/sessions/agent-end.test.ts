import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type AgentEnd, afterEnd, startingPlacements } from "../../../src/domain/sessions/agent-end.ts"

const end = (change: Partial<AgentEnd>): AgentEnd => ({
  isRepresentative: true,
  cause: "Ended",
  servedFor: 60_000,
  sinceGivenUp: undefined,
  ...change
})

describe("the end of an agent", () => {
  it.each<[string, Partial<AgentEnd>, string]>([
    ["of the representative that served starts over at once", {}, "StartOver"],
    ["of the representative right after its start waits", { servedFor: 9_999 }, "Fail"],
    ["of another is looked after soon", { isRepresentative: false }, "LookSoon"],
    [
      "of another right after its start waits for the next look",
      { isRepresentative: false, servedFor: 1 },
      "LookLater"
    ],
    ["by being given up starts over at once, the first time", { cause: "GivenUp" }, "StartOver"],
    ["by being given up waits, the second time in ten minutes", { cause: "GivenUp", sinceGivenUp: 599_999 }, "Fail"],
    ["by being given up starts over at once after that", { cause: "GivenUp", sinceGivenUp: 600_000 }, "StartOver"],
    ["by itself is not blamed on one that was given up", { sinceGivenUp: 1_000 }, "StartOver"]
  ])("%s", (_what, change, expected) => expect(afterEnd(end(change))).toBe(expected))

  it("makes no storm: of agents that are given up within ten minutes, one is replaced without a pause", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 59_999 }), { minLength: 2, maxLength: 9 }), (gaps) => {
        const nexts = gaps.map((gap, i) =>
          afterEnd(end({ cause: "GivenUp", servedFor: gap, sinceGivenUp: i === 0 ? undefined : gap }))
        )
        expect(nexts).toEqual(["StartOver", ...gaps.slice(1).map(() => "Fail")])
      })
    )
  })
})

describe("a session that starts over", () => {
  const [a, b] = [{ containerId: "a" }, { containerId: "b" }]
  it("does not wait for the container whose agent was given up, if there is another", () => {
    expect(startingPlacements([a, b], "a")).toEqual([b])
    expect(startingPlacements([a], "a")).toEqual([a])
    expect(startingPlacements([a, b], undefined)).toEqual([a, b])
    expect(startingPlacements([], "a")).toEqual([])
  })
})
