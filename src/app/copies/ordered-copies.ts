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
import { KubeError, type KubeObject } from "../../ports/kube-api.ts"
import type { ReachedCluster } from "../ground/fleet-view.ts"
import { retryingApi, retryingRead } from "../kernel/retrying-api.ts"

/**
 * How long a cluster may take to say which copies there are, in ms, and how long it is asked again. A client asks every
 * 5 s.
 */
const askFor = 4_000
const askAgainFor = 3_000
/** How long a cluster may take to make a copy, in ms. */
const orderFor = 20_000

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

const askCluster = (
  { api, lost, name: cluster }: ReachedCluster,
  { name, namespace, primary }: AskedCopies
): Effect.Effect<Answer> =>
  Effect.suspend(() => {
    const reached = api()
    const loss = lost()
    if (reached === undefined || loss !== undefined)
      return Effect.succeed(Result.fail({ why: loss ?? `cluster ${cluster} is not connected`, isLost: true }))
    const selection = {
      labelSelector: orderedBy(primary),
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name })
    }
    const noAnswer = (why: string): Answer => Result.fail({ why, isLost: false })
    return retryingRead(reached.list(copyTargets, selection), askAgainFor).pipe(
      Effect.map(({ items }): Answer => Result.succeed(items.flatMap((item) => orderedCopy(item, primary)))),
      Effect.catch(({ detail }) => Effect.succeed(noAnswer(detail))),
      Effect.timeoutOrElse({
        duration: askFor,
        orElse: () => Effect.succeed(noAnswer(`no answer within ${askFor / 1_000} s`))
      })
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
      (cluster) => Effect.map(askCluster(cluster, asked), (answer) => [cluster.name, answer] as const),
      { concurrency: "unbounded" }
    ),
    (answers) => new Map(answers)
  )

/** Orders a copy from a cluster. The same order twice makes one copy. `named`: the name in the client's request. */
export const orderCopy = (
  { api, name: cluster }: ReachedCluster,
  order: CopyOrder,
  namespace: string,
  { sent }: Pick<CopyRequest, "sent">
): Effect.Effect<OrderedCopy, KubeError> =>
  Effect.suspend(() => {
    const operation = "order a copy"
    const failure = (detail: string): KubeError => new KubeError({ cluster, operation, reason: "Unreachable", detail })
    const reached = api()
    if (reached === undefined) return Effect.fail(failure("the cluster is not connected"))
    const body = {
      apiVersion: operatorGroupVersion,
      kind: copyTargets.kind,
      metadata: { annotations: orderAnnotation(order) },
      spec: sent
    }
    return retryingApi(reached)
      .create(copyTargets, body, namespace)
      .pipe(
        Effect.timeoutOrElse({
          duration: orderFor,
          orElse: () => Effect.fail(failure(`no answer within ${orderFor / 1_000} s`))
        }),
        Effect.flatMap((object) => {
          const [made] = orderedCopy(object, order.primary)
          return made === undefined ? Effect.fail(failure("the answer is no copy target")) : Effect.succeed(made)
        })
      )
  })
