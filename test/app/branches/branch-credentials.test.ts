/** Values that clients bring for branches: the Secret belongs to the branch, and nothing else keeps them. */

import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { begin, type Branched, branchName, namespace } from "./branched.ts"

const ann = { user: "ann", groups: [], extra: {} }
const values = (password: string, more: Readonly<Record<string, string>> = {}) =>
  new Map(Object.entries({ DB_USER: "app", DB_PASSWORD: password, ...more }).map(([k, v]) => [k, Redacted.make(v)]))
const credentials = (password = "s3cret", id = "shop") => ({ namespace, id, values: values(password), user: undefined })
const take = ({ directory }: Branched, given = credentials(), caller = ann) =>
  Effect.match(directory.takeCredentials(given, caller), {
    onFailure: ({ code, message }) => `${code}: ${message}`,
    onSuccess: (name) => name
  })
/** The change of a spec by which a client names the Secret. */
const naming = (secret: string) => {
  const source = (key: string) => ({ secret: { name: secret, key, env_var_name: key } })
  const host = { env: { container: null, variable: "DATABASE_URL" } }
  return { connectionSource: { params: { host, user: source("DB_USER"), password: source("DB_PASSWORD") } } }
}
const secretOf = ({ api }: Branched, name: string) => api.peek(secrets, name, namespace)

describe("values of a client's own", () => {
  it.effect("become a Secret of the branch that names it, and stand nowhere else", function* () {
    const branched = yield* begin()
    const name = yield* take(branched)
    assert.match(name, /^mirrord-branch-values-[0-9a-f]{32}$/u)
    assert.deepStrictEqual(branched.secrets(), [])
    yield* branched.order(naming(name))
    const secret = secretOf(branched, name)
    assert.deepStrictEqual(secret?.["data"], { DB_USER: btoa("app"), DB_PASSWORD: btoa("s3cret") })
    assert.strictEqual(secret?.metadata.ownerReferences?.[0]?.uid, branched.object()?.metadata.uid)
    const [copy] = asObjects(at(branched.pods()[0], "spec", "initContainers"))
    const from = asObjects(copy?.["env"]).map((entry) => at(entry, "valueFrom", "secretKeyRef", "name"))
    assert.include(from, name)
    yield* branched.podsReady()
    assert.strictEqual(branched.status()?.phase, "Ready")
    assert.notInclude(branched.told() + JSON.stringify(branched.api.peekAll(pods)), "s3cret")
    assert.strictEqual(branched.holdings.now().get("values for branches") ?? 0, 0)
  })

  it.effect("are those of a branch that lives, for the same command once more", function* () {
    const branched = yield* begin()
    const name = yield* take(branched)
    yield* branched.order(naming(name))
    assert.strictEqual(yield* take(branched), name)
    assert.strictEqual(branched.holdings.now().get("values for branches") ?? 0, 0)
  })

  it.effect("are forgotten of a client that makes no branch", function* () {
    const branched = yield* begin()
    const name = yield* take(branched)
    assert.strictEqual(branched.holdings.now().get("values for branches"), 1)
    yield* pass("601 seconds")
    yield* pass("1 second")
    assert.strictEqual(branched.holdings.now().get("values for branches") ?? 0, 0)
    yield* branched.order(naming(name))
    assert.deepStrictEqual(branched.secrets(), [])
    assert.strictEqual(
      branched.status()?.error,
      `The values for the Secret ${name}, which the client has sent to the operator, are not there any more: run ` +
        "the command again."
    )
  })

  it.effect("serve the branch after a restart if their Secret was made before it", function* () {
    const branched = yield* begin()
    const name = yield* take(branched)
    const detail = "the server is full"
    branched.api.before = ({ plural, verb }) =>
      plural === pods.plural && verb === "create"
        ? Effect.fail(new KubeError({ cluster: "a", operation: verb, reason: "Other", code: 500, detail }))
        : Effect.void
    yield* branched.order(naming(name))
    assert.isDefined(secretOf(branched, name))
    yield* branched.kill
    branched.api.before = () => Effect.void
    yield* branched.start()
    yield* branched.podsReady()
    assert.strictEqual(branched.status()?.phase, "Ready")
  })

  it.effect("are for one branch, and for no namespace but theirs", function* () {
    const branched = yield* begin()
    const name = yield* take(branched)
    yield* branched.order(naming(name))
    const other = "mirrord-pg-branch-other"
    yield* branched.order(naming(name), other)
    assert.include(branched.status(other)?.error, `The values for the Secret ${name}`)
    assert.strictEqual(branched.status()?.phase, "Pending")
    const elsewhere = yield* take(branched, { ...credentials(), namespace: "other", id: "other" })
    yield* branched.order(naming(elsewhere), "mirrord-pg-branch-elsewhere")
    assert.include(branched.status("mirrord-pg-branch-elsewhere")?.error, `The values for the Secret ${elsewhere}`)
  })

  it.effect("are refused where a living branch of their id has others, and its Secret stays as it is", function* () {
    const branched = yield* begin()
    const first = yield* take(branched)
    yield* branched.order(naming(first))
    const before = secretOf(branched, first)
    assert.match(yield* take(branched), /^mirrord-branch-values-/u)
    assert.match(yield* take(branched, credentials("wrong", "another id")), /^mirrord-branch-values-/u)
    const refused = yield* take(branched, credentials("wrong"))
    assert.strictEqual(
      refused,
      `400: The database branch "${branchName}" of id "shop" was made with other values of DB_PASSWORD: take ` +
        "another id, or stop the branch (mirrord db-branches stop)."
    )
    const more = { ...credentials(), values: values("s3cret", { DB_HOST: "db" }) }
    assert.include(yield* take(branched, more), "other values of DB_HOST")
    assert.deepStrictEqual(secretOf(branched, first), before)
    assert.notInclude(refused + branched.told(), "s3cret")
    yield* branched.runPods({ phase: "Failed", reason: "Evicted", message: "no room" })
    assert.strictEqual(branched.status()?.phase, "Failed")
    assert.match(yield* take(branched, credentials("wrong")), /^mirrord-branch-values-/u)
  })

  it.effect("are taken of those alone who may make branches, and not without end", function* () {
    const branched = yield* begin()
    assert.strictEqual(
      yield* take(branched, credentials(), { ...ann, user: "stranger" }),
      `403: stranger may not create branchdatabases.dbs.mirrord.metalbear.co in namespace ${namespace}; ask an ` +
        "administrator for that right."
    )
    assert.strictEqual(
      yield* take(branched, credentials(), { ...ann, user: "orderer" }),
      `403: User orderer cannot proxy resource "targets" in API group "operator.metalbear.co" in the namespace ` +
        `"${namespace}", and so brings no values for branches of databases there; ask an administrator for the ` +
        "role mirrord-operator-user there."
    )
    for (let i = 0; i < 64; i++) assert.match(yield* take(branched), /^mirrord-branch-values-/u)
    assert.match(yield* take(branched), /^403: Too many values have been sent/u)
    assert.match(yield* take(branched, credentials(), { ...ann, user: "bob" }), /^mirrord-branch-values-/u)
    yield* pass("601 seconds")
    yield* pass("1 second")
    assert.match(yield* take(branched), /^mirrord-branch-values-/u)
    assert.isUndefined(asString(at(branched.secrets()[0], "metadata", "name")))
  })
})
