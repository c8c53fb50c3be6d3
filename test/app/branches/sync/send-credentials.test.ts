/** Values that clients bring to a primary for branches of its default cluster. */

import { assert, describe } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { readBranchCredentials } from "../../../../src/domain/branches/branch-credentials.ts"
import { branchCredentials } from "../../../../src/domain/resources/branch-credentials-kind.ts"
import { secrets } from "../../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { operatorNamespace } from "../../../support/fleet.ts"
import { branchName, namespace } from "../branched.ts"
import { begin, seconds, type Synced } from "./synced.ts"

const ann = { user: "ann", groups: [], extra: {} }
const given = { namespace, id: "shop", values: new Map([["DB_PASSWORD", Redacted.make("s3cret")]]), user: undefined }
const take = (synced: Synced, caller = ann) =>
  Effect.match(synced.takeCredentials(given, caller), {
    onFailure: ({ code, message }) => `${code}: ${message}`,
    onSuccess: (name) => name
  })

/** The default's API server passes the primary's requests on to its operator. */
const aggregate = (synced: Synced): ReadonlyArray<string | undefined> => {
  const users: Array<string | undefined> = []
  const { create } = synced.member
  Object.assign(synced.member, {
    create: (...[ref, object, place]: Parameters<typeof create>) => {
      if (ref.plural !== branchCredentials.plural) return create(ref, object, place)
      const read = Result.getOrThrow(readBranchCredentials(object))
      users.push(read.user)
      return synced.directory.takeCredentials(read, { ...ann, user: "primary" }).pipe(
        Effect.map((name) => ({ metadata: { name } })),
        Effect.mapError(
          ({ code, message }) =>
            new KubeError({ cluster: "a", operation: "create", reason: "Other", code, detail: message })
        )
      )
    }
  })
  return users
}

describe("values of a client's own at a primary", () => {
  it.effect("reach the branch in the default cluster, and leave nothing at the primary", function* () {
    const synced = yield* begin
    const users = aggregate(synced)
    const name = yield* take(synced)
    assert.deepStrictEqual(users, ["ann"])
    const source = { secret: { name, key: "DB_PASSWORD", env_var_name: "DB_PASSWORD" } }
    const host = { env: { container: null, variable: "DATABASE_URL" } }
    yield* synced.order({ connectionSource: { params: { host, password: source } } })
    yield* synced.podsReady
    yield* seconds(1)
    assert.strictEqual(synced.status()?.phase, "Ready")
    const secret = synced.default.peek(secrets, name, namespace)
    assert.strictEqual(secret?.metadata.ownerReferences?.[0]?.uid, synced.copy()?.metadata.uid)
    assert.deepStrictEqual(synced.primary.peekAll(secrets), [])
    assert.notInclude(JSON.stringify([synced.origin(), synced.copy(), synced.logged]), "s3cret")
  })

  it.effect("are refused in the words of the default cluster", function* () {
    const synced = yield* begin
    aggregate(synced)
    const first = yield* take(synced)
    const source = { secret: { name: first, key: "DB_USER", env_var_name: "DB_USER" } }
    yield* synced.order({ connectionSource: { params: { host: source } } })
    yield* seconds(1)
    const other = { ...given, values: new Map([["DB_PASSWORD", Redacted.make("wrong")]]) }
    const refused = yield* Effect.flip(synced.takeCredentials(other, ann))
    assert.strictEqual(
      refused.message,
      `The default cluster a does not take the values for the branch: The database branch "${branchName}" of id ` +
        '"shop" was made with other values of DB_PASSWORD: take another id, or stop the branch (mirrord ' +
        "db-branches stop)."
    )
  })

  it.effect("are refused while the default cluster is away, and of those who may order no branch", function* () {
    const synced = yield* begin
    assert.strictEqual(
      yield* take(synced, { ...ann, user: "stranger" }),
      `403: stranger may not create branchdatabases.dbs.mirrord.metalbear.co in namespace ${operatorNamespace}; ` +
        "ask an administrator for that right."
    )
    const users = aggregate(synced)
    const refused = yield* take(synced, { ...ann, user: "orderer" })
    assert.include(refused, `403: User orderer cannot proxy resource "targets"`)
    assert.include(refused, `in the namespace "${namespace}"`)
    assert.deepStrictEqual(users, [])
    yield* synced.reach(false)
    assert.strictEqual(
      yield* take(synced),
      "500: The values for the branch do not reach the default cluster a: its operator did not answer in time. Try " +
        "again in a moment."
    )
    synced.defaultCluster = undefined
    assert.strictEqual(yield* take(synced), "500: There is no default cluster now. Try again in a moment.")
  })
})
