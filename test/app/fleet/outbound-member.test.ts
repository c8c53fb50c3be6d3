/** Members that dial out, in the fleet. */

import { Effect } from "effect"
import { describe, expect } from "vitest"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import { OutboundConnector } from "../../../src/ports/outbound-connector.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { fleetOptions, pass, workloadCluster } from "../sessions/session-fleet.ts"

const a = clusterName("cluster-a")

const start = Effect.gen(function* () {
  const configuration = configurationOf(["cluster-a"])
  const members = configuration.members.map((member) => ({
    ...member,
    server: undefined,
    auth: { _tag: "Outbound" } as const
  }))
  const fleet = yield* makeFleet(fleetOptions({ configuration: { ...configuration, members } })).pipe(
    Effect.provideService(ClusterConnector, {
      own: { api: new MemoryKubeApi("primary"), link: () => Effect.die("none") },
      member: () => Effect.die("it has no credentials")
    })
  )
  yield* pass(1)
  return () => fleet.clusters.get(a)
})

const dialled = (api: KubeApi) => () =>
  Effect.succeed({ api, link: () => Effect.die("none"), until: () => 7, since: () => 5 })

describe("a member that dials out", () => {
  it.effect(
    "is used without credentials, and shows its tunnel's beginning and the end of its certificate",
    function* () {
      const cluster = yield* Effect.provideService(start, OutboundConnector, dialled(workloadCluster("cluster-a")))
      expect(cluster()?.reach()).toEqual({ reachable: true, error: undefined })
      expect(cluster()?.credentials()).toEqual({ auth: "outbound", until: 7, failures: 0 })
      expect(cluster()?.tunnelSince?.()).toBe(5)
    }
  )

  it.effect("is not used by a program that takes no tunnels, which says so", function* () {
    const cluster = yield* start
    expect(cluster()?.reach()).toMatchObject({
      reachable: false,
      error: expect.stringContaining("operator.cell.enabled")
    })
  })
})
