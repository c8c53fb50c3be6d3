/** A capability that the operator does not know: its features, problems, refusals and requirements take effect. */

import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { badRequest } from "../../../src/app/api/status.ts"
import { type ChangeFeed, Changes } from "../../../src/app/kernel/change-feed.ts"
import { operatorCapabilities } from "../../../src/app/operator/capabilities.ts"
import { withCapability } from "../../../src/app/services/capability.ts"
import type { ClusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { MirrordOperator } from "../../../src/domain/resources/mirrord-operator.ts"
import { met, type Requirement } from "../../../src/domain/sessions/requirement.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { type MemoryCluster, memoryWorld } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"

const sessionName = "00000000000000ff"

/** Sessions that need a lunch, in clusters that may have none: a capability that no file of `src` knows. */
class Lunch {
  requirement: Requirement = met
  problem: string | undefined
  readonly feeds: Array<ChangeFeed> = []
  readonly heard: Array<ClusterName> = []
  readonly layer = Layer.effectContext(
    Effect.gen({ self: this }, function* () {
      this.feeds.push(yield* Changes)
      return yield* withCapability({
        features: () => ["PgBranchQueryParams"],
        problems: () => (this.problem === undefined ? [] : [this.problem]),
        requirement: () => this.requirement,
        hear: (change) => {
          if (change._tag === "ClusterChanged") this.heard.push(change.cluster)
        },
        admit: ({ params }) =>
          params.entries.some(([name]) => name === "lunch")
            ? Effect.fail(badRequest("There is no lunch in this cluster."))
            : Effect.void
      })
    })
  )
  /** Something about what a session needs has changed. */
  changed(requirement: Requirement): void {
    this.requirement = requirement
    for (const feed of this.feeds) feed.publish({ _tag: "ChildChanged", session: sessionName })
  }
}

const start = Effect.fnUntraced(function* (lunch: Lunch) {
  const world = yield* memoryWorld({}, { capabilities: Layer.provideMerge(operatorCapabilities, lunch.layer) })
  yield* pass("1 second")
  const cluster = world.members.get("a")
  if (cluster?.operator === undefined) return yield* Effect.die("no cluster a")
  return { world, cluster, operator: cluster.operator, certificate: yield* certificateOf(cluster) }
})

const readiness = ({ api }: MemoryCluster) => {
  const status = api.peek(mirrordClusterSessions, sessionName)?.["status"] as
    | {
        readonly conditions?: ReadonlyArray<{
          readonly status: string
          readonly reason: string
          readonly message: string
        }>
      }
    | undefined
  return status?.conditions?.[0]
}

describe("a capability that the operator does not know", () => {
  it.effect("is advertised, and keeps the operator from being ready while it has a problem", function* () {
    const lunch = new Lunch()
    const { certificate, operator } = yield* start(lunch)
    const { spec } = (yield* operator.describe) as MirrordOperator
    assert.include(spec.supported_features ?? [], "PgBranchQueryParams")
    assert.deepStrictEqual(yield* operator.problems, [])
    lunch.problem = "The kitchen is closed."
    assert.deepStrictEqual(yield* operator.problems, ["The kitchen is closed."])
    const error = yield* Effect.flip(operator.connect(request(certificate)))
    assert.strictEqual(
      error.message,
      "The operator cannot serve sessions now: The kitchen is closed. Try again in a moment."
    )
  })

  it.effect("refuses a connect with its own sentence, and nothing is made for it", function* () {
    const { certificate, cluster, operator } = yield* start(new Lunch())
    const error = yield* Effect.flip(operator.connect(request(certificate, { query: "connect=true&lunch=soup" })))
    assert.strictEqual(error.code, 400)
    assert.strictEqual(error.message, "There is no lunch in this cluster.")
    assert.deepStrictEqual(cluster.api.peekAll(mirrordClusterSessions), [])
  })

  it.effect("keeps a session from being ready, says why, and lets it be as soon as nothing is missing", function* () {
    const lunch = new Lunch()
    lunch.requirement = { _tag: "Pending", message: "Lunch is being cooked." }
    const { certificate, cluster, operator } = yield* start(lunch)
    const scope = yield* Scope.make()
    const connecting = yield* Effect.forkChild(
      Effect.result(Scope.provide(operator.connect(request(certificate)), scope)),
      { startImmediately: true }
    )
    yield* pass("1 second")
    assert.deepInclude(readiness(cluster), { status: "False", reason: "Starting", message: "Lunch is being cooked." })
    assert.isUndefined(connecting.pollUnsafe())
    lunch.changed(met)
    yield* pass("1 second")
    assert.deepInclude(readiness(cluster), { status: "True", reason: "AgentUsable" })
    assert.strictEqual(connecting.pollUnsafe()?._tag, "Success")
    lunch.changed({ _tag: "Failed", failure: { reason: "Forbidden", message: "the cook has left" } })
    yield* pass("1 second")
    assert.deepInclude(readiness(cluster), { status: "False", reason: "Forbidden", message: "the cook has left" })
    yield* Scope.close(scope, Exit.void)
  })

  it.effect("hears of the clusters of the fleet", function* () {
    const lunch = new Lunch()
    yield* start(lunch)
    assert.includeMembers(lunch.heard, ["a", "b"])
  })
})
