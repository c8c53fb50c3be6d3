/**
 * The command `braid clusters`: the clusters of a primary, as its operator reports them. It reads these objects alone,
 * and needs no other right.
 *
 * Not here: the objects and their columns (domain/fleet/cluster-object.ts).
 */

import { Clock, Effect, Result } from "effect"
import { textTable } from "../../../domain/commands/overview/text-table.ts"
import { clusterColumns } from "../../../domain/fleet/cluster-object.ts"
import { findCondition } from "../../../domain/resources/condition.ts"
import { clusterReady, type MirrordCluster, mirrordClusters } from "../../../domain/resources/mirrord-cluster.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenCluster, unanswered, type Unanswered } from "./ask-cluster.ts"
import { type Output, tell, type Told } from "./tell.ts"

/** For programs; docs/operating/commands.md describes it. */
const value = ({ metadata, spec, status }: MirrordCluster): object => {
  const ready = findCondition(status.conditions, clusterReady)
  const { authType } = spec
  const { credentialsExpireAt, operatorVersion } = status
  return {
    name: metadata.name,
    ready: ready?.status ?? "Unknown",
    roles: spec.roles,
    ...(authType === undefined ? {} : { auth: authType }),
    ...(credentialsExpireAt === undefined ? {} : { expires: credentialsExpireAt }),
    ...(operatorVersion === undefined ? {} : { version: operatorVersion }),
    sessions: status.sessions,
    ...(ready === undefined ? {} : { since: ready.lastTransitionTime, reason: ready.message })
  }
}

/** The clusters of a primary, or why they cannot be read. */
export const readClusters = (api: KubeApi): Effect.Effect<ReadonlyArray<MirrordCluster>, Unanswered> =>
  api.list(mirrordClusters).pipe(
    Effect.mapError((error) => unanswered(error, "clusters (mirrordclusters.operator.metalbear.co)")),
    Effect.flatMap(({ items }) =>
      Effect.fromResult(
        Result.mapError(Result.all(items.map((item) => readResource(mirrordClusters, item))), ({ message }) => ({
          message,
          fix: "Use the braid of the operator's release."
        }))
      )
    )
  )

/** The clusters of the chosen primary. */
export const findClusters = (choice: KubeConfigChoice): Effect.Effect<Told, Unanswered> =>
  Effect.gen(function* () {
    const clusters = yield* readClusters(yield* chosenCluster(choice))
    if (clusters.length === 0)
      return { value: [], lines: ["The operator of this cluster has no fleet: it is no primary."], notes: [] }
    const isShared = clusters.some(({ status }) => status.replica !== undefined)
    const columns = clusterColumns(yield* Clock.currentTimeMillis).filter(({ name }) => isShared || name !== "Replica")
    const header = columns.map(({ name }) => name.toUpperCase())
    const rows = clusters.map((cluster) => columns.map(({ cell }) => cell(cluster)))
    return { value: clusters.map(value), lines: textTable([header, ...rows]), notes: [] }
  }).pipe(Effect.scoped)

export const runClusters = ({
  output,
  ...choice
}: KubeConfigChoice & { readonly output: Output }): Effect.Effect<number> => tell(output, findClusters(choice))
