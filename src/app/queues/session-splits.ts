/**
 * The questions of sessions about splits: whether one is possible, to have one, and how far it is.
 *
 * Not here: carrying splits on (split-controller.ts).
 */

import { Effect, Result } from "effect"
import { quoted } from "../../domain/clean-text.ts"
import type { SplitObjects } from "../../domain/queues/chosen-configuration.ts"
import {
  queueSplitObject,
  queueSplitStatus,
  type ServedQueueSplit,
  type ShownSplit
} from "../../domain/queues/queue-split-object.ts"
import { splitKey } from "../../domain/queues/split-place.ts"
import type { SplitState } from "../../domain/queues/split-state.ts"
import { givenQueues, hasMadeQueues } from "../../domain/queues/split-wish.ts"
import { sqsSession, sqsStatus } from "../../domain/queues/sqs-session.ts"
import {
  newSessionObject,
  splitSessionName,
  splitSessions,
  type StoredSession
} from "../../domain/queues/stored-session.ts"
import type { StoredSplit } from "../../domain/queues/stored-split.ts"
import type { NamedWorkload, WantedSplit } from "../../domain/queues/wanted-split.ts"
import { mirrordClusterSessions, type MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import { timeOf } from "../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../domain/resources/resource-descriptor.ts"
import { asksForSplit, splitsQueues } from "../../domain/sessions/names.ts"
import { met, type Requirement } from "../../domain/sessions/requirement.ts"
import { kindAddress } from "../../domain/targets/target.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import type { QueueError } from "../../ports/message-queues.ts"
import { ApiError, internalError, notFound } from "../api/status.ts"
import { cureOf } from "../kernel/kube-cure.ts"
import { logWarning } from "../kernel/log.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { checkSplit } from "./check-split.ts"
import type { ChildSplitState } from "./child-splits.ts"
import type { ConfigurationArrivals } from "./configuration-arrivals.ts"
import type { QueueSplits } from "./queue-splits.ts"
import { containerOf, readTemplate, type ResolveServices } from "./resolve-split.ts"
import type { Splits } from "./split-controller.ts"
import type { SplitRefused } from "./split-refused.ts"

export interface SessionSplitsOptions {
  /** The API for calls that a client waits for. */
  readonly awaited: KubeApi
  readonly resolving: ResolveServices
  readonly objects: (namespace: string) => SplitObjects
  readonly arrivals: ConfigurationArrivals
  readonly splits: Splits
  readonly areServed: QueueSplits["Service"]["areServed"]
  /** How the split of a primary's child stands that has no part yet; `undefined` for other sessions. */
  readonly ofChild: (session: string) => ChildSplitState | undefined
}

const refusal = ({ code, why }: Pick<SplitRefused, "code" | "why">): ApiError =>
  code === 404
    ? notFound(why)
    : new ApiError({ code, reason: code === 500 ? "InternalError" : "BadRequest", message: why })

const notNow = (error: KubeError | QueueError): ApiError =>
  internalError(`The queues cannot be looked up: ${error.message}. Try again in a moment.`)

const readWorkload = (
  { awaited }: SessionSplitsOptions,
  { kind, name, namespace }: NamedWorkload
): Effect.Effect<KubeObject, ApiError> =>
  awaited
    .get({ ...kindAddress(kind), scope: "Namespaced" }, name, namespace)
    .pipe(
      Effect.mapError((error) =>
        error.reason === "NotFound"
          ? notFound(`There is no ${kindAddress(kind).kind} ${quoted(name)} in the namespace ${namespace}.`)
          : notNow(error)
      )
    )

/** The place where a user of a primary finds out why this cluster lacks a configuration. */
const copiesHint =
  "Those of the primary are copied here: if it has one, its Events there say why there is no copy (kubectl describe)."

const look = (
  { objects, resolving }: SessionSplitsOptions,
  wanted: WantedSplit,
  workload: KubeObject
): Effect.Effect<Result.Result<boolean, SplitRefused>, ApiError> =>
  Effect.mapError(
    Effect.suspend(() => checkSplit(resolving, wanted, workload, objects(wanted.workload.namespace))),
    notNow
  )

const answerOf = (
  { isShared }: WantedSplit,
  found: Result.Result<boolean, SplitRefused>
): Effect.Effect<boolean, ApiError> => {
  const refused = ({ code, isUnconfigured, why }: SplitRefused): ApiError =>
    refusal({ code, why: isUnconfigured === true && isShared ? `${why} ${copiesHint}` : why })
  return Effect.fromResult(Result.mapError(found, refused))
}

const check = Effect.fnUntraced(function* (
  options: SessionSplitsOptions,
  wanted: WantedSplit
): Effect.fn.Return<boolean, ApiError> {
  const workload = yield* readWorkload(options, wanted.workload)
  return yield* answerOf(wanted, yield* look(options, wanted, workload))
})

const isConfigured = (found: Result.Result<boolean, SplitRefused>): boolean =>
  Result.isSuccess(found) || found.failure.isUnconfigured !== true

const checkOrdered = Effect.fnUntraced(function* (
  options: SessionSplitsOptions,
  wanted: WantedSplit
): Effect.fn.Return<boolean, ApiError> {
  const workload = yield* readWorkload(options, wanted.workload)
  const { namespace } = wanted.workload
  return yield* answerOf(
    wanted,
    yield* options.arrivals.until(namespace, look(options, wanted, workload), isConfigured)
  )
})

const order = Effect.fnUntraced(function* (
  options: SessionSplitsOptions,
  session: MirrordClusterSession,
  wanted: WantedSplit
): Effect.fn.Return<void, ApiError> {
  const { awaited, resolving, splits } = options
  const { container: named, kind, name, namespace } = wanted.workload
  const place = { kind, name, namespace }
  const workload = yield* readWorkload(options, wanted.workload)
  const template = yield* Effect.mapError(readTemplate(resolving, wanted.workload, workload), (error) =>
    error._tag === "SplitRefused" ? refusal(error) : notNow(error)
  )
  const { metadata } = session
  const object = newSessionObject({
    name: splitSessionName(metadata.name, place, sha256Hex),
    place,
    container: containerOf(template ?? {}, named),
    wanted,
    owner: session.spec.owner,
    session: { apiVersion: apiVersionOf(mirrordClusterSessions), kind: mirrordClusterSessions.kind, metadata },
    startedAt: wanted.startedAt ?? timeOf(metadata.creationTimestamp) ?? 0
  })
  yield* awaited.create(splitSessions, object).pipe(
    Effect.map(splits.ordered),
    Effect.catch((error) =>
      error.reason === "AlreadyExists"
        ? Effect.void
        : Effect.fail(internalError(`The split of queues cannot be ordered: ${error.detail}. ${cureOf(error)}`))
    )
  )
})

const pending = (message: string): Requirement => ({ _tag: "Pending", message, comesFirst: true })

const requirementOf = (found: StoredSession): Requirement => {
  const { failure, wanted } = found
  if (failure !== undefined)
    return {
      _tag: "Failed",
      failure: { reason: "QueuesNotSplit", message: failure.message, code: failure.code },
      comesFirst: true
    }
  switch (wanted.phase) {
    case "ready":
      return met
    case "resourcesReady":
      return pending("The target's pods get the names of temporary queues.")
    default:
      return pending("The temporary queues of the session are being made.")
  }
}

/** Whether other clusters wait for the queues of a child, which are not named on it yet. */
const isUntold = ({ metadata }: MirrordClusterSession): boolean =>
  asksForSplit(metadata) && givenQueues(metadata) === undefined && !hasMadeQueues(metadata)

const beingTold = pending("The primary has not learned yet which queues were made.")
const beingSplit = pending("The queues of its target are being split.")

const ofChildRequirement = (state: ChildSplitState): Requirement => {
  switch (state._tag) {
    case "None":
      return met
    case "Pending":
      return beingSplit
    case "Refused": {
      const { code, message } = state
      return { _tag: "Failed", failure: { reason: "QueuesNotSplit", message, code }, comesFirst: true }
    }
  }
}

/** Logs once about each object that lists leave out. `told`: those that were logged. */
const tellUnreadable = (splits: Splits, told: WeakSet<KubeObject>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const untold = splits.unreadable().filter(([object]) => !told.has(object))
    return Effect.forEach(
      untold,
      ([object, problem]) => {
        told.add(object)
        return logWarning("part of a session in a split is left out", { name: object.metadata.name, problem })
      },
      { discard: true }
    )
  })

const shownSplit = (splits: Splits, session: StoredSession, split: StoredSplit | undefined): ShownSplit => ({
  session,
  split,
  pods: splits.pods(session.place),
  requirement: requirementOf(session)
})

/** How a part stands, for the primary of its session. */
export const splitState = (splits: Splits, session: StoredSession): SplitState => {
  const split = splits.splits().find(({ place }) => splitKey(place) === splitKey(session.place))
  return { split: queueSplitStatus(shownSplit(splits, session, split)), sqs: sqsStatus(session) }
}

/** The parts of sessions by their namespaces and names. */
const queueSplitObjects = (splits: Splits, namespace: string | undefined): ReadonlyArray<ServedQueueSplit> => {
  const stored = new Map(splits.splits().map((split) => [splitKey(split.place), split]))
  return splits
    .sessions()
    .filter(({ place }) => namespace === undefined || place.namespace === namespace)
    .map((session) => queueSplitObject(shownSplit(splits, session, stored.get(splitKey(session.place)))))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
}

/** The splits of this cluster for its sessions. */
export const sessionSplits = (options: SessionSplitsOptions): QueueSplits["Service"] => {
  const { areServed, splits } = options
  const told = new WeakSet<KubeObject>()
  const partOf = (session: string): StoredSession | undefined =>
    splits.sessions().find((part) => part.session === session)
  return {
    areServed,
    check: (wanted) => check(options, wanted),
    checkOrdered: (wanted) => checkOrdered(options, wanted),
    order: (session, wanted) => order(options, session, wanted),
    requirement: (session) => {
      const { metadata } = session
      const part = partOf(metadata.name)
      const ofChild = options.ofChild(metadata.name)
      if (part === undefined && ofChild === undefined)
        return splitsQueues(metadata) || asksForSplit(metadata) ? beingSplit : met
      const found = part === undefined ? ofChildRequirement(ofChild ?? { _tag: "Pending" }) : requirementOf(part)
      return found._tag === "Met" && isUntold(session) ? beingTold : found
    },
    variables: (session) => {
      const found = partOf(session)
      return found?.updates.get(found.container) ?? new Map()
    },
    shown: () =>
      new Map(
        splits.sessions().flatMap((part) => {
          const sqs = sqsSession(part)
          return sqs === undefined ? [] : [[part.session, sqs] as const]
        })
      ),
    objects: (namespace) => Effect.map(tellUnreadable(splits, told), () => queueSplitObjects(splits, namespace))
  }
}
