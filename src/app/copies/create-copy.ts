/**
 * Makes a copy of a target at a user's request: reads the target, creates the pod, and scales the workload down that it
 * replaces. Everything that can be refused is refused before a workload loses its pods.
 */

import { Clock, Effect, Random, Result } from "effect"
import { copiedPod, type CopyImage, copyName, jobSelector } from "../../domain/copies/copied-pod.ts"
import { copyTarget, sharedCopyTarget } from "../../domain/copies/copy-info.ts"
import { type CopyOrder, orderedSession } from "../../domain/copies/copy-order.ts"
import { copyAnnotation, type CopyRecord, copyRecord } from "../../domain/copies/copy-record.ts"
import { type CopyRequest, readCopyRequest } from "../../domain/copies/copy-request.ts"
import { copySource, replacedWorkload, type ScalableWorkload } from "../../domain/copies/copy-source.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import { asString, at, jsonEqual, type JsonObject } from "../../domain/json.ts"
import type { WantedSplit } from "../../domain/queues/wanted-split.ts"
import type { CopyTarget } from "../../domain/resources/copy-target.ts"
import { pods } from "../../domain/resources/core-kinds.ts"
import { isBeingDeleted } from "../../domain/resources/object-meta.ts"
import { operatorGroup } from "../../domain/resources/operator-api.ts"
import { explainFailure, type SessionFailure } from "../../domain/resources/session-failure.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { failureStatus } from "../../domain/sessions/failure-status.ts"
import { type SessionId, sessionId, sessionIdHex, sessionIdName } from "../../domain/sessions/session-id.ts"
import { defaultContainerAnnotation } from "../../domain/targets/container-choice.ts"
import { type ProtectedNamespaces, protectedTarget } from "../../domain/targets/protected-namespaces.ts"
import { targetFailure } from "../../domain/targets/target-errors.ts"
import { formatTargetName } from "../../domain/targets/target-path.ts"
import { kindAddress, type TargetKind } from "../../domain/targets/target.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { mayDo } from "../api/access-review.ts"
import { askedBy } from "../api/asked-by.ts"
import type { CopyTargetRequest } from "../api/operator-facade.ts"
import { ApiError, badRequest, forbidden, internalError } from "../api/status.ts"
import { audit } from "../kernel/audit.ts"
import type { InTurn } from "../kernel/keyed-mutex.ts"
import type { QueueSplits } from "../queues/queue-splits.ts"
import type { WantedCopy } from "../services/session-limits.ts"
import type { CopiedPods, Copy } from "./copied-pods.ts"
import type { InPlace } from "./copy-places.ts"
import type { ScaledDownWorkloads } from "./scaled-down-workloads.ts"
import { splitOfCopy } from "./split-of-copy.ts"

export interface CreateCopyOptions {
  /** The API with retries, since the user waits. */
  readonly awaited: KubeApi
  readonly copies: CopiedPods
  readonly protectedNamespaces: ProtectedNamespaces
  readonly image: CopyImage | undefined
  readonly inPlace: InPlace
  /** Requests of one name come one after the other. */
  readonly inTurn: InTurn
  /** Fails if mirrord policies forbid the copy. */
  readonly permitted: (copy: WantedCopy) => Effect.Effect<void, ApiError>
  readonly splits: QueueSplits["Service"]
}

/** One request for a copy, as far as it has been read. */
interface Wanted {
  readonly asked: CopyTargetRequest
  readonly owner: SessionOwner
  readonly request: CopyRequest
  /** Set if a primary has ordered the copy, for this owner. */
  readonly order: CopyOrder | undefined
  /** The split of queues that its sessions have; `undefined` if none. */
  readonly split: WantedSplit | undefined
}

const failWith = (failure: SessionFailure): ApiError => {
  const { code, message, reason } = failureStatus({ ...failure, message: explainFailure(undefined, failure) })
  return new ApiError({ code, reason, message })
}

/** Reads the target, or the workload that it refers to. */
const lookedUp = (
  { awaited }: CreateCopyOptions,
  { asked: { namespace }, request: { path, target } }: Wanted,
  kind: TargetKind,
  name: string
): Effect.Effect<KubeObject, ApiError> =>
  Effect.mapError(awaited.get({ ...kindAddress(kind), scope: "Namespaced" }, name, namespace), (error) => {
    if (error.reason === "NotFound")
      return failWith(
        targetFailure(
          kind === target.kind
            ? { _tag: "NoSuchTarget", target: path, namespace }
            : { _tag: "NoSuchReference", target: path, reference: `${kind}/${name}`, namespace }
        )
      )
    if (error.reason === "Forbidden")
      return failWith(targetFailure({ _tag: "Forbidden", target: path, detail: error.detail }))
    return internalError(`Looking up ${path} failed: ${error.detail}. Try again in a moment.`)
  })

/** The template of a copy, and the workload that it is to replace. */
interface Original {
  readonly template: JsonObject
  readonly selector: ReadonlyArray<string>
  readonly replaces: ScalableWorkload | undefined
}

const original = Effect.fnUntraced(function* (
  options: CreateCopyOptions,
  wanted: Wanted
): Effect.fn.Return<Original, ApiError> {
  const { path, scaleDown, target } = wanted.request
  const object = yield* lookedUp(options, wanted, target.kind, target.name)
  const source = yield* Effect.fromResult(Result.mapError(copySource(path, target.kind, object), badRequest))
  const replaces = scaleDown ? replacedWorkload(target, object) : undefined
  const selector = jobSelector(target.kind, object)
  if (source._tag === "Template") return { template: source.template, selector, replaces }
  const referred = yield* lookedUp(options, wanted, source.kind, source.name)
  const template = yield* Effect.fromResult(Result.mapError(copySource(path, "rollout", referred), badRequest))
  if (template._tag === "Template") return { template: template.template, selector, replaces }
  return yield* badRequest(
    `${path} cannot be copied: the ${source.kind} ${source.name} of its spec.workloadRef has no pod template. Name ` +
      "another target, or take feature.copy_target out."
  )
})

/**
 * The copy that the same user has asked for already: the answer was lost, or another process of theirs was faster. Its
 * workload may have its pods, because a process died before it took them: a second copy would leave the first running,
 * and Services send requests to both.
 */
const earlierCopy = (
  { copies }: CreateCopyOptions,
  { asked: { namespace }, order, owner, request }: Wanted,
  now: number
): Copy | undefined => {
  if (order !== undefined) {
    const copy = copies.find(namespace, copyName(request.target.name, sessionIdName(orderedSession(order))))
    return copy !== undefined && isOrdered(copy.record, order) ? copy : undefined
  }
  return !request.scaleDown
    ? undefined
    : copies
        .all()
        .find(
          (copy) =>
            copy.pod.metadata.namespace === namespace &&
            copy.record.primary === undefined &&
            copy.record.owner.userId === owner.userId &&
            jsonEqual(copy.record.spec, request.sent) &&
            copies.podState(copy, now).phase !== "Failed"
        )
}

/** Whether a copy was made by this order. */
const isOrdered = ({ owner, primary, session }: CopyRecord, order: CopyOrder): boolean =>
  primary === order.primary && session === order.session && owner.userId === order.owner.userId

/** A copy shows what its target has, so whoever may not connect to the target gets no copy of it. */
export const mayCopy = Effect.fnUntraced(function* (
  awaited: KubeApi,
  { caller, namespace }: Pick<CopyTargetRequest, "caller" | "namespace">,
  request: CopyRequest
): Effect.fn.Return<void, ApiError> {
  const name = formatTargetName({ ...request.target, container: undefined })
  const deed = { group: operatorGroup, resource: "targets", verb: "proxy", namespace, name }
  if (yield* mayDo(awaited, caller, deed)) return
  return yield* forbidden(
    `User ${caller.user} cannot proxy resource "targets" in API group "${operatorGroup}" in the namespace ` +
      `"${namespace}", and so gets no copy of ${request.path}; ask an administrator for the role ` +
      "mirrord-operator-user there."
  )
})

const allowed = (
  { awaited, protectedNamespaces }: CreateCopyOptions,
  { asked, request }: Wanted
): Effect.Effect<void, ApiError> => {
  const failure = protectedTarget(protectedNamespaces, asked.namespace, false)
  return failure === undefined
    ? mayCopy(awaited, asked, request)
    : Effect.fail(forbidden(explainFailure(undefined, failure)))
}

/** Random bits for a session's id, which is no secret: a session belongs to the user of its certificate. */
export const newSessionId: Effect.Effect<SessionId> = Effect.map(
  Effect.all([0, 1, 2, 3].map(() => Random.nextIntBetween(0, 65_535))),
  (parts) => sessionId(parts.reduce((id, part) => (id << 16n) | BigInt(part), 0n))
)

const refusedPod = (path: string, { detail, reason }: KubeError): ApiError => {
  const message = `The copy of ${path} cannot be made: ${detail}.`
  if (reason === "Forbidden") return forbidden(message)
  return reason === "Invalid" ? badRequest(message) : internalError(message)
}

const createPod = (
  { awaited, copies }: CreateCopyOptions,
  { asked: { namespace }, request: { path } }: Wanted,
  name: string,
  pod: JsonObject
): Effect.Effect<KubeObject, ApiError> =>
  awaited.create(pods, pod, namespace).pipe(
    // No other writer makes this name: the answer to our own first try was lost.
    Effect.catch((error) =>
      error.reason === "AlreadyExists" ? awaited.get(pods, name, namespace) : Effect.fail(error)
    ),
    Effect.mapError((error) => refusedPod(path, error)),
    Effect.filterOrFail(
      ({ metadata }) => !isBeingDeleted(metadata),
      () =>
        new ApiError({ code: 409, reason: "Conflict", message: `The copy ${name} of ${path} is ending. Try again.` })
    ),
    Effect.tap((made) => Effect.map(Clock.currentTimeMillis, (now) => copies.made(made, now)))
  )

/** Fails if another copy has the pods of the workload that a copy is to replace. `otherCopy`: looks for it. */
const unlessTaken = (
  { asked: { namespace }, request: { path } }: Wanted,
  workload: ScalableWorkload,
  copy: string,
  otherCopy: ScaledDownWorkloads["takenBy"]
): Effect.Effect<void, ApiError> =>
  otherCopy({ ...workload, namespace }, copy).pipe(
    Effect.mapError(({ detail }) => internalError(`${path} cannot be scaled down: ${detail}.`)),
    Effect.flatMap((other) =>
      other === undefined
        ? Effect.void
        : Effect.fail(
            new ApiError({
              code: 409,
              reason: "Conflict",
              message:
                `${workload.kind}/${workload.name} is scaled down already, for the copy ${other} of another session. ` +
                "Wait until that session has ended and its copy is gone, or take feature.copy_target.scale_down out."
            })
          )
    )
  )

/** Takes the pods from the workload that a copy replaces, unless it has none for this copy already. */
const takePods = (
  { copies }: CreateCopyOptions,
  wanted: Wanted,
  workload: ScalableWorkload,
  copy: string
): Effect.Effect<void, ApiError> => unlessTaken(wanted, workload, copy, copies.workloads.scaleDown)

/** An earlier copy once more. The process that made it may have ended before it took the workload's pods. */
const sameCopy = Effect.fnUntraced(function* (
  options: CreateCopyOptions,
  wanted: Wanted,
  copy: Copy
): Effect.fn.Return<CopyTarget, ApiError> {
  const { metadata } = copy.pod
  const { replaces } = copy.record
  // First, because an unused copy may end while the workload's pods are taken.
  options.copies.use(copy, yield* Clock.currentTimeMillis)
  if (replaces !== undefined) yield* takePods(options, wanted, replaces, metadata.name)
  const now = yield* Clock.currentTimeMillis
  const target = copyTarget(metadata, copy.record, options.copies.state(copy, now), now)
  return wanted.order === undefined ? sharedCopyTarget(target) : target
})

/** `id`: of the session that a copy was made for. `copy`: its name. `clusters`: those of a copy over many. */
export const auditCopied = (
  { asked, owner, request }: Omit<Wanted, "order" | "split">,
  id: SessionId,
  copy: string,
  clusters?: ReadonlyArray<ClusterName>
): Effect.Effect<void> =>
  audit({
    act: "copied",
    ...askedBy(asked, owner),
    session: sessionIdName(id),
    namespace: asked.namespace,
    target: formatTargetName(request.target),
    owner: owner.k8sUsername,
    ...(clusters && { clusters }),
    copy,
    scaleDown: request.scaleDown
  })

/** Refuses a split that is impossible in the container of the copy's sessions. */
const checkSplit = (
  { splits }: CreateCopyOptions,
  { order, split }: Wanted,
  pod: JsonObject
): Effect.Effect<unknown, ApiError> => {
  if (split === undefined) return Effect.void
  const container = asString(at(pod, "metadata", "annotations", defaultContainerAnnotation))
  const isShared = order !== undefined
  const wanted = { ...split, isShared, workload: { ...split.workload, container } }
  return isShared ? splits.checkOrdered(wanted) : splits.check(wanted)
}

/** Makes the copy of this name. `id`: of the session that it is made for. */
const makeCopy = Effect.fnUntraced(function* (
  options: CreateCopyOptions,
  wanted: Wanted,
  name: string,
  id: SessionId
): Effect.fn.Return<CopyTarget, ApiError> {
  const { asked, order, owner, request } = wanted
  const { namespace } = asked
  const { replaces, selector, template } = yield* original(options, wanted)
  const record = {
    owner,
    session: sessionIdHex(id),
    ...(order === undefined ? {} : { primary: order.primary }),
    ...(replaces === undefined ? {} : { replaces })
  }
  const { awaited, copies, image } = options
  // Before the pod is made: a session could begin on a pod that has to go at once.
  if (replaces !== undefined) yield* unlessTaken(wanted, replaces, name, copies.workloads.takenBy)
  const pod = yield* Effect.fromResult(
    Result.mapError(copiedPod({ name, namespace, request, template, selector, record, image }), badRequest)
  )
  yield* checkSplit(options, wanted, pod)
  const made = yield* createPod(options, wanted, name, pod)
  const kept = copyRecord(made.metadata)
  if (kept === undefined)
    return yield* internalError(
      `The copy ${name} has lost its annotation ${copyAnnotation} to a webhook of the cluster; ask an administrator ` +
        "to have the webhook keep it."
    )
  if (kept.owner.userId !== owner.userId)
    return yield* internalError(`There is a copy ${name} of another user already. Try again.`)
  if (replaces !== undefined)
    yield* Effect.tapError(takePods(options, wanted, replaces, name), () =>
      Effect.ignore(awaited.delete(pods, name, { namespace }))
    )
  yield* auditCopied(wanted, id, name)
  return copyTarget(made.metadata, kept, { phase: "InProgress" }, yield* Clock.currentTimeMillis)
})

const newCopy = Effect.fnUntraced(function* (
  options: CreateCopyOptions,
  wanted: Wanted
): Effect.fn.Return<CopyTarget, ApiError> {
  const { asked, order, owner, request } = wanted
  const id = order === undefined ? yield* newSessionId : orderedSession(order)
  const name = copyName(request.target.name, sessionIdName(id))
  const copy = { namespace: asked.namespace, name, user: owner.k8sUsername }
  const there = () =>
    options.copies.all().map(({ pod: { metadata }, record }) => ({
      namespace: String(metadata.namespace),
      name: metadata.name,
      user: record.owner.k8sUsername
    }))
  return yield* options.inPlace({ copy, there }, makeCopy(options, wanted, name, id))
})

const createWanted = Effect.fnUntraced(function* (
  options: CreateCopyOptions,
  wanted: Wanted
): Effect.fn.Return<CopyTarget, ApiError> {
  const { asked, request } = wanted
  yield* allowed(options, wanted)
  yield* options.permitted({ namespace: asked.namespace, ...request })
  const earlier = earlierCopy(options, wanted, yield* Clock.currentTimeMillis)
  return yield* earlier === undefined ? newCopy(options, wanted) : sameCopy(options, wanted, earlier)
})

/** Of requests at once for copies that replace one workload, each sees what the one before it has made. */
export const inItsTurn = <A>(
  inTurn: InTurn,
  { body, namespace }: CopyTargetRequest,
  make: (request: CopyRequest) => Effect.Effect<A, ApiError>
): Effect.Effect<A, ApiError> =>
  Effect.flatMap(Effect.fromResult(Result.mapError(readCopyRequest(body), badRequest)), (request) =>
    request.scaleDown ? inTurn(`${namespace}/${request.path}`, make(request)) : make(request)
  )

/** Makes the copy, which is on its way then. `order`: of the primary that asks, for this owner. */
export const createCopy = (
  options: CreateCopyOptions,
  asked: CopyTargetRequest,
  owner: SessionOwner,
  order?: CopyOrder
): Effect.Effect<CopyTarget, ApiError> =>
  inItsTurn(options.inTurn, asked, (request) =>
    Effect.flatMap(
      splitOfCopy(options.splits, order === undefined ? "SingleCluster" : "Child", asked.namespace, request),
      (split) => createWanted(options, { asked, owner, request, order, split })
    )
  )
