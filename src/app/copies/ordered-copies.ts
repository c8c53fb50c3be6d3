/**
 * A primary's requests to its clusters for copies of targets, through their API servers: orders a copy, and asks which
 * ordered copies there are. A cluster that is lost is not asked.
 */

import { Effect, Result, Schema } from "effect"
import { type CopyOrder, copyOrder, orderAnnotation, orderedBy } from "../../domain/copies/copy-order.ts"
import type { CopyRequest } from "../../domain/copies/copy-request.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import { CopyTarget, copyTargets } from "../../domain/resources/copy-target.ts"
import { operatorGroupVersion } from "../../domain/resources/operator-api.ts"
import { configurationComes } from "../../domain/sessions/session-start.ts"
import { KubeError, type KubeObject } from "../../ports/kube-api.ts"
import { retryingApi, retryingRead } from "../kernel/retrying-api.ts"
import { askCluster } from "../services/ask-cluster.ts"
import type { ReachedCluster } from "../services/fleet-view.ts"

/**
 * How long a cluster may take to say which copies there are, in ms, and how long it is asked again. A client asks every
 * 5 s.
 */
const askFor = 4_000
const askAgainFor = 3_000
/** How long a cluster may take to make a copy, in ms: it may wait for the configuration of queues that it splits. */
const orderFor = configurationComes + 10_000

/** A copy that this primary has ordered, as its cluster shows it. */
export interface OrderedCopy {
  readonly order: CopyOrder
  readonly copy: CopyTarget
}

/** Why a cluster did not say which copies there are: a sentence without its full stop. */
export interface NoAnswer {
  readonly why: string
  readonly isLost: boolean
}

export type Answer = Result.Result<ReadonlyArray<OrderedCopy>, NoAnswer>

/** The copies that are asked for. */
export interface AskedCopies {
  readonly primary: string
  readonly namespace: string | undefined
  /** The one of this name, which is used by asking. */
  readonly name: string | undefined
}

const readCopy = Schema.decodeUnknownResult(CopyTarget)

const orderedCopy = (object: KubeObject, primary: string): ReadonlyArray<OrderedCopy> => {
  const copy = readCopy(object)
  const order = copyOrder(object.metadata.annotations)
  return Result.isSuccess(copy) && order?.primary === primary ? [{ order, copy: copy.success }] : []
}

const copiesOf = (cluster: ReachedCluster, { name, namespace, primary }: AskedCopies): Effect.Effect<Answer> =>
  Effect.suspend(() => {
    const loss = cluster.lost()
    if (cluster.api() === undefined || loss !== undefined)
      return Effect.succeed(Result.fail({ why: loss ?? `cluster ${cluster.name} is not connected`, isLost: true }))
    const selection = {
      labelSelector: orderedBy(primary),
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name })
    }
    return askCluster(cluster, askFor, (api) => retryingRead(api.list(copyTargets, selection), askAgainFor)).pipe(
      Effect.map(({ items }): Answer => Result.succeed(items.flatMap((item) => orderedCopy(item, primary)))),
      Effect.catch(({ detail }) => Effect.succeed(Result.fail({ why: detail, isLost: false })))
    )
  })

/** Asks all clusters at once. */
export const askClusters = (
  clusters: ReadonlyArray<ReachedCluster>,
  asked: AskedCopies
): Effect.Effect<ReadonlyMap<ClusterName, Answer>> =>
  Effect.map(
    Effect.forEach(
      clusters,
      (cluster) => Effect.map(copiesOf(cluster, asked), (answer) => [cluster.name, answer] as const),
      { concurrency: "unbounded" }
    ),
    (answers) => new Map(answers)
  )

/** Orders a copy from a cluster. The same order twice makes one copy. `named`: the name in the client's request. */
export const orderCopy = (
  cluster: ReachedCluster,
  order: CopyOrder,
  namespace: string,
  { sent }: Pick<CopyRequest, "sent">
): Effect.Effect<OrderedCopy, KubeError> => {
  const body = {
    apiVersion: operatorGroupVersion,
    kind: copyTargets.kind,
    metadata: { annotations: orderAnnotation(order) },
    spec: sent
  }
  const detail = "the answer is no copy target"
  return Effect.flatMap(
    askCluster(cluster, orderFor, (api) => retryingApi(api).create(copyTargets, body, namespace)),
    (object) => {
      const [made] = orderedCopy(object, order.primary)
      return made === undefined
        ? Effect.fail(
            new KubeError({ cluster: cluster.name, operation: "order a copy", reason: "Unreachable", detail })
          )
        : Effect.succeed(made)
    }
  )
}
