/**
 * Attaches users to sessions over all clusters, at the primary: finds or creates the session, waits for it, and links
 * its members. Starting and ending the session is left to the session manager.
 */

import { Clock, Effect, Result, type Scope } from "effect"
import { clusterName } from "../../../domain/fleet/cluster-name.ts"
import { wishNote } from "../../../domain/queues/split-wish.ts"
import { namedQueues, wantedSplit } from "../../../domain/queues/wanted-split-reader.ts"
import { memberName } from "../../../domain/relay/member.ts"
import {
  mirrordMultiClusterSessions,
  type MirrordMultiClusterSessionSpec
} from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { apiVersionOf } from "../../../domain/resources/resource-descriptor.ts"
import type { SessionOwner } from "../../../domain/resources/session-shapes.ts"
import type { ConnectParams } from "../../../domain/sessions/connect-request.ts"
import { reconnectNotPossible } from "../../../domain/sessions/failure-status.ts"
import { ownerLabel, parentFinalizer, parentName, traceparentAnnotation } from "../../../domain/sessions/names.ts"
import type { SessionId } from "../../../domain/sessions/session-id.ts"
import { parentSpec } from "../../../domain/sessions/session-spec.ts"
import { splitStartSecs } from "../../../domain/sessions/session-start.ts"
import { fromKubeTarget } from "../../../domain/targets/kube-target.ts"
import { parseTargetName } from "../../../domain/targets/target-path.ts"
import type { Target } from "../../../domain/targets/target.ts"
import { traceparentOf } from "../../../domain/tracing/traceparent.ts"
import { askedBy } from "../../api/asked-by.ts"
import type { AcceptedConnection, ConnectRequest } from "../../api/operator-facade.ts"
import { type ApiError, badRequest, forbidden, internalError, ofAnotherTarget } from "../../api/status.ts"
import { audit, auditedParent } from "../../kernel/audit.ts"
import { cureOf } from "../../kernel/kube-cure.ts"
import { retryingApi } from "../../kernel/retrying-api.ts"
import { currentTraceparent, traced } from "../../kernel/tracing.ts"
import { arrive, clientIdentity } from "../../relay/session-locks.ts"
import { asApiError, linkMembers } from "./member-links.ts"
import { serveUser } from "./serve-user.ts"
import type { LinkedConnection, PrimarySessionsOptions, UserConnection } from "./user-connection.ts"

export type { PrimarySessionsOptions } from "./user-connection.ts"

/** Time for a link on top of the session's own start, in s. */
const linkPatience = 30

/** Sessions over all clusters, at the primary. */
export interface PrimarySessions {
  readonly attach: (
    request: ConnectRequest,
    id: SessionId,
    owner: SessionOwner,
    params: ConnectParams
  ) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
}

/** The annotations by which the clusters of a session learn which queues are to be split. */
const splitNotes = Effect.fnUntraced(function* (
  { params, request: { copyTarget } }: UserConnection,
  { namespace, target }: MirrordMultiClusterSessionSpec
): Effect.fn.Return<Readonly<Record<string, string>>, ApiError> {
  const queuesOf = copyTarget?.queuesOf
  const named = queuesOf ?? fromKubeTarget(target)
  if (named === undefined) return {}
  const wanted = yield* Effect.fromResult(
    Result.mapError(wantedSplit(params, { namespace, target: named, isLink: false }), badRequest)
  )
  const startedAt = yield* Clock.currentTimeMillis
  // Of one cluster too: others may join while it runs.
  if (wanted === undefined) return {}
  const workload = queuesOf && wanted.workload
  return wishNote({ ...wanted, workload, isShared: true, startedAt })
})

/** How long a session may take to start, in s. */
const startSecs = ({ remoteSessionTimeoutSecs }: PrimarySessionsOptions, { params }: UserConnection): number =>
  namedQueues(params).length === 0 ? remoteSessionTimeoutSecs : Math.max(remoteSessionTimeoutSecs, splitStartSecs)

/** Creates the parent of a session at its first connect. */
const createParent = Effect.fnUntraced(function* (
  { clusterName: primaryCluster, defaultCluster, fleet, manager, ownApi }: PrimarySessionsOptions,
  connection: UserConnection
): Effect.fn.Return<void, ApiError> {
  const { asked, name, owner, params, request } = connection
  const clusters = [...fleet.clusters.keys()]
  const spec = yield* Effect.fromResult(
    Result.mapError(parentSpec(request, owner, params, { clusters, primaryCluster, defaultCluster }), badRequest)
  )
  const traceparent = yield* currentTraceparent
  const split = yield* splitNotes(connection, spec)
  const notes = { ...(traceparent !== undefined && { [traceparentAnnotation]: traceparent }), ...split }
  const annotations = Object.keys(notes).length === 0 ? {} : { annotations: notes }
  const parent = {
    apiVersion: apiVersionOf(mirrordMultiClusterSessions),
    kind: mirrordMultiClusterSessions.kind,
    metadata: { name, labels: ownerLabel, ...annotations, finalizers: [parentFinalizer] },
    spec
  }
  yield* retryingApi(ownApi)
    .create(mirrordMultiClusterSessions, parent)
    .pipe(
      // Its start need not wait for the watch.
      Effect.map((made) => manager.parents.wrote(made)),
      Effect.andThen(audit({ act: "created", ...asked, ...auditedParent(name, spec) })),
      Effect.catch((error) =>
        error.reason === "AlreadyExists"
          ? Effect.void
          : Effect.fail(internalError(`The session cannot be created: ${error.detail}. ${cureOf(error)}`))
      )
    )
})

/**
 * Checks that the request comes from the session's own user and names its target. The API server has checked the URL
 * alone.
 */
const checkRequest = (
  { name, owner, request }: UserConnection,
  spec: MirrordMultiClusterSessionSpec
): Effect.Effect<void, ApiError> => {
  if (spec.owner.userId !== owner.userId) {
    return Effect.fail(
      forbidden(`Session ${name} belongs to another user; session ids are random, so start the command again.`)
    )
  }
  if (spec.namespace !== request.namespace || spec.targetAlias !== request.target)
    return Effect.fail(ofAnotherTarget(name, request.target, request.namespace))
  return Effect.void
}

/** The containers that a target may mean; `undefined` if it may be any. */
const containersOf = (target: Target): ReadonlyArray<string> | undefined => {
  if (target._tag === "Targetless") return []
  return target.container === undefined ? undefined : [target.container]
}

/** The limits that this cluster sets for the session as a whole, for whichever container it may use. */
const limitsOf = (
  { limits, manager }: PrimarySessionsOptions,
  { name, params: { values }, request: { copyTarget, namespace, target: named } }: UserConnection
): ReturnType<PrimarySessionsOptions["limits"]> =>
  Effect.gen(function* () {
    const target = yield* Effect.fromResult(
      Result.mapError(parseTargetName(named, values.label_target), ({ message }) => badRequest(message))
    )
    const containers = containersOf(target)
    // A session that has begun knows what its copy does, also while the copy's cluster is away.
    const copy = copyTarget && { ...copyTarget, ...manager.parent(name)?.spec.copyTarget }
    return yield* limits({ namespace, target, containers, profile: values.profile, copy })
  })

/** Waits for the session to become usable, and links its members. */
const linkConnection = Effect.fnUntraced(function* (
  options: PrimarySessionsOptions,
  connection: UserConnection,
  wasServed: boolean
): Effect.fn.Return<LinkedConnection, ApiError, Scope.Scope> {
  const { name, request } = connection
  const limits = yield* limitsOf(options, connection)
  const locks = yield* options.locks.use(name)
  const hasYounger = yield* arrive(locks, clientIdentity(request.clientName, request.clientHostname))
  const tooLate = asApiError(
    reconnectNotPossible(
      `Session ${name} did not become usable in time; look at the mirrord agent's pods and the operator's log, then ` +
        "run the command again."
    )
  )
  const { links, parent, refusals, toDefault } = yield* linkMembers(options, connection).pipe(
    Effect.timeoutOrElse({
      duration: (startSecs(options, connection) + linkPatience) * 1_000,
      orElse: () => Effect.fail(tooLate)
    })
  )
  const defaultCluster = clusterName(parent.spec.defaultCluster ?? "")
  const connected = new Map([[memberName(defaultCluster), toDefault], ...links])
  return { ...connection, parent, defaultCluster, connected, wasServed, locks, limits, refusals, hasYounger }
})

const attachUser = Effect.fnUntraced(function* (
  options: PrimarySessionsOptions,
  connection: UserConnection
): Effect.fn.Return<AcceptedConnection, ApiError, Scope.Scope> {
  const { notifier, manager, sockets } = options
  const { name } = connection
  const known = manager.parent(name)
  const wasServed = known?.status?.phase === "Ready" && known.status.connectedTimestamp !== undefined
  // First, because even the end of a stranger's request would count as that of the session's client.
  if (known !== undefined) yield* checkRequest(connection, known.spec)
  yield* sockets.track(name)
  if (known === undefined) {
    // A session that may not be is refused before anything is made for it.
    yield* limitsOf(options, connection)
    yield* createParent(options, connection)
    const made = yield* notifier.until(name, () => manager.parent(name))
    yield* checkRequest(connection, made.spec)
  }
  const linked = yield* linkConnection(options, connection, wasServed)
  const traceparent = yield* currentTraceparent
  return { serve: (client) => serveUser(options, { ...linked, traceparent }, client) }
})

export const makePrimarySessions = (options: PrimarySessionsOptions): PrimarySessions => ({
  attach: (request, id, owner, params) => {
    const name = parentName(id)
    const about = { name, asked: askedBy(request, owner), leadsTo: new WeakMap() }
    const attached = attachUser(options, { request, id, owner, params, ...about })
    return Effect.suspend(() => {
      const known = options.manager.parent(name)
      return traced({
        name: "session connect",
        kind: "server",
        isRoot: true,
        within: traceparentOf(known?.metadata.annotations?.[traceparentAnnotation], request.traceparent),
        attributes: {
          "braid.session": name,
          "braid.role": "primary",
          "braid.target": request.target,
          "braid.reconnect": known !== undefined,
          "k8s.namespace.name": request.namespace,
          "k8s.cluster.name": options.clusterName
        }
      })(attached)
    })
  }
})
