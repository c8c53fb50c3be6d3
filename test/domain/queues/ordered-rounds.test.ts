import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { groupOf, orderedRounds } from "../../../src/domain/queues/ordered-rounds.ts"

const messages = fc.array(fc.constantFrom("g", "h", "i", undefined), { maxLength: 12 }).map((groups) =>
  groups.map((group, index) => ({
    MessageId: `m${index}`,
    ReceiptHandle: "r",
    Body: "x",
    Attributes: { MessageGroupId: group }
  }))
)

describe("the rounds of a receive", () => {
  it("have each message once, one of a group in each round, in the order of the group", () => {
    fc.assert(
      fc.property(messages, (list) => {
        const rounds = orderedRounds(list, true)
        for (const round of rounds) expect(new Set(round.map(groupOf)).size).toBe(round.length)
        for (const group of new Set(list.map(groupOf))) {
          const ofGroup = rounds.map((round) => round.filter((message) => groupOf(message) === group))
          expect(ofGroup.flat()).toEqual(list.filter((message) => groupOf(message) === group))
          const last = ofGroup.findLastIndex((some) => some.length > 0)
          // None waits for longer than its place in the group asks.
          expect(last + 1).toBe(ofGroup.flat().length)
        }
      })
    )
  })

  it("are one if the queue keeps no order, also where messages have groups", () => {
    fc.assert(
      fc.property(messages, (list) => {
        expect(orderedRounds(list, false)).toEqual([list])
      })
    )
  })
})
