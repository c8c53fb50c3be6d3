import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { traceparentOf } from "../../../src/domain/tracing/traceparent.ts"

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`, "u"))
const spans = fc.tuple(hex(16), hex(16))

describe("the trace of a request for a session", () => {
  it("is the session's, at the place that the request names in it", () =>
    fc.assert(
      fc.property(hex(32), spans, (trace, [one, other]) => {
        const request = `00-${trace}-${other}-01`
        expect(traceparentOf(`00-${trace}-${one}-01`, request)).toBe(request)
      })
    ))

  it("is the session's where the request names another, or none", () =>
    fc.assert(
      fc.property(hex(32), hex(32), spans, (trace, another, [one, other]) => {
        fc.pre(trace !== another)
        const session = `00-${trace}-${one}-01`
        expect(traceparentOf(session, `00-${another}-${other}-01`)).toBe(session)
        expect(traceparentOf(session, undefined)).toBe(session)
      })
    ))

  it("is the request's where the session has none", () => {
    expect(traceparentOf(undefined, "any")).toBe("any")
    expect(traceparentOf(undefined, undefined)).toBeUndefined()
  })
})
