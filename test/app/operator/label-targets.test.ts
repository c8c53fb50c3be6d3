import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { MirrordOperator } from "../../../src/domain/resources/mirrord-operator.ts"
import { protectedNamespaces } from "../../../src/domain/targets/protected-namespaces.ts"
import { request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../support/memory-session.ts"
import { deploy, type MemoryCluster } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"

const labelQuery = (labels: object): string =>
  new URLSearchParams({ connect: "true", label_target: JSON.stringify({ labels }) }).toString()

const byLabel = (certificate: string | undefined, labels: object, more: Partial<ConnectRequest> = {}) =>
  request(certificate, { target: "label", query: labelQuery(labels), ...more })

const featuresOf = Effect.fnUntraced(function* ({ operator }: MemoryCluster) {
  if (operator === undefined) return yield* Effect.die("no operator")
  return ((yield* operator.describe) as MirrordOperator).spec.supported_features ?? []
})

describe("label targets", () => {
  it.effect("are advertised and served where workloads run", function* () {
    const { world } = yield* startWorld()
    const member = memberOf(world, "a")
    assert.include(yield* featuresOf(member), "LabelTargeting")
    opened(yield* connectTo(member, byLabel(yield* certificateOf(member), { app: "myapp" })))
    assert.deepStrictEqual(
      member.api.peekAll(mirrordClusterSessions).map(({ spec }) => (spec as { readonly target: object }).target),
      [{ apiVersion: "meta/v1", kind: "LabelSelector", name: "app=myapp", container: "" }]
    )
  })

  it.effect("are advertised and served on a primary with workloads, in its own cluster alone", function* () {
    const { certificate, world } = yield* startWorld({ managementOnly: false })
    deploy(world.primary, "myapp")
    assert.include(yield* featuresOf(world.primary), "LabelTargeting")
    opened(yield* connectTo(world.primary, byLabel(certificate, { app: "myapp" })))
    assert.strictEqual(world.primary.api.peekAll(mirrordClusterSessions).length, 1)
    assert.strictEqual(memberOf(world, "a").api.peekAll(mirrordClusterSessions).length, 0)
  })

  it.effect("are neither advertised nor served where no workload runs", function* () {
    const { certificate, world } = yield* startWorld()
    assert.notInclude(yield* featuresOf(world.primary), "LabelTargeting")
    const refused = refusedWith(yield* connectTo(world.primary, byLabel(certificate, { app: "myapp" })))
    assert.strictEqual(refused.code, 400)
    assert.match(refused.message, /runs no workloads/)
  })

  it.effect(
    "are refused with 400 for bad labels, and with 403 in a protected namespace; nothing is made",
    function* () {
      const limits = {
        protectedNamespaces: protectedNamespaces({ operator: "mirrord", agents: "mirrord", allowed: [] })
      }
      const { world } = yield* startWorld({}, { limits })
      const member = memberOf(world, "a")
      const certificate = yield* certificateOf(member)
      const bad = refusedWith(yield* connectTo(member, byLabel(certificate, { "a b": "1" })))
      assert.deepStrictEqual([bad.code, bad.message.includes('"a b" cannot be the key of a label')], [400, true])
      assert.strictEqual(refusedWith(yield* connectTo(member, byLabel(certificate, {}))).code, 400)
      const there = byLabel(certificate, { app: "mirrord" }, { namespace: "mirrord" })
      assert.strictEqual(refusedWith(yield* connectTo(member, there)).code, 403)
      assert.deepStrictEqual(member.api.peekAll(mirrordClusterSessions), [])
    }
  )

  it.effect("of one session are the same on each of its connections", function* () {
    const { world } = yield* startWorld()
    const member = memberOf(world, "a")
    deploy(member, "other")
    const certificate = yield* certificateOf(member)
    opened(yield* connectTo(member, byLabel(certificate, { app: "myapp" })))
    opened(yield* connectTo(member, byLabel(certificate, { app: "myapp" })))
    const other = refusedWith(yield* connectTo(member, byLabel(certificate, { app: "other" })))
    assert.match(other.message, /is not of label in namespace default/)
  })
})
