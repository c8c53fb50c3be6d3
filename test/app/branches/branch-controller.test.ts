/** The life of a branch at one API server: made, ready, used, expired; and what refuses or ends it. */

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Logger, Redacted, Result } from "effect"
import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { deployments, pods, rollouts, secrets, services } from "../../../src/domain/resources/core-kinds.ts"
import { defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { begin, branchName, branchSpec, namespace, ready, today, defaultRules, user } from "./branched.ts"

const session = { sessionId: "00000000000000ff", user }

describe("a branch", () => {
  it.effect("is pending with a time at once, then ready, and deleted with all that is its own", function* () {
    const branched = yield* begin()
    yield* branched.order()
    const [pod] = branched.pods()
    assert.deepInclude(branched.status(), { phase: "Pending", podName: pod?.metadata.name ?? "" })
    assert.isAbove(Date.parse(branched.status()?.expireTime ?? ""), today)
    assert.strictEqual(pod?.metadata.labels?.["db-owner-name"], branchName)
    assert.strictEqual(pod?.metadata.ownerReferences?.[0]?.uid, branched.object()?.metadata.uid)
    const [copy] = asObjects(at(pod, "spec", "initContainers"))
    assert.deepInclude(asObjects(copy?.["env"]), { name: "SOURCE_URL", value: "$(TARGET_DATABASE_URL)" })
    yield* branched.podsReady()
    assert.deepInclude(branched.status(), { phase: "Ready", podName: pod?.metadata.name ?? "", sessionInfo: {} })
    yield* pass("298 seconds")
    assert.isDefined(branched.object())
    yield* pass("2 seconds")
    yield* pass("2 seconds")
    assert.isUndefined(branched.object())
    assert.deepStrictEqual([branched.pods(), branched.secrets()], [[], []])
    assert.deepStrictEqual(branched.events(), [
      `Building in ${namespace}`,
      `BranchReady in ${namespace}`,
      `BranchExpired in ${namespace}`
    ])
    assert.strictEqual(branched.holdings.now().get("branches of databases") ?? 0, 0)
  })

  it.effect("lives until a valid date, and writes nothing meanwhile, whatever TTL a client wants", function* () {
    const branched = yield* begin()
    yield* branched.order({ ttlSecs: 2 ** 64 })
    yield* branched.podsReady()
    assert.deepInclude(branched.status(), { phase: "Ready", expireTime: "2027-11-21T00:00:02.000Z" })
    const before = branched.api.calls.length
    for (let i = 0; i < 60; i++) yield* pass("1 minute")
    const writes = branched.api.calls.slice(before).filter(({ verb }) => !["list", "watch"].includes(verb))
    assert.deepStrictEqual(writes, [])
    assert.strictEqual(at(branched.object(), "spec", "ttlSecs"), 2 ** 64)
  })

  it.effect(
    "has its address and its password for sessions once it is ready, and tells the password nowhere",
    function* () {
      const branched = yield* begin()
      assert.isUndefined(branched.directory.find(namespace, branchName))
      yield* branched.order()
      assert.isUndefined(branched.found().access)
      yield* branched.podsReady()
      const { access, isBeingDeleted, phase, request } = branched.found()
      assert.deepStrictEqual([phase, isBeingDeleted, Result.isSuccess(request)], ["Ready", false, true])
      assert.deepInclude(access, { host: "10.0.0.7", port: 5432, user: "postgres", database: "shop" })
      const password = branched.password()
      assert.isAbove(password.length, 20)
      assert.strictEqual(access === undefined ? "" : Redacted.value(access.password), password)
      assert.notInclude(branched.told(), password)
      assert.notInclude(JSON.stringify(branched.pods()), password)
      assert.notInclude(branched.told(), "secret@source")
      assert.include(branched.logged.join(), '"act":"branched"')
    }
  )

  it.effect(
    "stays for a session that has named it and is still starting, whatever the TTL, but not for ever",
    function* () {
      const branched = yield* begin()
      yield* branched.order({ ttlSecs: 5 })
      yield* branched.podsReady()
      yield* pass("55 seconds")
      yield* branched.directory.await(branched.found(), "a")
      yield* branched.directory.await(branched.found(), "b")
      yield* pass("250 seconds")
      yield* branched.directory.use(branched.found(), { ...session, sessionId: "a" })
      yield* pass("100 seconds")
      assert.isTrue(branched.directory.isUsedBy("a"))
      assert.isFalse(branched.directory.isUsedBy("b"))
      yield* branched.directory.release(branched.found(), "a")
      yield* pass("50 seconds")
      assert.isDefined(branched.object())
      for (let i = 0; i < 3; i++) yield* pass("5 seconds")
      assert.isUndefined(branched.object())
    }
  )

  it.effect("stays while a session uses it, and for its time after the last one", function* () {
    const branched = yield* ready()
    const branch = branched.found()
    yield* branched.directory.use(branch, session)
    assert.deepStrictEqual(branched.status()?.sessionInfo, {
      [session.sessionId]: { id: session.sessionId, owner: user }
    })
    for (let i = 0; i < 60; i++) yield* pass("1 minute")
    assert.strictEqual(branched.status()?.phase, "Ready")
    yield* branched.directory.release(branch, session.sessionId)
    yield* pass("1 second")
    assert.deepStrictEqual(branched.status()?.sessionInfo, {})
    yield* pass("297 seconds")
    assert.isDefined(branched.object())
    yield* pass("4 seconds")
    yield* pass("1 second")
    assert.isUndefined(branched.object())
  })

  it.effect("says in the audit which user's session uses it, once for each session", function* () {
    const branched = yield* ready()
    const branch = branched.found()
    const lines: Array<string> = []
    const log = Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))])
    for (const sessionId of ["a", "a", "b"]) {
      yield* Effect.provide(branched.directory.use(branch, { sessionId, user }), log)
    }
    const about = { act: "branchUsed", owner: user.k8sUsername, branch: branchName, namespace }
    assert.lengthOf(lines, 2)
    assert.deepInclude(JSON.parse(lines[0] ?? "").annotations, { ...about, session: "a" })
    assert.deepInclude(JSON.parse(lines[1] ?? "").annotations, { ...about, session: "b" })
  })

  it.effect("keeps two sessions apart", function* () {
    const branched = yield* ready()
    const branch = branched.found()
    yield* branched.directory.use(branch, session)
    yield* branched.directory.use(branch, { sessionId: "b", user })
    yield* branched.directory.release(branch, session.sessionId)
    yield* pass("1 second")
    assert.deepStrictEqual(Object.keys(branched.status()?.sessionInfo ?? {}), ["b"])
  })

  it.effect("is used although somebody else writes its status at the same time", function* () {
    const branched = yield* ready()
    const branch = branched.found()
    branched.api.setMuted(true)
    branched.api.write(branchDatabases, branchName, { metadata: { labels: { a: "b" } } }, namespace)
    yield* branched.directory.use(branch, session)
    assert.deepStrictEqual(Object.keys(branched.status()?.sessionInfo ?? {}), [session.sessionId])
  })

  it.effect("is not deleted once a session begins to use it, and not used once its deletion has begun", function* () {
    const branched = yield* ready()
    const branch = branched.found()
    const { api } = branched
    let deleting = false
    api.before = ({ plural, verb }) => {
      if (verb !== "delete" || plural !== branchDatabases.plural) return Effect.void
      deleting = true
      return Effect.sleep("10 seconds")
    }
    yield* pass("301 seconds")
    assert.isTrue(deleting)
    const used = yield* Effect.result(branched.directory.use(branch, session))
    assert.isTrue(Result.isFailure(used))
    yield* pass("11 seconds")
    assert.isUndefined(branched.object())
  })

  it.effect("is not used by a session whose use cannot be written, and so expires", function* () {
    const branched = yield* ready()
    const branch = branched.found()
    branched.api.before = ({ plural, verb }) =>
      verb === "patch" && plural === branchDatabases.plural
        ? new KubeError({ cluster: "a", operation: "patch", reason: "Forbidden", code: 403, detail: "no" })
        : Effect.void
    const used = yield* Effect.result(branched.directory.use(branch, session))
    assert.isTrue(Result.isFailure(used))
    branched.api.before = () => Effect.void
    yield* pass("301 seconds")
    yield* pass("2 seconds")
    assert.isUndefined(branched.object())
  })

  it.effect("is made for a target without pods whose template another workload has", function* () {
    const branched = yield* begin()
    branched.api.write(
      rollouts,
      "roll",
      { spec: { workloadRef: { apiVersion: "apps/v1", kind: "Deployment", name: "app" } } },
      namespace
    )
    const target = { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", name: "roll", container: "" }
    yield* branched.order({ target })
    assert.lengthOf(branched.pods(), 1)
  })

  it.effect("fails when its spec is changed to another database, and not for a longer time", function* () {
    const branched = yield* ready()
    branched.api.write(branchDatabases, branchName, { spec: { ttlSecs: 900 } }, namespace)
    yield* pass("1 second")
    assert.deepInclude(branched.status(), { phase: "Ready" })
    branched.api.write(branchDatabases, branchName, { spec: { databaseName: "other" } }, namespace)
    yield* pass("1 second")
    assert.include(branched.status()?.error, "The spec was changed after the branch was begun")
    assert.isUndefined(branched.found().access)
  })

  it.effect("is gone for sessions once a person deletes it", function* () {
    const branched = yield* begin()
    yield* branched.order({}, branchName, { finalizers: ["a/b"] })
    yield* branched.podsReady()
    const branch = branched.found()
    yield* branched.api.delete(branchDatabases, branchName, { namespace })
    yield* pass("1 second")
    assert.isUndefined(branched.directory.find(namespace, branchName))
    assert.isTrue(Result.isFailure(yield* Effect.result(branched.directory.use(branch, session))))
  })
})

const limited = readEngineSettings(
  "pg",
  { _tag: "Parsed", value: { dbPod: { allowedImages: ["docker.io/library/postgres:*"] } } },
  {}
)
const broken = readEngineSettings("pg", { _tag: "Parsed", value: { dbPod: { allowedImages: "all" } } }, {})

describe("a branch that cannot be", () => {
  it.effect.each([
    ["two engines", { mysqlOptions: {} }, "must have exactly one", {}],
    ["an engine that is switched off", {}, "operator.pgBranching set to true", { ...defaultRules, settings: {} }],
    [
      "an image that is not allowed",
      { image: "evil.example.com/postgres:1" },
      "does not allow",
      { ...defaultRules, settings: { pg: limited } }
    ],
    [
      "a file that cannot be used",
      {},
      "dbPod.allowedImages: it must be a list",
      { ...defaultRules, settings: { pg: broken } }
    ],
    ["no target", { target: { ...branchSpec.target, name: "none" } }, "deployment/none", {}],
    [
      "a target's long name",
      { target: { ...branchSpec.target, name: "x".repeat(300) } },
      `deployment/${"x".repeat(9)}`,
      {}
    ],
    ["no workload", { target: { apiVersion: "v1", kind: "Node", name: "n", container: "" } }, "must be a workload", {}],
    [
      "no template",
      { target: { apiVersion: "v1", kind: "Service", name: "app", container: "" } },
      "which has no pod template",
      {}
    ],
    [
      "a variable that the target does not declare",
      { connectionSource: { url: { env: { container: null, variable: "OTHER" } } } },
      "OTHER is not in the target's container",
      {}
    ]
  ] as const)(
    "is Failed within 2 s, with the reason, and its name is free soon: %s",
    function* ([, change, reason, rules]) {
      const branched = yield* begin({ ...defaultRules, ...rules })
      branched.api.write(services, "app", {}, namespace)
      yield* branched.order(change)
      yield* pass("1 second")
      const { error, phase } = branched.status() ?? {}
      assert.strictEqual(phase, "Failed")
      assert.include(error, reason)
      assert.match(error ?? "", /^[^\n]+\.$/u)
      assert.deepStrictEqual([branched.pods(), branched.secrets()], [[], []])
      yield* pass("21 seconds")
      yield* pass("1 second")
      assert.isUndefined(branched.object())
    }
  )

  it.effect.each([
    ["pod", pods],
    ["Secret", secrets]
  ] as const)(
    "tells what the API server has against its %s, such as a quota, and leaves nothing",
    function* ([what, kind]) {
      const branched = yield* begin()
      branched.api.before = ({ plural, verb }) =>
        verb === "create" && plural === kind.plural
          ? new KubeError({
              cluster: "a",
              operation: "create",
              reason: "Forbidden",
              code: 403,
              detail: "exceeded quota"
            })
          : Effect.void
      yield* branched.order()
      yield* pass("1 second")
      assert.strictEqual(branched.status()?.error, `The branch's ${what} cannot be made: exceeded quota.`)
      yield* pass("21 seconds")
      yield* pass("1 second")
      assert.deepStrictEqual([branched.object(), branched.pods(), branched.secrets()], [undefined, [], []])
    }
  )

  it.effect.each([
    [413, "cannot be made: too large"],
    [500, "was not complete after 30 minutes"]
  ] as const)("fails in time whatever the API server answers: %s", function* ([code, words]) {
    const branched = yield* begin()
    branched.api.before = ({ plural, verb }) =>
      verb === "create" && plural === pods.plural
        ? Effect.fail(new KubeError({ cluster: "a", operation: "create", reason: "Other", code, detail: "too large" }))
        : Effect.void
    yield* branched.order()
    for (let i = 0; i < 200 && branched.status()?.phase !== "Failed"; i++) yield* pass("10 seconds")
    assert.include(branched.status()?.error, words)
  })

  it.effect("is not deleted for its time where a primary has it kept for a session at that moment", function* () {
    const branched = yield* ready()
    const awaited = "operator.metalbear.co/branch-awaited-by"
    branched.api.before = ({ plural, verb }) =>
      Effect.sync(() => {
        if (plural !== branchDatabases.plural || verb !== "delete") return
        branched.api.before = () => Effect.void
        branched.api.write(branchDatabases, branchName, { metadata: { annotations: { [awaited]: "ff" } } }, namespace)
      })
    yield* pass("302 seconds")
    yield* pass("10 seconds")
    assert.strictEqual(branched.object()?.metadata.annotations?.[awaited], "ff")
    yield* pass("301 seconds")
    yield* pass("1 second")
    assert.isUndefined(branched.object())
  })

  it.effect("says at once that no node takes its pod, and waits for one", function* () {
    const branched = yield* begin()
    yield* branched.order()
    const noNode = (nodes: number) => {
      const message = `0/${nodes} nodes are available: pod has unbound immediate PersistentVolumeClaims.`
      return { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] }
    }
    yield* branched.runPods(noNode(2))
    yield* branched.runPods(noNode(3))
    const told = branched.api
      .peekAll(events)
      .flatMap(({ message, reason }) => (reason === "BranchWaits" ? message : []))
    assert.deepStrictEqual(told, [
      "The branch waits: its pod waits for a node: 0/2 nodes are available: pod has unbound immediate " +
        "PersistentVolumeClaims."
    ])
    assert.strictEqual(branched.status()?.phase, "Pending")
    yield* pass("30 minutes")
    assert.strictEqual(
      branched.status()?.error,
      "The copy was not complete after 30 minutes: its pod waits for a node: 0/3 nodes are available: pod has " +
        "unbound immediate PersistentVolumeClaims."
    )
  })

  it.effect(
    "is refused beyond the bounds, which a new leader counts as well, and is let in when another has gone",
    function* () {
      const branched = yield* begin()
      yield* branched.kill
      const bounds = { ...defaultBounds, branchesPerNamespace: 2 }
      yield* branched.start(defaultRules, bounds)
      yield* branched.order({ postgresOptions: { copy: { mode: "none" } } }, "wrong")
      for (const name of ["a", "b", "c"]) yield* branched.order({}, name)
      const phases = () => ["a", "b", "c", "d"].map((name) => branched.status(name)?.phase)
      assert.deepStrictEqual(phases(), ["Pending", "Pending", "Failed", undefined])
      assert.match(
        branched.status("c")?.error ?? "",
        /^The bound of branches of namespace shop .*: there are 2, and 2/u
      )
      yield* branched.kill
      yield* branched.start(defaultRules, bounds)
      yield* branched.order({}, "d")
      assert.deepStrictEqual(phases(), ["Pending", "Pending", "Failed", "Failed"])
      yield* pass("25 seconds")
      branched.api.erase(branchDatabases, "a", namespace)
      yield* pass("1 second")
      yield* branched.order({}, "c")
      assert.deepStrictEqual(phases(), [undefined, "Pending", "Pending", undefined])
    }
  )

  it.effect("says why it waits, and why its values are not taken, while a list fails that it needs", function* () {
    const branched = yield* begin()
    yield* branched.kill
    branched.api.before = ({ plural, verb }) =>
      verb === "list" && plural === pods.plural
        ? new KubeError({ cluster: "a", operation: "list pods", reason: "Other", detail: "etcd is full" })
        : Effect.void
    yield* branched.start()
    yield* branched.order()
    yield* pass("15 seconds")
    const told = branched.api.peekAll(events).map(({ message }) => message)
    assert.deepStrictEqual(told, ["The branch waits: the pods of branches cannot be listed: etcd is full."])
    const values = { id: "b", namespace, values: new Map(), user: undefined }
    const taking = yield* Effect.forkChild(
      Effect.flip(branched.directory.takeCredentials(values, { user: "ann", groups: [], extra: {} }))
    )
    yield* pass("10 seconds")
    assert.include((yield* Fiber.join(taking)).message, "have not been read yet: etcd is full; try again")
  })

  it.effect("is made once the API server answers again", function* () {
    const branched = yield* begin()
    branched.api.before = ({ plural, verb }) =>
      verb === "get" && plural === deployments.plural
        ? new KubeError({ cluster: "a", operation: "get", reason: "Unreachable", detail: "away" })
        : Effect.void
    yield* branched.order()
    yield* pass("5 seconds")
    assert.deepStrictEqual(branched.pods(), [])
    branched.api.before = () => Effect.void
    for (let i = 0; i < 30; i++) yield* pass("1 second")
    assert.lengthOf(branched.pods(), 1)
  })

  it.effect.each([secrets, pods])("says at once that it may not look at its own: $plural", function* ({ plural: its }) {
    const branched = yield* begin()
    const refusals = { create: ["AlreadyExists", "is there"], get: ["Forbidden", "may not get it"] } as const
    branched.api.before = ({ plural, verb }) => {
      if (plural !== its || (verb !== "create" && verb !== "get")) return Effect.void
      const [reason, detail] = refusals[verb]
      return new KubeError({ cluster: "a", operation: verb, reason, detail })
    }
    yield* branched.order()
    yield* pass("1 second")
    assert.include(branched.status()?.error, "cannot be made: may not get it")
  })

  it.effect("takes no Secret of somebody else", function* () {
    const branched = yield* begin()
    branched.api.before = ({ name, plural, verb }) =>
      Effect.sync(() => {
        if (verb === "create" && plural === secrets.plural)
          branched.api.write(secrets, name, { data: { password: "eA==" } }, namespace)
      })
    yield* branched.order()
    yield* pass("1 second")
    assert.include(branched.status()?.error, "that belongs to no branch of this name")
    assert.deepStrictEqual(branched.pods(), [])
  })

  it.effect("takes no pod of somebody else, though it is ready", function* () {
    const branched = yield* begin()
    branched.api.before = ({ name, plural, verb }) =>
      Effect.sync(() => {
        const metadata = { labels: { "db-owner-name": branchName } }
        const status = { podIP: "10.6.6.6", conditions: [{ type: "Ready", status: "True" }] }
        if (verb === "create" && plural === secrets.plural)
          branched.api.write(pods, name, { metadata, status }, namespace)
      })
    yield* branched.order()
    yield* pass("1 second")
    assert.include(branched.status()?.error, "that belongs to no branch of this name")
  })

  it.effect("is never ready by a pod that somebody else puts in the place of its own", function* () {
    const branched = yield* ready()
    const [pod] = branched.pods()
    const name = pod?.metadata.name ?? ""
    // While nobody looks.
    yield* branched.kill
    branched.api.erase(pods, name, namespace)
    const metadata = { labels: { "db-owner-name": branchName } }
    const status = { podIP: "10.6.6.6", conditions: [{ type: "Ready", status: "True" }] }
    branched.api.write(pods, name, { metadata, status }, namespace)
    yield* branched.start()
    assert.deepInclude(branched.status(), { phase: "Failed" })
    assert.isUndefined(branched.found().access)
  })

  it.effect("says why its copy failed, without the source's credentials", function* () {
    const branched = yield* begin()
    yield* branched.order()
    const message = "psql: error: postgres://app:secret@source/shop refused"
    yield* branched.runPods({
      phase: "Failed",
      initContainerStatuses: [{ name: "copy", state: { terminated: { exitCode: 1, reason: "Error", message } } }]
    })
    assert.deepInclude(branched.status(), { phase: "Failed" })
    assert.include(branched.status()?.error, 'container "copy" ended (exit code 1)')
    assert.notInclude(JSON.stringify([branched.object(), branched.events()]), "app:secret")
    yield* pass("21 seconds")
    yield* pass("1 second")
    assert.deepStrictEqual([branched.object(), branched.pods(), branched.secrets()], [undefined, [], []])
  })

  it.effect("fails when its spec is changed while it is copied, and the copy goes with it", function* () {
    const branched = yield* begin()
    yield* branched.order()
    branched.api.write(branchDatabases, branchName, { spec: { databaseName: "other" } }, namespace)
    yield* pass("1 second")
    assert.deepInclude(branched.status(), {
      phase: "Failed",
      error: "The spec was changed after the branch was begun: run the command again."
    })
    // The copy of the earlier spec ends well, and is nobody's.
    yield* branched.podsReady()
    assert.strictEqual(branched.status()?.phase, "Failed")
    assert.isUndefined(branched.found().access)
    yield* pass("21 seconds")
    yield* pass("1 second")
    assert.deepStrictEqual([branched.object(), branched.pods(), branched.secrets()], [undefined, [], []])
  })

  it.effect("is made again under its name by the same command, half a minute after it failed", function* () {
    const branched = yield* begin()
    yield* branched.order({ target: { ...branchSpec.target, name: "late" } })
    assert.strictEqual(branched.status()?.phase, "Failed")
    branched.api.write(
      deployments,
      "late",
      { spec: branched.api.peek(deployments, "app", namespace)?.["spec"] },
      namespace
    )
    yield* pass("30 seconds")
    assert.isUndefined(branched.object())
    yield* branched.order({ target: { ...branchSpec.target, name: "late" } })
    yield* branched.podsReady()
    assert.deepInclude(branched.status(), { phase: "Ready" })
    assert.lengthOf(branched.pods(), 1)
  })

  it.effect("frees its name soon after it failed, although the session that used it goes on", function* () {
    const branched = yield* ready()
    yield* branched.directory.use(branched.found(), session)
    yield* branched.runPods({ phase: "Failed", reason: "Evicted" })
    assert.strictEqual(branched.status()?.phase, "Failed")
    yield* pass("21 seconds")
    assert.isUndefined(branched.object())
  })

  it.effect("is Failed when its pod is lost, whoever uses it, and gets no second pod", function* () {
    const branched = yield* ready()
    yield* branched.directory.use(branched.found(), session)
    const [pod] = branched.pods()
    branched.api.erase(pods, pod?.metadata.name ?? "", namespace)
    yield* pass("1 second")
    assert.deepInclude(branched.status(), { phase: "Failed" })
    assert.include(branched.status()?.error, "its data with it")
    assert.deepStrictEqual(branched.pods(), [])
    assert.isUndefined(branched.found().access)
    assert.deepStrictEqual(
      branched.events().map((event) => asString(event)?.split(" ")[0]),
      ["Building", "BranchReady", "BranchFailed"]
    )
  })
})
