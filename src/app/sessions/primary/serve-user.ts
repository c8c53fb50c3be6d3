/**
 * Serves a linked connection of a user to its end: gives the relay's router and locks what they need from a session
 * over many clusters. Links are opened in `member-links.ts`.
 */

import { Effect, Result, type Scope } from "effect"
import { type ClusterName, clusterName } from "../../../domain/fleet/cluster-name.ts"
import type { MessageFilter } from "../../../domain/protocol/message-filter.ts"
import { unsplitQueues } from "../../../domain/queues/unsplit-queues.ts"
import { memberName } from "../../../domain/relay/member.ts"
import { sessionKeyHeader } from "../../../domain/relay/session-key.ts"
import {
  type MirrordMultiClusterSession,
  mirrordMultiClusterSessions
} from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import { notConfigured } from "../../../domain/sessions/cluster-verdict.ts"
import { ignoredWarnings } from "../../../domain/sessions/connect-request.ts"
import { linkEnd } from "../../../domain/sessions/link-end.ts"
import { type LeftOutDetails, leftOutWarning, leftOutWarnings } from "../../../domain/sessions/parent-view.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import { audit, auditedParent } from "../../kernel/audit.ts"
import type { ClientConnectionOptions, ConnectionEnd } from "../../relay/client-connection.ts"
import { serveClient } from "../../relay/serve-client.ts"
import { traceFirstByte } from "../../relay/trace-first-byte.ts"
import { admission, isReady, linkMember, refusalOf } from "./member-links.ts"
import type { LinkedConnection, PrimarySessionsOptions } from "./user-connection.ts"

/**
 * Why a link leads to a cluster that has left the fleet or is configured otherwise; `undefined` while it is as it was.
 */
const strayed = (
  { fleet }: PrimarySessionsOptions,
  { leadsTo }: LinkedConnection,
  channel: FrameChannel
): string | undefined => {
  const cluster = leadsTo.get(channel)
  if (cluster === undefined) return undefined
  const current = fleet.clusters.get(cluster.name)
  if (current === undefined) return notConfigured
  return current === cluster ? undefined : "it is configured otherwise now"
}

const leftOutDetails = ({ request }: LinkedConnection, { metadata }: MirrordMultiClusterSession): LeftOutDetails => ({
  reasons: request.copyTarget?.leftOut,
  unsplit: unsplitQueues(metadata)
})

/** The ends of links to clusters, as the user reads them. */
const linkEnds = (options: PrimarySessionsOptions, connection: LinkedConnection) => {
  /** The reason that the user was told last, by cluster. */
  const told = new Map<string, string>()
  return {
    /** Why the session is without a cluster whose link has ended, if that is not what the user has just been told. */
    untold: (parent: MirrordMultiClusterSession, cluster: ClusterName): string | undefined =>
      told.has(cluster) && parent.status?.clusterSessions?.[cluster]?.error !== told.get(cluster)
        ? leftOutWarning(parent, cluster, leftOutDetails(connection, parent))
        : undefined,
    lost: (channel: FrameChannel): string | undefined => {
      const why = strayed(options, connection, channel)
      const cluster = connection.leadsTo.get(channel)?.name
      if (why !== undefined && cluster !== undefined) told.set(cluster, why)
      return why
    },
    whyEnded: (member: string, reason: string): string => {
      const own = options.manager.parent(connection.name)?.status?.clusterSessions?.[member]?.error
      const why = linkEnd(reason, own)
      told.set(member, why)
      return why
    }
  }
}

const relayOptions = (
  options: PrimarySessionsOptions,
  connection: LinkedConnection,
  client: FrameChannel,
  firstByte: MessageFilter | undefined
): ClientConnectionOptions => {
  const { fleet, notifier, manager } = options
  const { connected, defaultCluster, hasYounger, limits, locks, name, parent, refusals, request } = connection
  const ends = linkEnds(options, connection)
  return {
    router: {
      members: parent.spec.clusters.map(memberName),
      defaultMember: memberName(defaultCluster),
      memberKind: "cluster",
      pingMembersEvery: undefined,
      keyHeader: options.addsSessionKey ? sessionKeyHeader(parent.spec.key) : undefined
    },
    client,
    connected,
    connect: (member) =>
      Effect.suspend(() => {
        const current = manager.parent(name)
        const cluster = clusterName(member)
        return current === undefined
          ? Effect.fail({ message: "the session is gone" })
          : Effect.mapError(linkMember(options, connection, current, cluster), (failure) => ({
              message: failure.message,
              refusal: refusalOf(cluster, failure) ?? ends.untold(current, cluster)
            }))
      }),
    members: {
      now: () =>
        (manager.parent(name) ?? parent).spec.clusters
          .filter((cluster) => fleet.clusters.has(clusterName(cluster)))
          .map(memberName),
      isReady: (member) => isReady(manager.parent(name), member),
      lost: ends.lost,
      whyEnded: ends.whyEnded,
      listen: (changed) => notifier.listen(name, changed)
    },
    warnings: [
      ...ignoredWarnings(request.ignored),
      ...leftOutWarnings(parent, leftOutDetails(connection, parent)),
      ...refusals
    ],
    limits,
    locks,
    hasYounger,
    isUser: true,
    terminated: notifier.until(name, () => {
      const admitted = admission(name, manager.parent(name))
      return admitted !== undefined && Result.isFailure(admitted) ? { reason: admitted.failure.message } : undefined
    }),
    watched: options.interceptions.watched({
      key: parent.spec.key,
      service: parent.spec.target?.name ?? "",
      user: parent.spec.owner.k8sUsername
    }),
    firstByte,
    label: name
  }
}

/**
 * Deletes the session of a client that has the answer about its end: it must not linger for a reconnect that never
 * comes. The session stays stopped. A client whose internal proxy hears of the end while it prepares branches comes
 * back once more, and would begin a session whose variables are not checked: its program would find the source.
 */
const endSession = (
  { ends, ownApi, manager, stopped }: PrimarySessionsOptions,
  { name, parent: { metadata, spec } }: LinkedConnection,
  end: ConnectionEnd
): Effect.Effect<void> => {
  if (end._tag !== "SessionEnded" || isBeingDeleted(manager.parent(name)?.metadata ?? metadata)) return Effect.void
  const precondition = metadata.uid === undefined ? {} : { uid: metadata.uid }
  const deletion = ownApi.delete(mirrordMultiClusterSessions, name, precondition)
  const ended = ends.end(metadata, deletion, {
    act: "ended",
    cause: "ToldOver",
    ...auditedParent(name, spec),
    message: end.reason
  })
  return Effect.ignore(Effect.andThen(stopped.record([name]), ended))
}

export const serveUser = (
  options: PrimarySessionsOptions,
  connection: LinkedConnection,
  client: FrameChannel
): Effect.Effect<void, never, Scope.Scope> => {
  const about = { ...connection.asked, ...auditedParent(connection.name, connection.parent.spec) }
  return audit({ act: connection.wasServed ? "reconnected" : "connected", ...about }).pipe(
    Effect.andThen(traceFirstByte(connection.name, connection.traceparent)),
    Effect.flatMap((firstByte) => serveClient(relayOptions(options, connection, client, firstByte))),
    Effect.tap((end) => audit({ act: "disconnected", ...about, message: `${end._tag}: ${end.reason}` })),
    Effect.flatMap((end) => endSession(options, connection, end))
  )
}
