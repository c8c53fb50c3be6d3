import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"
import { retrying, retryingApi } from "../../../src/app/kernel/retrying-api.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const failure = (
  reason: KubeError["reason"],
  more: { readonly code?: number; readonly retryAfterMs?: number } = {}
): KubeError => new KubeError({ cluster: "c", operation: "get", reason, detail: "injected", ...more })

/** An API of which the first calls fail; with the times of all calls, in ms from now. */
const failing = (...failures: ReadonlyArray<KubeError>) =>
  Effect.gen(function* () {
    const memory = new MemoryKubeApi("c")
    const begin = yield* Clock.currentTimeMillis
    const times: Array<number> = []
    memory.before = () =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const error = failures[times.length]
        times.push(now - begin)
        return error === undefined ? Effect.void : Effect.fail(error)
      })
    return { api: retryingApi(memory), times }
  })

const configMap = { metadata: { name: "x" } }

describe("what a client waits for", () => {
  for (const error of [
    failure("Unreachable"),
    failure("TooManyRequests", { code: 429 }),
    failure("Unauthorized", { code: 401 }),
    failure("Other", { code: 503 }),
    failure("Conflict", { code: 409 })
  ]) {
    it.effect(`is created in spite of one ${error.reason} ${error.code ?? ""}`, function* () {
      const { api, times } = yield* failing(error)
      const made = yield* Effect.forkChild(api.create(configMaps, configMap, "n"))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(made)).metadata.name, "x")
      assert.strictEqual(times.length, 2)
    })
  }

  it.effect("is not asked for sooner than the server wants", function* () {
    const { api, times } = yield* failing(failure("TooManyRequests", { code: 429, retryAfterMs: 5_000 }))
    const made = yield* Effect.forkChild(api.list(configMaps))
    yield* TestClock.adjust("4999 millis")
    assert.strictEqual(times.length, 1)
    yield* TestClock.adjust("1 millis")
    assert.deepStrictEqual((yield* Fiber.join(made)).items, [])
  })

  it.effect(
    "is given up after 8 s, with the last failure, and at once where the server wants to be left alone for longer",
    function* () {
      const { api, times } = yield* failing(...Array.from({ length: 100 }, () => failure("Unreachable")))
      const asked = yield* Effect.forkChild(Effect.flip(api.get(configMaps, "x", "n")))
      yield* TestClock.adjust("8 seconds")
      assert.strictEqual((yield* Fiber.join(asked)).reason, "Unreachable")
      assert.isAtLeast(times.length, 4)
      assert.isAtMost(times.length, 12)
      const busy = yield* failing(failure("TooManyRequests", { code: 429, retryAfterMs: 60_000 }))
      assert.strictEqual((yield* Effect.flip(busy.api.get(configMaps, "x", "n"))).reason, "TooManyRequests")
    }
  )

  it.effect("is not asked for again where the answer stays the same", function* () {
    for (const reason of ["NotFound", "Forbidden", "Invalid", "AlreadyExists", "Gone"] as const) {
      const { api, times } = yield* failing(failure(reason))
      assert.strictEqual((yield* Effect.flip(api.create(configMaps, configMap, "n"))).reason, reason)
      assert.strictEqual(times.length, 1)
    }
    // After a Conflict the caller must look again before it patches.
    const { api } = yield* failing(failure("Conflict"))
    assert.strictEqual((yield* Effect.flip(api.mergePatch(configMaps, "x", {}, { namespace: "n" }))).reason, "Conflict")
  })

  it.effect("may be anything that can fail", function* () {
    let tries = 0
    const attempt = Effect.suspend(() => (++tries < 3 ? Effect.fail({ message: "refused" }) : Effect.succeed("here")))
    const fiber = yield* Effect.forkChild(retrying(attempt, () => true))
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual(yield* Fiber.join(fiber), "here")
  })
})
