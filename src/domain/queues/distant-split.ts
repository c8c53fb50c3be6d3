/**
 * The part that a cluster has in the split of a session over several clusters, as the session's primary shows it: by
 * the child, whose operator says how its split stands.
 *
 * Not here: what that operator says (split-state.ts), and parts in the operator's own cluster (queue-split-object.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { cleanText, cleanTexts, sentence, textLimits } from "../clean-text.ts"
import { findCondition } from "../resources/condition.ts"
import { type MirrordClusterSession, readyCondition } from "../resources/mirrord-cluster-session.ts"
import type { QueueSplitStatus } from "../resources/queues/queue-split.ts"
import { startingReason } from "../sessions/child-observation.ts"
import { sessionIdOfParent, splitAnnotations } from "../sessions/names.ts"
import { servedQueueSplit, type ServedQueueSplit } from "./queue-split-object.ts"
import { SplitState } from "./split-state.ts"
import { readWish, wishedWorkload } from "./split-wish.ts"
import { type ServedSqsSession, servedSqsSession } from "./sqs-session.ts"
import { splitSessionName } from "./stored-session.ts"

/** A cluster of a fleet, as far as its parts in splits depend on it. */
export interface DistantCluster {
  readonly name: string
  /** The name as a DNS label. */
  readonly slug: string
  /** Why the cluster counts as lost; `undefined` if it does not. */
  readonly lost: string | undefined
}

/** One cluster's part in a session. */
export interface DistantSplit {
  readonly object: ServedQueueSplit
  /** `undefined` until its queues are told. */
  readonly sqs: ServedSqsSession | undefined
}

const parse = (text: string | undefined): unknown =>
  Result.getOrUndefined(Result.try((): unknown => JSON.parse(text ?? "")))

const decode = Schema.decodeUnknownResult(SplitState)

/** The state by the child's condition, where its operator has not said how the split stands. */
const ofCondition = ({ status }: MirrordClusterSession): QueueSplitStatus => {
  const condition = findCondition(status?.conditions ?? undefined, readyCondition)
  const none = { queues: [], targetPods: [] }
  if (condition?.status === "True") return { phase: "Ready", ...none }
  const phase = condition === undefined || condition.reason === startingReason ? "Pending" : "Failed"
  return { phase, message: cleanText(condition?.message ?? "Its operator begins.", textLimits.message), ...none }
}

const unlessLost = (status: QueueSplitStatus, { lost, name }: DistantCluster): QueueSplitStatus =>
  lost === undefined
    ? status
    : {
        ...status,
        phase: "Pending",
        message: sentence(`Cluster ${name} does not answer, so this is how it was: ${lost}`)
      }

/** The part of a child; `undefined` if it splits no queues. One of `mirrord up` that says no word splits none. */
export const distantSplit = (
  child: MirrordClusterSession,
  cluster: DistantCluster,
  sha256Hex: (text: string) => string
): DistantSplit | undefined => {
  const { metadata, spec } = child
  const parent = spec.multiClusterParentName ?? ""
  const [id, wish] = [sessionIdOfParent(parent), readWish(metadata)]
  if (id === undefined || wish === undefined) return undefined
  const workload = wishedWorkload(wish, spec)
  if (workload === undefined) return undefined
  const told = Result.getOrUndefined(decode(cleanTexts(parse(metadata.annotations?.[splitAnnotations.state]))))
  if (told === undefined && wish.isAutomatic) return undefined
  const { container = "", ...place } = workload
  const asked = {
    ...{ id, place, filters: wish.filters, owner: spec.owner, cluster: cluster.name },
    container,
    // The primary's list has this name once for each cluster.
    metadata: { ...metadata, name: `${splitSessionName(parent, place, sha256Hex)}.${cluster.slug}` }
  }
  return {
    object: servedQueueSplit(asked, unlessLost(told?.split ?? ofCondition(child), cluster)),
    sqs: told && servedSqsSession(asked, told.sqs)
  }
}
