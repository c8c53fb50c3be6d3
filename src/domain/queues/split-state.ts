/**
 * How a session's split stands in a cluster, in an annotation of the child, by which the primary shows it: the primary
 * sees neither the split nor its pods.
 *
 * Not here: reading it (distant-split.ts), and when it is written (app/queues/child-splits.ts).
 */

import * as Schema from "effect/Schema"
import { SqsSessionStatus } from "../resources/queues/queue-sessions.ts"
import { QueueSplitStatus } from "../resources/queues/queue-split.ts"
import { splitAnnotations } from "../sessions/names.ts"

export const SplitState = Schema.Struct({ split: QueueSplitStatus, sqs: SqsSessionStatus })
/** Both views of a split, as the cluster's own operator serves them. */
export type SplitState = typeof SplitState.Type

const write = Schema.encodeSync(Schema.fromJsonString(SplitState))

/** Most pods that are told, which are enough to see what is wrong: an annotation must stay small. */
const maxPods = 50

/** The annotation. Pods that do not take part come first, and the same pods always make the same text. */
export const splitStateNote = ({ split, sqs }: SplitState): Readonly<Record<string, string>> => {
  const pods = split.targetPods.toSorted((a, b) => {
    const [left, right] = [a, b].map(({ name, patched, ready }) => `${patched && ready ? 1 : 0}${name}`)
    return (left ?? "") < (right ?? "") ? -1 : 1
  })
  return { [splitAnnotations.state]: write({ split: { ...split, targetPods: pods.slice(0, maxPods) }, sqs }) }
}
