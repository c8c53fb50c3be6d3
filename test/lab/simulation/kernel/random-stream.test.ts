/** Independence and reproducibility of random streams. */

import { describe, expect, it } from "vitest"
import { RandomStream } from "../../../../lab/simulation/kernel/random-stream.ts"

const draws = (stream: RandomStream): ReadonlyArray<number> =>
  Array.from({ length: 20 }, () => stream.int(0, 1_000_000))

describe("a random stream", () => {
  it("is the same for the same seed and another for another", () => {
    expect(draws(new RandomStream("1"))).toEqual(draws(new RandomStream("1")))
    expect(draws(new RandomStream("1"))).not.toEqual(draws(new RandomStream("2")))
  })

  it("is not shifted by what is drawn from others", () => {
    const [one, other] = [new RandomStream("1"), new RandomStream("1")]
    const first = draws(one.split("network"))
    draws(other)
    draws(other.split("agents"))
    expect(draws(other.split("network"))).toEqual(first)
  })

  it("keeps bounds, and chances their share", () => {
    const stream = new RandomStream("bounds")
    const seen = new Set(Array.from({ length: 500 }, () => stream.int(3, 5)))
    expect([...seen].toSorted()).toEqual([3, 4, 5])
    expect(Array.from({ length: 1_000 }, () => stream.fraction()).every((value) => value >= 0 && value < 1)).toBe(true)
    const hits = Array.from({ length: 10_000 }, () => stream.chance(0.3)).filter((hit) => hit).length
    expect(hits).toBeGreaterThan(2_700)
    expect(hits).toBeLessThan(3_300)
    expect(stream.chance(0)).toBe(false)
  })

  it("shuffles without loss", () => {
    const items = Array.from({ length: 30 }, (_, i) => i)
    const shuffled = new RandomStream("1").shuffle(items)
    expect(shuffled).not.toEqual(items)
    expect(shuffled.toSorted((a, b) => a - b)).toEqual(items)
    expect(new RandomStream("1").pick([])).toBeUndefined()
  })
})
