/**
 * The command `braid status`: reads the operator of a cluster and, of a primary, the state of its clusters.
 *
 * Not here: the tables (domain/commands/overview/operator-overview.ts).
 */

import { Clock, Effect } from "effect"
import { operatorOverview, overviewLines } from "../../../domain/commands/overview/operator-overview.ts"
import { timestamp } from "../../../domain/resources/object-meta.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenCluster, type Unanswered } from "./ask-cluster.ts"
import { readOperator } from "./read-operator.ts"
import { type Output, tellOrWatch, type Told } from "./tell.ts"

/** The operator of the chosen cluster and, of a primary, its clusters. */
export const findStatus = (choice: KubeConfigChoice): Effect.Effect<Told, Unanswered> =>
  Effect.gen(function* () {
    const overview = operatorOverview(yield* readOperator(yield* chosenCluster(choice)))
    const now = yield* Clock.currentTimeMillis
    return {
      notes: [],
      lines: overviewLines(overview, now),
      value: {
        ...overview,
        clusters: overview.clusters.map(({ checkedAt, ...cluster }) => ({
          ...cluster,
          ...(checkedAt === undefined ? {} : { checkedAt: timestamp(checkedAt) })
        }))
      }
    }
  }).pipe(Effect.scoped)

export const runStatus = ({
  output,
  watch,
  ...choice
}: KubeConfigChoice & { readonly output: Output; readonly watch: boolean }): Effect.Effect<number> =>
  tellOrWatch({ output, watch }, findStatus(choice))
