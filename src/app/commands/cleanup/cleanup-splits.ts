/**
 * Ends the splits of queues before the operator goes: nothing would fill the queues that their workloads read. A
 * running operator ends them in its own order, which loses no message; without one the pods are restarted at least.
 *
 * Not here: the end by the operator (domain/queues/split-plan.ts).
 */

import { Clock, Effect, Result, Schedule } from "effect"
import { podWebhookName } from "../../../domain/queues/pod-webhook.ts"
import { queueRecords, storedQueue, type StoredQueue } from "../../../domain/queues/stored-queue.ts"
import {
  changedSplit,
  endedSplit,
  splitPatches,
  storedSplit,
  type StoredSplit
} from "../../../domain/queues/stored-split.ts"
import { mirrordClusterSplitSessions } from "../../../domain/resources/queues/mirrord-cluster-split-session.ts"
import { readResource, type WatchedResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { logInfo } from "../../kernel/log.ts"
import { orIf } from "../../kernel/or-if.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { restartWorkload } from "../../queues/restart-workload.ts"
import { removeWebhook } from "../../queues/split-webhook.ts"
import type { Tell } from "./cleanup-copies.ts"
import { deleted, listed } from "./cleanup-objects.ts"

/** Time between two looks at the splits that are left. */
const lookEvery = "1 second"

/** An object in the cluster, and what it says. */
type Found<T> = readonly [object: KubeObject, content: T]

/** The objects of a kind that are this operator's. */
const own = <T, V>(
  api: KubeApi,
  kind: WatchedResource<T>,
  contentOf: (view: T) => V | undefined
): Effect.Effect<ReadonlyArray<Found<V>>, KubeError> =>
  Effect.map(listed(api, kind), (objects) =>
    objects.flatMap((object) => {
      const view = readResource(kind, object)
      const content = Result.isSuccess(view) ? contentOf(view.success) : undefined
      return content === undefined ? [] : [[object, content] as const]
    })
  )

/** The splits of this operator. */
export const ownSplits = (api: KubeApi): Effect.Effect<ReadonlyArray<Found<StoredSplit>>, KubeError> =>
  own(api, splitPatches, storedSplit)

/** The temporary queues of this operator. */
export const ownQueues = (api: KubeApi): Effect.Effect<ReadonlyArray<Found<StoredQueue>>, KubeError> =>
  own(api, queueRecords, storedQueue)

/** Has a running operator end all splits, and waits until nothing is left of them. */
const endByOperator = (api: KubeApi, tell: Tell, waitSecs: number): Effect.Effect<void, KubeError> => {
  const asked = new Set<string>()
  let before = ""
  const look = Effect.gen(function* () {
    const splits = yield* ownSplits(api)
    const queues = yield* ownQueues(api)
    for (const [{ metadata }, { record }] of splits) {
      if (asked.has(record.uid)) continue
      asked.add(record.uid)
      const ask = api.mergePatch(splitPatches, metadata.name, endedSplit).pipe(orIf("NotFound", Effect.void))
      yield* tell(`ending split ${metadata.name} by the operator`, Effect.asVoid(ask), undefined)
    }
    const found = `${splits.length} ${queues.length}`
    if (found !== before) yield* logInfo("splits of queues end", { splits: splits.length, queues: queues.length })
    before = found
    return splits.length + queues.length
  })
  const rounds = { until: (left: number) => left === 0, times: waitSecs, schedule: Schedule.spaced(lookEvery) }
  return Effect.asVoid(Effect.repeat(look, rounds))
}

/** Gives the pods of a workload their original names back. The record stays if they keep the others. */
const endByHand = Effect.fnUntraced(function* (
  api: KubeApi,
  tell: Tell,
  [object, split]: Found<StoredSplit>
): Effect.fn.Return<void> {
  const { place, record } = split
  const { kind, name, namespace } = place
  const workload = `${kind} ${name} in namespace ${namespace}`
  const now = yield* Clock.currentTimeMillis
  // An operator that still runs puts the webhook up no more, and gives no more names to pods.
  const since = Math.max(now, (record.restart?.at ?? 0) + 1)
  const patch = changedSplit(split, { phase: "Unpatching", since })
  if (record.phase !== "Unpatching")
    yield* tell(
      `noting that the split of ${workload} ends`,
      Effect.asVoid(api.mergePatch(splitPatches, object.metadata.name, patch)),
      undefined
    )
  const webhook = podWebhookName(place, sha256Hex)
  yield* tell(`removing webhook ${webhook}`, removeWebhook(api, webhook), undefined)
  const order = { bornBefore: now, strategy: "standard", token: `cleanup/${record.uid}` } as const
  const isRestarted = yield* tell(
    `restarting ${workload}, whose pods read queues that nothing fills until then`,
    Effect.as(restartWorkload(api, place, order).pipe(orIf("NotFound", Effect.void)), true),
    false
  )
  if (!isRestarted) return
  yield* logInfo("workload reads its original queues", { kind, name, namespace })
  yield* tell(`deleting split ${object.metadata.name}`, deleted(api, splitPatches, object), undefined)
})

/**
 * Ends all splits of queues. A running operator has `waitSecs` seconds for it. The result: problems, one sentence each.
 */
export const cleanUpSplits = Effect.fnUntraced(function* (
  api: KubeApi,
  tell: Tell,
  waitSecs: number
): Effect.fn.Return<ReadonlyArray<string>> {
  for (const part of yield* tell("listing the parts of splits", listed(api, mirrordClusterSplitSessions), [])) {
    const { name } = part.metadata
    yield* tell(`deleting part ${name} of a split`, deleted(api, mirrordClusterSplitSessions, part), undefined)
  }
  yield* tell("waiting for the splits of queues to end", endByOperator(api, tell, waitSecs), undefined)
  for (const split of yield* tell("listing the splits of queues", ownSplits(api), []))
    yield* endByHand(api, tell, split)
  const problems: Array<string> = []
  for (const [object, { source, url }] of yield* tell("listing the temporary queues", ownQueues(api), [])) {
    yield* tell(`deleting the record of queue ${url}`, deleted(api, queueRecords, object), undefined)
    problems.push(
      `Queue ${url} is left: when no pod reads it any more, move its messages to ${source.url}, and delete it at SQS.`
    )
  }
  return problems
})
