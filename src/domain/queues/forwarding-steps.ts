/**
 * The tables by which messages of a workload's queues are forwarded, and the steps from the forwarders that run to
 * those that have to.
 *
 * Not here: which session a message is for (chosen-session.ts), and whether the split forwards in its phase.
 */

import * as Result from "effect/Result"
import { jsonEqual } from "../json.ts"
import { byStart } from "./chosen-session.ts"
import { givenQueue } from "./given-queue.ts"
import type {
  ForwardingTable,
  ObservedSplit,
  RecordedQueue,
  Route,
  SplitRecord,
  SplitSource,
  WantedSession
} from "./observed-split.ts"
import type { SplitAction } from "./split-action.ts"
import { isServed } from "./split-refusal.ts"

/** The recorded queue of a session for a queue of the workload; `undefined` if it has none. */
export const ownQueue = (
  queues: ReadonlyArray<RecordedQueue>,
  { uid }: WantedSession,
  { identity }: SplitSource
): RecordedQueue | undefined =>
  queues.find(({ owner, source }) => owner._tag === "Session" && owner.session === uid && source.identity === identity)

/** The main queue of a split for a queue of the workload; `undefined` if none is recorded. */
export const mainQueue = (
  queues: ReadonlyArray<RecordedQueue>,
  { uid }: SplitRecord,
  { identity }: SplitSource
): RecordedQueue | undefined =>
  queues.find(({ owner, source }) => owner._tag === "Main" && owner.split === uid && source.identity === identity)

/** The ids of a queue whose messages the session wants. */
export const wantedIds = ({ modes }: WantedSession, { ids }: SplitSource): ReadonlyArray<string> =>
  ids.filter((id) => modes.has(id))

/** A session that takes messages for one of the ids takes them for all: there is one queue for them. */
export const modeOf = (session: WantedSession, source: SplitSource): "steal" | "mirror" => {
  const modes = wantedIds(session, source).map((id) => session.modes.get(id))
  return modes.length > 0 && modes.every((mode) => mode === "mirror") ? "mirror" : "steal"
}

const routesOf = ({ queues }: ObservedSplit, source: SplitSource, session: WantedSession): ReadonlyArray<Route> => {
  const ids = wantedIds(session, source)
  const queue =
    session.queues._tag === "Own"
      ? ownQueue(queues, session, source)?.name
      : Result.getOrUndefined(givenQueue(source, session.queues.given))
  if (ids.length === 0 || queue === undefined) return []
  const { id, startedAt, uid } = session
  return [{ id, startedAt, uid, ids, queue, mode: modeOf(session, source) }]
}

/** The tables of a split for sessions whose queues exist. A queue without its main queue cannot be forwarded. */
export const forwardingTables = (
  observed: ObservedSplit,
  record: SplitRecord,
  sessions: ReadonlyArray<WantedSession>
): ReadonlyArray<ForwardingTable> => {
  const served = sessions.filter(isServed).toSorted(byStart)
  return record.sources.flatMap((source) => {
    const main = mainQueue(observed.queues, record, source)
    return main === undefined || main.state._tag === "Absent"
      ? []
      : [{ source, main: main.name, routes: served.flatMap((session) => routesOf(observed, source, session)) }]
  })
}

const isFor = ({ source }: ForwardingTable, { identity }: SplitSource): boolean => source.identity === identity

/** Whether the forwarders know a session: each queue is forwarded, and matches go where the session reads. */
export const isForwarded = (
  { forwarders }: ObservedSplit,
  tables: ReadonlyArray<ForwardingTable>,
  { uid }: WantedSession
): boolean =>
  tables.every((wanted) => {
    const running = forwarders.find(({ isStopping, table }) => !isStopping && isFor(table, wanted.source))
    const route = (table: ForwardingTable) => table.routes.find((one) => one.uid === uid)
    const isTaken = running !== undefined && running.isAwaited !== true
    return isTaken && jsonEqual(route(running.table), route(wanted))
  })

/** Starts, changes and stops forwarders until those of the tables run. */
export const forwardingSteps = (
  { forwarders }: ObservedSplit,
  tables: ReadonlyArray<ForwardingTable>
): ReadonlyArray<SplitAction> => [
  ...forwarders
    .filter(({ isStopping, table: { source } }) => !isStopping && !tables.some((table) => isFor(table, source)))
    .map(({ table: { source } }): SplitAction => ({ _tag: "StopForwarding", source })),
  ...tables
    .filter((table) => !forwarders.some((one) => !one.isStopping && jsonEqual(one.table, table)))
    .map((table): SplitAction => ({ _tag: "StartForwarding", table }))
]

/** Whether a loop may send to a queue. */
export const isSentTo = ({ drains, forwarders }: ObservedSplit, queue: string): boolean =>
  forwarders.some(
    ({ stillSendsTo, table }) =>
      table.main === queue || stillSendsTo.includes(queue) || table.routes.some((route) => route.queue === queue)
  ) || drains.some(({ to }) => to._tag === "Main" && to.name === queue)
