import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isSampled, parseSampler, defaultSampler } from "../../../src/domain/tracing/sampler.ts"

const traceId = fc.stringMatching(/^[0-9a-f]{32}$/)
const parent = fc.option(fc.boolean(), { nil: undefined })

const parsed = (name: string | undefined, argument?: string) => Result.getOrThrow(parseSampler(name, argument))

describe("samplers", () => {
  it("keep every trace unless one is named", () => {
    expect(parsed(undefined)).toEqual(defaultSampler)
    expect(parsed("parentbased_always_on")).toEqual(defaultSampler)
  })

  it("keep all or nothing by their names, whatever the trace", () =>
    fc.assert(
      fc.property(traceId, parent, (id, above) => {
        expect(isSampled(parsed("always_on"), id, above)).toBe(true)
        expect(isSampled(parsed("always_off"), id, above)).toBe(false)
        expect(isSampled(parsed("parentbased_always_off"), id, above)).toBe(above ?? false)
        expect(isSampled(parsed("parentbased_always_on"), id, above)).toBe(above ?? true)
        expect(isSampled(parsed("traceidratio", "0"), id, above)).toBe(false)
        expect(isSampled(parsed("traceidratio", "1"), id, above)).toBe(true)
      })
    ))

  it("keep with a greater ratio what they keep with a smaller one", () =>
    fc.assert(
      fc.property(
        traceId,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (id, a, b) => {
          const kept = (ratio: number) => isSampled({ followsParent: false, ratio }, id, undefined)
          if (kept(Math.min(a, b))) expect(kept(Math.max(a, b))).toBe(true)
        }
      )
    ))

  it("keep about the part that the ratio says", () => {
    const sampler = parsed("parentbased_traceidratio", "0.25")
    const ids = Array.from(
      { length: 256 },
      (_, index) => `${"0".repeat(18)}${index.toString(16).padStart(2, "0")}${"0".repeat(12)}`
    )
    expect(ids.filter((id) => isSampled(sampler, id, undefined))).toHaveLength(64)
  })

  it("are refused where there is no such sampler or ratio, and the ratio counts only where one is used", () => {
    expect(parseSampler("jaeger_remote", undefined)).toMatchObject({ failure: { field: "OTEL_TRACES_SAMPLER" } })
    for (const argument of ["2", "-1", "1e-3", "NaN", "a", "1.5"])
      expect(parseSampler("traceidratio", argument), argument).toMatchObject({
        failure: { field: "OTEL_TRACES_SAMPLER_ARG" }
      })
    expect(parsed("always_on", "nonsense").ratio).toBe(1)
    expect(parsed("traceidratio").ratio).toBe(1)
    expect(parsed("traceidratio", ".5").ratio).toBe(0.5)
  })
})
