/** The last step of a playground's start: opens a port of this machine for each demo workload. */

import { Effect, type Scope } from "effect"
import { serviceEntry, type ServiceEntryError } from "../cluster/network/service-entry.ts"
import type { LocalCluster, Playground, RunningCluster } from "./local-cluster.ts"
import { workloadNamespace } from "./manifests.ts"
import { PlaygroundError } from "./readiness.ts"

/** The running clusters, with an entry to the demo workload of each cluster that has one. */
export const openEntries = <Cluster extends LocalCluster>(
  started: ReadonlyArray<Omit<RunningCluster<Cluster>, "entry">>
): Effect.Effect<Omit<Playground<Cluster>, "setMembers">, PlaygroundError | ServiceEntryError, Scope.Scope> =>
  Effect.gen(function* () {
    const clusters = yield* Effect.forEach(
      started,
      Effect.fnUntraced(function* ({ cluster, description, kubelet }) {
        const entry = description.hasWorkload
          ? yield* serviceEntry(
              cluster.store,
              { namespace: workloadNamespace, service: "myapp", port: 80 },
              kubelet.reach
            )
          : undefined
        return { description, cluster, kubelet, entry: entry?.url } satisfies RunningCluster<Cluster>
      })
    )
    const primary = clusters.find(({ description }) => description.isPrimary)
    if (primary === undefined) return yield* new PlaygroundError({ detail: "the topology has no primary" })
    return { clusters, primary }
  })
