import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { textLimits } from "../../../src/domain/clean-text.ts"
import { boundedTexts } from "../../../src/domain/sessions/connect-texts.ts"

const request = {
  namespace: "shop",
  target: "deployment.web",
  clientVersion: "3.250.0",
  clientName: "Jane Doe",
  clientHostname: "janes-laptop.local"
}

describe("the texts of a connect request", () => {
  it("stay as a real client sends them", () => {
    expect(boundedTexts(request)).toEqual(Result.succeed(request))
    const empty = { ...request, clientName: "", clientHostname: undefined, clientVersion: undefined }
    expect(boundedTexts(empty)).toEqual(Result.succeed(empty))
    for (const namespace of ["a", "0", "a-b", "x".repeat(63)])
      expect(Result.isSuccess(boundedTexts({ ...request, namespace }))).toBe(true)
  })

  it("are short names, whatever was sent", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "\u202e", "\u001b", "\n", "🎉"), maxLength: 400 }), (text) => {
        const bounded = Result.getOrThrow(
          boundedTexts({ ...request, clientName: text, clientHostname: text, clientVersion: text })
        )
        for (const name of [bounded.clientName, bounded.clientHostname, bounded.clientVersion]) {
          expect(name?.length).toBeLessThanOrEqual(textLimits.name)
          expect(name).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
        }
      })
    )
  })

  const noNamespace = [
    "",
    "..",
    "a/b",
    "Shop",
    "a.b",
    "-a",
    "a-",
    "x".repeat(64),
    "a\n",
    "sh\u202eop",
    "x".repeat(5_000)
  ]
  it.each(noNamespace)("the namespace %j is refused with a sentence", (namespace) => {
    const refused = boundedTexts({ ...request, namespace })
    const sentence = Result.isFailure(refused) ? refused.failure : ""
    expect(sentence).toMatch(/^The namespace ".*" cannot be one: a namespace has 1 to 63 lower-case letters/u)
    expect(sentence.length).toBeLessThan(400)
    expect(sentence).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  })

  it("a target of any length is refused with a sentence", () => {
    const refused = boundedTexts({ ...request, target: `deployment.${"x".repeat(100_000)}` })
    expect(Result.isFailure(refused) ? refused.failure : "").toMatch(
      /^The target ".{120}" has 100011 characters; at most 512/u
    )
  })
})
