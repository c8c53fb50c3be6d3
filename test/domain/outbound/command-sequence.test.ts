import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import {
  type CommandSequence,
  type CommandVerdict,
  judgeCommand,
  whyBehind
} from "../../../src/domain/outbound/command-sequence.ts"

interface Command extends CommandSequence {
  readonly content: string
}

const command = fc.record({
  epoch: fc.constantFrom("one", "two"),
  number: fc.nat(6),
  content: fc.constantFrom("x", "y")
})
/** The fate of a command: it may be lost with the process before it is kept, or after. */
const fate = fc.constantFrom("arrives", "dies before it is kept", "dies after it is kept")

describe("commands of a primary", () => {
  it("are carried out once at most, and none after a later one, across restarts (T3)", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(command, fate), { maxLength: 40, size: "max" }), (commands) => {
        let kept: Command = { epoch: "one", number: 1, content: "x" }
        const carriedOut = [kept]
        for (const [given, end] of commands) {
          const verdict = judgeCommand(kept, given, given.content === kept.content)
          if (verdict === "Repeat") expect(given).toEqual(kept)
          if (verdict !== "Accept" || end === "dies before it is kept") continue
          kept = given
          carriedOut.push(given)
        }
        expect(carriedOut.every(({ epoch }) => epoch === "one")).toBe(true)
        const numbers = carriedOut.map(({ number }) => number)
        expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
      })
    )
  })

  const last = { epoch: "one", number: 5 }
  it.each<readonly [string, CommandSequence, boolean, CommandVerdict]>([
    ["a later number", { epoch: "one", number: 6 }, false, "Accept"],
    ["a later number with what is held already", { epoch: "one", number: 9 }, true, "Accept"],
    ["the same one again", { epoch: "one", number: 5 }, true, "Repeat"],
    ["the same number with another content, of a restored primary", { epoch: "one", number: 5 }, false, "Behind"],
    ["an older number", { epoch: "one", number: 4 }, true, "Behind"],
    ["another epoch, whatever its number", { epoch: "two", number: 9 }, true, "Behind"]
  ])("with %s", (_, given, isHeld, verdict) => {
    expect(judgeCommand(last, given, isHeld)).toBe(verdict)
  })

  it.each([
    [{ epoch: "one", number: 3 }, /has accepted number 5 of this primary's commands, and the primary is at number 3/],
    [{ epoch: "two", number: 9 }, /follows another epoch of its primary \(one\) than the present one \(two\)/]
  ])("that are refused name the cure: %o", (own, sentence) => {
    const why = whyBehind(clusterName("b"), own, last)
    expect(why.replaceAll('"', "")).toMatch(sentence)
    expect(why).toContain("Run `braid join b --renew --cell HOST:PORT --apply`")
  })
})
