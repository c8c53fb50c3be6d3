import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Term } from "../../../src/app/kernel/term.ts"
import { electLeader, leaseName } from "../../../src/app/leadership/elector.ts"
import { defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import { leases } from "../../../src/domain/resources/core-kinds.ts"
import { type KubeApi, KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const namespace = "mirrord"

interface Replica {
  /** Every term so far; the last may still run. */
  readonly terms: Array<Term>
  /** Its deeds, in order. */
  readonly log: Array<string>
  readonly fiber: Fiber.Fiber<never>
}

const optionsOf = (api: KubeApi, name: string, uid = `uid of ${name}`) => ({
  api,
  namespace,
  lease: leaseName,
  pod: { name, uid },
  times: defaultLeaseTimes
})

const start = (api: KubeApi, name: string, uid = `uid of ${name}`): Effect.Effect<Replica, never, Scope.Scope> =>
  Effect.gen(function* () {
    const terms: Array<Term> = []
    const log: Array<string> = []
    const note = (what: string) => Effect.sync(() => void log.push(what))
    const options = { ...optionsOf(api, name, uid), resign: note("resigns") }
    const fiber = yield* Effect.forkScoped(
      electLeader(options, (term) =>
        Effect.gen(function* () {
          terms.push(term)
          yield* note(`leads in epoch ${term.epoch}`)
          yield* Effect.addFinalizer(() => note(term.lasts() ? "stops in its term" : "stops"))
          return yield* Effect.never
        })
      )
    )
    return { terms, log, fiber }
  })

const leads = ({ terms }: Replica): boolean => terms.at(-1)?.lasts() === true
const holderIn = (api: MemoryKubeApi): unknown =>
  (api.objects.peek(leases, leaseName, namespace)?.["spec"] as { holderIdentity?: string } | undefined)?.holderIdentity
const unreachable = (api: MemoryKubeApi) =>
  Effect.fail(new KubeError({ cluster: api.cluster, operation: "test", reason: "Unreachable", detail: "no answer" }))

describe("electing a leader", () => {
  it.effect("makes one of two replicas the leader, for as long as it renews", function* () {
    const api = new MemoryKubeApi("c")
    const first = yield* start(api, "one")
    yield* TestClock.adjust(1)
    const second = yield* start(api, "two")
    for (let i = 0; i < 60; i++) {
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([leads(first), leads(second)], [true, false])
    }
    assert.deepStrictEqual([first.log, second.log], [["leads in epoch 0"], []])
  })

  it.effect(
    "gives the lease up when the leader has stopped and resigned, and the other one needs not wait",
    function* () {
      const api = new MemoryKubeApi("c")
      const first = yield* start(api, "one")
      yield* TestClock.adjust("1 second")
      const second = yield* start(api, "two")
      yield* TestClock.adjust("1 second")
      const stopping = yield* Effect.forkChild(Fiber.interrupt(first.fiber))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(first.log, ["leads in epoch 0", "stops in its term", "resigns"])
      assert.deepStrictEqual(second.log, ["leads in epoch 1"])
    }
  )

  it.effect("leads on while what it led takes longer to end than a lease lasts", function* () {
    const api = new MemoryKubeApi("c")
    const terms: Array<Term> = []
    const options = { ...optionsOf(api, "one"), resign: Effect.void }
    const first = yield* Effect.forkScoped(
      electLeader(options, (term) => {
        terms.push(term)
        return Effect.andThen(
          Effect.addFinalizer(() => Effect.sleep("1 minute")),
          Effect.never
        )
      })
    )
    yield* TestClock.adjust("1 second")
    const second = yield* start(api, "two")
    const stopping = yield* Effect.forkChild(Fiber.interrupt(first))
    const seen = new Set<string>()
    for (let secs = 0; secs < 59; secs++) {
      yield* TestClock.adjust("1 second")
      seen.add(`${terms[0]?.lasts()} ${second.log.length}`)
    }
    yield* TestClock.adjust("3 seconds")
    yield* Fiber.join(stopping)
    assert.deepStrictEqual([...seen], ["true 0"])
    assert.deepStrictEqual([terms[0]?.isOver(), second.log], [true, ["leads in epoch 1"]])
  })

  it.effect("hands over at once: who stands by sees that the lease is given up", function* () {
    const api = new MemoryKubeApi("c")
    const first = yield* start(api, "one")
    yield* TestClock.adjust("1 second")
    const second = yield* start(api, "two")
    yield* TestClock.adjust("30 seconds")
    yield* Effect.forkChild(Fiber.interrupt(first.fiber))
    yield* Effect.forEach([1, 2, 3], TestClock.adjust)
    assert.deepStrictEqual(second.log, ["leads in epoch 1"])
    assert.strictEqual(api.calls.filter(({ verb }) => verb === "watch").length, 1)
    assert.strictEqual(api.openWatches, 0)
  })

  it.effect("hands over within a retry period where watches do not work", function* () {
    const api = new MemoryKubeApi("c")
    api.before = ({ verb }) => (verb === "watch" ? unreachable(api) : Effect.void)
    const first = yield* start(api, "one")
    yield* TestClock.adjust("1 second")
    const second = yield* start(api, "two")
    yield* TestClock.adjust("30 seconds")
    yield* Effect.forkChild(Fiber.interrupt(first.fiber))
    yield* TestClock.adjust("3 seconds")
    assert.deepStrictEqual(second.log, ["leads in epoch 1"])
    assert.isBelow(api.calls.filter(({ verb }) => verb === "watch").length, 20)
  })

  it.effect(
    "waits for the lease to run out when the leader has died, and for no container of the same pod",
    function* () {
      const api = new MemoryKubeApi("c")
      api.write(
        leases,
        leaseName,
        { spec: { holderIdentity: "one_uid of one_0", leaseDurationSeconds: 15, leaseTransitions: 3 } },
        namespace
      )
      const other = yield* start(api, "two")
      yield* TestClock.adjust("14 seconds")
      assert.isFalse(leads(other))
      const made = yield* start(api, "one", "another uid")
      const restarted = yield* start(api, "one")
      yield* TestClock.adjust(1)
      assert.isFalse(leads(made))
      assert.deepStrictEqual(restarted.log, ["leads in epoch 4"])
      assert.isTrue(leads(restarted))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([leads(restarted), leads(other)], [true, false])
    }
  )

  it.effect(
    "stops the leader that cannot reach its API server before somebody else leads, and it stands by again",
    function* () {
      const api = new MemoryKubeApi("c")
      let isCut = false
      const cut: KubeApi = {
        cluster: "c",
        get: (...call) => (isCut ? unreachable(api) : api.get(...call)),
        list: (...call) => api.list(...call),
        watch: (...call) => api.watch(...call),
        create: (...call) => (isCut ? unreachable(api) : api.create(...call)),
        mergePatch: (...call) => (isCut ? unreachable(api) : api.mergePatch(...call)),
        update: (...call) => api.update(...call),
        delete: (...call) => api.delete(...call)
      }
      const first = yield* start(cut, "one")
      yield* TestClock.adjust(1)
      const second = yield* start(api, "two")
      yield* TestClock.adjust("10 seconds")
      isCut = true
      for (let i = 0; i < 300; i++) {
        yield* TestClock.adjust(100)
        assert.isFalse(leads(first) && leads(second))
        // Also its clients' connections have ended by then.
        if (leads(second)) assert.isFalse(first.terms[0]?.isCertain())
      }
      assert.isTrue(leads(second))
      isCut = false
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(first.log, ["leads in epoch 0", "stops", "resigns"])
      assert.deepStrictEqual(second.log, ["leads in epoch 1"])
    }
  )

  it.effect("goes on with a term whose renewal comes late, when nobody has led meanwhile", function* () {
    const api = new MemoryKubeApi("c")
    const only = yield* start(api, "one")
    yield* TestClock.adjust("3 seconds")
    api.before = () => unreachable(api)
    yield* TestClock.adjust("11 seconds")
    assert.isFalse(leads(only))
    api.before = () => Effect.void
    yield* TestClock.adjust("3 seconds")
    assert.isTrue(leads(only))
    assert.deepStrictEqual(only.log, ["leads in epoch 0"])
  })

  it.effect("survives a stranger's write to the Lease, and an answer that got lost", function* () {
    const api = new MemoryKubeApi("c")
    const only = yield* start(api, "one")
    yield* TestClock.adjust("1 second")
    yield* api.mergePatch(leases, leaseName, { metadata: { annotations: { seen: "yes" } } }, { namespace })
    yield* TestClock.adjust("20 seconds")
    api.after = () => unreachable(api)
    yield* TestClock.adjust("3 seconds")
    api.after = () => Effect.void
    yield* TestClock.adjust("20 seconds")
    assert.isTrue(leads(only))
    assert.deepStrictEqual(only.log, ["leads in epoch 0"])
  })

  it.effect("ends the term of a leader whose Lease was taken, or deleted", function* () {
    const api = new MemoryKubeApi("c")
    const first = yield* start(api, "one")
    yield* TestClock.adjust("1 second")
    yield* api.mergePatch(
      leases,
      leaseName,
      { spec: { holderIdentity: "somebody", leaseTransitions: 7 } },
      { namespace }
    )
    yield* TestClock.adjust("2 seconds")
    assert.isFalse(leads(first))
    yield* api.delete(leases, leaseName, { namespace })
    yield* TestClock.adjust("3 seconds")
    assert.isTrue(leads(first))
    yield* api.delete(leases, leaseName, { namespace })
    yield* TestClock.adjust("3 seconds")
    assert.deepStrictEqual(first.log.filter((line) => line.startsWith("leads")).length, 3)
    assert.match(String(holderIn(api)), /^one_uid of one_/)
  })

  it.effect("leaves a server alone for as long as it asks", function* () {
    const api = new MemoryKubeApi("c")
    api.before = () =>
      Effect.fail(
        new KubeError({
          cluster: "c",
          operation: "test",
          reason: "TooManyRequests",
          code: 429,
          retryAfterMs: 7_000,
          detail: "slow down"
        })
      )
    const only = yield* start(api, "one")
    yield* TestClock.adjust("6900 millis")
    assert.strictEqual(api.calls.length, 1)
    api.before = () => Effect.void
    yield* TestClock.adjust("3 seconds")
    assert.isTrue(leads(only))
  })
})
