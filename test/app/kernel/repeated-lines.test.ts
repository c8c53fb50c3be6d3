import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"
import { audit } from "../../../src/app/kernel/audit.ts"
import { logWarning } from "../../../src/app/kernel/log.ts"
import { CurrentRepeatedLines, RepeatedLines } from "../../../src/app/kernel/repeated-lines.ts"
import { lineBurst } from "../../../src/domain/line-allowance.ts"
import { it } from "../../support/effect-it.ts"

const count = 1_000

/** The lines of a program, and what one of them says. */
const heard = <A>(program: (lines: Array<Readonly<Record<string, unknown>>>) => Effect.Effect<A>) => {
  const lines: Array<Readonly<Record<string, unknown>>> = []
  const logger = Logger.map(Logger.formatStructured, ({ annotations, message }) => {
    lines.push({ said: message, ...annotations })
  })
  return program(lines).pipe(
    Effect.provideService(CurrentRepeatedLines, new RepeatedLines()),
    Effect.provide(Logger.layer([logger]))
  )
}

const refused = (user: string, code: number) =>
  audit({ act: "refused", by: { user, groups: [] }, code, reason: "Forbidden", message: "no" })

describe("lines that repeat", () => {
  it.effect("are summed once a second", () =>
    heard((lines) =>
      Effect.gen(function* () {
        const { tell } = yield* CurrentRepeatedLines
        const flood = Effect.forEach(Array.from({ length: count }), () =>
          tell("kind", logWarning("again"), (left) => logWarning("more", { left }))
        )
        yield* flood
        assert.strictEqual(lines.length, lineBurst)
        yield* TestClock.adjust(1_000)
        assert.deepStrictEqual(lines.at(-1), { said: "more", left: count - lineBurst })
        yield* flood
        yield* TestClock.adjust(1_000)
        assert.deepStrictEqual(lines.slice(lineBurst + 1), [{ said: "again" }, { said: "more", left: count - 1 }])
        yield* TestClock.adjust(10_000)
        assert.strictEqual(lines.length, lineBurst + 3)
      })
    )
  )

  it.effect("of more kinds than can be remembered are bounded together", () =>
    heard((lines) =>
      Effect.gen(function* () {
        const { tell } = yield* CurrentRepeatedLines
        yield* Effect.forEach(Array.from({ length: 20_000 }), (_, index) =>
          tell(`kind ${index}`, logWarning("once"), (left) => logWarning("more", { left }))
        )
        assert.isBelow(lines.length, 2_000)
        yield* TestClock.adjust(60_000)
        yield* tell("kind 19999", logWarning("known again"), () => Effect.void)
        assert.strictEqual(lines.at(-1)?.["said"], "known again")
      })
    )
  )
})

describe("refusals in the audit", () => {
  it.effect("of one user are summed, and those of others and all other acts are written", () =>
    heard((lines) =>
      Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: count }), () => refused("mallory", 403))
        yield* refused("alice", 403)
        yield* audit({ act: "connected", by: { user: "mallory", groups: [] }, session: "mc-1" })
        yield* TestClock.adjust(1_000)
        assert.strictEqual(lines.length, lineBurst + 3)
        assert.deepStrictEqual(
          lines.slice(lineBurst).map(({ said, user }) => [said, user]),
          [
            ["session refused", "alice"],
            ["session connected", "mallory"],
            ["more sessions refused", "mallory"]
          ]
        )
        assert.deepInclude(lines.at(-1), {
          audit: true,
          act: "refused",
          decision: "denied",
          code: 403,
          count: count - lineBurst
        })
      })
    )
  )
})
