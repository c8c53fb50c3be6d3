/**
 * Carries out the actions of a split's plan: writes records and statuses, makes and deletes queues at SQS, has pods
 * replaced, and runs the loops that move messages.
 *
 * Not here: which actions (domain/queues/split-plan.ts).
 */

import { Clock, Effect, Result } from "effect"
import { splitSessionEvent } from "../../domain/events/queue-events.ts"
import { messagesIn } from "../../domain/queues/empty-queue.ts"
import type { DestinationQueue } from "../../domain/queues/forwarded-message.ts"
import type { ForwardingTable, SplitSource } from "../../domain/queues/observed-split.ts"
import { isFifoName } from "../../domain/queues/queue-name.ts"
import { actionKey, type SplitAction } from "../../domain/queues/split-action.ts"
import {
  newQueueObject,
  queueBeside,
  queueRecords,
  quietQueue,
  type StoredQueue
} from "../../domain/queues/stored-queue.ts"
import { splitSessions, statusPatch, type StoredSession } from "../../domain/queues/stored-session.ts"
import {
  changedSplit,
  newSplitObject,
  splitPatches,
  type StoredSplit,
  withUpdates
} from "../../domain/queues/stored-split.ts"
import { temporaryQueueArguments } from "../../domain/queues/temporary-queue-attributes.ts"
import { Workload } from "../../domain/resources/core-kinds.ts"
import { kindAddress } from "../../domain/targets/target.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { MessageQueues, QueueError } from "../../ports/message-queues.ts"
import type { EventRecorder } from "../kernel/event-recorder.ts"
import { logWarning } from "../kernel/log.ts"
import { changedMeanwhile, writeStatus } from "../kernel/mirrored-object.ts"
import type { Reflector } from "../kernel/reflector.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { auditBegin } from "./audit-splits.ts"
import { type BrokerServices, provideBrokers } from "./brokers.ts"
import { filtersOf, resolvedOf, type SeenSplit } from "./observe-split.ts"
import { splitFailure } from "./queue-failure.ts"
import { userTotal } from "./queue-totals.ts"
import { type ResolvedSource, type ResolvedSplit, updatesOf } from "./resolve-split.ts"
import { restartWorkload } from "./restart-workload.ts"
import type { QueueSession } from "./split-table.ts"
import { putWebhook, removeWebhook } from "./split-webhook.ts"

/** Everything by which actions are carried out. */
export interface ActingServices extends BrokerServices {
  readonly api: KubeApi
  readonly events: EventRecorder
  /** The caches of the records, which show the operator's own writes at once. */
  readonly splits: Reflector
  readonly records: Reflector
  readonly sessions: Reflector
  /** Whether copies for sessions show the session's key. */
  readonly addsSessionKey: boolean
  /** The status of a session's part in a split has changed. `session`: its MirrordClusterSession. */
  readonly sessionChanged: (session: string) => void
}

type Act<Tag extends SplitAction["_tag"]> = Extract<SplitAction, { readonly _tag: Tag }>
type Performed = Exclude<SplitAction, { readonly _tag: "RequeueAt" }>
/** A number: the action goes on, and is to be planned again at this time at the latest, epoch ms. */
type Performing = Effect.Effect<number | void, KubeError | QueueError>

/** Bytes of the largest message of a queue that does not say it (AWS, quotas of messages). */
const defaultMessageSize = 262_144

const messageSizeOf = (attributes: Readonly<Record<string, string>> = {}): number =>
  Number(attributes["MaximumMessageSize"] ?? defaultMessageSize)

/** Counts of one queue that are kept. */
const keptCounts = 16

/** The name of the record of a workload's split. */
const splitObjectName = ({ kind, name, namespace }: SeenSplit["known"]["place"]): string => {
  const digest = sha256Hex(`${namespace}/${kind}/${name}`).slice(0, 16)
  return `${name.slice(0, 200)}.${kind}.${digest}`
}

const queueObjectName = (url: string): string => `sqs-${sha256Hex(url).slice(0, 32)}`

/** The queues of a configuration are not known now, so the action is tried again. */
const unresolved = (operation: string, queue: string): QueueError =>
  new QueueError({
    operation,
    queue,
    reason: "Unavailable",
    detail: "the configuration of the workload's queues has not been read yet"
  })

const sourceIn = (resolved: ResolvedSplit | undefined, { identity }: SplitSource): ResolvedSource | undefined =>
  resolved?.sources.find((source) => source.identity === identity)

/** The record of a temporary queue. The plan names only queues that it has seen. */
const recordOf = ({ known, queues }: SeenSplit, name: string): Effect.Effect<StoredQueue, KubeError> => {
  const found = queues.find((queue) => queue.name === name)
  return found === undefined
    ? Effect.die(new Error(`the queue ${name} of ${known.place.name} has no record`))
    : Effect.succeed(found)
}

const recordSplit = (services: ActingServices, seen: SeenSplit, action: Act<"RecordSplit">): Performing => {
  const { api, splits } = services
  const { _tag: _, ...content } = action
  const { place } = seen.known
  const { container = "" } = seen
  const name = splitObjectName(place)
  const object = newSplitObject(name, place, {
    ...content,
    container,
    phase: "Starting",
    restart: undefined
  })
  return api.create(splitPatches, object).pipe(orReread(services, splits, name), Effect.map(splits.wrote))
}

/** Has a turn made again, with the object as it is, if it is not as the cache shows it. */
const orReread =
  ({ api }: ActingServices, cache: Reflector, name: string) =>
  <A>(write: Effect.Effect<A, KubeError>): Effect.Effect<A, KubeError> =>
    write.pipe(
      Effect.catch((error) =>
        ["AlreadyExists", "Conflict", "NotFound"].includes(error.reason)
          ? Effect.andThen(cache.reread(name), Effect.fail(changedMeanwhile(api, error.operation, error.detail)))
          : Effect.fail(error)
      )
    )

/** Changes the record as it was seen. */
const patchSplit = (services: ActingServices, seen: SeenSplit, patch: (stored: StoredSplit) => object): Performing => {
  const { api, splits } = services
  const { stored } = seen
  if (stored === undefined) return Effect.fail(changedMeanwhile(api, "patch", "the split has no record"))
  const name = splitObjectName(stored.place)
  return api
    .mergePatch(splitPatches, name, patch(stored))
    .pipe(orReread(services, splits, name), Effect.map(splits.wrote))
}

const deleteSplit = (services: ActingServices, { known }: SeenSplit, action: Act<"DeleteRecord">): Performing => {
  const { api, splits } = services
  const name = splitObjectName(known.place)
  return api
    .delete(splitPatches, name, action.precondition)
    .pipe(orReread(services, splits, name), Effect.andThen(splits.reread(name)))
}

const recordQueue = (services: ActingServices, seen: SeenSplit, action: Act<"RecordQueue">): Performing => {
  const { addsSessionKey, api, records } = services
  const { name, owner, source } = action
  const { sessionKey, sharedMillis } =
    (owner._tag === "Session" ? seen.sessions.find(({ wanted }) => wanted.uid === owner.session) : undefined) ?? {}
  const object = queueObjectName(queueBeside(source.url, name))
  const shown = addsSessionKey ? sessionKey : undefined
  const queue = newQueueObject(object, seen.known.place, { name, owner, source, sessionKey: shown, sharedMillis })
  return api.create(queueRecords, queue).pipe(
    orReread(services, records, object),
    Effect.map((made) => {
      records.wrote(made)
      seen.known.queues.set(name, { _tag: "Absent" })
    })
  )
}

const withoutRedrive = (attributes: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== "RedrivePolicy"))

/** Makes a queue like the original. Its dead letters stay out if SQS does not allow the source to have them. */
const createQueue = Effect.fnUntraced(function* (
  { queues }: ActingServices,
  seen: SeenSplit,
  { name }: Act<"CreateQueue">
): Effect.fn.Return<void, KubeError | QueueError> {
  const { owner, source, url } = yield* recordOf(seen, name)
  const resolved = sourceIn(resolvedOf(seen.known), source)
  if (resolved === undefined) return yield* unresolved("CreateQueue", url)
  const { attributes, options } = resolved
  const original = { name: source.name, attributes, tags: yield* queues.tags(source.url) }
  const made = temporaryQueueArguments(original, {
    name,
    role: owner._tag === "Main" ? "main" : "session",
    tags: options.tags
  })
  const create = (wanted: typeof made.attributes) =>
    queues.create({ name, beside: source.url, attributes: wanted, tags: made.tags })
  yield* create(made.attributes).pipe(
    Effect.catch((error) => {
      if (error.reason !== "Invalid" || !("RedrivePolicy" in made.attributes)) return Effect.fail(error)
      const told = logWarning("temporary queue has no dead-letter queue", { queue: url, problem: error.detail })
      return Effect.andThen(told, create(withoutRedrive(made.attributes)))
    })
  )
  seen.known.queues.set(name, { _tag: "Present", counts: [] })
})

/** The address of a queue that the plan names: recorded, or given by another cluster by its name or its URL. */
const addressOf = (seen: SeenSplit, queue: string): string => {
  const recorded = seen.queues.find(({ name }) => name === queue)
  if (recorded !== undefined) return recorded.url
  const [source] = seen.stored?.record.sources ?? resolvedOf(seen.known)?.sources ?? []
  return queue.includes("/") || source === undefined ? queue : queueBeside(source.url, queue)
}

const readQueue = Effect.fnUntraced(function* (
  { queues }: ActingServices,
  seen: SeenSplit,
  { queue }: Act<"ReadQueue">
): Effect.fn.Return<void, QueueError> {
  const { known } = seen
  // Messages that come during the call may not be counted.
  const at = yield* Clock.currentTimeMillis
  const found = yield* Effect.result(queues.attributes(addressOf(seen, queue)))
  if (Result.isFailure(found)) {
    if (found.failure.reason !== "NoQueue") return yield* found.failure
    known.queues.set(queue, { _tag: "Absent" })
    return
  }
  const before = known.queues.get(queue)
  const counts = before?._tag === "Present" ? before.counts : []
  const count = { at, messages: messagesIn(found.success) }
  const maximumMessageSize = messageSizeOf(found.success)
  known.queues.set(queue, { _tag: "Present", counts: [...counts, count].slice(-keptCounts), maximumMessageSize })
})

const deleteQueue = Effect.fnUntraced(function* (
  { queues }: ActingServices,
  seen: SeenSplit,
  { name }: Act<"DeleteQueue">
): Effect.fn.Return<void, KubeError | QueueError> {
  const { url } = yield* recordOf(seen, name)
  yield* queues
    .delete(url)
    .pipe(Effect.catch((error) => (error.reason === "NoQueue" ? Effect.void : Effect.fail(error))))
  seen.known.queues.set(name, { _tag: "Absent" })
})

const forgetQueue = Effect.fnUntraced(function* (
  services: ActingServices,
  seen: SeenSplit,
  { name }: Act<"ForgetQueue">
): Effect.fn.Return<void, KubeError> {
  const { api, records } = services
  const { object } = yield* recordOf(seen, name)
  yield* api.delete(queueRecords, object).pipe(orReread(services, records, object))
  yield* records.reread(object)
})

const quiet = Effect.fnUntraced(function* (
  services: ActingServices,
  seen: SeenSplit,
  { at, name }: Act<"QuietQueue">
): Effect.fn.Return<void, KubeError> {
  const queue = yield* recordOf(seen, name)
  const { api, records } = services
  const write = api.mergePatch(queueRecords, queue.object, quietQueue(queue, at))
  records.wrote(yield* orReread(services, records, queue.object)(write))
})

/** A queue that a split sends messages to, or that a session leaves. `maximumMessageSize`: bytes, where it counts. */
const destination = (
  url: string,
  sessionKey?: string,
  maximumMessageSize: number = defaultMessageSize
): DestinationQueue => ({ url, isFifo: isFifoName(url), maximumMessageSize, sessionKey })

const drainQueue = Effect.fnUntraced(function* (
  { queues }: ActingServices,
  seen: SeenSplit,
  { queue: name, to }: Act<"DrainQueue">
): Effect.fn.Return<void, KubeError> {
  const { sessionKey, source, url } = yield* recordOf(seen, name)
  const target = to._tag === "Main" ? queueBeside(source.url, to.name) : to.source.url
  yield* seen.known.drains
    .start({ name, from: destination(url, sessionKey), to, target: destination(target) })
    .pipe(Effect.provideService(MessageQueues, queues))
})

/** The sessions of a table with their filters: once for each id whose filter chooses messages. */
const queueSessions = (
  { addsSessionKey }: ActingServices,
  { known, sessions }: SeenSplit,
  resolved: ResolvedSplit,
  { routes, source }: ForwardingTable
): ReadonlyArray<QueueSession> =>
  routes.flatMap(({ id, ids, mode, queue, startedAt, uid }) => {
    const session = sessions.find(({ wanted }) => wanted.uid === uid)
    const filters = session && Result.getOrUndefined(filtersOf(resolved, session))
    if (session === undefined || filters === undefined) return []
    const total = userTotal(known.totals.of(source.url), session.owner)
    const url = queue.includes("/") ? queue : queueBeside(source.url, queue)
    const state = known.queues.get(queue)
    // A queue of another cluster may take less than the original, and a key must not cost a message.
    const read = state?._tag === "Present" ? state.maximumMessageSize : undefined
    const size = read ?? messageSizeOf(sourceIn(resolved, source)?.attributes)
    const to = destination(url, addsSessionKey ? session.sessionKey : undefined, size)
    return ids.flatMap((one) => {
      const filter = filters.get(one)
      return filter === undefined ? [] : [{ id, startedAt, mode, filter, queue: to, total }]
    })
  })

const startForwarding = Effect.fnUntraced(function* (
  services: ActingServices,
  seen: SeenSplit,
  { table }: Act<"StartForwarding">
): Effect.fn.Return<number | void, KubeError | QueueError> {
  const { name, url } = table.source
  const resolved = resolvedOf(seen.known)
  // Where all goes to the workload, nothing of the configuration is needed, which may have become useless.
  const { attributes, options } = sourceIn(resolved, table.source) ?? {}
  const hasBegun = yield* seen.known.forwarders
    .start({
      table,
      source: {
        url,
        isFifo: isFifoName(name),
        sns: options?.sns ?? false,
        jqLimit: options?.jqTimeLimitMillis ?? 0,
        s3Event: options?.s3Event ?? false
      },
      main: destination(queueBeside(url, table.main), undefined, messageSizeOf(attributes)),
      sessions: resolved === undefined ? [] : queueSessions(services, seen, resolved, table),
      totals: seen.known.totals.of(url)
    })
    .pipe(provideBrokers(services))
  // Its end, or that it goes by the table, is heard of.
  return hasBegun ? undefined : Infinity
})

/** New values of variables that name queues. `names`: of other queues, by the identities of the workload's. */
const updatesFor = Effect.fnUntraced(function* (
  { known }: SeenSplit,
  names: ReadonlyMap<string, string>
): Effect.fn.Return<StoredSession["updates"], QueueError> {
  const [operation, queue] = ["GetQueueAttributes", known.place.name]
  const resolved = resolvedOf(known)
  if (resolved === undefined) return yield* unresolved(operation, queue)
  // A configuration whose values cannot follow was refused before.
  return yield* Effect.fromResult(
    Result.mapError(
      updatesOf(resolved, (identity) => names.get(identity)),
      (detail) => new QueueError({ operation, queue, reason: "Invalid", detail })
    )
  )
})

const sessionUpdates = Effect.fnUntraced(function* (
  seen: SeenSplit,
  { container, wanted: { queues: wanted } }: StoredSession,
  { status }: Act<"WriteStatus">
): Effect.fn.Return<StoredSession["updates"], QueueError> {
  if (status.phase !== "resourcesReady" && status.phase !== "ready") return new Map()
  // The program has the variables of the default cluster.
  if (wanted._tag === "Given") return new Map()
  const names = new Map(status.resources.map(({ queue, source }) => [source.identity, queue]))
  const own = (yield* updatesFor(seen, names)).get(container)
  return own === undefined ? new Map() : new Map([[container, own]])
})

const writeSessionStatus = Effect.fnUntraced(function* (
  services: ActingServices,
  seen: SeenSplit,
  action: Act<"WriteStatus">
): Effect.fn.Return<void, KubeError | QueueError> {
  const session = seen.sessions.find(({ wanted }) => wanted.uid === action.uid)
  if (session === undefined) return
  const updates = yield* sessionUpdates(seen, session, action)
  const { api, events, sessionChanged, sessions: cache } = services
  const { metadata } = session
  const now = yield* Clock.currentTimeMillis
  const { name, resourceVersion } = metadata
  yield* writeStatus(
    { api, resource: splitSessions, cache, name },
    { metadata: { resourceVersion }, status: statusPatch(action.status, updates, now) }
  ).pipe(orReread(services, cache, name))
  const event = splitSessionEvent(action.status)
  if (event !== undefined) events.record(splitSessions, session, event)
  if (action.status.phase === "ready") yield* auditBegin(seen, session)
  sessionChanged(session.session)
})

const writeWebhook = Effect.fnUntraced(function* (
  services: ActingServices,
  seen: SeenSplit
): Effect.fn.Return<void, KubeError | QueueError> {
  const { queues, stored, webhook } = seen
  if (stored === undefined || webhook.wanted === undefined) return
  const wanted = yield* Effect.fromResult(webhook.wanted)
  const names = new Map(
    queues.flatMap(({ name, owner, source }) =>
      owner._tag === "Main" && owner.split === stored.record.uid ? [[source.identity, name] as const] : []
    )
  )
  if (stored.updates.size === 0) {
    const updates = yield* updatesFor(seen, names)
    yield* patchSplit(services, seen, (one) => withUpdates(one, updates))
  }
  yield* putWebhook(services.api, wanted)
})

/** The news of a split, about its workload. */
const report = ({ events }: ActingServices, { known, workload }: SeenSplit, { key, message }: Act<"Report">) =>
  Effect.suspend(() => {
    known.reported.add(key)
    const { namespace, name } = known.place
    if (workload !== undefined) {
      const kind = { ...kindAddress(known.place.kind), scope: "Namespaced", schema: Workload } as const
      events.record(kind, workload, { reason: "QueueSplitProblem", message })
    }
    return logWarning("split of queues", { namespace, workload: name, problem: message })
  })

/** The actions about queues, and the loops that move their messages. */
type QueueAction = Exclude<
  Performed,
  Act<
    | "RecordSplit"
    | "WriteRecord"
    | "DeleteRecord"
    | "WriteStatus"
    | "PutWebhook"
    | "RemoveWebhook"
    | "RestartWorkload"
    | "Report"
  >
>

const performAtQueues = (services: ActingServices, seen: SeenSplit, action: QueueAction): Performing => {
  const { known } = seen
  switch (action._tag) {
    case "RecordQueue":
      return recordQueue(services, seen, action)
    case "CreateQueue":
      return createQueue(services, seen, action)
    case "ReadQueue":
      return readQueue(services, seen, action)
    case "QuietQueue":
      return quiet(services, seen, action)
    case "DrainQueue":
      return drainQueue(services, seen, action)
    case "StopDrain":
      // The drain's end brings the next turn.
      return Effect.as(known.drains.stop(action.queue), Infinity)
    case "DeleteQueue":
      return deleteQueue(services, seen, action)
    case "ForgetQueue":
      return forgetQueue(services, seen, action)
    case "StartForwarding":
      return startForwarding(services, seen, action)
    case "StopForwarding":
      return Effect.sync(() => known.forwarders.stop(action.source.identity))
  }
}

const perform = (services: ActingServices, seen: SeenSplit, action: Performed): Performing => {
  switch (action._tag) {
    case "RecordSplit":
      return recordSplit(services, seen, action)
    case "WriteRecord":
      return patchSplit(services, seen, (stored) => changedSplit(stored, action.change))
    case "DeleteRecord":
      return deleteSplit(services, seen, action)
    case "WriteStatus":
      return writeSessionStatus(services, seen, action)
    case "PutWebhook":
      return writeWebhook(services, seen)
    case "RemoveWebhook":
      return removeWebhook(services.api, seen.webhook.name)
    case "RestartWorkload":
      return restartWorkload(services.api, seen.known.place, action)
    case "Report":
      return report(services, seen, action)
    default:
      return performAtQueues(services, seen, action)
  }
}

/** Whether the failure is the usual one of a cache that was behind, or of an operator that does not lead. */
const isUsual = ({ reason }: KubeError | QueueError): boolean => reason === "NotLeading" || reason === "Conflict"

/** The end of an action. `again`: it goes on, and is to be planned again then at the latest, epoch ms. */
export type Outcome = "Done" | "Failed" | "Conflict" | { readonly again: number }

/** Carries out an action, and remembers its failure until it succeeds. */
export const performSplitAction = (
  services: ActingServices,
  seen: SeenSplit,
  action: Performed
): Effect.Effect<Outcome> => {
  const { failures } = seen.known
  const key = actionKey(action)
  return perform(services, seen, action).pipe(
    Effect.matchEffect({
      onSuccess: (at) =>
        Effect.sync((): Outcome => {
          failures.delete(key)
          return typeof at === "number" ? { again: at } : "Done"
        }),
      onFailure: (error) =>
        isUsual(error)
          ? Effect.succeed<Outcome>("Conflict")
          : Effect.flatMap(Clock.currentTimeMillis, (now) => {
              const failure = splitFailure(error, now)
              failures.set(key, failure)
              const { name, namespace } = seen.known.place
              return Effect.as(
                logWarning("split of queues", { namespace, workload: name, action: key, problem: failure.message }),
                "Failed" as Outcome
              )
            })
    })
  )
}
