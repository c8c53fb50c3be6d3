/** Which operators make branches, and which of them tell clients of it. */

import { assert, describe } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { type BranchSettings, readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { at } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import type { MirrordOperator } from "../../../src/domain/resources/mirrord-operator.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf } from "../../support/fleet.ts"
import { memoryCluster, startSingleOperator } from "../../support/memory-world.ts"
import { branchName, branchSpec, namespace, today } from "./branched.ts"

const engine = (name: "pg" | "mongodb" | "redis", value: unknown = null) =>
  readEngineSettings(name, { _tag: "Parsed", value }, {})
const pg: BranchSettings = { pg: engine("pg") }

/** The phase of a branch whose target is not there, and the features about branches. */
const outcome = Effect.fnUntraced(function* (
  limits: Parameters<typeof startSingleOperator>[1],
  fleet?: Parameters<typeof startSingleOperator>[2]
) {
  yield* TestClock.setTime(today)
  const cluster = memoryCluster("a")
  yield* startSingleOperator(cluster, limits, fleet)
  cluster.api.write(branchDatabases, branchName, { spec: branchSpec }, namespace)
  yield* pass("1 second")
  yield* pass("1 second")
  const { spec } = (yield* cluster.operator?.describe ?? Effect.die("no operator")) as MirrordOperator
  return {
    phase: at(cluster.api.peek(branchDatabases, branchName, namespace), "status", "phase"),
    features: (spec.supported_features ?? []).filter((feature) => feature.includes("Branch")),
    isAsked: cluster.api.calls.some(({ plural }) => plural === branchDatabases.plural)
  }
})

/** The schema is there, whatever engines are on. */
const always = ["UnifiedBranchDbCrd"]
const ofAll = ["DbBranchCustomImage", "DbBranchProfiles"]
const told = [...always, "PgBranching", "PgBranchQueryParams", ...ofAll]

describe("an operator", () => {
  it.effect("asks for no branches while no engine is switched on", function* () {
    assert.deepStrictEqual(yield* outcome({}), { phase: undefined, features: always, isAsked: false })
  })

  it.effect("makes branches of the engines that are on, and tells clients of it", function* () {
    assert.deepStrictEqual(yield* outcome({ branchSettings: pg }), { phase: "Failed", isAsked: true, features: told })
  })

  it.effect("tells clients of MongoDB by features of its own", function* () {
    const { features } = yield* outcome({ branchSettings: { mongodb: engine("mongodb") } })
    assert.deepStrictEqual(features, [...always, "MongodbBranching", ...ofAll])
  })

  it.effect("tells clients of no engine whose branches it cannot make", function* () {
    const broken = { pg: engine("pg", { dbPod: 1 }), redis: engine("redis") }
    assert.deepStrictEqual((yield* outcome({ branchSettings: broken })).features, [...always, ...ofAll])
    assert.deepStrictEqual((yield* outcome({ branchSettings: { pg: broken.pg } })).features, always)
  })

  it.effect("of a fleet makes branches in the default cluster alone", function* () {
    const all = { branchSettings: pg }
    const own = { managementOnly: false, defaultCluster: clusterName("primary") }
    assert.strictEqual((yield* outcome(all, configurationOf([], own))).phase, "Failed")
    // Its users order branches there, once it knows which cluster it is itself.
    const elsewhere = { phase: undefined, features: told, isAsked: false }
    assert.deepStrictEqual(yield* outcome(all, configurationOf(["a"])), elsewhere)
    assert.deepStrictEqual(yield* outcome(all, configurationOf(["a"], { managementOnly: false })), elsewhere)
  })

  it.effect("says at its start which fields of a file have no effect, and which file it cannot use", function* () {
    const lines: Array<string> = []
    const remember = Effect.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))]))
    yield* remember(outcome({ branchSettings: { pg: engine("pg", { dbPod: { tls: true } }) } }))
    yield* remember(outcome({ branchSettings: { pg: engine("pg", { dbPod: [] }) } }))
    assert.include(lines.join("\n"), '"file":"pg-branch-config.yaml","fields":"dbPod.tls"')
    assert.include(lines.join("\n"), "pg-branch-config.yaml, dbPod: it must be a map")
  })
})
