import { Effect, Fiber } from "effect"
import { assert, describe } from "vitest"
import { makeLinkTerms } from "../../../../src/app/sessions/member/link-terms.ts"
import { it } from "../../../support/effect-it.ts"

/** Terms of the links that have ended, of those that came in this order to the sessions. */
const ended = Effect.fnUntraced(function* (
  ...links: ReadonlyArray<readonly [session: string, term: string | undefined]>
) {
  const terms = makeLinkTerms()
  const fibers = yield* Effect.forEach(links, ([session, term]) =>
    Effect.flatMap(terms.arrive(session, term), (succeeded) => Effect.forkScoped(succeeded, { startImmediately: true }))
  )
  yield* Effect.yieldNow
  return links.flatMap(([session, term], index) =>
    fibers[index]?.pollUnsafe() === undefined ? [] : [`${session} ${term}`]
  )
})

describe("links of a primary's leaders", () => {
  it.effect("end when another leader links their session, however many they are", function* () {
    assert.deepStrictEqual(yield* ended(["s", "1"], ["s", "1"], ["s", "2"]), ["s 1", "s 1"])
    assert.deepStrictEqual(
      yield* ended(["s", "7"], ["s", "0"]),
      ["s 7"],
      "a Lease that was made again counts from the beginning"
    )
  })

  it.effect(
    "stay beside each other, beside other sessions', and beside links of an operator that elects nobody",
    function* () {
      assert.deepStrictEqual(yield* ended(["s", "1"], ["s", "1"], ["t", "2"], ["s", undefined], ["s", "1"]), [])
      assert.deepStrictEqual(yield* ended(["s", undefined], ["s", "1"]), [])
    }
  )

  it.effect("are forgotten with their scope", function* () {
    const terms = makeLinkTerms()
    const fiber = yield* Effect.forkChild(Effect.scoped(Effect.flatten(terms.arrive("s", "1"))), {
      startImmediately: true
    })
    yield* Effect.scoped(Effect.asVoid(terms.arrive("s", "2")))
    yield* Fiber.join(fiber)
    assert.strictEqual(terms.size(), 0)
  })
})
