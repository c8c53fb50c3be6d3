import { Effect, Result, type Scope } from "effect"
import { clusterName, type ClusterName } from "../../../domain/fleet/cluster-name.ts"
import {
  mirrordMultiClusterSessions,
  type MirrordMultiClusterSession,
  type MirrordMultiClusterSessionSpec
} from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../../domain/resources/resource-descriptor.ts"
import type { SessionOwner } from "../../../domain/resources/session-shapes.ts"
import { memberName } from "../../../domain/routing/member.ts"
import { connectQuery, type ConnectParams, forMember } from "../../../domain/session/connect-request.ts"
import { connectVerdict } from "../../../domain/session/connect-verdict.ts"
import { reconnectNotPossible as reconnectStatus } from "../../../domain/session/failure-status.ts"
import { ownerLabel, parentFinalizer, parentName } from "../../../domain/session/names.ts"
import { leftOutWarnings } from "../../../domain/session/parent-view.ts"
import type { SessionId } from "../../../domain/session/session-id.ts"
import { parseTargetName } from "../../../domain/target/target-path.ts"
import { toKubeTarget } from "../../../domain/target/target.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import type { LinkRefused } from "../../../ports/member-link.ts"
import { askedBy } from "../../api/asked-by.ts"
import type { AcceptedConnection, ConnectRequest } from "../../api/operator-facade.ts"
import {
  ApiError,
  badRequest,
  forbidden,
  internalError,
  ofAnotherTarget,
  reconnectNotPossible
} from "../../api/status.ts"
import type { Fleet } from "../../fleet/fleet.ts"
import { audit, auditedParent } from "../../kernel/audit.ts"
import type { Changes } from "../../kernel/changes.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import { retryingApi } from "../../kernel/retrying-api.ts"
import { serveClient } from "../../relay/serve-client.ts"
import { arrive, clientIdentity, type SessionLockTable } from "../../relay/session-locks.ts"
import type { SessionEnds } from "../session-ends.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import type { SessionManager } from "./multi-cluster-session-manager.ts"

/** Members that are ready are linked at once; a slow one joins later, in ms. */
const linkBound = 5_000
/** Pause between two tries to link to the default cluster, in ms. */
const relinkEvery = 500

export interface PrimarySessionsOptions {
  readonly local: KubeApi
  readonly clusterName: ClusterName
  readonly defaultCluster: ClusterName | undefined
  readonly manager: SessionManager
  readonly fleet: Fleet
  readonly sockets: SocketRegistry
  readonly locks: SessionLockTable
  readonly changes: Changes
  readonly ends: SessionEnds
  readonly remoteSessionTimeoutSecs: number
}

/** Sessions over all clusters, at the primary. */
export interface PrimarySessions {
  readonly attach: (
    request: ConnectRequest,
    id: SessionId,
    owner: SessionOwner,
    params: ConnectParams
  ) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
}

const asApiError = ({
  code,
  message,
  reason
}: {
  readonly code: number
  readonly reason: string
  readonly message: string
}): ApiError => new ApiError({ code, reason, message })

/** A client that leaves before its upgrade is never served: nobody else closes what was opened for it. */
const closedAtEnd = (channel: FrameChannel): Effect.Effect<void, never, Scope.Scope> =>
  Effect.addFinalizer(() => Effect.sync(channel.close))

type Standing =
  | { readonly _tag: "Usable"; readonly parent: MirrordMultiClusterSession }
  | { readonly _tag: "Over"; readonly error: ApiError }

/** How a session stands for a client that waits; `undefined`: not decided yet. */
const standing = (name: string, parent: MirrordMultiClusterSession | undefined): Standing | undefined => {
  const ended = () =>
    ({ _tag: "Over", error: reconnectNotPossible(`Session ${name} was ended; start a new one.`) }) as const
  if (parent === undefined) return ended()
  const verdict = connectVerdict(parent)
  switch (verdict._tag) {
    case "Create":
      return ended()
    case "Hold":
      return undefined
    case "Attach":
      return { _tag: "Usable", parent }
    case "Refuse":
      return { _tag: "Over", error: asApiError(verdict.status) }
  }
}

export const makePrimarySessions = (options: PrimarySessionsOptions): PrimarySessions => {
  const { changes, ends, fleet, local, locks, manager, sockets } = options

  const specOf = (
    request: ConnectRequest,
    owner: SessionOwner,
    params: ConnectParams
  ): MirrordMultiClusterSessionSpec | ApiError => {
    const target = parseTargetName(request.target, params.values.label_target)
    if (Result.isFailure(target)) return badRequest(target.failure.message)
    if (target.success._tag === "Label") {
      return badRequest("Label targets are not possible in a multi-cluster session; name a workload.")
    }
    const kubeTarget = toKubeTarget(target.success)
    const { header_filter: headerFilter, key } = params.values
    return {
      owner,
      namespace: request.namespace,
      targetAlias: request.target,
      clusters: [...fleet.clusters.keys()],
      primaryCluster: options.clusterName,
      ...(kubeTarget === undefined ? {} : { target: kubeTarget }),
      ...(options.defaultCluster === undefined ? {} : { defaultCluster: options.defaultCluster }),
      ...(key === undefined ? {} : { key }),
      ...(headerFilter === undefined ? {} : { httpFilter: { headerFilter } }),
      ...(request.clientVersion === undefined ? {} : { clientCliVersion: request.clientVersion })
    }
  }

  /** The parent, made if this is the session's first connect. */
  const ensureParent = (
    name: string,
    spec: MirrordMultiClusterSessionSpec,
    created: Effect.Effect<void>
  ): Effect.Effect<void, ApiError> =>
    retryingApi(local)
      .create(mirrordMultiClusterSessions, {
        apiVersion: apiVersionOf(mirrordMultiClusterSessions),
        kind: mirrordMultiClusterSessions.kind,
        metadata: { name, labels: ownerLabel, finalizers: [parentFinalizer] },
        spec
      })
      .pipe(
        Effect.andThen(created),
        Effect.catch((error) =>
          error.reason === "AlreadyExists"
            ? Effect.void
            : Effect.fail(internalError(`The session cannot be created: ${error.detail}.`))
        )
      )

  const link = (parent: MirrordMultiClusterSession, id: SessionId, cluster: ClusterName, params: ConnectParams) =>
    Effect.suspend(
      (): Effect.Effect<FrameChannel, LinkRefused | { readonly message: string; readonly code?: number }> => {
        const known = fleet.clusters.get(cluster)
        const access = known?.access()
        if (known === undefined || access === undefined || parent.status?.clusterSessions?.[cluster]?.ready !== true) {
          return Effect.fail({ message: `cluster ${cluster} takes no part in the session now` })
        }
        const health = known.health()?.health
        return access.link({
          cluster,
          sessionId: id,
          namespace: parent.spec.namespace,
          target: parent.spec.targetAlias,
          query: connectQuery(forMember(params, { isDefault: known.isDefault })),
          parametersInHeader: health?._tag === "Connected" && health.parametersInHeader
        })
      }
    )

  /** Links to the default cluster; tried again for as long as the session stands. */
  const linkDefault = (
    name: string,
    id: SessionId,
    params: ConnectParams
  ): Effect.Effect<readonly [MirrordMultiClusterSession, FrameChannel], ApiError> =>
    Effect.gen(function* () {
      for (;;) {
        const now = yield* changes.until(name, () => standing(name, manager.parent(name)))
        if (now._tag === "Over") return yield* now.error
        const cluster = now.parent.spec.defaultCluster
        if (cluster === undefined) return yield* internalError("The session has no default cluster.")
        const linked = yield* Effect.result(link(now.parent, id, clusterName(cluster), params))
        if (Result.isSuccess(linked)) return [now.parent, linked.success] as const
        const { code, message } = linked.failure
        if (code === 403 || code === 404 || code === 400) {
          return yield* new ApiError({
            code,
            reason: code === 403 ? "Forbidden" : code === 404 ? "NotFound" : "BadRequest",
            message
          })
        }
        yield* logInfo("the default cluster is not linked yet", { session: name, problem: message })
        yield* Effect.sleep(relinkEvery)
      }
    })

  return {
    attach: (request, id, owner, params) =>
      Effect.gen(function* () {
        const name = parentName(id)
        const known = manager.parent(name)
        const wasServed = known?.status?.phase === "Ready" && known.status.connectedTimestamp !== undefined
        const asked = askedBy(request, owner)
        yield* sockets.track(name)
        if (known === undefined) {
          const spec = specOf(request, owner, params)
          if (spec instanceof ApiError) return yield* spec
          yield* ensureParent(name, spec, audit({ act: "created", ...asked, ...auditedParent(name, spec) }))
        }
        const of = (known ?? (yield* changes.until(name, () => manager.parent(name)))).spec
        if (of.owner.userId !== owner.userId) {
          return yield* forbidden(
            `Session ${name} belongs to another user; session ids are random, so start the command again.`
          )
        }
        // The API server has checked the URL, which does not name the session.
        if (of.namespace !== request.namespace || of.targetAlias !== request.target)
          return yield* ofAnotherTarget(name, request.target, request.namespace)
        const shared = yield* locks.use(name)
        const hasYounger = yield* arrive(shared, clientIdentity(request.clientName, request.clientHostname))
        const [parent, first] = yield* linkDefault(name, id, params).pipe(
          Effect.timeoutOrElse({
            duration: (options.remoteSessionTimeoutSecs + 30) * 1_000,
            orElse: () => Effect.fail(asApiError(reconnectStatus(`Session ${name} did not become usable in time.`)))
          })
        )
        yield* closedAtEnd(first)
        const members = parent.spec.clusters.map(clusterName)
        const defaultCluster = clusterName(parent.spec.defaultCluster ?? "")
        const others = yield* Effect.forEach(
          members.filter(
            (cluster) => cluster !== defaultCluster && parent.status?.clusterSessions?.[cluster]?.ready === true
          ),
          (cluster) =>
            link(parent, id, cluster, params).pipe(
              Effect.tap(closedAtEnd),
              Effect.timeoutOption(linkBound),
              Effect.map((channel) => (channel._tag === "Some" ? [[memberName(cluster), channel.value] as const] : [])),
              Effect.catch((error) =>
                Effect.as(logWarning("member not linked", { session: name, cluster, problem: error.message }), [])
              )
            ),
          { concurrency: "unbounded" }
        )
        const about = auditedParent(name, parent.spec)
        return {
          serve: (client) =>
            Effect.andThen(audit({ act: wasServed ? "reconnected" : "connected", ...asked, ...about }), () =>
              serveClient({
                router: {
                  members: members.map(memberName),
                  defaultMember: memberName(defaultCluster),
                  memberKind: "cluster",
                  pingMembersEvery: undefined
                },
                client,
                connected: new Map([[memberName(defaultCluster), first], ...others.flat()]),
                connect: (member) =>
                  Effect.suspend(() => {
                    const current = manager.parent(name)
                    return current === undefined
                      ? Effect.fail({ message: "the session is gone" })
                      : link(current, id, clusterName(member), params)
                  }),
                members: {
                  now: () => members.map(memberName),
                  isReady: (member) => manager.parent(name)?.status?.clusterSessions?.[member]?.ready === true,
                  listen: (changed) => changes.listen(name, changed)
                },
                warnings: leftOutWarnings(parent),
                locks: shared,
                hasYounger,
                isUser: true,
                terminated: changes.until(name, () => {
                  const now = standing(name, manager.parent(name))
                  return now?._tag === "Over" ? { reason: now.error.message } : undefined
                }),
                label: name
              })
            ).pipe(
              Effect.tap((end) =>
                audit({ act: "disconnected", ...asked, ...about, message: `${end._tag}: ${end.reason}` })
              ),
              Effect.flatMap((end) =>
                // The client was told that it is over: the session must not linger for a reconnect that never comes.
                end._tag === "SessionEnded" && !isBeingDeleted(manager.parent(name)?.metadata ?? parent.metadata)
                  ? Effect.ignore(
                      ends.end(
                        parent.metadata,
                        local.delete(
                          mirrordMultiClusterSessions,
                          name,
                          parent.metadata.uid === undefined ? {} : { uid: parent.metadata.uid }
                        ),
                        { act: "ended", cause: "ToldOver", ...about, message: end.reason }
                      )
                    )
                  : Effect.void
              )
            )
        } satisfies AcceptedConnection
      })
  }
}
