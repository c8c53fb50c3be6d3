/**
 * The command `braid sessions`: finds the sessions of a cluster, from their own objects or, without the right to list
 * those, from the operator's object.
 *
 * Not here: the rows of the table (domain/commands/overview/session-row.ts).
 */

import { Clock, Effect } from "effect"
import {
  childRow,
  parentRow,
  publishedChildRow,
  publishedParentRow,
  sessionCells,
  sessionHeader,
  type SessionRow,
  sessionRows
} from "../../../domain/commands/overview/session-row.ts"
import { sessionsHere } from "../../../domain/commands/overview/sessions-here.ts"
import { textTable } from "../../../domain/commands/overview/text-table.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import type { MultiClusterSessionInfo } from "../../../domain/resources/mirrord-operator.ts"
import { timestamp } from "../../../domain/resources/object-meta.ts"
import type { ResourceDescriptor } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenCluster, unanswered, type Unanswered } from "./ask-cluster.ts"
import { listObjects } from "./list-objects.ts"
import { readOperator } from "./read-operator.ts"
import { type Output, tellOrWatch, type Told } from "./tell.ts"

interface Rows {
  readonly rows: ReadonlyArray<SessionRow>
  /** The parts that the rows leave out, each as a sentence. */
  readonly notes: ReadonlyArray<string>
}

/** The rows of one kind. */
const rowsOf = <T>(
  api: KubeApi,
  kind: ResourceDescriptor<T>,
  row: (object: T) => SessionRow
): Effect.Effect<Rows, KubeError> =>
  Effect.map(listObjects(api, kind), ({ notes, objects }) => ({ rows: objects.map(row), notes }))

const stored = (api: KubeApi): Effect.Effect<Rows, KubeError> =>
  Effect.map(
    Effect.all([rowsOf(api, mirrordMultiClusterSessions, parentRow), rowsOf(api, mirrordClusterSessions, childRow)]),
    ([parents, children]) => ({
      rows: sessionRows(parents.rows, children.rows),
      notes: [...parents.notes, ...children.notes]
    })
  )

/** Notes for a user who may not list the sessions' objects: they say what the operator's object does not. */
const notesFor = (
  parents: ReadonlyArray<MultiClusterSessionInfo>,
  children: ReadonlyArray<unknown>
): ReadonlyArray<string> => {
  const untold = [
    ...(parents.some(({ clusterSessions }) => clusterSessions === undefined)
      ? ["which clusters are ready, and why not"]
      : []),
    ...(children.length > 0 ? ["how sessions of one cluster stand"] : [])
  ]
  const which = untold.join("; ")
  return untold.length === 0
    ? []
    : [`you may not list the sessions' objects, so some of what they say is not told: ${which}`]
}

/**
 * The rows for users of the chart's roles, who may not list the sessions' objects: the operator's object says the most
 * important.
 */
const published = Effect.fnUntraced(function* (api: KubeApi): Effect.fn.Return<Rows, Unanswered> {
  const { status } = yield* readOperator(api)
  const now = yield* Clock.currentTimeMillis
  const parents = status?.multi_cluster_sessions ?? []
  const children = sessionsHere(status)
  return {
    rows: sessionRows(
      parents.map((info) => publishedParentRow(info, now)),
      children.map((info) => publishedChildRow(info, now))
    ),
    notes: notesFor(parents, children)
  }
})

const json = ({ clusters, createdAt, parent, reason, ...row }: SessionRow): object => ({
  ...row,
  clusters: clusters.map(({ name, ready, reason: why }) => ({
    name,
    ...(ready === undefined ? {} : { ready }),
    ...(why === undefined ? {} : { reason: why })
  })),
  ...(parent === undefined ? {} : { parent }),
  ...(createdAt === undefined ? {} : { createdAt: timestamp(createdAt) }),
  ...(reason === undefined ? {} : { reason })
})

/** Every session that a cluster knows, as far as the person may see it. */
export const readSessions = (api: KubeApi): Effect.Effect<Rows, Unanswered> =>
  stored(api).pipe(
    Effect.catch((error) =>
      error.reason === "Forbidden" ? published(api) : Effect.fail(unanswered(error, "sessions"))
    )
  )

/** Every session that the chosen cluster knows. */
export const findSessions = (choice: KubeConfigChoice): Effect.Effect<Told, Unanswered> =>
  Effect.gen(function* () {
    const { notes, rows } = yield* readSessions(yield* chosenCluster(choice))
    const now = yield* Clock.currentTimeMillis
    const lines =
      rows.length === 0
        ? ["There are no sessions."]
        : textTable([sessionHeader, ...rows.map((row) => sessionCells(row, now))])
    return { lines, notes, value: rows.map(json) }
  }).pipe(Effect.scoped)

export const runSessions = ({
  output,
  watch,
  ...choice
}: KubeConfigChoice & { readonly output: Output; readonly watch: boolean }): Effect.Effect<number> =>
  tellOrWatch({ output, watch }, findSessions(choice))
