import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { originAnnotations } from "../../../../src/domain/branches/sync/synced-branch.ts"
import { events } from "../../../../src/domain/events/event-object.ts"
import { asString, at } from "../../../../src/domain/json.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import { deployments, namespaces, pods, secrets } from "../../../../src/domain/resources/core-kinds.ts"
import { defaultBounds } from "../../../../src/domain/sessions/session-bounds.ts"
import { type KubeErrorReason, KubeError } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { configurationOf, operatorNamespace } from "../../../support/fleet.ts"
import { MemoryKubeApi, type MemoryCall } from "../../../support/memory-kube-api.ts"
import { memberOf } from "../../../support/memory-session.ts"
import { memoryWorld } from "../../../support/memory-world.ts"
import { branchName, branchSpec, jobEnds, namespace, user, defaultRules } from "../branched.ts"
import { begin, ready, seconds, Synced } from "./synced.ts"

const failing =
  (isMeant: (call: MemoryCall) => boolean, reason: KubeErrorReason, detail = "no", code?: number) =>
  (call: MemoryCall) =>
    call.plural === branchDatabases.plural && isMeant(call)
      ? Effect.fail(
          new KubeError({ cluster: "a", operation: call.verb, reason, detail, ...(code === undefined ? {} : { code }) })
        )
      : Effect.void

const session = { sessionId: "ff", user }

describe("a branch that users order at a primary", () => {
  it.effect("is made in the default cluster, and both clusters tell of it alike", function* () {
    const synced = yield* begin
    yield* synced.order({}, { labels: { "mirrord-branch-id": "shop" } })
    assert.strictEqual(synced.status()?.phase, "Pending")
    yield* synced.podsReady
    const [copy, origin] = [synced.copy(), synced.origin()]
    assert.deepStrictEqual(origin?.["status"], {
      ...(copy?.["status"] as object),
      copy: { cluster: "a", namespace, uid: copy?.metadata.uid }
    })
    assert.strictEqual(synced.status()?.phase, "Ready")
    assert.deepStrictEqual(copy?.metadata.labels, {
      "mirrord-branch-id": "shop",
      "operator.metalbear.co/branch-origin-cluster": "primary"
    })
    assert.isUndefined(copy?.metadata.annotations?.["mirrord.metalbear.co/target-namespace"])
    assert.deepStrictEqual(synced.events(), ["BranchCopied", "BranchReady"])
    assert.strictEqual(synced.holdings.now().get("branches in two clusters"), 1)
  })

  it.effect("is known to be used, and no more, at the primary too", function* () {
    const synced = yield* ready
    const branch = synced.directory.find(namespace, branchName)
    if (branch === undefined) return assert.fail("no branch")
    for (const sessionId of ["1", "2"]) yield* synced.directory.use(branch, { ...session, sessionId })
    yield* seconds(1)
    assert.deepStrictEqual(Object.keys(synced.status()?.sessionInfo ?? {}), ["1", "2"])
    for (const sessionId of ["1", "2"]) yield* synced.directory.release(branch, sessionId)
    yield* seconds(2)
    assert.deepStrictEqual(synced.status()?.sessionInfo, {})
    // Nothing that the primary writes for itself makes it write in the default cluster.
    const writes = synced.member.calls.flatMap(({ verb }) => (["list", "watch"].includes(verb) ? [] : [verb]))
    assert.deepStrictEqual(writes, ["create"])
  })

  it.effect.each(["ours", "theirs"])(
    "is shared with a user of the default cluster itself, and %s may leave first",
    function* (first) {
      const synced = yield* ready
      const branch = synced.directory.find(namespace, branchName)
      if (branch === undefined) return assert.fail("no branch")
      for (const sessionId of ["ours", "theirs"]) yield* synced.directory.use(branch, { ...session, sessionId })
      yield* synced.directory.release(branch, first)
      yield* seconds(400)
      const last = first === "ours" ? "theirs" : "ours"
      assert.deepStrictEqual(Object.keys(synced.status()?.sessionInfo ?? {}), [last])
      assert.isDefined(synced.copy())
      yield* synced.directory.release(branch, last)
      yield* seconds(310)
      assert.deepStrictEqual([synced.origin(), synced.copy()], [undefined, undefined])
    }
  )

  it.effect("ends in both clusters when its TTL is over by the default's clock", function* () {
    const synced = yield* ready
    yield* seconds(310)
    assert.deepStrictEqual([synced.origin(), synced.copy()], [undefined, undefined])
    assert.deepStrictEqual(synced.default.peekAll(pods), [])
    assert.deepStrictEqual([...synced.holdings.now().keys()], [])
  })

  it.effect("ends in both clusters when a person deletes it, although it is used", function* () {
    const synced = yield* ready
    const branch = synced.directory.find(namespace, branchName)
    if (branch !== undefined) yield* synced.directory.use(branch, session)
    yield* seconds(1)
    synced.primary.erase(branchDatabases, branchName, operatorNamespace)
    yield* seconds(1)
    assert.isUndefined(synced.copy())
    assert.strictEqual(synced.holdings.now().get("branches in two clusters"), undefined)
  })

  it.effect("can be ordered again under its name at once", function* () {
    const synced = yield* ready
    const first = synced.copy()?.metadata.uid
    synced.default.setMuted(true)
    synced.primary.erase(branchDatabases, branchName, operatorNamespace)
    yield* synced.order()
    synced.default.setMuted(false)
    yield* seconds(3)
    assert.isDefined(synced.copy())
    assert.notStrictEqual(synced.copy()?.metadata.uid, first)
    yield* synced.podsReady
    yield* seconds(1)
    assert.strictEqual(synced.status()?.phase, "Ready")
  })

  it.effect("is not taken for an earlier one of its name, whose end is seen late", function* () {
    const synced = yield* ready
    // The default cluster's end of it is seen first, while the primary tells nothing of a person who orders again.
    synced.default.setMuted(true)
    synced.primary.setMuted(true)
    synced.default.erase(branchDatabases, branchName, namespace)
    synced.primary.erase(branchDatabases, branchName, operatorNamespace)
    yield* synced.order()
    const uid = synced.origin()?.metadata.uid
    synced.default.setMuted(false)
    synced.default.endWatches()
    yield* seconds(3)
    assert.strictEqual(synced.origin()?.metadata.uid, uid)
    synced.primary.setMuted(false)
    synced.primary.endWatches()
    yield* seconds(3)
    yield* synced.podsReady
    yield* seconds(2)
    assert.strictEqual(synced.origin()?.metadata.uid, uid)
    assert.strictEqual(synced.status()?.phase, "Ready")
  })

  it.effect("is refused beyond the bounds of its target's namespace, and if its spec is too heavy", function* () {
    const synced = yield* ready
    yield* synced.kill("primary")
    yield* synced.start(undefined, { ...defaultBounds, branchesPerNamespace: 1 })
    const order = (name: string, place: string, change: object = {}) => {
      const annotations = { "mirrord.metalbear.co/target-namespace": place }
      const object = { spec: { ...branchSpec, ...change }, metadata: { annotations } }
      synced.primary.write(branchDatabases, name, object, operatorNamespace)
    }
    order("second", namespace)
    order("elsewhere", "another")
    order("heavy", "third", { databaseName: "x".repeat(100_000) })
    yield* seconds(1)
    const error = (name: string) =>
      asString(at(synced.primary.peek(branchDatabases, name, operatorNamespace), "status", "error")) ?? ""
    assert.match(error("second"), /^The bound of branches of namespace shop is reached: there are 1, and 1 are/u)
    assert.match(error("heavy"), /^The spec takes \d+ KiB of the operator's memory/u)
    assert.deepStrictEqual(
      synced.default.peekAll(branchDatabases).map(({ metadata }) => metadata.name),
      [branchName, "elsewhere"]
    )
    assert.strictEqual(synced.status()?.phase, "Ready")
  })

  it.effect(
    "waits, and says so, while a finalizer keeps an old branch of its name in the default cluster",
    function* () {
      const synced = yield* begin
      const old = { metadata: { finalizers: ["example.com/never"] }, spec: branchSpec }
      synced.default.write(branchDatabases, branchName, old, namespace)
      yield* synced.default.delete(branchDatabases, branchName, { namespace })
      yield* synced.order()
      yield* seconds(3)
      const told = synced.primary.peekAll(events).map(({ message }) => asString(message) ?? "")
      assert.deepStrictEqual(told, [
        `The branch waits for the default cluster: the branch ${namespace}/${branchName} is still being deleted in ` +
          "cluster a."
      ])
      synced.default.write(branchDatabases, branchName, { metadata: { finalizers: null } }, namespace)
      yield* seconds(10)
      assert.strictEqual(synced.status()?.phase, "Pending")
    }
  )

  it.effect("writes nothing at rest", function* () {
    const synced = yield* ready
    const branch = synced.directory.find(namespace, branchName)
    if (branch !== undefined) yield* synced.directory.use(branch, session)
    yield* seconds(10)
    const count = () =>
      [synced.primary, synced.member, synced.default].flatMap(({ calls }) =>
        calls.filter(({ plural, verb }) => plural === branchDatabases.plural && !["list", "watch"].includes(verb))
      ).length
    const before = count()
    yield* seconds(100)
    assert.strictEqual(count(), before)
  })

  it.effect(
    "brings a later spec to the default cluster, where its migrations run, and their outcome back",
    function* () {
      const synced = yield* ready
      const migrations = { flavor: "flyway", archive: "aGk=" }
      yield* synced.order({ migrations })
      yield* seconds(2)
      assert.deepInclude(synced.copy()?.["spec"] as object, { migrations })
      assert.deepStrictEqual(synced.status()?.migrations, { observedGeneration: 2, phase: "Running" })
      // A hand that edits the copy, so that the generations differ.
      const edit = { spec: { ttlSecs: 1, migrations: { archive: "bXk=" } } }
      synced.default.write(branchDatabases, branchName, edit, namespace)
      yield* seconds(2)
      assert.deepInclude(synced.copy()?.["spec"] as object, { ttlSecs: 300, migrations })
      yield* jobEnds({ api: synced.default }, 0)
      assert.strictEqual(synced.copy()?.metadata.generation, 4)
      assert.deepStrictEqual(synced.status()?.migrations, { observedGeneration: 2, phase: "Succeeded" })
      yield* synced.order({ migrations: { ...migrations, archive: "bm8=" } })
      yield* seconds(2)
      assert.deepStrictEqual(synced.status()?.migrations, { observedGeneration: 3, phase: "Running" })
      yield* jobEnds({ api: synced.default }, 1, "checksum mismatch")
      assert.deepStrictEqual(synced.status()?.migrations, {
        observedGeneration: 3,
        phase: "Failed",
        error: 'container "migrations" ended (exit code 1): checksum mismatch.'
      })
      assert.strictEqual(synced.status()?.phase, "Ready")
    }
  )

  it.effect("loses every edit of its copy, also one that comes between two others", function* () {
    const synced = yield* ready
    let isEdited = false
    synced.member.before = ({ verb }) =>
      Effect.sync(() => {
        if (verb !== "patch" || isEdited) return
        isEdited = true
        synced.default.write(branchDatabases, branchName, { spec: { ttlSecs: 7 } }, namespace)
      })
    synced.default.write(branchDatabases, branchName, { spec: { id: "other" } }, namespace)
    yield* seconds(3)
    assert.isTrue(isEdited)
    assert.deepInclude(synced.copy()?.["spec"], { ttlSecs: 300, id: "shop" })
  })

  it.effect(
    "is forgotten when it has failed, though somebody else has its name in the default cluster since",
    function* () {
      const synced = yield* begin
      yield* synced.order()
      synced.default.erase(branchDatabases, branchName, namespace)
      synced.default.write(branchDatabases, branchName, { spec: branchSpec }, namespace)
      yield* seconds(30)
      assert.isUndefined(synced.origin())
      assert.isDefined(synced.copy())
      assert.notInclude([...synced.holdings.now().keys()], "branches in two clusters")
    }
  )

  it.effect("fails with the default's sentence, and both objects go when it was read", function* () {
    const synced = yield* begin
    yield* synced.order({ image: "x", version: undefined, cockroachdbOptions: {}, postgresOptions: null })
    yield* seconds(1)
    assert.include(synced.status()?.error, "CockroachDB")
    yield* seconds(15)
    assert.isDefined(synced.origin())
    yield* seconds(5)
    assert.deepStrictEqual([synced.origin(), synced.copy()], [undefined, undefined])
    assert.deepStrictEqual(synced.events(), ["BranchCopied", "BranchFailed"])
  })
})

describe("a name that the default cluster has already", () => {
  it.effect("is borrowed from its user, and left alone", function* () {
    const synced = yield* begin
    synced.default.write(branchDatabases, branchName, { spec: branchSpec }, namespace)
    yield* seconds(1)
    yield* synced.order()
    yield* synced.podsReady
    assert.deepInclude(synced.status(), { phase: "Ready" })
    assert.strictEqual(synced.status()?.copy?.borrowed, true)
    assert.deepStrictEqual(synced.events(), ["BranchBorrowed", "BranchReady"])
    synced.primary.erase(branchDatabases, branchName, operatorNamespace)
    yield* seconds(5)
    assert.isDefined(synced.copy())
    yield* synced.order()
    yield* seconds(1)
    synced.default.erase(branchDatabases, branchName, namespace)
    yield* seconds(2)
    assert.isUndefined(synced.origin())
  })

  it.effect("is shared by an order in the namespace itself", function* () {
    const synced = yield* ready
    synced.primary.write(branchDatabases, branchName, { spec: branchSpec }, namespace)
    yield* seconds(2)
    const other = () => synced.primary.peek(branchDatabases, branchName, namespace)
    assert.deepNestedInclude(other(), { "status.phase": "Ready", "status.copy.borrowed": true })
    synced.primary.erase(branchDatabases, branchName, operatorNamespace)
    yield* seconds(3)
    assert.deepStrictEqual([synced.copy(), other()], [undefined, undefined])
  })
})

describe("copies without origin in the default cluster", () => {
  const origin = (clusterUid: string) => ({
    [originAnnotations.clusterUid]: clusterUid,
    [originAnnotations.namespace]: operatorNamespace,
    [originAnnotations.uid]: "of before the backup",
    [originAnnotations.generation]: "1"
  })
  it.effect("are swept where a backup has brought them back, and not those that are used or of others", function* () {
    // The default's own operator, to which such branches are without pods, does not run.
    const synced = new Synced()
    yield* Effect.addFinalizer(() => synced.kill("primary"))
    yield* synced.start()
    yield* synced.order()
    const ours = synced.primary.peek(namespaces, "kube-system")?.metadata.uid ?? ""
    const add = (name: string, annotations: object, status: object = {}) =>
      synced.default.write(branchDatabases, name, { spec: branchSpec, metadata: { annotations }, status }, namespace)
    const sessionInfo = { ff: { id: "ff", owner: user } }
    add("stale", origin(ours))
    add("used", origin(ours), { phase: "Ready", expireTime: "2030-01-01T00:00:00Z", sessionInfo })
    add("of-another-primary", origin("another"))
    add("of-a-user", {})
    yield* seconds(5)
    const left = synced.default.peekAll(branchDatabases).map(({ metadata }) => metadata.name)
    assert.sameMembers(left, [branchName, "of-a-user", "of-another-primary", "used"])
    synced.default.write(branchDatabases, "used", { status: { sessionInfo: { ff: null } } }, namespace)
    yield* seconds(2)
    assert.isUndefined(synced.default.peek(branchDatabases, "used", namespace))
  })
})

describe("a default cluster that takes no branch", () => {
  it.effect.each([
    [
      "without the kind",
      (synced: Synced) => (synced.member.before = failing(({ verb }) => verb === "list", "NotFound")),
      "The default cluster a has no branchdatabases.dbs.mirrord.metalbear.co"
    ],
    [
      "without the right to read",
      (synced: Synced) => (synced.member.before = failing(({ verb }) => verb === "list", "Forbidden")),
      "This primary may not read branchdatabases.dbs.mirrord.metalbear.co in the default cluster a"
    ],
    [
      "without the right to create",
      (synced: Synced) => (synced.member.before = failing(({ verb }) => verb === "create", "Forbidden", "forbidden")),
      `The default cluster a does not take the branch shop/${branchName}: forbidden; have the same database engines`
    ]
  ] as const)("%s: a sentence at once", function* ([, fault, sentence]) {
    const synced = new Synced()
    yield* Effect.addFinalizer(() => synced.kill("primary"))
    fault(synced)
    yield* synced.start()
    yield* synced.order()
    yield* seconds(2)
    assert.strictEqual(synced.status()?.phase, "Failed")
    assert.include(synced.status()?.error, sentence)
    yield* seconds(21)
    assert.isUndefined(synced.origin())
    assert.isUndefined(synced.copy())
  })

  it.effect("because its namespace is a protected one: a sentence at once, and nothing is made", function* () {
    const synced = yield* begin
    const annotations = { "mirrord.metalbear.co/target-namespace": "kube-system" }
    yield* synced.order({}, { annotations })
    yield* seconds(1)
    assert.strictEqual(synced.status()?.phase, "Failed")
    assert.match(
      synced.status()?.error ?? "",
      /^The branch is refused: targets in namespace kube-system are refused, since [^\n]+\.$/u
    )
    assert.deepStrictEqual([synced.default.peekAll(pods), synced.default.peekAll(secrets)], [[], []])
    yield* seconds(25)
    assert.deepStrictEqual([synced.origin(), synced.default.peekAll(branchDatabases)], [undefined, []])
  })

  it.effect("is waited for, and users are told once", function* () {
    const synced = yield* begin
    yield* synced.reach(false)
    yield* synced.order()
    yield* seconds(60)
    assert.isUndefined(synced.status())
    assert.deepStrictEqual(synced.events(), ["BranchWaits"])
    yield* synced.reach(true)
    yield* seconds(6)
    yield* synced.podsReady
    assert.strictEqual(synced.status()?.phase, "Ready")
  })
})

describe("a primary", () => {
  it.effect("copies nothing where it is the default itself, or where no engine is switched on", function* () {
    const synced = new Synced()
    yield* Effect.addFinalizer(() => synced.kill("primary"))
    const isDefault = configurationOf(["a"], { managementOnly: false })
    yield* synced.start({ ...isDefault, defaultCluster: isDefault.clusterName })
    yield* synced.order()
    yield* seconds(5)
    assert.deepStrictEqual([synced.copy(), synced.status()], [undefined, undefined])
    assert.isFalse(synced.primary.calls.some(({ plural }) => plural === branchDatabases.plural))
  })

  it.effect("waits for its own identity, without which copies of others could be taken for its own", function* () {
    const synced = new Synced()
    yield* Effect.addFinalizer(() => synced.kill("primary"))
    synced.primary.before = ({ name, verb }) =>
      verb === "get" && name === "kube-system"
        ? Effect.fail(new KubeError({ cluster: "primary", operation: "get", reason: "Forbidden", detail: "no" }))
        : Effect.void
    yield* synced.start()
    yield* synced.order()
    yield* seconds(30)
    assert.isUndefined(synced.copy())
    assert.lengthOf(
      synced.logged.filter((line) => line.includes("branches wait for the identity")),
      1
    )
    synced.primary.before = () => Effect.void
    yield* seconds(11)
    assert.isDefined(synced.copy())
  })

  it.effect(
    "leaves branches where they are when another cluster is the default, and makes new ones there",
    function* () {
      const synced = yield* ready
      yield* synced.kill("primary")
      const other = new MemoryKubeApi("b")
      synced.clusters.set("b", { api: other, lost: undefined })
      synced.defaultCluster = "b"
      yield* synced.start(configurationOf(["b", "a"]))
      yield* seconds(10)
      assert.strictEqual(synced.status()?.phase, "Ready")
      assert.deepStrictEqual(other.peekAll(branchDatabases), [])
      synced.primary.erase(branchDatabases, branchName, operatorNamespace)
      yield* seconds(3)
      assert.isUndefined(synced.copy())
      yield* synced.order()
      assert.isDefined(other.peek(branchDatabases, branchName, namespace))
      assert.isUndefined(synced.copy())
    }
  )

  it.effect("goes on after a cluster was engaged again", function* () {
    const synced = yield* ready
    synced.clusters.set("a", { api: undefined, lost: "it has no credentials" })
    yield* seconds(6)
    assert.strictEqual(synced.status()?.phase, "Ready")
    synced.clusters.set("a", { api: synced.member, lost: undefined })
    yield* seconds(6)
    synced.default.erase(branchDatabases, branchName, namespace)
    yield* seconds(1)
    assert.isUndefined(synced.origin())
  })
})

describe("a connect at a primary that names branches", () => {
  it.effect("is refused before anything is made, unless each of them is ready", function* () {
    const synced = yield* begin
    assert.include(yield* synced.connect([branchName]), `There is no database branch "${branchName}"`)
    assert.strictEqual(yield* synced.connect([branchName], "SingleCluster"), "admitted")
    yield* synced.order()
    assert.include(yield* synced.connect([branchName]), "is not ready (phase Pending)")
    yield* synced.podsReady
    assert.strictEqual(yield* synced.connect([branchName]), "admitted")
    assert.include(yield* synced.connect([branchName, "other"]), 'There is no database branch "other"')
  })

  it.effect(
    "has the branch kept in the default cluster until the session has started, unless it is borrowed",
    function* () {
      const synced = yield* begin
      yield* synced.order({ ttlSecs: 5 })
      yield* synced.podsReady
      yield* seconds(50)
      assert.strictEqual(yield* synced.connect([branchName]), "admitted")
      yield* seconds(200)
      assert.strictEqual(synced.status()?.phase, "Ready")
      synced.primary.erase(branchDatabases, branchName, operatorNamespace)
      yield* seconds(2)
      synced.default.write(branchDatabases, branchName, { spec: branchSpec }, namespace)
      yield* synced.order()
      yield* synced.podsReady
      const before = synced.copy()?.metadata
      assert.strictEqual(yield* synced.connect([branchName]), "admitted")
      assert.deepStrictEqual(synced.copy()?.metadata, before)
    }
  )

  it.effect("is admitted where the default cluster cannot be told", function* () {
    const synced = yield* ready
    synced.member.setReachable(false)
    assert.strictEqual(yield* synced.connect([branchName]), "admitted")
  })

  it.effect("is refused for a branch in an earlier default cluster, with what to do", function* () {
    const synced = yield* begin
    yield* synced.order()
    yield* synced.podsReady
    synced.defaultCluster = "b"
    assert.include(yield* synced.connect([branchName]), "it is in cluster a, and sessions have their databases in")
  })

  it.effect("is refused for a branch that is being deleted", function* () {
    const synced = yield* begin
    yield* synced.order({}, { finalizers: ["a/b"] })
    yield* synced.podsReady
    yield* synced.primary.delete(branchDatabases, branchName, { namespace: operatorNamespace })
    yield* seconds(1)
    assert.strictEqual(synced.status()?.phase, "Ready")
    assert.include(yield* synced.connect([branchName]), "is being deleted; run the command again in a moment")
  })

  it.effect("is refused for a branch that has failed", function* () {
    const synced = yield* begin
    yield* synced.order({ cockroachdbOptions: {}, postgresOptions: null })
    yield* seconds(1)
    assert.include(yield* synced.connect([branchName]), "has failed; its status says why")
  })
})

describe("operators of a fleet", () => {
  it.effect("make the branch that a user orders at the primary in the default cluster, and in no other", function* () {
    const world = yield* memoryWorld({}, { limits: { branchSettings: defaultRules.settings } })
    const [a, b] = [memberOf(world, "a").api, memberOf(world, "b").api]
    world.primary.api.write(namespaces, "kube-system", {})
    const env = [{ name: "DATABASE_URL", value: "postgresql://app:secret@source/shop" }]
    a.write(deployments, "app", { spec: { template: { spec: { containers: [{ name: "app", env }] } } } }, namespace)
    yield* seconds(12)
    const annotations = { "mirrord.metalbear.co/target-namespace": namespace }
    const order = { spec: branchSpec, metadata: { annotations } }
    world.primary.api.write(branchDatabases, branchName, order, operatorNamespace)
    yield* seconds(2)
    assert.deepNestedInclude(world.primary.api.peek(branchDatabases, branchName, operatorNamespace), {
      "status.phase": "Pending",
      "status.copy.cluster": "a"
    })
    assert.isDefined(a.peek(branchDatabases, branchName, namespace))
    assert.deepStrictEqual(b.peekAll(branchDatabases), [])
  })
})
