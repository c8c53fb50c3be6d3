/**
 * Takes a connect request through the operator: reads it, authorizes it, admits it, and hands it to the capability that
 * serves it. Knows the routes of sessions, but no sort of session.
 */

import { type Clock, Effect, Result } from "effect"
import { withSplits } from "../../domain/copies/copy-splits.ts"
import type { Role } from "../../domain/fleet/roles.ts"
import { operatorGroup } from "../../domain/resources/operator-api.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { type ConnectParams, ignoredParameters, parseConnectQuery } from "../../domain/sessions/connect-request.ts"
import { connectRoute, copyRoute, sessionName } from "../../domain/sessions/connect-route.ts"
import { boundedTexts } from "../../domain/sessions/connect-texts.ts"
import { parseSessionIdHeader, type SessionId } from "../../domain/sessions/session-id.ts"
import { unservedFeatures } from "../../domain/sessions/unserved-parameters.ts"
import { formatTargetPath, parseTargetName } from "../../domain/targets/target-path.ts"
import { needsCopy } from "../../domain/targets/target.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { type Deed, mayDo } from "../api/access-review.ts"
import type { Asker, ConnectRequest } from "../api/operator-facade.ts"
import { type ApiError, badRequest, forbidden, internalError, reconnectNotPossible } from "../api/status.ts"
import type { Branches } from "../branches/branches.ts"
import { counter, countOne } from "../kernel/metrics.ts"
import type { QueueSplits } from "../queues/queue-splits.ts"
import type { Capability, ConnectAttempt } from "../services/capability.ts"
import type { CopyTargets } from "../services/copy-targets.ts"
import type { ServedSession, ServedSessions, Sessions } from "../services/sessions.ts"
import type { NameMismatches } from "./name-mismatches.ts"
import type { SessionQuota } from "./session-quota.ts"
import type { UserSightings } from "./user-sightings.ts"

/** How long a connect waits for a starting operator to read its sessions. */
const patience = "8 seconds"

export interface Reception {
  readonly api: KubeApi
  readonly role: Role
  /** The user of a certificate. */
  readonly ownerOf: (request: Asker, certificate: string) => Effect.Effect<SessionOwner, ApiError>
  /** The host's clock, by which users are counted. */
  readonly wall: Clock.Clock
  readonly capabilities: ReadonlyArray<Capability>
  readonly sessions: Sessions["Service"]
  readonly branches: Branches["Service"]
  readonly splits: QueueSplits["Service"]
  readonly copies: CopyTargets["Service"]
  readonly quota: SessionQuota
  readonly users: UserSightings
  readonly names: NameMismatches
  /** The reasons why no session can be served now. */
  readonly problems: Effect.Effect<ReadonlyArray<string>>
}

type UserAttempt = Exclude<ConnectAttempt, { readonly _tag: "Child" }>

const connectTo = ({ isCopy, namespace, target }: ConnectRequest): Deed => ({
  group: operatorGroup,
  resource: isCopy === true ? "copytargets" : "targets",
  verb: "proxy",
  namespace,
  name: target
})

/**
 * Checks the right to connect. The API server has checked it only below the prefix `proxy/`; elsewhere it checked the
 * right to read the target, which is not enough.
 */
const authorized = Effect.fnUntraced(function* (api: KubeApi, request: ConnectRequest) {
  if (request.checked === "proxy" || (yield* mayDo(api, request.caller, connectTo(request)))) return
  const deed = connectTo(request)
  return yield* forbidden(
    `User ${request.caller.user} cannot proxy resource "${deed.resource}" in API group "${operatorGroup}" in ` +
      `the namespace "${request.namespace}"; ask an administrator for the role mirrord-operator-user there.`
  )
})

/** Waits shortly for a starting operator to be ready, then fails with its problems. */
export const usable = ({ capabilities, problems }: Reception): Effect.Effect<void, ApiError> =>
  Effect.forEach(capabilities, ({ started }) => started ?? Effect.void, { discard: true }).pipe(
    Effect.timeoutOption(patience),
    Effect.andThen(() => problems),
    Effect.flatMap((found) =>
      found.length === 0
        ? Effect.void
        : Effect.fail(
            internalError(`The operator cannot serve sessions now: ${found.join(" ")} Try again in a moment.`)
          )
    )
  )

/**
 * Refuses a certificate that is not accepted. A client keeps its certificate for a whole session, so nothing that it
 * tries again can help: one that comes back to a session of its user is told to give up (operator-api.md §8.8).
 */
const refuseCertificate = Effect.fnUntraced(function* (
  reception: Reception,
  request: ConnectRequest,
  id: SessionId,
  refusal: ApiError
) {
  // Waits until the sessions are read: their owners are not known before.
  yield* usable(reception)
  const isOwn = reception.sessions.served.some(
    ({ find, nameOf }) => find(nameOf(id))?.owner.k8sUsername === request.caller.user
  )
  return yield* isOwn ? reconnectNotPossible(refusal.message) : refusal
})

/** Refuses a workload of which a session needs a copy, before there is a session. The client asks for one by itself. */
const withoutCopy = ({ isCopy, target: name }: ConnectRequest): Effect.Effect<void, ApiError> => {
  const target = Result.getOrUndefined(parseTargetName(name))
  return isCopy === true || target === undefined || !needsCopy(target)
    ? Effect.void
    : badRequest(`A session with ${formatTargetPath(target)} needs a copy of it: set feature.copy_target.`)
}

/** The sort of a connect. Without a user certificate it is the link of a primary. */
const routeOf = (role: Role, request: ConnectRequest, params: ConnectParams): ConnectAttempt["_tag"] => {
  if (request.certificate === undefined) return "Child"
  return request.isCopy === true ? copyRoute(role) : connectRoute(role, request.target, params)
}

/** Refuses parameters that ask for what is not served. `mayNameQueues`: whether they may name queues at all. */
const refuseUnserved = (
  { branches, splits }: Reception,
  params: ConnectParams,
  route: ConnectAttempt["_tag"],
  mayNameQueues: boolean
): Effect.Effect<void, ApiError> => {
  const unserved = unservedFeatures(params, {
    branches: branches.areServed(route),
    sqs: mayNameQueues && splits.areServed(route),
    isLink: route === "Child"
  })
  return unserved.length > 0 ? Effect.fail(badRequest(unserved.join(" "))) : Effect.void
}

const unknownParametersCounter = counter("braid_unknown_connect_parameters_total", {})

const readAttempt = Effect.fnUntraced(function* (
  reception: Reception,
  asked: ConnectRequest
): Effect.fn.Return<ConnectAttempt, ApiError> {
  const { api, ownerOf, role } = reception
  const id = parseSessionIdHeader(asked.sessionId)
  if (Result.isFailure(id)) return yield* badRequest(id.failure.message)
  const bounded = yield* Effect.fromResult(Result.mapError(boundedTexts(asked), badRequest))
  yield* authorized(api, bounded)
  const params = parseConnectQuery(bounded.query)
  if (Result.isFailure(params)) return yield* badRequest(params.failure.map(({ message }) => message).join(" "))
  yield* withoutCopy(bounded)
  const route = routeOf(role, bounded, params.success)
  const ignored = ignoredParameters(params.success)
  if (ignored !== undefined) yield* countOne(unknownParametersCounter)
  // The queues of a copy are named by the request for the copy.
  yield* refuseUnserved(reception, params.success, route, bounded.isCopy !== true)
  const request = ignored === undefined ? bounded : { ...bounded, ignored }
  const attempt = { request, id: id.success, params: params.success }
  if (request.certificate === undefined || route === "Child") {
    if (request.isCopy === true)
      return yield* forbidden(
        "A copy target is connected to with a user certificate (header x-client-der), and the request has none; run " +
          "the command with mirrord's client, which gets one by itself."
      )
    return { _tag: "Child", ...attempt }
  }
  const owner = yield* ownerOf(request, request.certificate).pipe(
    Effect.catch((refusal) => refuseCertificate(reception, request, attempt.id, refusal))
  )
  return { _tag: route, ...attempt, owner }
})

/** The sessions of an attempt's sort. */
const sessionsLike = ({ sessions }: Reception, { id, _tag: route }: UserAttempt): ReadonlyArray<ServedSessions> =>
  sessions.served.filter(({ nameOf }) => nameOf(id) === sessionName(route, id))

/** The session of this id, if there is one. */
const begunSession = (reception: Reception, attempt: UserAttempt): ServedSession | undefined => {
  const name = sessionName(attempt._tag, attempt.id)
  return sessionsLike(reception, attempt)
    .map(({ find }) => find(name))
    .find((session) => session !== undefined)
}

/** Whether a session of this id was stopped; fails if that cannot be read. */
const wasStopped = Effect.fnUntraced(function* (reception: Reception, attempt: UserAttempt) {
  const session = sessionName(attempt._tag, attempt.id)
  for (const { stopped } of sessionsLike(reception, attempt)) {
    const isStopped = yield* Effect.mapError(stopped.has(session), ({ message }) =>
      internalError(`It is not known whether session ${session} was stopped: ${message}. Try again in a moment.`)
    )
    if (isStopped) return true
  }
  return false
})

/**
 * Counts a user's connection within the bounds. An id that belongs to no session begins one, unless its session was
 * stopped: the stopped session stays so.
 */
const counted = Effect.fnUntraced(function* (reception: Reception, attempt: UserAttempt) {
  const { names, quota, users, wall } = reception
  const { id, owner, request, _tag: route } = attempt
  const session = sessionName(route, id)
  const known = begunSession(reception, attempt)
  if (known !== undefined) yield* names.compare(session, known.owner, owner)
  else if (yield* wasStopped(reception, attempt))
    return yield* reconnectNotPossible(
      `Session ${session} has ended for good: a user stopped it, its longest time had passed, its target had no ` +
        "pods any more, or its client was told another reason; start a new one."
    )
  yield* quota.take({ session, user: request.caller.user }, owner.userId)
  users.saw(owner.userId, yield* wall.currentTimeMillis)
})

/** Whether a session has been, and so cannot begin again: it exists, or it was stopped. */
const hasBeen = (reception: Reception, attempt: UserAttempt): Effect.Effect<boolean, ApiError> =>
  begunSession(reception, attempt) !== undefined ? Effect.succeed(true) : wasStopped(reception, attempt)

/**
 * The attempt with the copy's pod as its target, if it is for a copy. A client that has a session already is told to
 * give up when its copy is gone; without a session it makes a new copy (operator-api.md §9.6).
 */
const onCopy = Effect.fnUntraced(function* (reception: Reception, attempt: ConnectAttempt) {
  const { copies } = reception
  const { request } = attempt
  if (request.isCopy !== true || attempt._tag === "Child") return attempt
  const session = begunSession(reception, attempt)
  const begun = session === undefined ? undefined : { target: session.audited.target }
  const { caller, namespace, target: name } = request
  const found = yield* Effect.result(copies.connect({ namespace, name, owner: attempt.owner, caller, begun }))
  if (Result.isFailure(found)) {
    const isOver = copies.areMade && found.failure.code === 404 && (yield* hasBeen(reception, attempt))
    return yield* isOver ? reconnectNotPossible(found.failure.message) : found.failure
  }
  const { splits, target, ...copy } = found.success
  const copyTarget = { ...copy, queuesOf: splits?.of }
  const params = splits === undefined ? attempt.params : withSplits(attempt.params, splits.params)
  // Splits may have been switched off since the copy was made.
  yield* refuseUnserved(reception, params, attempt._tag, true)
  return { ...attempt, params, request: { ...request, target, copyTarget } }
})

/** Completes when the session is usable. */
export const admitConnect = Effect.fnUntraced(function* (reception: Reception, request: ConnectRequest) {
  const { capabilities } = reception
  const asked = yield* readAttempt(reception, request)
  yield* usable(reception)
  const attempt = yield* onCopy(reception, asked)
  for (const { admit } of capabilities) if (admit !== undefined) yield* admit(attempt)
  if (attempt._tag !== "Child") yield* counted(reception, attempt)
  for (const { attach } of capabilities) {
    const attached = attach?.(attempt)
    if (attached !== undefined) return yield* attached
  }
  return yield* internalError("This operator serves no such session.")
})
