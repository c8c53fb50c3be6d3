import { Effect } from "effect"
import { HttpServerRespondable, HttpServerResponse } from "effect/http"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { badRequest, failureBody, forbidden, notFound, sentences, successBody } from "../../../src/app/api/status.ts"

/** Texts of callers: any characters, some harmful, and some that are long. */
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("a", ".", "\u001b", "\u202e", "\r", "\n", "\u0085", "\ud800", "\u2028") }),
  fc.string({ unit: "binary", minLength: 2_000, maxLength: 5_000, size: "max" })
)

const isHarmless = (message: string): boolean =>
  message.length <= 1_024 && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(message)

const messageOf = (body: unknown): string => (body as { readonly message: string }).message

describe("the sentence of an answer", () => {
  it("is short and holds nothing harmful, whatever the caller's text in it", async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom(badRequest, forbidden, notFound), async (found, refuse) => {
        const sentence = `There is no session ${found}.`
        const error = refuse(sentence)
        const response = HttpServerResponse.toWeb(Effect.runSync(error[HttpServerRespondable.symbol]()))
        const bodies = [await response.json(), failureBody(error), successBody(sentence)]
        expect(bodies.map(messageOf).filter((message) => !isHarmless(message))).toEqual([])
        const lines = sentences([sentence, sentence]).split("\n")
        expect(lines).toHaveLength(3)
        expect(lines.filter((line) => !isHarmless(line))).toEqual([])
      })
    )
  })

  it("stays as it is otherwise", () => {
    expect(failureBody(notFound("There is no session “ä”."))).toMatchObject({
      status: "Failure",
      code: 404,
      reason: "NotFound",
      message: "There is no session “ä”."
    })
  })
})
