/**
 * Any orders of branches by a user who has no right but to order them, in the primary's own namespace, as if no API
 * server asked for more: no secret of the target's namespace comes to the user, neither by what is told nor by a server
 * of their own.
 */

import { spawnSync } from "node:child_process"
import { Effect, Redacted } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { branchKinds } from "../../../../src/domain/branches/branch-kinds.ts"
import { events } from "../../../../src/domain/events/event-object.ts"
import { asObjects, asString, asStrings, at, type JsonObject } from "../../../../src/domain/json.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import { deployments, jobs, pods, secrets } from "../../../../src/domain/resources/core-kinds.ts"
import { resolvedEnv } from "../../../real/engines/postgresql-server.ts"
import { pass } from "../../../support/connect-request.ts"
import { operatorNamespace } from "../../../support/fleet.ts"
import { virtualTime } from "../../../support/virtual-time.ts"
import { branchSpec, namespace } from "../branched.ts"
import { begin, type Synced } from "./synced.ts"

const canary = "canary7Qx"
/** Secrets that no container of the target reads, by their values. */
const foreign = `foreign-${canary}`

const secretValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  app: { url: `postgresql://app:${canary}/odd@source/shop`, password: `p@${canary}`, root: foreign },
  more: { MORE_KEY: `sk_${canary}`, MORE_URL: `https://hooks.example/${canary}` },
  stripe: { key: foreign },
  pull: { key: foreign },
  admin: { password: foreign }
}
const from = (name: string, key: string) => ({ valueFrom: { secretKeyRef: { name, key } } })
const template = {
  spec: {
    imagePullSecrets: [{ name: "pull" }],
    initContainers: [{ name: "init", env: [{ name: "ADMIN", ...from("admin", "password") }] }],
    containers: [
      {
        name: "app",
        env: [
          { name: "DATABASE_URL", ...from("app", "url") },
          { name: "DB_PASSWORD", ...from("app", "password") },
          { name: "DB_HOST", value: "source" },
          { name: "JOINED_URL", value: "postgresql://app:$(DB_PASSWORD)@$(DB_HOST)/shop?$(DB_PASSWORD)" }
        ],
        envFrom: [{ secretRef: { name: "more" } }]
      }
    ]
  }
}

const evil = "evil.example"
const own = { HOST: evil, PORT: "6666", USER: "me", PASSWORD: "mine", URL: `postgresql://me:mine@${evil}/x` }
const variables = ["DATABASE_URL", "DB_PASSWORD", "DB_HOST", "JOINED_URL", "MORE_KEY", "MORE_URL", "ADMIN", "NONE"]

/** In the place of the Secret with values of a user's own, whose name is drawn again. */
const ownSecret = "mirrord-branch-values-own"
const keysOf = Object.entries(secretValues).flatMap(([name, keys]) => Object.keys(keys).map((key) => ({ name, key })))
const ownSource = (key: string) => ({ secret: { name: ownSecret, key, env_var_name: key } })
const source = fc.oneof(
  fc.constantFrom(...Object.keys(own)).map(ownSource),
  fc.constantFrom(...variables).map((variable) => ({ env: { container: null, variable } })),
  fc.constantFrom(...variables).map((variable) => ({ envFrom: { container: "app", variable } })),
  fc.constantFrom(...keysOf).map((secret) => ({ secret }))
)
const part = fc.oneof(source, fc.array(source, { minLength: 1, maxLength: 2 }))
const mixed = fc.record(
  { host: source, port: part, user: part, password: part, database: part },
  { requiredKeys: ["host"] }
)
/** All of a server of the user's, but for one part perhaps. */
const ofOwnServer = fc
  .tuple(fc.constantFrom("host", "port", "user", "password", "database", "none"), source)
  .map(([name, other]) => {
    const [host, port, user, password] = ["HOST", "PORT", "USER", "PASSWORD"].map(ownSource)
    return { host, port, user, password, ...(name === "none" ? {} : { [name]: other }) }
  })
const params = fc.oneof(mixed, ofOwnServer)
const images = [null, "docker.io/library/postgres:16", `${evil}/postgres:17`]
const migrations = fc.record({
  flavor: fc.constant("container" as const),
  image: fc.constantFrom("docker.io/library/postgres:17", "docker.io/flyway/flyway:12", `${evil}/x`),
  command: fc.constant(["env"]),
  env: fc.constant({ ASKED: "$(DB_PASSWORD) $(MORE_KEY)" })
})
const order = fc.record({
  spec: fc.record({
    connectionSource: fc.oneof(fc.record({ url: part }), fc.record({ params })),
    databaseName: fc.constantFrom("shop", "$(SOURCE_URL)", "$(TARGET_DB_PASSWORD)"),
    image: fc.constantFrom(null, ...images),
    postgresOptions: fc.constantFrom("all", "schema", "empty").map((mode) => ({
      copy: { mode },
      connectionSettings: { "app.x": "$(TARGET_DB_PASSWORD)" }
    })),
    migrations: fc.option(migrations)
  }),
  isCopied: fc.boolean()
})
type Order = typeof order extends fc.Arbitrary<infer A> ? A : never

/** The environment of a container as the kubelet makes it. */
const environmentOf = (synced: Synced, container: JsonObject): Readonly<Record<string, string>> => {
  const made = synced.default.peekAll(secrets).map(({ data, metadata }) => {
    const entries = Object.entries((data ?? {}) as Readonly<Record<string, string>>)
    return [metadata.name, Object.fromEntries(entries.map(([key, text]) => [key, atob(text)]))] as const
  })
  return resolvedEnv(container, Object.fromEntries(made))
}

/** All that a user sees. */
const seen = (synced: Synced): string =>
  JSON.stringify([
    ...branchKinds(["pg"]).flatMap(({ resource }) => [
      synced.primary.peekAll(resource),
      synced.default.peekAll(resource)
    ]),
    synced.primary.peekAll(events),
    synced.default.peekAll(events),
    synced.logged
  ])

/** Tools that say all that they know, in the place of the copy. */
const tellAll = `env | sed -n 's/^\\(SOURCE\\|TARGET\\)_[A-Z_]*=//p' | while IFS= read -r value; do
  echo "error: \\"$value\\" and \\"\${value#*:}\\", \\"\${value##*@}\\", \\"\${value##*[?&/]}\\""
done >&2; exit 1`

interface Tally {
  orders: number
  copied: number
  atOwnServer: number
  migrated: number
}

/** Carries an order out, and looks at everything that comes of it. */
const carryOut = (synced: Synced, { isCopied, spec }: Order, name: string, tally: Tally) =>
  Effect.gen(function* () {
    tally.orders++
    const values = new Map(Object.entries(own).map(([key, value]) => [key, Redacted.make(value)]))
    // Somebody else lets the user have these.
    const other = { user: "ann", groups: [], extra: {} }
    const secret = yield* synced.directory.takeCredentials({ namespace, id: name, values, user: undefined }, other)
    const annotations = { "mirrord.metalbear.co/target-namespace": namespace }
    const asked = JSON.parse(JSON.stringify(spec).replaceAll(ownSecret, secret)) as object
    const object = { spec: { ...branchSpec, id: name, ...asked }, metadata: { annotations } }
    synced.primary.write(branchDatabases, name, object, operatorNamespace)
    yield* pass("1 second")
    for (const { metadata, spec: pod } of synced.default.peekAll(pods)) {
      const [copy = {}] = asObjects(at(pod, "initContainers"))
      const env = environmentOf(synced, copy)
      expect(JSON.stringify(env)).not.toContain(foreign)
      const { SOURCE_HOST, SOURCE_PORT, SOURCE_URL } = env
      if (SOURCE_HOST === evil || SOURCE_PORT === own.PORT || SOURCE_URL === own.URL) {
        tally.atOwnServer++
        expect(JSON.stringify(env)).not.toContain(canary)
      }
      const [, ...command] = asStrings(copy["command"]).with(4, tellAll)
      const { stderr, stdout } = spawnSync("/bin/sh", command, {
        env: { PATH: process.env["PATH"], ...env },
        encoding: "utf8"
      })
      tally.copied++
      const terminated = { exitCode: 1, reason: "Error", message: (stdout + stderr).slice(-2_048) }
      const status = isCopied
        ? { phase: "Running", podIP: "10.0.0.7", conditions: [{ type: "Ready", status: "True" }] }
        : { phase: "Failed", initContainerStatuses: [{ name: "copy", state: { terminated } }] }
      synced.default.write(pods, metadata.name, { status }, namespace)
    }
    yield* pass("1 second")
    for (const job of synced.default.peekAll(jobs)) {
      tally.migrated++
      const [program = {}] = asObjects(at(job, "spec", "template", "spec", "containers"))
      expect(JSON.stringify(environmentOf(synced, program))).not.toContain(canary)
    }
    yield* pass("1 second")
    const all = seen(synced)
    expect(all).not.toContain(canary)
    expect(asString(at(synced.primary.peek(branchDatabases, name, operatorNamespace), "status", "phase"))).toBeDefined()
    synced.primary.erase(branchDatabases, name, operatorNamespace)
    for (let i = 0; i < 3; i++) yield* pass("1 second")
  })

const tried = (orders: ReadonlyArray<Order>, tally: Tally) =>
  Effect.gen(function* () {
    const synced = yield* begin
    synced.default.write(deployments, "app", { spec: { template } }, namespace)
    for (const [name, keys] of Object.entries(secretValues)) {
      const data = Object.fromEntries(Object.entries(keys).map(([key, text]) => [key, btoa(text)]))
      synced.default.write(secrets, name, { data }, namespace)
    }
    for (const [index, one] of orders.entries()) yield* carryOut(synced, one, `branch-${index}`, tally)
  }).pipe(Effect.scoped, Effect.provide(virtualTime))

describe("orders of a user who may do nothing but order branches", () => {
  it("tell no secret, and send none to a server of the user's", async () => {
    const tally: Tally = { orders: 0, copied: 0, atOwnServer: 0, migrated: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(order, { minLength: 1, maxLength: 12 }), (orders) =>
        Effect.runPromise(tried(orders, tally))
      ),
      { numRuns: 60 }
    )
    for (const count of [tally.copied, tally.atOwnServer, tally.migrated]) expect(count).toBeGreaterThan(0)
  })
})
