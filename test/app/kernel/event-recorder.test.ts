import { Effect, Exit, Fiber, Latch, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeEventRecorder } from "../../../src/app/kernel/event-recorder.ts"
import { CurrentHoldings, Holdings } from "../../../src/app/kernel/holdings.ts"
import type { SessionEvent } from "../../../src/domain/events/event-catalogue.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { KubeError, type KubeErrorReason } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, pass } from "../sessions/session-fleet.ts"

const leftOut: SessionEvent = { reason: "ClusterLeftOut", cluster: "b", message: "Cluster b takes no part." }
const about = (name = "mc-1") => ({ metadata: { name, uid: `uid of ${name}` } })
const failing = (reason: KubeErrorReason, more: { readonly code?: number; readonly retryAfterMs?: number } = {}) =>
  Effect.fail(new KubeError({ cluster: "test", operation: "test", reason, detail: `${reason} as told`, ...more }))

/** A recorder in a scope of its own; `stop` ends it in order. */
const recorder = Effect.gen(function* () {
  yield* TestClock.setTime(day0)
  const api = new MemoryKubeApi("primary")
  const holdings = new Holdings()
  const scope = yield* Scope.fork(yield* Effect.scope)
  const { record } = yield* makeEventRecorder(api).pipe(
    Scope.provide(scope),
    Effect.provideService(CurrentHoldings, holdings)
  )
  return {
    api,
    holdings,
    record: (event = leftOut, name?: string) => record(mirrordMultiClusterSessions, about(name), event),
    stop: Scope.close(scope, Exit.void),
    stored: () => api.peekAll(events).map(({ message, count, reason }) => ({ message, count, reason })),
    /** Verbs of all calls so far. */
    verbs: () => api.calls.map(({ verb }) => verb)
  }
})

describe("the recorder of Events", () => {
  it.effect("creates an Event where kubectl describe looks for it", function* () {
    const { api, record } = yield* recorder
    record()
    yield* pass(1)
    expect(api.peekAll(events)).toMatchObject([
      {
        metadata: { namespace: "default" },
        involvedObject: {
          apiVersion: "operator.metalbear.co/v1alpha",
          kind: "MirrordMultiClusterSession",
          name: "mc-1",
          uid: "uid of mc-1"
        },
        type: "Warning",
        reason: "ClusterLeftOut"
      }
    ])
  })
  it.effect("counts what flaps instead of writing it each time", function* () {
    const { record, stored, verbs } = yield* recorder
    for (let i = 0; i < 200; i++) {
      record({ ...leftOut, message: `Cluster b takes no part for the ${i}th time.` })
      yield* pass(1)
    }
    yield* pass(130)
    expect(stored()).toEqual([
      { reason: "ClusterLeftOut", count: 200, message: "Cluster b takes no part for the 199th time." }
    ])
    expect(verbs().filter((verb) => verb === "create")).toHaveLength(1)
    expect(verbs().length).toBeLessThan(9)
  })
  it.effect("tries again a few times while the API server cannot, and then forgets the Event", function* () {
    const { api, holdings, record, verbs } = yield* recorder
    api.before = () => failing("Other", { code: 500 })
    record()
    yield* pass(60)
    expect(verbs()).toEqual(["create", "create", "create"])
    expect([...holdings.now()]).toEqual([])
  })
  it.effect("does not try again what it may not do", function* () {
    const { api, record, verbs } = yield* recorder
    api.before = () => failing("Forbidden", { code: 403 })
    record()
    yield* pass(60)
    expect(verbs()).toEqual(["create"])
  })
  it.effect("waits as long as the API server asks for, also with others", function* () {
    const { api, record, stored, verbs } = yield* recorder
    api.before = () => failing("TooManyRequests", { code: 429, retryAfterMs: 20_000 })
    record()
    yield* pass(1)
    api.before = () => Effect.void
    record(leftOut, "mc-2")
    yield* pass(18)
    expect(verbs()).toEqual(["create"])
    yield* pass(3)
    expect(stored()).toHaveLength(2)
  })
  it.effect("takes an Event that is there for its own whose answer was lost", function* () {
    const { api, record, stored, verbs } = yield* recorder
    api.after = () => failing("Unreachable")
    record()
    yield* pass(1)
    api.after = () => Effect.void
    yield* pass(60)
    expect(verbs()).toEqual(["create", "create"])
    expect(stored()).toHaveLength(1)
  })
  it.effect("creates an Event again that the API server has forgotten", function* () {
    const { api, record, stored } = yield* recorder
    record()
    yield* pass(1)
    for (const { metadata } of api.peekAll(events)) api.erase(events, metadata.name, "default")
    record()
    yield* pass(60)
    expect(stored()).toMatchObject([{ count: 2 }])
  })
  it.effect("writes at an orderly stop what still waits", function* () {
    const { record, stop, stored } = yield* recorder
    record()
    yield* pass(1)
    record()
    record(leftOut, "mc-2")
    yield* stop
    expect(stored()).toMatchObject([{ count: 2 }, { count: 1 }])
    record()
    yield* pass(60)
    expect(stored()).toMatchObject([{ count: 2 }, { count: 1 }])
  })
  it.effect("does not hold up a stop for an API server that is silent", function* () {
    const { api, record, stop } = yield* recorder
    api.before = () => Effect.never
    record()
    yield* pass(1)
    const stopping = yield* Effect.forkChild(stop)
    yield* pass(3)
    expect(stopping.pollUnsafe()).toBeDefined()
    yield* Fiber.interrupt(stopping)
  })
  it.effect("keeps no more than it may while the API server is silent, and goes on afterwards", function* () {
    const { api, holdings, record, stored } = yield* recorder
    const answers = yield* Latch.make(false)
    api.before = () => answers.await
    for (let i = 0; i < 3_000; i++) record(leftOut, `mc-${i}`)
    yield* pass(1)
    expect(holdings.now().get("Events to be written")).toBe(1_000)
    yield* answers.open
    while (stored().length < 1_000) yield* pass(1)
    yield* pass(1)
    expect(holdings.now().size).toBe(0)
    expect(stored()).toHaveLength(1_000)
  })
})
