/**
 * The command `braid queues`: finds the splits of queues in a cluster, from the parts of sessions that the operator
 * serves and from its records of splits.
 *
 * Not here: the rows of the table (domain/commands/overview/queue-row.ts).
 */

import { Clock, Effect } from "effect"
import { queueCells, queueHeader, type QueueRow, queueRows } from "../../../domain/commands/overview/queue-row.ts"
import { textTable } from "../../../domain/commands/overview/text-table.ts"
import { queueRecords, storedQueue } from "../../../domain/queues/stored-queue.ts"
import { splitPatches, storedSplit } from "../../../domain/queues/stored-split.ts"
import { timeOf, timestamp } from "../../../domain/resources/object-meta.ts"
import { queueSplits } from "../../../domain/resources/queues/queue-split.ts"
import type { ResourceDescriptor } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenCluster, unanswered, type Unanswered } from "./ask-cluster.ts"
import { type Listed, listObjects } from "./list-objects.ts"
import { type Output, tell, type Told } from "./tell.ts"

export interface QueuesChoice extends KubeConfigChoice {
  /** The only namespace to read; `undefined` for all. */
  readonly namespace: string | undefined
}

/** The records of a kind; without the right to list them a note that says what is not told. */
const recordsOf = <T>(api: KubeApi, kind: ResourceDescriptor<T>, untold: string): Effect.Effect<Listed<T>, KubeError> =>
  listObjects(api, kind).pipe(
    Effect.catch((error) =>
      error.reason === "Forbidden"
        ? Effect.succeed({ objects: [], notes: [`you may not list ${kind.plural}.${kind.group}: ${untold}`] })
        : Effect.fail(error)
    )
  )

/** Why nothing is shown. Roles may give the right in single namespaces. */
const refused = (error: KubeError, namespace: string | undefined): Unanswered => {
  const why = unanswered(error, "splits of queues (queuesplits.operator.metalbear.co)")
  return error.reason === "Forbidden" && namespace === undefined
    ? { ...why, fix: `Name a namespace with -n. ${why.fix}` }
    : why
}

const json = ({ createdAt, ...row }: QueueRow): object => ({
  ...row,
  ...(createdAt === undefined ? {} : { createdAt: timestamp(createdAt) })
})

/** The splits of a cluster. `notes`: what the rows leave out, each as a sentence. */
export const readQueues = (
  api: KubeApi,
  namespace?: string
): Effect.Effect<{ readonly rows: ReadonlyArray<QueueRow>; readonly notes: ReadonlyArray<string> }, Unanswered> =>
  Effect.gen(function* () {
    const [parts, splits, queues] = yield* Effect.all([
      listObjects(api, queueSplits, namespace),
      recordsOf(api, splitPatches, "phases of splits, and splits without a session, are not told"),
      recordsOf(api, queueRecords, "names of main queues are not told")
    ]).pipe(Effect.mapError((error) => refused(error, namespace)))
    const stored = splits.objects.flatMap((object) => {
      const split = storedSplit(object)
      const isWanted = namespace === undefined || split?.place.namespace === namespace
      return split === undefined || !isWanted
        ? []
        : [{ ...split, createdAt: timeOf(object.metadata.creationTimestamp) }]
    })
    const recorded = queues.objects.flatMap((object) => storedQueue(object) ?? [])
    return {
      rows: queueRows(stored, recorded, parts.objects),
      notes: [parts, splits, queues].flatMap(({ notes }) => notes)
    }
  })

/** Every split that the chosen cluster knows. */
export const findQueues = ({ namespace, ...choice }: QueuesChoice): Effect.Effect<Told, Unanswered> =>
  Effect.gen(function* () {
    const { notes, rows } = yield* readQueues(yield* chosenCluster(choice), namespace)
    const now = yield* Clock.currentTimeMillis
    const lines =
      rows.length === 0
        ? ["No queues are split."]
        : textTable([queueHeader, ...rows.map((row) => queueCells(row, now))])
    return { lines, notes, value: rows.map(json) }
  }).pipe(Effect.scoped)

export const runQueues = ({ output, ...choice }: QueuesChoice & { readonly output: Output }): Effect.Effect<number> =>
  tell(output, findQueues(choice))
