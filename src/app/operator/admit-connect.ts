/**
 * Takes a connect request through the operator: reads it, authorizes it, admits it, and hands it to the capability that
 * serves it. Knows the routes of sessions, but no sort of session.
 */

import { type Clock, Effect, Result, type Scope } from "effect"
import type { UserAuthority } from "../../adapters/x509/user-certificates.ts"
import type { Role } from "../../domain/fleet/roles.ts"
import { operatorGroup } from "../../domain/resources/operator-api.ts"
import { type ConnectParams, ignoredParameters, parseConnectQuery } from "../../domain/sessions/connect-request.ts"
import { connectRoute, copyRoute, sessionName } from "../../domain/sessions/connect-route.ts"
import { boundedTexts } from "../../domain/sessions/connect-texts.ts"
import { parseSessionIdHeader, type SessionId } from "../../domain/sessions/session-id.ts"
import { unservedFeatures } from "../../domain/sessions/unserved-parameters.ts"
import { formatTargetPath, parseTargetName } from "../../domain/targets/target-path.ts"
import { needsCopy } from "../../domain/targets/target.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { type Deed, mayDo } from "../api/access-review.ts"
import type { Capability, ConnectAttempt, CopyTargets, ServedSession } from "../api/capability.ts"
import type { AcceptedConnection, ConnectRequest } from "../api/operator-facade.ts"
import { type ApiError, badRequest, forbidden, internalError, notFound, reconnectNotPossible } from "../api/status.ts"
import { ownerOf } from "../certificates/user-identity.ts"
import { counter, countOne } from "../kernel/metrics.ts"
import type { NameMismatches } from "./name-mismatches.ts"
import type { SessionQuota } from "./session-quota.ts"
import type { UserSightings } from "./user-sightings.ts"

/** How long a connect waits for a starting operator to read its sessions. */
const patience = "8 seconds"

export interface Reception {
  readonly api: KubeApi
  readonly role: Role
  readonly authority: UserAuthority
  /** The host's clock, by which certificates are judged. */
  readonly wall: Clock.Clock
  readonly capabilities: ReadonlyArray<Capability>
  readonly quota: SessionQuota
  readonly users: UserSightings
  readonly names: NameMismatches
  /** The reasons why no session can be served now. */
  readonly problems: Effect.Effect<ReadonlyArray<string>>
}

/** The copies of targets that this operator serves. */
export const copyTargetsOf = (capabilities: ReadonlyArray<Capability>): CopyTargets | undefined =>
  capabilities.find(({ copyTargets }) => copyTargets !== undefined)?.copyTargets

/** The answer to a user who asks for a copy where targets are not copied. */
export const noCopies = (): ApiError =>
  notFound(
    "This operator makes no copies of targets: its administrator has switched them off " +
      "(operator.copyTarget.enabled); leave feature.copy_target out, or ask for the value."
  )

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
const authorized = (api: KubeApi, request: ConnectRequest): Effect.Effect<void, ApiError> =>
  Effect.gen(function* () {
    if (request.checked === "proxy" || (yield* mayDo(api, request.caller, connectTo(request)))) return
    const deed = connectTo(request)
    return yield* forbidden(
      `User ${request.caller.user} cannot proxy resource "${deed.resource}" in API group "${operatorGroup}" in ` +
        `the namespace "${request.namespace}".`
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
const refuseCertificate = (
  reception: Reception,
  request: ConnectRequest,
  id: SessionId,
  refusal: ApiError
): Effect.Effect<never, ApiError> =>
  Effect.gen(function* () {
    // Before its sessions are read the operator knows nobody's.
    yield* usable(reception)
    const isOwn = reception.capabilities.some(
      ({ sessions }) => sessions?.find(sessions.nameOf(id))?.owner.k8sUsername === request.caller.user
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

const unknownParametersCounter = counter("braid_unknown_connect_parameters_total", {})

const readAttempt = (reception: Reception, asked: ConnectRequest): Effect.Effect<ConnectAttempt, ApiError> =>
  Effect.gen(function* () {
    const { api, authority, capabilities, role, wall } = reception
    const id = parseSessionIdHeader(asked.sessionId)
    if (Result.isFailure(id)) return yield* badRequest(id.failure.message)
    const bounded = yield* Effect.fromResult(Result.mapError(boundedTexts(asked), badRequest))
    yield* authorized(api, bounded)
    const params = parseConnectQuery(bounded.query)
    if (Result.isFailure(params)) return yield* badRequest(params.failure.map(({ message }) => message).join(" "))
    yield* withoutCopy(bounded)
    const route = routeOf(role, bounded, params.success)
    const branches = capabilities.some(({ servesBranches }) => servesBranches?.(route) === true)
    const ignored = ignoredParameters(params.success)
    if (ignored !== undefined) yield* countOne(unknownParametersCounter)
    const unserved = unservedFeatures(params.success, { branches })
    if (unserved.length > 0) return yield* badRequest(unserved.join(" "))
    const request = ignored === undefined ? bounded : { ...bounded, ignored }
    const attempt = { request, id: id.success, params: params.success }
    if (request.certificate === undefined || route === "Child") {
      if (request.isCopy === true) return yield* forbidden("A copy target is connected to with a user certificate.")
      return { _tag: "Child", ...attempt }
    }
    const owner = yield* ownerOf(authority, wall, request, request.certificate).pipe(
      Effect.catch((refusal) => refuseCertificate(reception, request, attempt.id, refusal))
    )
    return { _tag: route, ...attempt, owner }
  })

/**
 * Counts a user's connection within the bounds. An id that belongs to no session begins one, unless its session was
 * stopped: that one stays stopped.
 */
const counted = (
  { capabilities, names, quota, users, wall }: Reception,
  { id, owner, request, _tag: route }: UserAttempt
): Effect.Effect<void, ApiError, Scope.Scope> =>
  Effect.gen(function* () {
    const session = sessionName(route, id)
    for (const { sessions } of capabilities) {
      if (sessions?.nameOf(id) !== session) continue
      const known = sessions.find(session)
      if (known !== undefined) {
        yield* names.compare(session, known.owner, owner)
        continue
      }
      const isStopped = yield* Effect.mapError(sessions.stopped.has(session), ({ message }) =>
        internalError(`It is not known whether session ${session} was stopped: ${message}. Try again in a moment.`)
      )
      if (isStopped)
        return yield* reconnectNotPossible(
          `Session ${session} was stopped, by a user, at the end of the longest time allowed, or as its target had ` +
            "no pods any more; start a new one."
        )
    }
    yield* quota.take({ session, user: request.caller.user }, owner.userId)
    users.saw(owner.userId, yield* wall.currentTimeMillis)
  })

/** The session of this id, if there is one. */
const begunSession = ({ capabilities }: Reception, { id, _tag: route }: UserAttempt): ServedSession | undefined => {
  const name = sessionName(route, id)
  return capabilities
    .map(({ sessions }) => (sessions?.nameOf(id) === name ? sessions.find(name) : undefined))
    .find((session) => session !== undefined)
}

/** Whether a session has been, and so cannot begin anew: it exists, or it was stopped. */
const hasBeen = (reception: Reception, attempt: UserAttempt): Effect.Effect<boolean, ApiError> =>
  Effect.gen(function* () {
    const { id, _tag: route } = attempt
    const session = sessionName(route, id)
    if (begunSession(reception, attempt) !== undefined) return true
    for (const { sessions } of reception.capabilities) {
      if (sessions?.nameOf(id) !== session) continue
      const isStopped = yield* Effect.mapError(sessions.stopped.has(session), ({ message }) =>
        internalError(`It is not known whether session ${session} was stopped: ${message}. Try again in a moment.`)
      )
      if (isStopped) return true
    }
    return false
  })

/**
 * The attempt with the copy's pod as its target, if it is for a copy. A client that has a session already is told to
 * give up when its copy is gone; without a session it makes a new copy (operator-api.md §9.6).
 */
const onCopy = (reception: Reception, attempt: ConnectAttempt): Effect.Effect<ConnectAttempt, ApiError> =>
  Effect.gen(function* () {
    const { request } = attempt
    if (request.isCopy !== true || attempt._tag === "Child") return attempt
    const copies = copyTargetsOf(reception.capabilities)
    if (copies === undefined) return yield* noCopies()
    const session = begunSession(reception, attempt)
    const begun = session === undefined ? undefined : { target: session.audited.target }
    const { caller, namespace, target: name } = request
    const found = yield* Effect.result(copies.connect({ namespace, name, owner: attempt.owner, caller, begun }))
    if (Result.isFailure(found)) {
      const isOver = found.failure.code === 404 && (yield* hasBeen(reception, attempt))
      return yield* isOver ? reconnectNotPossible(found.failure.message) : found.failure
    }
    const { target, ...copyTarget } = found.success
    return { ...attempt, request: { ...request, target, copyTarget } }
  })

/** Completes when the session is usable. */
export const admitConnect = (
  reception: Reception,
  request: ConnectRequest
): Effect.Effect<AcceptedConnection, ApiError, Scope.Scope> =>
  Effect.gen(function* () {
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
