/** The features by which a primary tells clients of branches: those of the default cluster, in which they are made. */

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { type BranchSettings, readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import type { BranchEngine } from "../../../src/domain/resources/chart-switches.ts"
import type { MirrordOperator } from "../../../src/domain/resources/mirrord-operator.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { type MemoryCluster, memoryWorld } from "../../support/memory-world.ts"

const having = (...engines: ReadonlyArray<BranchEngine>): BranchSettings =>
  Object.fromEntries(engines.map((engine) => [engine, readEngineSettings(engine, { _tag: "Parsed", value: null }, {})]))

const ofAll = ["DbBranchCustomImage", "DbBranchProfiles"]
const ofPg = [...ofAll, "PgBranchQueryParams", "PgBranching"]
const ofMysql = [...ofAll, "MySqlBranching"]

/** The features about branches that clients see, without the one that says how they are ordered. */
const told = Effect.fnUntraced(function* ({ operator }: MemoryCluster) {
  const { spec } = (yield* operator?.describe ?? Effect.die("no operator")) as MirrordOperator
  const features = (spec.supported_features ?? []).filter((name) => name.includes("Branch"))
  return features.filter((name) => name !== "UnifiedBranchDbCrd").toSorted()
})

/** A primary whose default cluster `a` has engines of its own; `engines` may be changed. */
const started = Effect.fnUntraced(function* (engines: { primary: BranchSettings; a: BranchSettings }) {
  const world = yield* memoryWorld(
    {},
    { branchSettingsOf: (name) => (name === "primary" || name === "a" ? engines[name] : {}) }
  )
  const member = world.members.get("a") ?? (yield* Effect.die("no cluster a"))
  return { ...world, member }
})

const checks = (count: number) => Effect.forEach(Array.from({ length: count }), () => pass("1 second"))

describe("a primary whose default is another cluster", () => {
  it.effect("tells clients of the engines of the default cluster, and not of its own", function* () {
    const engines = { primary: having("pg", "mongodb"), a: having("mysql") }
    const { kill, member, primary, start } = yield* started(engines)
    yield* checks(2)
    assert.deepStrictEqual(yield* told(primary), ofMysql)
    engines.a = having("pg")
    yield* kill(member)
    yield* start(member)
    yield* checks(10)
    assert.deepStrictEqual(yield* told(primary), ofPg)
  })

  it.effect("tells clients of none where the default cluster has none, or where it has none itself", function* () {
    const without = yield* started({ primary: having("pg"), a: {} })
    yield* checks(2)
    assert.deepStrictEqual(yield* told(without.primary), [])
    const closed = yield* started({ primary: {}, a: having("pg") })
    yield* checks(2)
    assert.deepStrictEqual(yield* told(closed.primary), [])
  })

  it.effect("tells clients of its own engines until the default cluster has answered once", function* () {
    const engines = { primary: having("pg"), a: having("mysql") }
    const { kill, member, primary, start } = yield* started(engines)
    member.api.setReachable(false)
    yield* kill(primary)
    yield* start(primary)
    yield* checks(20)
    assert.deepStrictEqual(yield* told(primary), ofPg)
    member.api.setReachable(true)
    yield* checks(10)
    assert.deepStrictEqual(yield* told(primary), ofMysql)
  })

  it.effect("goes on with the last answer while the default cluster is away", function* () {
    const { member, primary } = yield* started({ primary: having("pg"), a: having("mysql") })
    yield* checks(2)
    member.api.setReachable(false)
    yield* checks(30)
    assert.deepStrictEqual(yield* told(primary), ofMysql)
  })
})
