/**
 * The steps for one session of a split, from its first status to the moment when it gets its messages. It has a queue
 * for each queue of the workload, also for those that it does not name: its program must find none of the originals.
 *
 * Not here: why no session can be in the split (split-refusal.ts), and the end of its queues (leftover-queues.ts).
 */

import { quoted } from "../clean-text.ts"
import { isForwarded, modeOf, ownQueue, wantedIds } from "./forwarding-steps.ts"
import { givenQueue } from "./given-queue.ts"
import type {
  ForwardingTable,
  GivenQueue,
  ObservedSplit,
  QueueState,
  SplitRecord,
  SplitSource,
  WantedSession
} from "./observed-split.ts"
import { isFifoName } from "./queue-name.ts"
import type { SessionResource, SplitAction } from "./split-action.ts"
import { isRefused, isServed, isWanted, type SplitRefusal } from "./split-refusal.ts"

/** A session's queue for a queue of the workload: there, on its way, or a reason why there is none. */
type SessionQueueState =
  | { readonly _tag: "There"; readonly resource: SessionResource }
  | { readonly _tag: "Waits"; readonly step: SplitAction | undefined }
  | { readonly _tag: "Problem"; readonly code: number; readonly message: string }

/** The first status of a session. */
const begin = ({ phase, uid }: WantedSession): ReadonlyArray<SplitAction> =>
  phase === undefined ? [{ _tag: "WriteStatus", uid, status: { phase: "starting" } }] : []

const startError = (
  { uid }: WantedSession,
  { code, message }: Pick<SplitRefusal, "code" | "message">
): SplitAction => ({ _tag: "WriteStatus", uid, status: { phase: "startError", code, message } })

const waits = (step?: SplitAction): SessionQueueState => ({ _tag: "Waits", step })
const problem = (code: number, message: string): SessionQueueState => ({ _tag: "Problem", code, message })

/** A queue that this cluster makes. `undefined` in the status: its session has no names yet. */
const ownState = (observed: ObservedSplit, session: WantedSession, source: SplitSource): SessionQueueState => {
  const { failures, queueName, queues } = observed
  const queue = ownQueue(queues, session, source)
  if (queue === undefined) {
    const made = queueName(source, "session", `${session.uid}/${source.identity}`)
    if (made._tag === "Failure") return problem(400, `The queue has no temporary name: ${made.failure}.`)
    const owner = { _tag: "Session", session: session.uid, mode: modeOf(session, source) } as const
    return waits({ _tag: "RecordQueue", name: made.success, source, owner })
  }
  const { name, quietSince, state } = queue
  if (quietSince !== undefined) return waits()
  switch (state._tag) {
    case "Present":
      return { _tag: "There", resource: { source, queue: name } }
    case "Unknown":
      return waits({ _tag: "ReadQueue", queue: name })
    case "Absent": {
      if (isServed(session)) {
        return problem(500, `The session's queue ${quoted(name)} was deleted: start the session again.`)
      }
      const failure = failures.get(`CreateQueue ${name}`)
      return failure?.isLasting === true ? problem(failure.code, failure.message) : waits({ _tag: "CreateQueue", name })
    }
  }
}

const unreachable = (queue: string): string =>
  `The session's queue ${quoted(queue)}, which the default cluster has made, is not there for this cluster: its ` +
  "account and region must be the same, or the operator must have rights there and get the queue's URL."

/** A queue of another cluster. It is never made here: a queue of its name in another region would have no reader. */
const givenState = (
  observed: ObservedSplit,
  given: ReadonlyArray<GivenQueue>,
  source: SplitSource
): SessionQueueState => {
  const found = givenQueue(source, given)
  if (found._tag === "Failure") return problem(404, found.failure)
  const { success: queue } = found
  const state: QueueState = observed.given.get(queue) ?? { _tag: "Unknown" }
  if (state._tag === "Absent") return problem(404, unreachable(queue))
  const failure = observed.failures.get(`ReadQueue ${queue}`)
  if (state._tag === "Unknown" && failure?.isLasting === true) return problem(failure.code, failure.message)
  return state._tag === "Unknown" ? waits({ _tag: "ReadQueue", queue }) : { _tag: "There", resource: { source, queue } }
}

/** The queues of a session. One whose queues others make needs only those for which it has a filter. */
const queueStates = (
  observed: ObservedSplit,
  session: WantedSession,
  sources: ReadonlyArray<SplitSource>
): ReadonlyArray<SessionQueueState> => {
  const { queues } = session
  return queues._tag === "Own"
    ? sources.map((source) => ownState(observed, session, source))
    : sources
        .filter((source) => wantedIds(session, source).length > 0)
        .map((source) => givenState(observed, queues.given, source))
}

/** News about a queue that keeps no order although the original does. */
const orderSteps = (session: WantedSession, { queue, source }: SessionResource): ReadonlyArray<SplitAction> =>
  isFifoName(source.name) && !isFifoName(queue)
    ? [
        {
          _tag: "Report",
          key: `Order ${session.uid} ${source.identity}`,
          message:
            `Messages of ${quoted(source.name)} lose their order in the session's queue ${quoted(queue)}: that is no ` +
            "FIFO queue, since the default cluster's is none."
        }
      ]
    : []

/** The status of a session that is over, if its queues cannot be deleted. */
const endingSteps = ({ failures, queues }: ObservedSplit, session: WantedSession): ReadonlyArray<SplitAction> => {
  if (session.phase === "cleanupError") return []
  for (const { name, owner } of queues) {
    const failure = failures.get(`DeleteQueue ${name}`)
    if (owner._tag !== "Session" || owner.session !== session.uid || failure?.isLasting !== true) continue
    const { code, message } = failure
    return [{ _tag: "WriteStatus", uid: session.uid, status: { phase: "cleanupError", code, message } }]
  }
  return []
}

/** The steps for a session that can be in the split. */
const startSteps = (
  observed: ObservedSplit,
  record: SplitRecord,
  tables: ReadonlyArray<ForwardingTable>,
  session: WantedSession
): ReadonlyArray<SplitAction> => {
  const { phase, uid } = session
  const states = queueStates(observed, session, record.sources)
  const found = states.find((state) => state._tag === "Problem")
  if (found !== undefined) return [startError(session, found)]
  const resources = states.flatMap((state) => (state._tag === "There" ? [state.resource] : []))
  if (resources.length < states.length) {
    return [...begin(session), ...states.flatMap((state) => (state._tag === "Waits" ? (state.step ?? []) : []))]
  }
  if (phase === "starting") {
    const reports = resources.flatMap((resource) => orderSteps(session, resource))
    return [{ _tag: "WriteStatus", uid, status: { phase: "resourcesReady", resources } }, ...reports]
  }
  const isComplete = tables.length === record.sources.length
  return phase === "resourcesReady" && isComplete && isForwarded(observed, tables, session)
    ? [{ _tag: "WriteStatus", uid, status: { phase: "ready", resources } }]
    : begin(session)
}

/** The next steps for a session. `tables`: by which the split forwards now. */
export const sessionSteps = (
  observed: ObservedSplit,
  refusal: SplitRefusal | undefined,
  tables: ReadonlyArray<ForwardingTable>,
  session: WantedSession
): ReadonlyArray<SplitAction> => {
  const { record } = observed
  if (session.isEnding) return endingSteps(observed, session)
  if (!isWanted(session)) return []
  if (session.problem !== undefined) return [startError(session, session.problem)]
  if (refusal !== undefined && isRefused(session, refusal)) return [startError(session, refusal)]
  return record === undefined || record.phase === "Unpatching" || refusal !== undefined
    ? begin(session)
    : startSteps(observed, record, tables, session)
}
