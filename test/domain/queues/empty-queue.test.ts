import { describe, expect, it } from "vitest"
import { isEmpty, lastCount, nextCountAt } from "../../../src/domain/queues/empty-queue.ts"
import type { QueueState } from "../../../src/domain/queues/observed-split.ts"

const counted = (...counts: ReadonlyArray<readonly [number, number]>): QueueState => ({
  _tag: "Present",
  counts: counts.map(([at, messages]) => ({ at: at * 1_000, messages }))
})

describe("a queue", () => {
  it.each<[string, QueueState, boolean]>([
    ["does not exist", { _tag: "Absent" }, true],
    ["was not looked at", { _tag: "Unknown" }, false],
    ["was counted twice", counted([100, 0], [120, 0]), false],
    ["was counted three times 20 s apart", counted([100, 0], [120, 0], [140, 0]), true],
    ["was counted more often, but three times 20 s apart", counted([100, 0], [110, 0], [120, 0], [141, 0]), true],
    ["was counted three times too fast", counted([100, 0], [119, 0], [139, 0]), false],
    ["had a message between", counted([100, 0], [120, 0], [130, 1], [140, 0], [160, 0]), false],
    ["had a message before", counted([100, 9], [101, 0], [121, 0], [141, 0]), true],
    ["has a message again", counted([100, 0], [120, 0], [140, 0], [141, 1]), false],
    ["was counted before the time that counts", counted([99, 0], [120, 0], [140, 0]), false]
  ])("that %s is empty or not", (_, state, expected) => {
    expect(isEmpty(state, 100_000)).toBe(expected)
  })

  it("is counted at once, and then every 20 s", () => {
    expect(nextCountAt(counted([99, 0]), 100_000)).toBe(100_000)
    expect(nextCountAt(counted([101, 0], [105, 3]), 100_000)).toBe(125_000)
    expect(lastCount(counted([101, 0], [105, 3]), 105_001)).toBeUndefined()
  })
})
