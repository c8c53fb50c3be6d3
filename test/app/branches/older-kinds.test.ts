/** Branches that clients before the kind BranchDatabase order: the same life, in the older object alone. */

import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import { asString, at } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import {
  mongodbBranchDatabases,
  mysqlBranchDatabases,
  type PgBranchDatabase,
  pgBranchDatabases
} from "../../../src/domain/resources/branches/legacy-branch-databases.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { begin, type Branched, namespace, defaultRules, user } from "./branched.ts"

const name = "app-pg-branch-x7k2p"
const spec = {
  id: "0b9e1c5e-5cf3-4b3b-9ad5-0f7f8b6f3b52",
  connectionSource: { url: { env: { container: null, variable: "DATABASE_URL" } } },
  databaseName: "shop",
  target: { deployment: "app", container: null },
  ttlSecs: 300,
  postgresVersion: null,
  iamAuth: null,
  copy: { mode: "all", tables: null }
} satisfies PgBranchDatabase["spec"]

const order = ({ api }: Branched, change: object = {}) =>
  Effect.suspend(() => {
    const metadata = { generateName: "app-pg-branch-", labels: { "mirrord-pg-branch-id": spec.id } }
    api.write(pgBranchDatabases, name, { spec: { ...spec, ...change }, metadata }, namespace)
    return pass("1 second")
  })
const status = ({ api }: Branched) => at(api.peek(pgBranchDatabases, name, namespace), "status")

describe("a branch of an older kind", () => {
  it.effect("is made and deleted as any other, and no other object is made of it", function* () {
    const branched = yield* begin()
    yield* order(branched)
    const [pod] = branched.pods()
    const uid = branched.api.peek(pgBranchDatabases, name, namespace)?.metadata.uid ?? ""
    const owner = { apiVersion: "dbs.mirrord.metalbear.co/v1alpha1", kind: "PgBranchDatabase", name, uid }
    for (const object of [...branched.pods(), ...branched.secrets()])
      assert.deepInclude(object.metadata.ownerReferences?.[0], owner)
    assert.deepInclude(status(branched), { phase: "Pending", podName: pod?.metadata.name ?? "" })
    yield* branched.podsReady()
    assert.deepInclude(status(branched), { phase: "Ready", sessionInfo: {} })
    assert.deepStrictEqual(branched.api.peekAll(branchDatabases), [])
    for (let i = 0; i < 304; i++) yield* pass("1 second")
    assert.isUndefined(branched.api.peek(pgBranchDatabases, name, namespace))
    assert.deepStrictEqual([branched.pods(), branched.secrets()], [[], []])
    const kinds = branched.api.peekAll({ ...branchDatabases, group: "", version: "v1", plural: "events" })
    assert.deepStrictEqual(
      kinds.map((event) => [asString(at(event, "involvedObject", "kind")), asString(event["reason"])]),
      ["Building", "BranchReady", "BranchExpired"].map((reason) => ["PgBranchDatabase", reason])
    )
    assert.strictEqual(branched.holdings.now().get("branches of databases") ?? 0, 0)
  })

  it.effect("is found by names of its own list, and used as any other", function* () {
    const branched = yield* begin()
    yield* order(branched)
    yield* branched.podsReady()
    const { directory } = branched
    assert.isUndefined(directory.find(namespace, name))
    assert.isUndefined(directory.find(namespace, name, "mysql"))
    const branch = directory.find(namespace, name, "pg")
    if (branch === undefined) return assert.fail("no branch")
    assert.isTrue(Result.isSuccess(branch.request))
    assert.deepInclude(branch.access, { host: "10.0.0.7", database: "shop" })
    yield* directory.use(branch, { sessionId: "1", user })
    assert.deepInclude(status(branched), { sessionInfo: { 1: { id: "1", owner: user } } })
    yield* directory.release(branch, "1")
    yield* pass("1 second")
    assert.deepInclude(status(branched), { sessionInfo: {} })
  })

  it.effect("stands behind a BranchDatabase of its name, beside which it lives", function* () {
    const branched = yield* begin()
    yield* order(branched)
    yield* branched.order({}, name)
    yield* branched.podsReady()
    assert.strictEqual(branched.pods().length, 2)
    const unified = branched.api.peek(branchDatabases, name, namespace)?.metadata.uid
    assert.strictEqual(branched.directory.find(namespace, name, "pg")?.uid, unified)
    branched.api.erase(branchDatabases, name, namespace)
    yield* pass("1 second")
    const older = branched.api.peek(pgBranchDatabases, name, namespace)?.metadata.uid
    assert.strictEqual(branched.directory.find(namespace, name, "pg")?.uid, older)
    assert.strictEqual(branched.directory.find(namespace, name, "pg")?.phase, "Ready")
  })

  it.effect("is refused in the words of its own fields, and is gone soon", function* () {
    const branched = yield* begin()
    yield* order(branched, { copy: { mode: "schema", tables: { users: { filter: "1; drop table users" } } } })
    assert.match(String(at(status(branched), "error")), /^spec\.copy\.tables for table "users" /u)
    for (let i = 0; i < 22; i++) yield* pass("1 second")
    assert.isUndefined(branched.api.peek(pgBranchDatabases, name, namespace))
    yield* order(branched, { target: { labels: { app: "a" } } })
    assert.strictEqual(
      at(status(branched), "error"),
      'spec.target is "LabelSelector app=a"; it must be a workload, such as a Deployment.'
    )
  })

  it.effect("is followed where its engine is switched on, and the others are not asked for", function* () {
    const mysql = readEngineSettings("mysql", { _tag: "Absent" }, {})
    const branched = yield* begin({ ...defaultRules, settings: { mysql } })
    const { copy, iamAuth: _, postgresVersion: __, ...common } = spec
    branched.api.write(mysqlBranchDatabases, name, { spec: { ...common, copy, mysqlVersion: null } }, namespace)
    yield* pass("1 second")
    assert.strictEqual(at(branched.api.peek(mysqlBranchDatabases, name, namespace), "status", "phase"), "Pending")
    const asked = new Set(branched.api.calls.map(({ plural }) => plural))
    assert.isTrue(asked.has(mysqlBranchDatabases.plural))
    for (const { plural } of [pgBranchDatabases, mongodbBranchDatabases]) assert.isFalse(asked.has(plural), plural)
  })
})
