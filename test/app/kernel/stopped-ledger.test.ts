import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeLedgerCache } from "../../../src/app/kernel/ledger.ts"
import { cachedLedger, makeStoppedLedger, storedLedger } from "../../../src/app/kernel/stopped-ledger.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const name = "mirrord-operator-stopped-sessions"
const stored = (api: MemoryKubeApi) => makeStoppedLedger(api, "mirrord", storedLedger(api, "mirrord"))
const cached = (api: MemoryKubeApi) =>
  Effect.map(makeLedgerCache(api, "mirrord"), (cache) =>
    makeStoppedLedger(api, "mirrord", cachedLedger(api, "mirrord", cache))
  )
const entries = (api: MemoryKubeApi) => Object.keys((api.peek(configMaps, name, "mirrord")?.["data"] ?? {}) as object)

describe("the ledger of stopped sessions", () => {
  it.effect.each(["stored", "cached"] as const)("outlives the process, for fifteen minutes (%s)", function* (how) {
    const api = new MemoryKubeApi("local")
    yield* stored(api).record(["mc-1", "mc-2"])
    expect(entries(api)).toEqual(["mc-1", "mc-2"])
    yield* TestClock.adjust("10 minutes")
    const next = how === "stored" ? stored(api) : yield* cached(api)
    yield* TestClock.adjust("1 second")
    expect([yield* next.has("mc-1"), yield* next.has("mc-2"), yield* next.has("mc-3")]).toEqual([true, true, false])
    // Counted from when this process read it: the clock of the other may have been wrong.
    yield* TestClock.adjust("14 minutes")
    expect(yield* next.has("mc-1")).toBe(true)
    yield* TestClock.adjust("1 minute")
    expect(yield* next.has("mc-1")).toBe(false)
    yield* next.record(["mc-3"])
    expect(entries(api)).toEqual(["mc-3"])
  })

  it.effect("is read by one call, however often it is asked", function* () {
    const api = new MemoryKubeApi("local")
    const ledger = stored(api)
    for (let i = 0; i < 3; i++) expect(yield* ledger.has("mc-1")).toBe(false)
    expect(api.calls.map(({ verb }) => verb)).toEqual(["get"])
    yield* ledger.record(["mc-1"])
    expect(yield* ledger.has("mc-1")).toBe(true)
    expect(api.calls.map(({ verb }) => verb)).toEqual(["get", "patch", "create"])
  })

  it.effect("does not guess while it cannot be read", function* () {
    const api = new MemoryKubeApi("local")
    yield* stored(api).record(["mc-1"])
    const refused = new KubeError({
      cluster: "local",
      operation: "get",
      reason: "Forbidden",
      code: 403,
      detail: "no"
    })
    api.before = ({ verb }) => (verb === "get" ? Effect.fail(refused) : Effect.void)
    const ledger = stored(api)
    expect((yield* Effect.flip(ledger.has("mc-1"))).reason).toBe("Forbidden")
    expect((yield* Effect.flip(ledger.record(["mc-2"]))).reason).toBe("Forbidden")
    api.before = () => Effect.void
    expect(yield* ledger.has("mc-1")).toBe(true)
  })

  it.effect("says so when the ledgers are not read in time", function* () {
    const api = new MemoryKubeApi("local")
    api.setReachable(false)
    const ledger = yield* cached(api)
    const asked = yield* Effect.forkChild(Effect.flip(ledger.has("mc-1")), { startImmediately: true })
    yield* TestClock.adjust("30 seconds")
    expect((yield* Fiber.join(asked)).message).toContain("were not read within 30 s")
  })

  it.effect("takes stops of the same moment, and other replicas' ledgers", function* () {
    const api = new MemoryKubeApi("local")
    const ledger = stored(api)
    yield* Effect.all([ledger.record(["mc-1"]), ledger.record(["mc-2"]), stored(api).record(["mc-3"])], {
      concurrency: "unbounded"
    })
    expect(entries(api).toSorted()).toEqual(["mc-1", "mc-2", "mc-3"])
    expect([yield* ledger.has("mc-1"), yield* ledger.has("mc-2")]).toEqual([true, true])
  })
})
