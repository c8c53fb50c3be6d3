import { Effect, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { jqPrograms } from "../../../src/adapters/jq/jq-programs.ts"
import { JqPrograms } from "../../../src/ports/jq-programs.ts"

const scoped = <A, E>(effect: Effect.Effect<A, E, JqPrograms>): Promise<A> =>
  Effect.runPromise(Effect.provide(effect, jqPrograms))
const run = (program: string, inputs: ReadonlyArray<unknown> = [{ a: 1 }], limit = 200) =>
  Effect.flatMap(JqPrograms, (jq) => jq.run({ program, inputs, limit }))
const check = (program: string) => Effect.flatMap(JqPrograms, (jq) => jq.check(program))

describe("programs of jq", () => {
  it.each([
    ["true, error(1), false", [{}], [[true, null]]],
    [".a", [{ a: 1 }, { b: 2 }, 3], [[1], [null], [null]]],
    [
      "[path(.a[])]",
      [{ a: ["x", "y"] }],
      [
        [
          [
            ["a", 0],
            ["a", 1]
          ]
        ]
      ]
    ],
    [".a # a comment at the end", [{ a: "two\nlines" }], [["two\nlines"]]],
    ["def f: . + 1; f", [1, 2], [[2], [3]]],
    ["empty", [1, 2], [[], []]]
  ])("%s has the outputs of each input, those before an error too", async (program, inputs, outputs) => {
    expect(await scoped(run(program, inputs))).toEqual(outputs)
  })

  it.each(["(", "nothing_of_jq", "1) | (2", "# only a comment"])("%s is no program", async (program) => {
    for (const asked of [check(program), run(program)])
      expect(await scoped(Effect.flip(asked))).toMatchObject({
        reason: "NoProgram",
        detail: expect.stringMatching(/^(?!jq: )[^\n]+$/u)
      })
  })

  it("does not run a program that is checked", async () => {
    await scoped(check("def f: f; f"))
  })

  it("ends a program that does not end, and one that takes all memory; others go on", async () => {
    const failed = Effect.map(Effect.flip(run("def f: f; f", [1], 1)), ({ reason }) => reason)
    const greedy = Effect.map(Effect.flip(run("def f: (. + .) | f; f", ["x".repeat(1e6)], 1)), ({ reason }) => reason)
    const all = Effect.all([failed, run(".a"), greedy, run(".a")], { concurrency: "unbounded" })
    expect(await scoped(all)).toEqual(["TooSlow", [[1]], "TooSlow", [[1]]])
  })

  it("ends a program whose caller does not wait any more", async () => {
    const interrupted = Effect.gen(function* () {
      yield* check(".a")
      const endless = yield* Effect.forkChild(run("def f: f; f", [1], 600_000), { startImmediately: true })
      yield* Fiber.interrupt(endless)
      return yield* run(".a")
    })
    expect(await scoped(interrupted)).toEqual([[1]])
  })
})
