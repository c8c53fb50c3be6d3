import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  isWholeAllowance,
  lineBurst,
  lineEvery,
  type LineAllowance,
  takeLine
} from "../../src/domain/line-allowance.ts"

/** The times at which a line was written, of those at which somebody wanted to. */
const written = (times: ReadonlyArray<number>): ReadonlyArray<number> => {
  let allowance: LineAllowance | undefined
  return times.filter((now) => {
    const { isAllowed, left } = takeLine(allowance, now)
    allowance = left
    return isAllowed
  })
}

describe("lines of one kind", () => {
  it("are a burst and one each second at most, in any stretch of time", () => {
    const pauses = fc.array(fc.oneof(fc.constant(0), fc.nat(50), fc.nat(5_000)), { maxLength: 400 })
    fc.assert(
      fc.property(pauses, (given) => {
        let now = 1_000_000
        const lines = written(given.map((pause) => (now += pause)))
        for (const [index, from] of lines.entries())
          for (const [more, to] of lines.slice(index).entries())
            expect(more + 1).toBeLessThanOrEqual(lineBurst + Math.ceil((to - from) / lineEvery))
      }),
      { numRuns: 50 }
    )
  })

  it("are all written while they come slowly, and again after a pause", () => {
    const slow = Array.from({ length: 500 }, (_, index) => index * lineEvery)
    expect(written(slow)).toEqual(slow)
    const flood = Array.from({ length: 1_000 }, () => 0)
    expect(written(flood)).toHaveLength(lineBurst)
    const pause = lineBurst * lineEvery
    expect(written([...flood, ...flood.map(() => pause)])).toHaveLength(2 * lineBurst)
  })

  it("get nothing from a clock that is set back", () => {
    const flood = Array.from({ length: lineBurst }, () => 1_000_000)
    expect(written([...flood, 0, 0, 500])).toHaveLength(lineBurst)
  })

  it("are forgotten when their allowance is whole", () => {
    const { left } = takeLine(undefined, 0)
    expect([isWholeAllowance(left, 0), isWholeAllowance(left, lineEvery)]).toEqual([false, true])
  })
})
