import { Effect, Logger } from "effect"
import { describe, expect } from "vitest"
import { makeLedgerCache } from "../../../../src/app/kernel/ledger.ts"
import { makeDebtLedger } from "../../../../src/app/sessions/primary/debt-ledger.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import { configMaps } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { childAnnotations } from "../../../../src/domain/sessions/names.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"
import { pass } from "../session-fleet.ts"

const b = clusterName("cluster-b")
const c = clusterName("cluster-c")
const child = (api: MemoryKubeApi, name: string, parentUid: string) =>
  api.write(mirrordClusterSessions, name, { metadata: { annotations: { [childAnnotations.parentUid]: parentUid } } })
const names = (api: MemoryKubeApi) => api.peekAll(mirrordClusterSessions).map(({ metadata }) => metadata.name)

const ledgerOf = (local: MemoryKubeApi) =>
  Effect.map(makeLedgerCache(local, "mirrord"), (cache) => makeDebtLedger(local, "mirrord", cache))

const start = Effect.gen(function* () {
  const local = new MemoryKubeApi("primary")
  const ledger = yield* ledgerOf(local)
  yield* pass(1)
  return { local, ledger }
})

/** Two children that cluster-b is to lose, both recorded. */
const twoDebts = Effect.gen(function* () {
  const { ledger } = yield* start
  const api = new MemoryKubeApi("cluster-b")
  for (const name of ["mc-1-b", "mc-2-b"]) {
    child(api, name, "p")
    yield* ledger.record(b, name, "p")
  }
  yield* pass(1)
  return { api, ledger }
})

describe("the ledger of debts", () => {
  it.effect("outlives the process and is paid to the cluster that is back, and to no other", function* () {
    const { ledger, local } = yield* start
    const [apiB, apiC] = [new MemoryKubeApi("cluster-b"), new MemoryKubeApi("cluster-c")]
    child(apiB, "mc-1-b", "p1")
    child(apiC, "mc-1-c", "p1")
    yield* ledger.record(b, "mc-1-b", "p1")
    yield* ledger.record(c, "mc-1-c", "p1")
    yield* pass(1)
    expect(ledger.names()).toEqual(new Set(["mc-1-b", "mc-1-c"]))
    const next = yield* ledgerOf(local)
    yield* pass(1)
    yield* next.pay(b, apiB)
    yield* pass(1)
    expect([names(apiB), names(apiC)]).toEqual([[], ["mc-1-c"]])
    expect(next.names()).toEqual(new Set(["mc-1-c"]))
    expect(ledger.names()).toEqual(new Set(["mc-1-c"]))
  })

  it.effect("pays although it was asked before it had read what is owed", function* () {
    const { ledger, local } = yield* start
    const api = new MemoryKubeApi("cluster-b")
    child(api, "mc-1-b", "p1")
    yield* ledger.record(b, "mc-1-b", "p1")
    const next = yield* ledgerOf(local)
    yield* Effect.forkScoped(next.pay(b, api))
    yield* pass(1)
    expect(names(api)).toEqual([])
  })

  it.effect("leaves a child alone that another parent made under the same name", function* () {
    const { ledger } = yield* start
    const api = new MemoryKubeApi("cluster-b")
    child(api, "mc-1-b", "p2")
    yield* ledger.record(b, "mc-1-b", "p1")
    yield* pass(1)
    yield* ledger.pay(b, api)
    yield* pass(1)
    expect(names(api)).toEqual(["mc-1-b"])
    expect(ledger.names().size).toBe(0)
  })

  it.effect(
    "knows whose child is owed: a later parent of the same name owes nothing, and its debt takes no other's place",
    function* () {
      const { ledger } = yield* start
      const api = new MemoryKubeApi("cluster-b")
      child(api, "mc-1-b", "p1")
      yield* ledger.record(b, "mc-1-b", "p1")
      yield* pass(1)
      expect([ledger.names("p1"), ledger.names("p2")]).toEqual([new Set(["mc-1-b"]), new Set()])
      yield* ledger.record(b, "mc-1-b", "p2")
      yield* pass(1)
      yield* ledger.pay(b, api)
      yield* pass(1)
      expect(names(api)).toEqual([])
      expect(ledger.names().size).toBe(0)
    }
  )

  it.effect(
    "pays a cluster that was never away as soon as it takes it, and asks nobody while nothing is owed",
    function* () {
      const { ledger } = yield* start
      const api = new MemoryKubeApi("cluster-b")
      yield* Effect.forkScoped(ledger.keepPaying((cluster) => (cluster === b ? api : undefined)))
      yield* pass(100)
      expect(api.calls).toEqual([])
      child(api, "mc-1-b", "p1")
      let refusals = 2
      api.before = ({ verb }) =>
        verb === "delete" && refusals-- > 0
          ? Effect.fail(
              new KubeError({ cluster: "cluster-b", operation: "delete", reason: "Other", code: 500, detail: "no" })
            )
          : Effect.void
      yield* ledger.record(b, "mc-1-b", "p1")
      yield* ledger.record(c, "mc-1-c", "p1")
      yield* pass(40)
      expect(names(api)).toEqual(["mc-1-b"])
      yield* pass(80)
      expect(names(api)).toEqual([])
      // Nobody knows the way to cluster-c.
      expect(ledger.names()).toEqual(new Set(["mc-1-c"]))
      expect(api.calls.length).toBeLessThan(10)
    }
  )

  it.effect("says once why a debt remains, also where nobody knows the way to its cluster", () => {
    const told: Array<string> = []
    const remember = Logger.layer([Logger.map(Logger.formatJson, (line) => void told.push(line))])
    return Effect.gen(function* () {
      const { ledger } = yield* start
      yield* ledger.record(c, "mc-1-c", "p1")
      yield* Effect.forkScoped(ledger.keepPaying(() => undefined))
      yield* pass(100)
      expect(told.filter((line) => line.includes("debts not paid"))).toEqual([
        expect.stringMatching(/cluster-c.*not configured/)
      ])
    }).pipe(Effect.provide(remember))
  })

  it.effect(
    "a cluster that is silent is asked for one debt, not for each, and keeps no other from being paid",
    function* () {
      const { ledger } = yield* start
      const [apiB, apiC] = [new MemoryKubeApi("cluster-b"), new MemoryKubeApi("cluster-c")]
      for (const name of ["mc-1-b", "mc-2-b"]) yield* ledger.record(b, name, "p")
      child(apiC, "mc-1-c", "p")
      yield* ledger.record(c, "mc-1-c", "p")
      apiB.before = () =>
        Effect.andThen(Effect.sleep(10_000), () =>
          Effect.fail(
            new KubeError({ cluster: "cluster-b", operation: "get", reason: "Unreachable", detail: "silence" })
          )
        )
      yield* Effect.forkScoped(ledger.keepPaying((cluster) => (cluster === b ? apiB : apiC)))
      yield* pass(37)
      expect(names(apiC)).toEqual([])
      expect(apiB.calls).toHaveLength(1)
      expect(ledger.names()).toEqual(new Set(["mc-1-b", "mc-2-b"]))
    }
  )

  it.effect("leaves a cluster alone for as long as it asks, whatever occasion there is to pay", function* () {
    const { api, ledger } = yield* twoDebts
    let refusals = 1
    api.before = ({ verb }) =>
      verb === "delete" && refusals-- > 0
        ? Effect.fail(
            new KubeError({
              cluster: "cluster-b",
              operation: "delete",
              reason: "TooManyRequests",
              code: 429,
              retryAfterMs: 60_000,
              detail: "busy"
            })
          )
        : Effect.void
    for (let second = 0; second < 60; second++) {
      expect(yield* Effect.flip(ledger.pay(b, api))).toMatchObject({ reason: "TooManyRequests" })
      expect(api.calls.filter(({ verb }) => verb === "delete")).toHaveLength(1)
      yield* pass(1)
    }
    yield* ledger.pay(b, api)
    expect(names(api)).toEqual([])
  })

  it.effect("keeps every debt when several are recorded at once, the first ones of all", function* () {
    const { ledger, local } = yield* start
    local.before = () => Effect.yieldNow
    const all = ["mc-1-b", "mc-2-b", "mc-3-b"]
    yield* Effect.forEach(all, (name) => ledger.record(b, name, "p"), { concurrency: "unbounded" })
    yield* pass(1)
    expect(ledger.names()).toEqual(new Set(all))
  })

  it.effect("one debt that cannot be paid keeps no other from being paid, and stays", function* () {
    const { api, ledger } = yield* twoDebts
    api.before = ({ name, verb }) =>
      verb === "delete" && name === "mc-1-b"
        ? Effect.fail(
            new KubeError({ cluster: "cluster-b", operation: "delete", reason: "Forbidden", code: 403, detail: "no" })
          )
        : Effect.void
    const result = yield* Effect.result(ledger.pay(b, api))
    yield* pass(1)
    expect(result).toMatchObject({ _tag: "Failure", failure: { reason: "Forbidden" } })
    expect(names(api)).toEqual(["mc-1-b"])
    expect(ledger.names()).toEqual(new Set(["mc-1-b"]))
  })

  it.effect("ignores garbage in the ConfigMap", function* () {
    const { ledger, local } = yield* start
    yield* ledger.record(b, "mc-1-b", "p")
    local.write(
      configMaps,
      "mirrord-operator-debts",
      { data: { garbage: "{", other: '{"cluster":1}', more: 7 } },
      "mirrord"
    )
    yield* pass(1)
    expect(ledger.names()).toEqual(new Set(["mc-1-b"]))
  })
})
