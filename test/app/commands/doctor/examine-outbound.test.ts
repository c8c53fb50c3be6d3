import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { examineOutbound } from "../../../../src/app/commands/doctor/examine-outbound.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import { mirrordClusters } from "../../../../src/domain/resources/mirrord-cluster.ts"
import { timestamp } from "../../../../src/domain/resources/object-meta.ts"
import { it } from "../../../support/effect-it.ts"
import { configurationOf, servedCluster } from "../../../support/fleet.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"

const { members } = configurationOf(["a", "b"])
const defaultCluster = clusterName("a")

/** A primary whose members have tunnels since then, epoch ms. */
const primaryWith = (since: number): MemoryKubeApi => {
  const api = new MemoryKubeApi("primary")
  for (const { name } of members) begin(api, name, since)
  return api
}
const begin = (api: MemoryKubeApi, name: string, since: number): void => {
  const object = servedCluster(name)
  api.write(mirrordClusters, name, { ...object, status: { ...object.status, tunnelSince: timestamp(since) } })
}

describe("the members that dial out, as braid doctor sees them", () => {
  it.effect("are looked at once if their tunnels are not to be watched", function* () {
    const api = primaryWith(0)
    const reports = yield* examineOutbound(api, members, { defaultCluster, tunnelsFor: undefined })
    expect(reports.map(({ findings, isDefault, name }) => [name, isDefault, findings.length])).toEqual([
      ["a", true, 1],
      ["b", false, 1]
    ])
    expect(api.calls).toHaveLength(2)
  })

  it.effect("are looked at again after the time, and the one whose tunnel began again is found", function* () {
    yield* TestClock.setTime(1_000_000)
    const api = primaryWith(400_000)
    const examining = yield* Effect.forkChild(examineOutbound(api, members, { defaultCluster, tunnelsFor: 150 }))
    yield* TestClock.adjust(60_000)
    begin(api, "b", 1_060_000)
    yield* TestClock.adjust(89_999)
    expect(api.calls).toHaveLength(2)
    yield* TestClock.adjust(1)
    const reports = yield* Fiber.join(examining)
    expect(reports.map(({ findings }) => findings.map(({ message, status }) => `${status} ${message}`)[1])).toEqual([
      "ok Its tunnel has held for these 150 s, and began 12m ago.",
      "failed Its tunnel began again 1m30s ago, and has not held for 150 s."
    ])
  })
})
