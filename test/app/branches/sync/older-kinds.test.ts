/** Branches of the older kinds that users order at a primary: an older object in both clusters, by the same rules. */

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { asString, at } from "../../../../src/domain/json.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import { pgBranchDatabases } from "../../../../src/domain/resources/branches/legacy-branch-databases.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { operatorNamespace } from "../../../support/fleet.ts"
import { branchSpec, namespace } from "../branched.ts"
import { begin, seconds, Synced } from "./synced.ts"

const name = "app-pg-branch-x7k2p"
const { databaseName, id, ttlSecs } = branchSpec
const connectionSource = { url: { env: { variable: "DATABASE_URL" } } }
const spec = { id, connectionSource, databaseName, ttlSecs, target: { deployment: "app" }, copy: { mode: "all" } }
const labels = { "mirrord-pg-branch-id": "shop", "mirrord-mysql-branch-id": "no", other: "no" }

const order = ({ primary }: Synced) =>
  Effect.suspend(() => {
    const annotations = { "mirrord.metalbear.co/target-namespace": namespace }
    const metadata = { generateName: "app-pg-branch-", labels, annotations }
    primary.write(pgBranchDatabases, name, { spec, metadata }, operatorNamespace)
    return seconds(2)
  })
const origin = ({ primary }: Synced) => primary.peek(pgBranchDatabases, name, operatorNamespace)
const copy = (synced: Synced) => synced.default.peek(pgBranchDatabases, name, namespace)

describe("a branch of an older kind that users order at a primary", () => {
  it.effect("is made in the default cluster under its name, and ends in both", function* () {
    const synced = yield* begin
    yield* order(synced)
    yield* synced.podsReady
    yield* seconds(1)
    assert.deepStrictEqual(copy(synced)?.["spec"], spec)
    assert.deepInclude(copy(synced)?.metadata.labels, { "mirrord-pg-branch-id": "shop" })
    assert.isUndefined(copy(synced)?.metadata.labels?.["other"])
    assert.deepStrictEqual(origin(synced)?.["status"], {
      ...(copy(synced)?.["status"] as object),
      copy: { cluster: "a", namespace, uid: copy(synced)?.metadata.uid }
    })
    assert.strictEqual(at(origin(synced), "status", "phase"), "Ready")
    for (const api of [synced.primary, synced.default]) assert.deepStrictEqual(api.peekAll(branchDatabases), [])
    assert.strictEqual(yield* synced.connect([name]), "admitted")
    synced.primary.erase(pgBranchDatabases, name, operatorNamespace)
    yield* seconds(2)
    assert.isUndefined(copy(synced))
    assert.match(yield* synced.connect([name]), /^There is no database branch "app-pg-branch-x7k2p"/u)
  })

  it.effect("ends at the primary when it ends in the default cluster", function* () {
    const synced = yield* begin
    yield* order(synced)
    yield* synced.podsReady
    yield* seconds(310)
    assert.deepStrictEqual([origin(synced), copy(synced)], [undefined, undefined])
    assert.deepStrictEqual([...synced.holdings.now().keys()], [])
  })

  it.effect("does not share a branch whose name was drawn for somebody else", function* () {
    const synced = yield* begin
    const theirs = synced.default.write(pgBranchDatabases, name, { spec }, namespace)
    yield* order(synced)
    assert.strictEqual(
      at(origin(synced), "status", "error"),
      `Cluster a has a PgBranchDatabase ${namespace}/${name} of another owner: run the command again.`
    )
    yield* seconds(25)
    assert.isUndefined(origin(synced))
    assert.strictEqual(copy(synced)?.metadata.uid, theirs.metadata.uid)
  })

  it.effect("is refused by name where the default cluster does not have the kind", function* () {
    const synced = new Synced()
    yield* Effect.addFinalizer(() => synced.kill("primary"))
    synced.member.before = ({ plural, verb }) =>
      plural === pgBranchDatabases.plural
        ? Effect.fail(new KubeError({ cluster: "a", operation: verb, reason: "NotFound", detail: "no", code: 404 }))
        : Effect.void
    yield* synced.start()
    yield* order(synced)
    assert.include(
      asString(at(origin(synced), "status", "error")),
      "The default cluster a has no pgbranchdatabases.dbs.mirrord.metalbear.co: "
    )
  })
})
