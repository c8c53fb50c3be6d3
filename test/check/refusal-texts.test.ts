import { describe, expect, it } from "vitest"
import { refusalTexts, sentencesOf } from "../../scripts/reference/refusal-texts.ts"

describe("the sentences of the source", () => {
  it("are found wherever they stand, and none in comments, regular expressions and the log", () => {
    const text = [
      "/** This is no sentence of the operator. */",
      'import { a } from "./not this one here.ts"',
      "// Nor is this one here.",
      'const form = /["`] and no sentence either/u',
      'logWarning("this is for the log alone", {})',
      'fail({ message: `the pod ${name} is ` + "not ready at all" })',
      "const quoted = 'he said \"no\" to all of it'",
      'const key = "spec.selector.matchLabels"',
      String.raw`const odd = "\u{fffd} stands for it"`
    ].join("\n")
    expect(sentencesOf(text).filter((found) => found.includes(" "))).toEqual([
      "the pod … is not ready at all",
      'he said "no" to all of it',
      "\u{fffd} stands for it"
    ])
  })

  it("of refusals are found in every form, with a sign for what is filled in", () => {
    const text = [
      'const a = badRequest("plain")',
      "yield* forbidden(",
      '  `User ${user.name} may not (${list.map((x) => `"${x}"`).join(", ")}) ` +',
      '    "do it."',
      ")",
      "Effect.mapError(({ message }) => internalError(message))",
      "notFound(`${title} is gone.`)",
      "export const badRequest = (message: string): ApiError => new ApiError({ code: 400 })",
      "policy.forbidden(text)"
    ].join("\n")
    expect(refusalTexts(text)).toEqual([
      { code: 400, text: "plain" },
      { code: 403, text: "User … may not (…) do it." },
      { code: 500, text: undefined },
      { code: 404, text: "… is gone." }
    ])
  })
})
