/** The session of a refused client, in one cluster: nothing of it stays. */

import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, opened, refusedWith } from "../../support/memory-session.ts"
import { deploy, memoryCluster, startSingleOperator } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"

describe("a refused client of one cluster", () => {
  it.effect("leaves no session behind, if the session was its own and new", () =>
    Effect.gen(function* () {
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
  )
})
