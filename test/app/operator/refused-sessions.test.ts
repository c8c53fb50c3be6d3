/** The session of a refused client, in one cluster: nothing of it stays. */

import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { deployments } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../support/memory-session.ts"
import { deploy, type MemoryCluster, memoryCluster, startSingleOperator } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"
import { memoryBranches, readyBranch, withBranches } from "../branches/memory-branches.ts"

describe("a refused client of one cluster", () => {
  it.effect("leaves no session behind, if the session was its own and new", function* () {
    const cluster = memoryCluster("a")
    deploy(cluster, "myapp")
    yield* startSingleOperator(cluster)
    yield* pass("1 second")
    const certificate = yield* certificateOf(cluster)
    const sessions = () => cluster.api.peekAll(mirrordClusterSessions).map(({ metadata }) => metadata.name)
    const ask = (sessionId: string, target: string) =>
      connectTo(cluster, request(certificate, { sessionId, target, query: "connect=true" }))

    const wrong = yield* Effect.scoped(ask("1", "deployment.nothing"))
    assert.strictEqual(refusedWith(wrong).code, 404)
    yield* pass("1 second")
    assert.deepStrictEqual(sessions(), [])

    const scope = yield* Scope.make()
    opened(yield* ask("2", "deployment.myapp").pipe(Scope.provide(scope)))
    // Its session goes on although a request for another target names it.
    assert.strictEqual(refusedWith(yield* Effect.scoped(ask("2", "deployment.other"))).code, 403)
    yield* pass("1 second")
    assert.strictEqual(sessions().length, 1)
    yield* Scope.close(scope, Exit.void)
  })

  /** A session whose first client names a branch that is taken from it before it is let in. */
  const betrayed = Effect.fnUntraced(function* (prepare: (cluster: MemoryCluster) => void = () => {}) {
    const branches = memoryBranches(readyBranch("ann"))
    const directory = {
      ...branches,
      await: () => Effect.sync(() => void branches.branches.set("ann", readyBranch("ann", { phase: "Pending" })))
    }
    const { world } = yield* startWorld({}, { capabilities: withBranches("a", directory) })
    const cluster = memberOf(world, "a")
    prepare(cluster)
    const certificate = yield* certificateOf(cluster)
    const naming = request(certificate, { query: "connect=true&pg_branch_names=%5B%22ann%22%5D" })
    const first = yield* Effect.forkChild(Effect.scoped(connectTo(cluster, naming)), { startImmediately: true })
    yield* pass("100 millis")
    return {
      ask: (query: string) => connectTo(cluster, request(certificate, { query })),
      first: Effect.map(Fiber.join(first), (result) => refusedWith(result).message),
      sessions: () => cluster.api.peekAll(mirrordClusterSessions).length
    }
  })

  it.effect("leaves its session to another client that was let in meanwhile", function* () {
    const { ask, first, sessions } = yield* betrayed()
    const second = opened(yield* ask("connect=true"))
    let isOver = false
    second.open({ message: () => {}, ended: () => (isOver = true), drained: () => {}, ignored: () => {} })
    assert.match(yield* first, /branch "ann" is not ready/)
    yield* pass("1 second")
    assert.deepStrictEqual([sessions(), isOver], [1, false])
  })

  it.effect("leaves its session to another client that waits, and none of them leaves it behind", function* () {
    const gate = yield* Deferred.make<void>()
    const { ask, first, sessions } = yield* betrayed((cluster) => {
      cluster.agentProblem = "no room"
      cluster.api.before = ({ plural }) => (plural === deployments.plural ? Deferred.await(gate) : Effect.void)
    })
    const second = yield* Effect.forkChild(Effect.scoped(ask("connect=true")), { startImmediately: true })
    assert.match(yield* first, /branch "ann" is not ready/)
    yield* pass("1 second")
    assert.strictEqual(sessions(), 1)
    yield* Deferred.succeed(gate, undefined)
    assert.match(refusedWith(yield* Fiber.join(second)).message, /no room/)
    yield* pass("1 second")
    assert.strictEqual(sessions(), 0)
  })
})
