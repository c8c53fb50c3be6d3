import { assert } from "@effect/vitest"
import { Clock, Effect, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { CurrentFailingLists, failingLists, FailingLists } from "../../../src/app/kernel/failing-lists.ts"
import { makeReflector } from "../../../src/app/kernel/reflector.ts"
import { elapsedOf } from "../../../src/app/kernel/term.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { type MemoryCall, MemoryKubeApi } from "../../support/memory-kube-api.ts"

const refused =
  (verb: MemoryCall["verb"], detail: string, reason: KubeError["reason"] = "Other") =>
  (call: MemoryCall) =>
    call.verb === verb ? Effect.fail(new KubeError({ cluster: "a", operation: "list", reason, detail })) : Effect.void

/** Runs with a process of its own, whose log is the result's `lines`. */
const inProcess = <E>(
  test: (parts: {
    readonly api: MemoryKubeApi
    readonly lines: ReadonlyArray<string>
    readonly seconds: Effect.Effect<ReadonlyArray<number>>
  }) => Effect.Effect<void, E, Scope.Scope>
) =>
  Effect.suspend(() => {
    const lists = new FailingLists()
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const seconds = Effect.map(Clock.Clock, (clock) =>
      lists.samples(elapsedOf(clock)()).map(({ value }) => Math.round(value))
    )
    return test({ api: new MemoryKubeApi("a"), lines, seconds }).pipe(
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(CurrentFailingLists, lists)
    )
  })

const told = Effect.map(failingLists, ({ sentences }) => sentences)

describe("a collection that cannot be read", () => {
  it.effect("is told after a while, once for each reason, and once more when it is over", () =>
    inProcess(({ api, lines, seconds }) =>
      Effect.gen(function* () {
        api.before = refused("list", "the answer took 7 s")
        yield* makeReflector(api, branchDatabases, () => {})
        yield* TestClock.adjust("9 seconds")
        assert.deepStrictEqual([yield* told, lines], [[], []])
        yield* TestClock.adjust("10 seconds")
        const [sentence] = yield* told
        assert.match(
          sentence ?? "",
          /^The branchdatabases\.dbs\.mirrord\.metalbear\.co of cluster a .*: the answer took/u
        )
        assert.deepStrictEqual(yield* seconds, [19])
        api.before = refused("list", "the answer took 8 s")
        yield* TestClock.adjust("20 seconds")
        assert.deepStrictEqual(lines, ["a collection cannot be read"])
        api.before = refused("list", "storage is initializing")
        yield* TestClock.adjust("20 seconds")
        assert.deepStrictEqual(
          lines,
          Array.from({ length: 2 }, () => "a collection cannot be read")
        )
        api.before = () => Effect.void
        yield* TestClock.adjust("20 seconds")
        assert.deepStrictEqual([yield* told, yield* seconds, lines.at(-1)], [[], [0], "a collection can be read again"])
      })
    )
  )

  it.effect("is told also if every watch fails, or every list by a version that is forgotten", () =>
    inProcess(({ api, lines }) =>
      Effect.gen(function* () {
        yield* makeReflector(api, configMaps, () => {})
        for (const [verb, reason] of [
          ["watch", "Other"],
          ["list", "Gone"]
        ] as const) {
          api.before = refused(verb, "no", reason)
          api.endWatches()
          api.write(configMaps, verb, {})
          api.forgetHistory()
          yield* TestClock.adjust("1 minute")
          assert.deepStrictEqual([verb, (yield* told).length], [verb, 1])
          api.before = () => Effect.void
          yield* TestClock.adjust("10 seconds")
          api.bookmark()
          yield* TestClock.adjust("1 second")
          assert.deepStrictEqual([verb, yield* told], [verb, []])
        }
        assert.strictEqual(lines.length, 4)
      })
    )
  )

  it.effect("is nobody's any more when its reflector has ended, and a short trouble is no news", () =>
    inProcess(({ api, lines }) =>
      Effect.gen(function* () {
        const reflecting = Effect.gen(function* () {
          yield* makeReflector(api, configMaps, () => {})
          api.setReachable(false)
          yield* TestClock.adjust("8 seconds")
          api.setReachable(true)
          yield* TestClock.adjust("20 seconds")
          assert.deepStrictEqual(lines, [])
          api.setReachable(false)
          yield* TestClock.adjust("1 minute")
          assert.strictEqual((yield* told).length, 1)
        })
        yield* Effect.scoped(reflecting)
        assert.deepStrictEqual(yield* told, [])
      })
    )
  )
})
