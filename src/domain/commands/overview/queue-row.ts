/**
 * The content of `braid queues`: one row for each queue of a workload whose queues are split.
 *
 * Not here: reading the objects, and the layout of a table (text-table.ts).
 */

import { spanText } from "../../fleet/credentials/validity.ts"
import type { StoredQueue } from "../../queues/stored-queue.ts"
import type { StoredSplit } from "../../queues/stored-split.ts"
import type { QueueSplit } from "../../resources/queues/queue-split.ts"
import { ownerText } from "../../sessions/session-info.ts"

/** A queue as `braid queues` shows it; docs/operating/commands.md describes its JSON. */
export interface QueueRow {
  /** Where a primary shows the split of another cluster; `undefined` for the cluster that was asked. */
  readonly cluster: string | undefined
  readonly namespace: string
  /** Such as `deployment/web`. */
  readonly workload: string
  /** Its name or URL as the workload has it; empty until it is known. */
  readonly queue: string
  /** Of the split; `undefined` if there is none yet, or if the user may not know it. */
  readonly phase: string | undefined
  /** The name of the queue that the workload reads meanwhile; `undefined` as before. */
  readonly main: string | undefined
  /** `message`: what it waits for, or why it failed. */
  readonly sessions: ReadonlyArray<
    Pick<QueueSplit["spec"], "filters" | "session"> &
      Pick<QueueSplit["status"], "message" | "phase"> & { readonly user: string }
  >
  /** The workload's pods; `undefined` without a session, which is by whom they are known. */
  readonly pods: { readonly patched: number; readonly ready: number; readonly all: number } | undefined
  /** Epoch ms. */
  readonly createdAt: number | undefined
}

/** A split, and when it began; epoch ms. */
export interface DatedSplit extends StoredSplit {
  readonly createdAt: number | undefined
}

const partKey = ({ metadata, spec: { cluster = "", target } }: QueueSplit): string =>
  `${metadata.namespace ?? ""}/${target.kind.toLowerCase()}/${target.name}/${cluster}`
const splitKey = ({ place: { kind, name, namespace } }: StoredSplit): string => `${namespace}/${kind}/${name}/`

/** The fields that all rows of a workload have. */
const sharedOf = (key: string, parts: ReadonlyArray<QueueSplit>) => {
  const [namespace = "", kind = "", name = ""] = key.split("/")
  const targetPods = parts[0]?.status.targetPods
  return {
    cluster: parts[0]?.spec.cluster,
    namespace,
    workload: `${kind}/${name}`,
    sessions: parts.map(({ spec: { filters, owner, session }, status: { message, phase } }) => ({
      session,
      user: ownerText(owner),
      phase,
      ...(message !== undefined && { message }),
      filters
    })),
    pods: targetPods && {
      patched: targetPods.filter(({ patched }) => patched).length,
      ready: targetPods.filter(({ ready }) => ready).length,
      all: targetPods.length
    }
  }
}

/** All rows by namespace, workload and queue. */
export const queueRows = (
  splits: ReadonlyArray<DatedSplit>,
  queues: ReadonlyArray<StoredQueue>,
  parts: ReadonlyArray<QueueSplit>
): ReadonlyArray<QueueRow> => {
  const mainOf = (split: string, identity: string): string | undefined =>
    queues.find(({ owner, source }) => owner._tag === "Main" && owner.split === split && source.identity === identity)
      ?.name
  const known = new Map(splits.map((split) => [splitKey(split), split]))
  const byWorkload = Map.groupBy(parts, partKey)
  return [...new Set([...known.keys(), ...byWorkload.keys()])].toSorted().flatMap((key): ReadonlyArray<QueueRow> => {
    const own = byWorkload.get(key) ?? []
    const shared = sharedOf(key, own)
    const split = known.get(key)
    if (split !== undefined) {
      const { createdAt, record } = split
      return record.sources.map(({ identity, reference: queue }) => {
        return { ...shared, queue, phase: record.phase, main: mainOf(record.uid, identity), createdAt }
      })
    }
    const names = [...new Set(own[0]?.status.queues.map(({ queue }) => queue))]
    const unknown = { phase: undefined, main: undefined, createdAt: undefined }
    return (names.length === 0 ? [""] : names).map((queue) => ({ ...shared, queue, ...unknown }))
  })
}

export const queueHeader = ["NAMESPACE", "WORKLOAD", "QUEUE", "PHASE", "SESSIONS", "MAIN", "PODS", "AGE"] as const

/** A row as cells, in the order of {@link queueHeader}. Pods: patched/ready/all. */
export const queueCells = (row: QueueRow, now: number): ReadonlyArray<string> => [
  row.namespace,
  row.cluster === undefined ? row.workload : `${row.workload} in ${row.cluster}`,
  row.queue,
  row.phase ?? "",
  String(row.sessions.length),
  row.main ?? "",
  row.pods === undefined ? "" : `${row.pods.patched}/${row.pods.ready}/${row.pods.all}`,
  row.createdAt === undefined ? "" : spanText(now - row.createdAt)
]
