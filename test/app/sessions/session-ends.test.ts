import { Effect, Exit, Logger } from "effect"
import { describe, expect, it } from "vitest"
import { SessionEnds } from "../../../src/app/sessions/session-ends.ts"

const about = { session: "session-1", owner: "ann" }
const expired = { act: "ended", cause: "Expired", ...about, message: "no client" } as const

/** What `story` returns, and the causes in the audit. */
const told = <A>(story: (ends: SessionEnds) => Effect.Effect<A, unknown>): readonly [Exit.Exit<A, unknown>, ReadonlyArray<unknown>] => {
  const causes: Array<unknown> = []
  const hear = Logger.layer([Logger.map(Logger.formatJson, (line) => void causes.push(JSON.parse(line).annotations.cause))])
  return [Effect.runSyncExit(Effect.provide(story(new SessionEnds()), hear)), causes]
}

describe("the ends of sessions in the audit", () => {
  it("a deletion of our own has the line of its cause, whether the watch or the answer is first", () => {
    expect(told((ends) => Effect.andThen(ends.end("u1", Effect.void, expired), ends.seen("u1", about)))[1]).toEqual(["Expired"])
    expect(told((ends) => ends.end("u1", ends.seen("u1", about), expired))[1]).toEqual(["Expired"])
  })

  it("a deletion that failed has none, and its error is passed on", () => {
    const [exit, causes] = told((ends) => ends.end("u1", Effect.fail("NotFound"), expired))
    expect([Exit.isFailure(exit), causes]).toEqual([true, []])
  })

  it("somebody else's is told as such: after a deletion of ours that failed, and of an object of the same name", () => {
    expect(told((ends) => Effect.andThen(Effect.exit(ends.end("u1", Effect.fail("NotFound"), expired)), ends.seen("u1", about)))[1]).toEqual(["Deleted"])
    expect(told((ends) => Effect.andThen(ends.end("u1", Effect.void, expired), ends.seen("u2", about)))[1]).toEqual(["Expired", "Deleted"])
  })

  it("holds a bounded number of ends in memory, the latest ones", () => {
    const [, causes] = told((ends) =>
      Effect.gen(function* () {
        for (let i = 0; i <= 10_000; i++) yield* Effect.provide(ends.end(`u${i}`, Effect.void, expired), Logger.layer([]))
        for (const uid of ["u0", "u1", "u10000"]) yield* ends.seen(uid, about)
      })
    )
    expect(causes).toEqual(["Deleted"])
  })
})
