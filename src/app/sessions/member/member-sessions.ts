/**
 * Sessions with agents in this cluster, as clients see them: children of a primary's session, and sessions of users who
 * connect here directly. Checks what a client may do; `client-attachment.ts` attaches it.
 */

import { Cause, Effect, Exit, Option, Result, type Scope } from "effect"
import type { StolenPort } from "../../../domain/relay/port-locks.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession,
  type MirrordClusterSessionSpec
} from "../../../domain/resources/mirrord-cluster-session.ts"
import { apiVersionOf } from "../../../domain/resources/resource-descriptor.ts"
import type { SessionOwner } from "../../../domain/resources/session-shapes.ts"
import { parentNameOf } from "../../../domain/sessions/child-owner.ts"
import { type ConnectParams, parseConnectQuery } from "../../../domain/sessions/connect-request.ts"
import {
  ownerLabel,
  parentName,
  splitsQueuesAnnotation,
  traceparentAnnotation
} from "../../../domain/sessions/names.ts"
import { type SessionId, sessionIdName } from "../../../domain/sessions/session-id.ts"
import { sessionSpec } from "../../../domain/sessions/session-spec.ts"
import { fromKubeTarget, isSameTarget } from "../../../domain/targets/kube-target.ts"
import { traceparentOf } from "../../../domain/tracing/traceparent.ts"
import { Agents } from "../../../ports/agents.ts"
import { mayDriveSessions } from "../../api/access-review.ts"
import { askedBy } from "../../api/asked-by.ts"
import type { AcceptedConnection, ConnectRequest } from "../../api/operator-facade.ts"
import { type ApiError, badRequest, forbidden, internalError, ofAnotherTarget } from "../../api/status.ts"
import { audit, auditedChild } from "../../kernel/audit.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { cureOf } from "../../kernel/kube-cure.ts"
import { retryingApi } from "../../kernel/retrying-api.ts"
import { CurrentTracing, currentTraceparent, traced } from "../../kernel/tracing.ts"
import { type ClientIdentity, clientIdentity, makeSessionLockTable } from "../../relay/session-locks.ts"
import { makeAgentLockTable } from "./agent-lock-table.ts"
import { attachClient, type MemberSessionsOptions, type MemberSessionsState, notInTime } from "./client-attachment.ts"
import { makeLinkTerms } from "./link-terms.ts"
import { makeNewSessions, type SessionClients } from "./new-sessions.ts"
import { mayBeginSplit } from "./use-splits.ts"

export type { MemberSessionsOptions } from "./client-attachment.ts"

export interface MemberSessions {
  /** Attaches to the child of a primary's session, which must exist already or come soon; creates none. */
  readonly attachChild: (
    request: ConnectRequest,
    id: SessionId
  ) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
  /** Attaches to a user's own session here, which the first connect creates. */
  readonly attachUser: (
    request: ConnectRequest,
    id: SessionId,
    owner: SessionOwner,
    params: ConnectParams
  ) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
  /** The ports that a user's own session steals. */
  readonly ports: (session: string) => ReadonlyArray<StolenPort>
}

const identityOf = ({ clientHostname, clientName }: ConnectRequest): ClientIdentity =>
  clientIdentity(clientName, clientHostname)

/** The child of a primary's session, found by the name of its parent. */
const findChild = ({ controller }: MemberSessionsOptions, parent: string): MirrordClusterSession | undefined => {
  const child = controller.sessions.all().find((object) => parentNameOf(object) === parent)
  return child === undefined ? undefined : controller.session(child.metadata.name)
}

const attachChild = Effect.fnUntraced(function* (
  state: MemberSessionsState,
  request: ConnectRequest,
  id: SessionId
): Effect.fn.Return<AcceptedConnection, ApiError, Scope.Scope> {
  if (!(yield* mayDriveSessions(state.retryingApi, request.caller))) {
    return yield* forbidden(
      `User ${request.caller.user} connects without a user certificate (header x-client-der), which only ` +
        "the operator of a primary cluster may: one that may create mirrordclustersessions here."
    )
  }
  const parent = parentName(id)
  const params = parseConnectQuery(request.query)
  if (Result.isFailure(params)) return yield* badRequest(params.failure.map(({ message }) => message).join(" "))
  return yield* attachClient(state, {
    key: parent,
    find: () => findChild(state.options, parent),
    title: `The session of ${parent}`,
    isUser: false,
    identity: identityOf(request),
    params: params.success,
    id,
    asked: askedBy(request),
    term: request.term
  })
})

/** Creates a user's own session. */
const createSession = (
  { retryingApi }: MemberSessionsState,
  { isSplit, name }: { readonly isSplit: boolean; readonly name: string },
  spec: MirrordClusterSessionSpec,
  asked: ReturnType<typeof askedBy>
): Effect.Effect<void, ApiError> => {
  const session = (traceparent: string | undefined) => ({
    apiVersion: apiVersionOf(mirrordClusterSessions),
    kind: mirrordClusterSessions.kind,
    metadata: {
      name,
      labels: ownerLabel,
      annotations: {
        ...(traceparent === undefined ? {} : { [traceparentAnnotation]: traceparent }),
        ...(isSplit ? splitsQueuesAnnotation : {})
      }
    },
    spec
  })
  return currentTraceparent.pipe(
    Effect.flatMap((traceparent) => retryingApi.create(mirrordClusterSessions, session(traceparent))),
    Effect.andThen(audit({ act: "created", ...asked, ...auditedChild(name, spec) })),
    Effect.catch((error) =>
      error.reason === "AlreadyExists"
        ? Effect.void
        : Effect.fail(internalError(`The session cannot be created: ${error.detail}. ${cureOf(error)}`))
    )
  )
}

/** A user's request for a session of their own here. */
interface OwnSessionRequest {
  readonly request: ConnectRequest
  readonly id: SessionId
  readonly name: string
  readonly owner: SessionOwner
  readonly params: ConnectParams
}

/**
 * Checks that the request comes from the session's own user and names its target. The API server has checked the URL
 * alone.
 */
const checkRequest = (
  { name, owner, request }: OwnSessionRequest,
  wanted: MirrordClusterSessionSpec,
  found: MirrordClusterSessionSpec
): Effect.Effect<void, ApiError> => {
  if (found.owner.userId !== owner.userId)
    return Effect.fail(
      forbidden(`Session ${name} belongs to another user; session ids are random, so start the command again.`)
    )
  if (found.namespace !== request.namespace || !isSameTarget(found.target, wanted.target ?? undefined))
    return Effect.fail(ofAnotherTarget(name, request.target, request.namespace))
  return Effect.void
}

/** Refuses a session that may not be, before anything is made for it. Its container is not chosen yet. */
const mayBegin = (
  { options: { limits } }: MemberSessionsState,
  { copyTarget, namespace, target }: MirrordClusterSessionSpec,
  { values: { profile } }: ConnectParams
): Effect.Effect<void, ApiError> => {
  const named = fromKubeTarget(target)
  if (named === undefined) return Effect.void
  const container = named._tag === "Targetless" ? undefined : named.container
  const containers = container === undefined ? [] : [container]
  return Effect.asVoid(limits({ namespace, target: named, containers, profile, copy: copyTarget ?? undefined }))
}

/** The codes with which a client of a session comes again by itself, as while the leader changes. */
const comesAgain: ReadonlyArray<number> = [429, 503, 504]

/** Ends a session with its last client, if that was refused and none has been let in. */
const judgeFirst = (
  { options: { api, ends } }: MemberSessionsState,
  { metadata, spec }: MirrordClusterSession,
  clients: SessionClients,
  outcome: Exit.Exit<unknown, ApiError>
): Effect.Effect<void> => {
  if (Exit.isSuccess(outcome)) clients.isNew = false
  const refused = Exit.isFailure(outcome) ? Cause.findErrorOption(outcome.cause) : Option.none()
  // The refused client itself still counts.
  const isLast = clients.isNew && clients.count === 1
  if (!isLast || Option.isNone(refused) || comesAgain.includes(refused.value.code)) return Effect.void
  const { name, uid } = metadata
  const deletion = api.delete(mirrordClusterSessions, name, uid === undefined ? {} : { uid })
  const { message } = refused.value
  const act = { act: "ended", cause: "ToldOver", ...auditedChild(name, spec), message } as const
  return Effect.ignore(ends.end(metadata, deletion, act))
}

const attachUser = Effect.fnUntraced(function* (
  state: MemberSessionsState,
  own: OwnSessionRequest
): Effect.fn.Return<AcceptedConnection, ApiError, Scope.Scope> {
  const { name, owner, params, request } = own
  const { controller, notifier, remoteSessionTimeoutSecs, splits } = state.options
  const find = () => controller.session(name)
  const asked = askedBy(request, owner)
  const queuesOf = request.copyTarget?.queuesOf
  const spec = yield* Effect.fromResult(Result.mapError(sessionSpec(request, owner, params), badRequest))
  const clients = yield* state.newSessions.arrive(name)
  if (find() === undefined) {
    yield* mayBegin(state, spec, params)
    const isSplit = yield* mayBeginSplit(splits, { params, queuesOf }, spec)
    yield* createSession(state, { name, isSplit }, spec, asked)
    clients.isNew = true
  }
  const session = yield* notifier.until(name, find).pipe(
    Effect.timeoutOrElse({
      duration: remoteSessionTimeoutSecs * 1_000,
      orElse: () => Effect.fail(notInTime(state.options, `Session ${name}`, remoteSessionTimeoutSecs))
    })
  )
  yield* checkRequest(own, spec, session.spec)
  const attached = attachClient(state, {
    key: name,
    find,
    title: `Session ${name}`,
    isUser: true,
    identity: identityOf(request),
    params,
    queuesOf,
    id: own.id,
    asked
  })
  return yield* Effect.onExit(attached, (outcome) => judgeFirst(state, session, clients, outcome))
})

/**
 * Traces a connect in the trace of its session; that of a user begins one where there is none. `name`: of the session,
 * or of its parent.
 */
const tracedConnect =
  (options: MemberSessionsOptions, request: ConnectRequest, name: string) =>
  <A, E, R>(attaching: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(CurrentTracing, (tracing) => {
      if (tracing === undefined) return attaching
      const isUser = request.certificate !== undefined
      const known = isUser ? options.controller.session(name) : findChild(options, name)
      return traced({
        name: "session connect",
        kind: "server",
        isRoot: isUser,
        within: traceparentOf(known?.metadata.annotations?.[traceparentAnnotation], request.traceparent),
        attributes: {
          "braid.session": name,
          "braid.role": "member",
          "braid.target": request.target,
          "braid.reconnect": isUser ? known !== undefined : undefined,
          "k8s.namespace.name": request.namespace
        }
      })(attaching)
    })

export const makeMemberSessions = Effect.fnUntraced(function* (
  options: MemberSessionsOptions
): Effect.fn.Return<MemberSessions, never, Agents | Scope.Scope> {
  const state: MemberSessionsState = {
    options,
    agents: yield* Agents,
    retryingApi: retryingApi(options.api),
    sessionLocks: makeSessionLockTable(),
    agentLocks: makeAgentLockTable(),
    linkTerms: makeLinkTerms(),
    leadsTo: new WeakMap(),
    newSessions: makeNewSessions(),
    links: 0
  }
  yield* countHolding("session locks", state.sessionLocks.size)
  yield* countHolding("agent locks", state.agentLocks.size)
  yield* countHolding("link terms", state.linkTerms.size)
  yield* countHolding("clients of own sessions", state.newSessions.size)
  return {
    attachChild: (request, id) => tracedConnect(options, request, parentName(id))(attachChild(state, request, id)),
    attachUser: (request, id, owner, params) => {
      const name = sessionIdName(id)
      return tracedConnect(options, request, name)(attachUser(state, { request, id, name, owner, params }))
    },
    ports: state.sessionLocks.ports
  }
})
