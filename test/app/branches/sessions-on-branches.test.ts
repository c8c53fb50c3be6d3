/** Sessions that name database branches, from the connect to the variables, in one cluster and in a fleet. */

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import type { UsableBranch } from "../../../src/app/branches/branch-directory.ts"
import type { BranchSettings } from "../../../src/domain/branches/branch-settings.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { branchUrl, variable } from "../../domain/branches/session-branch.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../support/memory-session.ts"
import { deploy, type MemoryCluster } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"
import { allow, client, logs } from "../policies/policed.ts"
import { defaultRules } from "./branched.ts"
import { memoryBranches, type MemoryBranches, readyBranch, withBranches } from "./memory-branches.ts"

const source = "postgresql://app:secret@source/shop"
const objectsOf = ({ api }: MemoryCluster): number =>
  api.peekAll(mirrordMultiClusterSessions).length + api.peekAll(mirrordClusterSessions).length

const variables = (select = "*", filter: ReadonlyArray<string> = []): ClientMessage => ({
  _tag: "GetEnvVarsRequest",
  value: { envVarsFilter: new Set(filter), envVarsSelect: new Set([select]) }
})
/** The values of `DATABASE_URL` in the answers so far; `undefined` if it was not told. */
const urls = (got: ReadonlyArray<DaemonMessage>): ReadonlyArray<string | undefined> =>
  got.flatMap((message) =>
    message._tag === "GetEnvVarsResponse" && message.value._tag === "Ok"
      ? [message.value.value.get("DATABASE_URL")]
      : []
  )
/** The sentences with which the operator has ended a connection. */
const closes = (got: ReadonlyArray<DaemonMessage>): ReadonlyArray<string> =>
  got.flatMap((message) => (message._tag === "Close" ? [message.value] : []))
const naming = (certificate: string, names: ReadonlyArray<string>, sessionId = "255") =>
  request(certificate, {
    sessionId,
    query: new URLSearchParams({ connect: "true", pg_branch_names: JSON.stringify(names) }).toString()
  })

/** A member with branches, and a user of it. */
const single = Effect.fnUntraced(function* (...given: ReadonlyArray<UsableBranch>) {
  const branches = memoryBranches(...given)
  const { world } = yield* startWorld({}, { capabilities: withBranches("a", branches) })
  const cluster = memberOf(world, "a")
  cluster.variables.set("DATABASE_URL", source)
  return { world, cluster, branches, certificate: yield* certificateOf(cluster) }
})

const change = ({ branches }: MemoryBranches, name: string, to: Partial<UsableBranch>): void => {
  branches.set(name, readyBranch(name, to))
}

describe("a session of one cluster", () => {
  it.effect(
    "that names a branch has its variables, and the branch knows of the session until it has ended",
    function* () {
      const { branches, certificate, cluster } = yield* single(readyBranch("ann"))
      const { got, say } = yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann", "ann"]))))
      assert.deepStrictEqual(branches.log, ["ann awaits FF", "FF of ann uses ann"])
      yield* say(variables())
      yield* say(variables("DATABASE_URL"))
      assert.deepStrictEqual(urls(got), [`${branchUrl}/shop`, `${branchUrl}/shop`])
      // The client's second connection, by which it forwards ports, and a session without branches.
      const second = yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
      yield* second.say(variables("DATABASE_URL"))
      assert.deepStrictEqual(urls(second.got), [`${branchUrl}/shop`])
      const other = yield* client(opened(yield* connectTo(cluster, request(certificate, { sessionId: "7" }))))
      yield* other.say(variables())
      assert.deepStrictEqual(urls(other.got), [source])
      assert.deepStrictEqual(branches.log, ["ann awaits FF", "FF of ann uses ann"])
      cluster.api.erase(mirrordClusterSessions, "00000000000000ff")
      yield* pass("1 second")
      assert.deepStrictEqual(branches.log, ["ann awaits FF", "FF of ann uses ann", "FF releases ann"])
    }
  )

  it.effect("has no variable that a policy or the client itself leaves out", function* () {
    const secret = { secret: { name: "db", key: "url", env_var_name: "DATABASE_URL" } }
    const { certificate, cluster } = yield* single(readyBranch("ann", {}, { url: secret }))
    cluster.variables.clear()
    const before = yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
    yield* before.say(variables("*", ["DATABASE_*"]))
    yield* before.say(variables("OTHER"))
    yield* before.say(variables())
    assert.deepStrictEqual(urls(before.got), [undefined, undefined, branchUrl])
    allow(cluster, "quiet", { env: { exclude: ["*_URL"] } })
    yield* pass("1 second")
    const after = yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
    yield* after.say(variables())
    assert.deepStrictEqual(urls(after.got), [undefined])
  })

  it.effect("ends with a sentence instead of a value that could lead to the source", function* () {
    const { certificate, cluster } = yield* single(readyBranch("ann"))
    cluster.variables.set("DATABASE_URL", "jdbc:postgresql://source/shop")
    const { ended, got, say } = yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
    yield* say(variables())
    assert.isDefined(ended())
    assert.deepStrictEqual(urls(got), [])
    assert.lengthOf(closes(got), 1)
    assert.include(closes(got)[0], "The variable DATABASE_URL cannot lead to branch ann: it holds a JDBC URL")
    assert.notInclude(
      JSON.stringify(got, (_, value) => (value instanceof Map ? [...value] : value)),
      "source/"
    )
  })

  it.effect("that names a branch of another engine ends with a sentence", function* () {
    const { certificate, cluster } = yield* single(readyBranch("ann"))
    // The client of a MySQL configuration finds the branch of PostgreSQL by its id, and lists it by its own engine.
    const query = (list: string) => new URLSearchParams({ connect: "true", [list]: '["ann"]' }).toString()
    const named = (list: string, sessionId: string) => request(certificate, { sessionId, query: query(list) })
    cluster.variables.set("DATABASE_URL", "mysql://app:secret@source/shop")
    const first = yield* client(opened(yield* connectTo(cluster, named("pg_branch_names", "255"))))
    yield* first.say(variables())
    assert.isDefined(first.ended())
    assert.deepStrictEqual(urls(first.got), [])
    assert.include(
      closes(first.got)[0],
      "The variable DATABASE_URL cannot lead to branch ann: it holds a URL of another scheme"
    )
    cluster.variables.clear()
    cluster.variables.set("MYSQL_URL", "mysql://app:secret@source/shop")
    const second = yield* client(opened(yield* connectTo(cluster, named("mysql_branch_names", "7"))))
    yield* second.say(variables())
    assert.isDefined(second.ended())
    assert.include(closes(second.got)[0], "of this target leads to branch ann")
    // A target of both engines, of whose variables the configuration means the one of MySQL. The command begins with
    // all variables, and its internal proxy asks for those of the configuration before the program starts.
    cluster.variables.set("DATABASE_URL", source)
    const third = named("pg_branch_names", "8")
    const command = yield* client(opened(yield* connectTo(cluster, third)))
    yield* command.say(variables())
    assert.isUndefined(command.ended())
    const proxy = yield* client(opened(yield* connectTo(cluster, third)))
    yield* proxy.say({ _tag: "Ping" })
    yield* proxy.say(variables("MYSQL_URL"))
    assert.isDefined(proxy.ended())
    assert.include(closes(proxy.got)[0], "The configuration names MYSQL_URL for a branch")
    const again = refusedWith(yield* connectTo(cluster, third))
    assert.deepInclude(again, { code: 410, reason: "ReconnectNotPossible" })
    assert.include(again.message, "The session cannot go on: The configuration names MYSQL_URL for a branch")
  })

  it.effect("ends with a sentence where none of the variables that lead to its branch is there", function* () {
    const { certificate, cluster } = yield* single(readyBranch("ann", {}, { url: variable("DATABSE_URL") }))
    const { ended, got, say } = yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
    yield* say(variables())
    assert.isDefined(ended())
    assert.deepStrictEqual(urls(got), [])
    assert.include(closes(got)[0], "No environment variable of this target leads to branch ann")
    assert.strictEqual(refusedWith(yield* connectTo(cluster, naming(certificate, ["ann"]))).code, 410)
    opened(yield* connectTo(cluster, naming(certificate, [], "9")))
  })

  it.effect("is told of a branch whose connection names a Secret alone", function* () {
    const secret = { secret: { name: "db", key: "url" } }
    const { certificate, cluster } = yield* single(readyBranch("ann", {}, { url: secret }))
    const { got, say } = yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
    yield* say(variables())
    yield* say(variables())
    assert.lengthOf(
      logs(got).filter((line) => line.includes("no environment variable of this target leads to branch ann")),
      1
    )
  })
})

describe("a connect", () => {
  const rows: ReadonlyArray<readonly [string, UsableBranch | undefined, number, string]> = [
    ["of which there is none", undefined, 400, 'There is no database branch "ann" in namespace default'],
    ["of another namespace", readyBranch("ann", { namespace: "other" }), 400, "There is no database branch"],
    ["that is being deleted", readyBranch("ann", { isBeingDeleted: true }), 400, "is being deleted"],
    ["that has failed", readyBranch("ann", { phase: "Failed" }), 400, "has failed"],
    ["that is being made", readyBranch("ann", { phase: "Pending" }), 500, "is not ready (phase Pending)"],
    ["without a status", readyBranch("ann", { phase: undefined }), 500, "is not ready (phase none)"],
    ["without an address", readyBranch("ann", { access: undefined }), 500, "has no address yet"],
    [
      "that cannot be served",
      readyBranch("ann", { request: Result.fail("spec.redisOptions asks for a branch of Redis.") }),
      400,
      'The database branch "ann" cannot be used: spec.redisOptions asks for a branch of Redis.'
    ]
  ]
  it.effect.each(rows)("is refused for a branch %s, before anything is made", function* ([, branch, code, sentence]) {
    const { branches, certificate, cluster } = yield* single(...(branch === undefined ? [] : [branch]))
    const { code: found, message } = refusedWith(yield* connectTo(cluster, naming(certificate, ["ann"])))
    assert.strictEqual(found, code)
    assert.include(message, sentence)
    assert.strictEqual(objectsOf(cluster), 0)
    assert.deepStrictEqual(branches.log, [])
  })

  it.effect("is refused for a variable whose value in the pod cannot lead to the branch", function* () {
    const { branches, certificate, cluster } = yield* single(readyBranch("ann"))
    const container = (env: ReadonlyArray<object>) =>
      cluster.api.write(pods, "myapp-1", { spec: { containers: [{ name: "myapp", env }] } }, "default")
    container([{ name: "DATABASE_URL", value: "jdbc:postgresql://source/shop" }])
    const { code, message } = refusedWith(yield* Effect.scoped(connectTo(cluster, naming(certificate, ["ann"]))))
    assert.strictEqual(code, 400)
    assert.include(message, "The variable DATABASE_URL cannot lead to branch ann: it holds a JDBC URL")
    // The session that was begun for it goes by itself.
    for (let i = 0; i < 10; i++) yield* pass("10 seconds")
    assert.strictEqual(objectsOf(cluster), 0)
    assert.strictEqual(branches.log.at(-1), "FF releases ann")
    container([{ name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "db", key: "url" } } }])
    yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
  })

  it.effect("waits a moment for a branch of which the client knows already that it is ready", function* () {
    const { branches, certificate, cluster } = yield* single(readyBranch("ann", { phase: "Pending" }))
    const connect = yield* Effect.forkChild(connectTo(cluster, naming(certificate, ["ann"])))
    yield* pass("500 millis")
    change(branches, "ann", {})
    opened(yield* Fiber.join(connect))
  })

  it.effect("waits until the branches have been read, for a moment", function* () {
    const { branches, certificate, cluster } = yield* single(readyBranch("ann"))
    branches.isRead = false
    const { code, message } = refusedWith(yield* connectTo(cluster, naming(certificate, ["ann"])))
    assert.strictEqual(code, 500)
    assert.include(message, "have not been read yet")
    assert.strictEqual(objectsOf(cluster), 0)
  })

  it.effect("is refused for two branches of one variable, and where the use cannot be recorded", function* () {
    const { branches, certificate, cluster } = yield* single(readyBranch("ann"), readyBranch("bob"))
    const twice = refusedWith(yield* connectTo(cluster, naming(certificate, ["ann", "bob"])))
    assert.strictEqual(twice.code, 400)
    assert.include(twice.message, "The variable DATABASE_URL is declared twice")
    assert.strictEqual(objectsOf(cluster), 0)
    branches.isBroken = true
    const { code, message } = refusedWith(yield* connectTo(cluster, naming(certificate, ["ann"])))
    assert.strictEqual(code, 500)
    assert.include(message, 'The use of the database branch "ann" cannot be recorded: the server is full.')
    branches.isBroken = false
    yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
  })
})

describe("a session that returns", () => {
  const rows: ReadonlyArray<readonly [string, Partial<UsableBranch> | undefined, number, string]> = [
    ["is over if its branch is gone", undefined, 410, "The session cannot go on: There is no database branch"],
    ["is over if its branch is another one", { uid: "later" }, 410, "is not the one that the session used"],
    ["is over if its branch has failed", { phase: "Failed" }, 410, "has failed"],
    ["may try again while its branch has no address", { access: undefined }, 500, "has no address yet"]
  ]
  it.effect.each(rows)("%s", function* ([, to, code, sentence]) {
    const { branches, certificate, cluster } = yield* single(readyBranch("ann"))
    opened(yield* connectTo(cluster, naming(certificate, ["ann"])))
    yield* pass("15 seconds")
    if (to === undefined) branches.branches.delete("ann")
    else change(branches, "ann", to)
    const refused = refusedWith(yield* connectTo(cluster, naming(certificate, ["ann"])))
    assert.deepInclude(refused, { code, reason: code === 410 ? "ReconnectNotPossible" : "InternalError" })
    assert.include(refused.message, sentence)
  })

  it.effect(
    "without the branches that it used is over, also at a new operator; one without branches goes on",
    function* () {
      const { certificate, cluster, world } = yield* single(readyBranch("ann"))
      opened(yield* connectTo(cluster, naming(certificate, ["ann"])))
      opened(yield* connectTo(cluster, naming(certificate, [], "7")))
      yield* pass("15 seconds")
      const refused = refusedWith(yield* connectTo(cluster, naming(certificate, [])))
      assert.deepInclude(refused, { code: 410, reason: "ReconnectNotPossible" })
      assert.include(refused.message, "it uses database branches, and the request names none")
      yield* world.kill(cluster)
      yield* world.start(cluster)
      assert.strictEqual(refusedWith(yield* connectTo(cluster, naming(certificate, []))).code, 410)
      opened(yield* connectTo(cluster, naming(certificate, [], "7")))
    }
  )

  it.effect("to a new operator is known by its branch, and by no later branch of that name", function* () {
    const { branches, certificate, cluster, world } = yield* single(readyBranch("ann"))
    opened(yield* connectTo(cluster, naming(certificate, ["ann"])))
    yield* pass("15 seconds")
    yield* world.kill(cluster)
    yield* world.start(cluster)
    const next = yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
    yield* next.say(variables())
    assert.deepStrictEqual(urls(next.got), [`${branchUrl}/shop`])
    yield* world.kill(cluster)
    change(branches, "ann", { uid: "later" })
    yield* world.start(cluster)
    const { code } = refusedWith(yield* connectTo(cluster, naming(certificate, ["ann"])))
    assert.strictEqual(code, 410)
    cluster.api.erase(mirrordClusterSessions, "00000000000000ff")
    yield* pass("1 second")
    yield* client(opened(yield* connectTo(cluster, naming(certificate, ["ann"]))))
  })
})

describe("a session over many clusters", () => {
  const fleet = Effect.fnUntraced(function* (...given: ReadonlyArray<UsableBranch>) {
    const branches = memoryBranches(...given)
    const limits: { branchSettings?: BranchSettings } = {}
    const settings = { managementOnly: false, defaultCluster: clusterName("primary") }
    const started = yield* startWorld(settings, { capabilities: withBranches("primary", branches), limits })
    deploy(started.world.primary, "myapp")
    for (const cluster of [started.world.primary, ...started.world.members.values()]) {
      cluster.variables.set("DATABASE_URL", source)
    }
    return { ...started, branches, settings, limits }
  })

  it.effect("has the variables of the branch of its default cluster, which is the primary's", function* () {
    const { branches, certificate, world } = yield* fleet(readyBranch("ann"))
    const { got, say } = yield* client(opened(yield* connectTo(world.primary, naming(certificate, ["ann"]))))
    yield* say(variables())
    assert.deepStrictEqual(urls(got), [`${branchUrl}/shop`])
    assert.deepStrictEqual(branches.log, ["ann awaits FF", "FF of ann uses ann"])
    yield* world.primary.operator?.deleteSession("FF", request(certificate).caller) ?? Effect.die("no operator")
    yield* pass("30 seconds")
    assert.deepStrictEqual(branches.log, ["ann awaits FF", "FF of ann uses ann", "FF releases ann"])
  })

  it.effect("ends with a sentence instead of a value that could lead to the source", function* () {
    const { certificate, world } = yield* fleet(readyBranch("ann"))
    world.primary.variables.set("DATABASE_URL", "host=source")
    const { got, say } = yield* client(opened(yield* connectTo(world.primary, naming(certificate, ["ann"]))))
    yield* say(variables())
    assert.include(closes(got)[0], "holds a text of keys and values")
    assert.deepStrictEqual(urls(got), [])
  })

  it.effect("ends for good where the variables that its configuration means lead to no branch", function* () {
    const { branches, certificate, world } = yield* fleet(readyBranch("ann"))
    world.primary.variables.set("MYSQL_URL", "mysql://app:secret@source/shop")
    const command = yield* client(opened(yield* connectTo(world.primary, naming(certificate, ["ann"]))))
    yield* command.say(variables())
    const proxy = yield* client(opened(yield* connectTo(world.primary, naming(certificate, ["ann"]))))
    yield* proxy.say({ _tag: "Ping" })
    yield* proxy.say(variables("MYSQL_URL"))
    yield* pass("1 second")
    assert.include(closes(proxy.got)[0], "The configuration names MYSQL_URL for a branch")
    assert.include(closes(command.got)[0], "This mirrord session has ended")
    // The session waits for no client.
    assert.strictEqual(objectsOf(world.primary), 0)
    assert.strictEqual(branches.log.at(-1), "FF releases ann")
    // An internal proxy that heard the end while it prepared branches comes back, and asks for no variable again.
    const { code, reason } = refusedWith(yield* connectTo(world.primary, naming(certificate, ["ann"])))
    assert.deepStrictEqual([code, reason], [410, "ReconnectNotPossible"])
  })

  it.effect("keeps its default cluster for its branches when another one becomes that of new sessions", function* () {
    const { certificate, limits, settings, world } = yield* fleet(readyBranch("ann"))
    opened(yield* connectTo(world.primary, naming(certificate, ["ann"])))
    yield* pass("15 seconds")
    yield* world.kill(world.primary)
    settings.defaultCluster = clusterName("a")
    limits.branchSettings = defaultRules.settings
    yield* world.start(world.primary)
    yield* pass("5 seconds")
    const { got, say } = yield* client(opened(yield* connectTo(world.primary, naming(certificate, ["ann"]))))
    yield* say(variables())
    assert.deepStrictEqual(urls(got), [`${branchUrl}/shop`])
  })

  it.effect(
    "names no branch where its default cluster is another one's, whose branches are not made from here",
    function* () {
      const branches = memoryBranches(readyBranch("ann"))
      const { certificate, world } = yield* startWorld(
        { managementOnly: false },
        { capabilities: withBranches("primary", branches) }
      )
      const { code, message } = refusedWith(yield* connectTo(world.primary, naming(certificate, ["ann"])))
      assert.strictEqual(code, 400)
      assert.include(message, "does not serve database branches")
      assert.strictEqual(objectsOf(world.primary), 0)
    }
  )
})
