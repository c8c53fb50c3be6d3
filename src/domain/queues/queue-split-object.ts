/**
 * A session's part in a split as a QueueSplit, for `mirrord queues status`, and its row for `kubectl get`.
 *
 * Not here: serving it (app/api).
 */

import { cleanText, textLimits } from "../clean-text.ts"
import { spanText } from "../fleet/credentials/validity.ts"
import type { StoredObject } from "../resources/kept-fields.ts"
import { type ObjectMeta, timeOf } from "../resources/object-meta.ts"
import type { PrintedColumn } from "../resources/printed-table.ts"
import { type QueueSplit, queueSplits, type QueueSplitStatus } from "../resources/queues/queue-split.ts"
import { apiVersionOf } from "../resources/resource-descriptor.ts"
import type { Requirement } from "../sessions/requirement.ts"
import { ownerText } from "../sessions/session-info.ts"
import { referenceOf } from "./split-place.ts"
import { workloadPod } from "./split-pods.ts"
import type { StoredSession } from "./stored-session.ts"
import type { StoredSplit } from "./stored-split.ts"

/** Everything that a session's part is shown with. */
export interface ShownSplit {
  readonly session: StoredSession
  /** `undefined` until the queues of its workload are known. */
  readonly split: StoredSplit | undefined
  /** The pods of the workload. */
  readonly pods: ReadonlyArray<StoredObject>
  /** How far it is, as connects are told. */
  readonly requirement: Requirement
}

/** A QueueSplit with the fields by which Kubernetes knows its kind. */
export type ServedQueueSplit = QueueSplit & { readonly apiVersion: string; readonly kind: string }

const podsLeft = "Not every pod of the target has the names of the temporary queues and is ready."

const phaseOf = (
  { requirement }: ShownSplit,
  pods: QueueSplitStatus["targetPods"]
): Pick<QueueSplitStatus, "message" | "phase"> => {
  switch (requirement._tag) {
    case "Failed":
      return { phase: "Failed", message: cleanText(requirement.failure.message, textLimits.message) }
    case "Pending":
      return { phase: "Pending", message: requirement.message }
    case "Met":
      return pods.every(({ patched, ready }) => patched && ready)
        ? { phase: "Ready" }
        : { phase: "Pending", message: podsLeft }
  }
}

/** The id of a session as lists of splits show it: 16 upper-case hex digits. */
export const shownId = (id: bigint): string => id.toString(16).padStart(16, "0").toUpperCase()

/** How a session's part stands. Pods that are being deleted are left out: others come for them. */
export const queueSplitStatus = (shown: ShownSplit): QueueSplitStatus => {
  const targetPods = shown.pods.flatMap((pod) => {
    const { isReady: ready, isTerminating, patchedBy } = workloadPod(pod)
    const patched = patchedBy !== undefined && patchedBy === shown.split?.record.uid
    return isTerminating ? [] : [{ name: pod.metadata.name, patched, ready }]
  })
  return {
    ...phaseOf(shown, targetPods),
    queues: (shown.split?.record.sources ?? []).flatMap(({ ids, reference }) =>
      ids.map((id) => ({ id, type: "sqs", queue: reference }))
    ),
    targetPods
  }
}

/** A session's part in a split as it was asked for. */
export interface AskedSplit extends Pick<StoredSession, "container" | "filters" | "owner" | "place"> {
  readonly id: bigint
  readonly metadata: Pick<ObjectMeta, "creationTimestamp" | "name" | "uid">
  /** `undefined` for the operator's own cluster. */
  readonly cluster?: string
}

export const askedSplit = (session: StoredSession): AskedSplit => ({ ...session, id: session.wanted.id })

/** The object of a part. */
export const servedQueueSplit = (asked: AskedSplit, status: QueueSplitStatus): ServedQueueSplit => {
  const { cluster, container, filters, id: session, metadata, owner, place } = asked
  const { creationTimestamp, name, uid } = metadata
  return {
    apiVersion: apiVersionOf(queueSplits),
    kind: queueSplits.kind,
    metadata: {
      name,
      namespace: place.namespace,
      ...(uid !== undefined && { uid }),
      ...(creationTimestamp !== undefined && { creationTimestamp })
    },
    spec: {
      session: shownId(session),
      target: { ...referenceOf(place), container },
      owner,
      filters: [...filters].map(([id, { attributes, program }]) => ({
        id,
        queueType: "sqs",
        messageFilter: attributes,
        ...(program !== undefined && { jqFilter: program })
      })),
      ...(cluster !== undefined && { cluster })
    },
    status
  }
}

/** The object as the workload's own operator serves it. */
export const queueSplitObject = (shown: ShownSplit): ServedQueueSplit =>
  servedQueueSplit(askedSplit(shown.session), queueSplitStatus(shown))

/** The columns of `kubectl get queuesplits`. `now`: epoch ms. */
export const queueSplitColumns = (now: number): ReadonlyArray<PrintedColumn<QueueSplit>> => [
  {
    name: "Name",
    description: "Begins with the session's id; that of another cluster ends with the cluster.",
    cell: ({ metadata }) => metadata.name
  },
  { name: "User", description: "User of the session.", cell: ({ spec }) => ownerText(spec.owner) },
  {
    name: "Target",
    description: "The workload whose queues are split.",
    cell: ({ spec: { target } }) => `${target.kind}/${target.name}`
  },
  { name: "Phase", description: "Whether every pod of the target takes part.", cell: ({ status }) => status.phase },
  {
    name: "Pods",
    description: "Pods of the target that have the names of the temporary queues and are ready, of all.",
    cell: ({ status: { targetPods } }) =>
      `${targetPods.filter(({ patched, ready }) => patched && ready).length}/${targetPods.length}`
  },
  {
    name: "Age",
    description: "How long ago the session asked for it.",
    cell: ({ metadata }) => {
      const since = timeOf(metadata.creationTimestamp)
      return since === undefined ? "-" : spanText(now - since)
    }
  },
  {
    name: "Message",
    description: "What it waits for, or why it failed.",
    isWide: true,
    cell: ({ status }) => status.message ?? ""
  }
]
