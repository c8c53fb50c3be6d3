/**
 * A session's part in a split as a QueueSplit, for `mirrord queues status`, and its row for `kubectl get`.
 *
 * Not here: serving it (app/api).
 */

import { cleanText, textLimits } from "../clean-text.ts"
import { spanText } from "../fleet/credentials/validity.ts"
import type { StoredObject } from "../resources/kept-fields.ts"
import { timeOf } from "../resources/object-meta.ts"
import type { PrintedColumn } from "../resources/printed-table.ts"
import { type QueueSplit, queueSplits } from "../resources/queues/queue-split.ts"
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
  pods: QueueSplit["status"]["targetPods"]
): Pick<QueueSplit["status"], "message" | "phase"> => {
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

/** The object as it is served. Pods that are being deleted are left out: others come for them. */
export const queueSplitObject = (shown: ShownSplit): ServedQueueSplit => {
  const { container, filters, metadata, owner, place, wanted } = shown.session
  const { creationTimestamp, name, uid } = metadata
  const targetPods = shown.pods.flatMap((pod) => {
    const { isReady: ready, isTerminating, patchedBy } = workloadPod(pod)
    const patched = patchedBy !== undefined && patchedBy === shown.split?.record.uid
    return isTerminating ? [] : [{ name: pod.metadata.name, patched, ready }]
  })
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
      session: shownId(wanted.id),
      target: { ...referenceOf(place), container },
      owner,
      filters: [...filters].map(([id, { attributes, program }]) => ({
        id,
        queueType: "sqs",
        messageFilter: attributes,
        ...(program !== undefined && { jqFilter: program })
      }))
    },
    status: {
      ...phaseOf(shown, targetPods),
      queues: (shown.split?.record.sources ?? []).flatMap(({ ids, reference }) =>
        ids.map((id) => ({ id, type: "sqs", queue: reference }))
      ),
      targetPods
    }
  }
}

/** The columns of `kubectl get queuesplits`. `now`: epoch ms. */
export const queueSplitColumns = (now: number): ReadonlyArray<PrintedColumn<QueueSplit>> => [
  { name: "Name", description: "Begins with the session's id.", cell: ({ metadata }) => metadata.name },
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
