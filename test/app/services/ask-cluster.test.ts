import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { askCluster } from "../../../src/app/services/ask-cluster.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"

const ask = (api: KubeApi | undefined, lost?: string) => {
  const cluster = { name: clusterName("a"), isDefault: true, api: () => api, lost: () => lost }
  return Effect.flip(askCluster(cluster, 20_000, () => Effect.never))
}

describe("a request to a cluster", () => {
  it.effect("says why the cluster cannot be asked", function* () {
    assert.strictEqual((yield* ask(undefined, "its credentials are missing")).detail, "its credentials are missing")
    assert.strictEqual((yield* ask(undefined)).detail, "it is not connected")
  })

  it.effect("waits for a silent cluster no longer than its user does", function* () {
    const asked = yield* Effect.forkChild(ask({} as KubeApi))
    yield* TestClock.adjust("20 seconds")
    const answer = asked.pollUnsafe()
    assert.isDefined(answer)
    const { detail, reason } = yield* answer
    assert.deepStrictEqual([reason, detail], ["Unreachable", "no answer within 20 s"])
  })
})
