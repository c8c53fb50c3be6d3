import { Context, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeReflector } from "../../../src/app/kernel/reflector.ts"
import { CurrentWatchLags, WatchLags } from "../../../src/app/kernel/watch-lags.ts"
import { configMaps, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

/** Watches whose lags are known after so much time. */
const start = Effect.gen(function* () {
  const lags = new WatchLags()
  let passed = 0
  const watch = (api: MemoryKubeApi, ref: Parameters<typeof makeReflector>[1]) =>
    makeReflector(api, ref, () => {}).pipe(Effect.provideContext(Context.make(CurrentWatchLags, lags)))
  return {
    watch,
    wait: (seconds: number) =>
      Effect.andThen(
        TestClock.adjust(`${seconds} seconds`),
        Effect.sync(() => (passed += seconds))
      ),
    lags: () =>
      Object.fromEntries(
        lags.samples(passed * 1_000).map(({ labels, value }) => ["cluster" in labels ? labels.cluster : "", value])
      )
  }
})

describe("the lag of watches", () => {
  it.effect("is the time since a list, an event or a bookmark", function* () {
    const { lags, wait, watch } = yield* start
    const api = new MemoryKubeApi("a")
    yield* wait(10)
    const scope = yield* Scope.make()
    yield* Scope.provide(watch(api, configMaps), scope)
    yield* wait(30)
    expect(lags()).toEqual({ a: 30 })
    api.bookmark()
    yield* wait(0)
    expect(lags()).toEqual({ a: 0 })
    yield* wait(20)
    api.write(configMaps, "one", {}, "default")
    yield* wait(7)
    expect(lags()).toEqual({ a: 7 })
    yield* Scope.close(scope, Exit.void)
    expect(lags(), "nothing outlives what it measures").toEqual({})
  })

  it.effect("grows while the server cannot be read, however often it is asked", function* () {
    const { lags, wait, watch } = yield* start
    const api = new MemoryKubeApi("a")
    api.before = () => Effect.never
    yield* watch(api, configMaps)
    yield* wait(90)
    expect(lags()).toEqual({ a: 90 })
  })

  it.effect("is that of the oldest watch of each cluster", function* () {
    const { lags, wait, watch } = yield* start
    const [a, b] = [new MemoryKubeApi("a"), new MemoryKubeApi("b")]
    yield* watch(a, configMaps)
    yield* watch(a, secrets)
    yield* watch(b, configMaps)
    yield* wait(40)
    a.write(configMaps, "one", {}, "default")
    b.write(configMaps, "one", {}, "default")
    yield* wait(5)
    expect(lags()).toEqual({ a: 45, b: 5 })
  })
})
