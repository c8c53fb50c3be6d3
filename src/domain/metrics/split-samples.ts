/** The splits of queues as metrics. */

import { cleanText, textLimits } from "../clean-text.ts"
import type { SessionPhase, SplitPhase } from "../queues/observed-split.ts"
import type { Sample } from "./catalogue.ts"

/** The messages of one queue since its workload's split is known to this process. */
export interface MeasuredQueue {
  readonly url: string
  readonly received: number
  readonly unmatched: number
  readonly calls: number
  readonly throttles: number
  readonly users: ReadonlyMap<
    string,
    { readonly k8sUser: string; readonly localUser: string; readonly forwarded: number }
  >
  /** Queues that fail now: itself, and those that its messages go to. */
  readonly failing: number
}

/** The messages in the main queue of the queue of this URL, as last counted. */
export interface MeasuredMain {
  readonly url: string
  readonly messages: number
}

export interface MeasuredSplits {
  readonly splits: ReadonlyArray<SplitPhase>
  readonly sessions: ReadonlyArray<SessionPhase>
  readonly queues: ReadonlyArray<MeasuredQueue>
  readonly mains: ReadonlyArray<MeasuredMain>
}

const splitPhases = ["Starting", "Live", "Idle", "Draining", "Unpatching"] as const satisfies ReadonlyArray<SplitPhase>
const partPhases = [
  "starting",
  "resourcesReady",
  "ready",
  "startError",
  "cleanupError"
] as const satisfies ReadonlyArray<SessionPhase>

const userSamples = (original_queue: string, { users }: MeasuredQueue): ReadonlyArray<Sample> =>
  [...users.values()].map(({ forwarded, k8sUser, localUser }) => ({
    name: "mirrord_sqs_messages_forwarded_to_user_count",
    labels: {
      k8s_user: cleanText(k8sUser, textLimits.name),
      local_username: cleanText(localUser, textLimits.name),
      original_queue
    },
    value: forwarded
  }))

const labelsOf = ({ url }: { readonly url: string }) => ({ original_queue: cleanText(url, textLimits.quotation) })

/** The samples of a queue, at the process that forwards its messages. */
export const queueSamples = (queue: MeasuredQueue): ReadonlyArray<Sample> => {
  const labels = labelsOf(queue)
  return [
    { name: "mirrord_read_sqs_messages_count", labels, value: queue.received },
    { name: "mirrord_unmatched_sqs_messages_count", labels, value: queue.unmatched },
    ...userSamples(labels.original_queue, queue),
    { name: "braid_queue_calls_total", labels, value: queue.calls },
    { name: "braid_queue_throttles_total", labels, value: queue.throttles },
    { name: "braid_queue_failing", labels, value: queue.failing }
  ]
}

/** All samples; one for each phase, those without splits or sessions too. */
export const splitSamples = ({ mains, queues, sessions, splits }: MeasuredSplits): ReadonlyArray<Sample> => [
  ...splitPhases.map((phase) => ({
    name: "braid_queue_splits" as const,
    labels: { phase },
    value: splits.filter((one) => one === phase).length
  })),
  ...partPhases.map((phase) => ({
    name: "braid_queue_split_sessions" as const,
    labels: { phase },
    value: sessions.filter((one) => one === phase).length
  })),
  ...queues.flatMap(queueSamples),
  ...mains.map((main) => ({
    name: "braid_main_queue_messages" as const,
    labels: labelsOf(main),
    value: main.messages
  }))
]
