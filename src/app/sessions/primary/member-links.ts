/**
 * Links from a user's connection to the members of its session. The default cluster's is waited for; others join when
 * they can. What goes over a link is the relay's.
 */
import { Data, Effect, Option, Result, type Scope } from "effect"
import { clusterName, type ClusterName } from "../../../domain/fleet/cluster-name.ts"
import type { MirrordMultiClusterSession } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { type MemberName, memberName } from "../../../domain/routing/member.ts"
import { connectQuery, forMember } from "../../../domain/session/connect-request.ts"
import { connectVerdict } from "../../../domain/session/connect-verdict.ts"
import type { KubeStatus } from "../../../domain/session/failure-status.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { LinkRefused } from "../../../ports/member-link.ts"
import { ApiError, internalError, reconnectNotPossible } from "../../api/status.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import type { Admission } from "../admission.ts"
import type { PrimarySessionsOptions, UserConnection } from "./user-connection.ts"

/** Members that are ready are linked at once; a slow one joins later, in ms. */
const linkBound = 5_000
/** Pause between two tries to link to the default cluster, in ms. */
const relinkEvery = 500

/** A member's answers that stay the same however often it is asked, by their codes. */
const finalReasons: ReadonlyMap<number | undefined, string> = new Map([
  [400, "BadRequest"],
  [403, "Forbidden"],
  [404, "NotFound"]
])

/** Why a member is not linked. `code` is absent when it did not answer, or was not asked. */
type LinkFailure = LinkRefused | { readonly message: string; readonly code?: number }

/** The default cluster may be linked in a moment. */
class NotLinkedYet extends Data.TaggedError("NotLinkedYet") {}

export const asApiError = ({ code, message, reason }: KubeStatus): ApiError => new ApiError({ code, reason, message })

/** Whether a client that waits for its session is let in. */
export const admission = (
  name: string,
  parent: MirrordMultiClusterSession | undefined
): Admission<MirrordMultiClusterSession, ApiError> => {
  const ended = () => Result.fail(reconnectNotPossible(`Session ${name} was ended; start a new one.`))
  if (parent === undefined) return ended()
  const verdict = connectVerdict(parent)
  switch (verdict._tag) {
    case "Create":
      return ended()
    case "Hold":
      return undefined
    case "Attach":
      return Result.succeed(parent)
    case "Refuse":
      return Result.fail(asApiError(verdict.status))
  }
}

/** A client that leaves before its upgrade is never served: nobody else closes what was opened for it. */
export const closedAtEnd = (channel: FrameChannel): Effect.Effect<void, never, Scope.Scope> =>
  Effect.addFinalizer(() => Effect.sync(channel.close))

export const isReady = (parent: MirrordMultiClusterSession | undefined, cluster: string): boolean =>
  parent?.status?.clusterSessions?.[cluster]?.ready === true

/** Links to one member of a session as it is now. */
export const linkMember = (
  { fleet }: PrimarySessionsOptions,
  { id, params }: UserConnection,
  parent: MirrordMultiClusterSession,
  cluster: ClusterName
): Effect.Effect<FrameChannel, LinkFailure> =>
  Effect.suspend((): Effect.Effect<FrameChannel, LinkFailure> => {
    const known = fleet.clusters.get(cluster)
    const access = known?.access()
    if (known === undefined || access === undefined || !isReady(parent, cluster))
      return Effect.fail({ message: `cluster ${cluster} takes no part in the session now` })
    const health = known.health()?.health
    return access.link({
      cluster,
      sessionId: id,
      namespace: parent.spec.namespace,
      target: parent.spec.targetAlias,
      query: connectQuery(forMember(params, { isDefault: known.isDefault })),
      parametersInHeader: health?._tag === "Connected" && health.parametersInHeader
    })
  })

/** Whether trying again may help; waits until then. */
const afterFailure = (name: string, { code, message }: LinkFailure): Effect.Effect<never, ApiError | NotLinkedYet> => {
  const reason = finalReasons.get(code)
  if (code !== undefined && reason !== undefined) return Effect.fail(new ApiError({ code, reason, message }))
  return logInfo("the default cluster is not linked yet", { session: name, problem: message }).pipe(
    Effect.andThen(Effect.sleep(relinkEvery)),
    Effect.andThen(Effect.fail(new NotLinkedYet()))
  )
}

/** Links to the default cluster, with the parent as it is then; tried again for as long as the session stands. */
export const linkDefault = (
  options: PrimarySessionsOptions,
  connection: UserConnection
): Effect.Effect<readonly [MirrordMultiClusterSession, FrameChannel], ApiError> =>
  Effect.gen(function* () {
    const { notifier, manager } = options
    const { name } = connection
    const admitted = yield* notifier.until(name, () => admission(name, manager.parent(name)))
    const parent = yield* Effect.fromResult(admitted)
    const { defaultCluster } = parent.spec
    if (defaultCluster === undefined) return yield* internalError("The session has no default cluster.")
    const channel = yield* linkMember(options, connection, parent, clusterName(defaultCluster)).pipe(
      Effect.catch((failure) => afterFailure(name, failure))
    )
    return [parent, channel] as const
  }).pipe(Effect.retry({ while: (error): error is NotLinkedYet => error._tag === "NotLinkedYet" }))

/** Links to the members beside the default that are ready; those that do not answer in time are left for later. */
export const linkOthers = (
  options: PrimarySessionsOptions,
  connection: UserConnection,
  parent: MirrordMultiClusterSession,
  defaultCluster: ClusterName
): Effect.Effect<ReadonlyArray<readonly [MemberName, FrameChannel]>, never, Scope.Scope> => {
  const others = parent.spec.clusters
    .map(clusterName)
    .filter((cluster) => cluster !== defaultCluster && isReady(parent, cluster))
  const linkOne = (cluster: ClusterName) =>
    linkMember(options, connection, parent, cluster).pipe(
      Effect.tap(closedAtEnd),
      Effect.timeoutOption(linkBound),
      Effect.catch(({ message }) =>
        Effect.as(
          logWarning("member not linked", { session: connection.name, cluster, problem: message }),
          Option.none<FrameChannel>()
        )
      ),
      Effect.map((channel) => (Option.isSome(channel) ? [[memberName(cluster), channel.value] as const] : []))
    )
  return Effect.map(Effect.forEach(others, linkOne, { concurrency: "unbounded" }), (links) => links.flat())
}
