/**
 * Parents and children as invariants read them: straight from the objects, not by the operator's own decoders, so that
 * a mistake of a decoder cannot hide itself.
 */

import { asString, at } from "../../../src/domain/json.ts"
import type { Condition } from "../../../src/domain/resources/condition.ts"
import { jobs } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import {
  type ClusterSessionStatus,
  mirrordMultiClusterSessions,
  type SessionPhase
} from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted } from "../../../src/domain/resources/object-meta.ts"
import { childAnnotations, parentName } from "../../../src/domain/sessions/names.ts"
import { type SessionId, sessionIdName } from "../../../src/domain/sessions/session-id.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { Commit } from "../../memory/memory-objects.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { SimCluster, World } from "../world/world.ts"

export interface ParentStatus {
  readonly phase?: SessionPhase
  readonly clusterSessions?: Readonly<Record<string, ClusterSessionStatus>>
  readonly connectedTimestamp?: string
  readonly conditions?: ReadonlyArray<Condition>
}

export const parentStatus = (parent: KubeObject): ParentStatus => (parent["status"] ?? {}) as ParentStatus

/** The children that `status.clusterSessions` names, by cluster. */
export const recordedChildren = (parent: KubeObject): ReadonlyArray<readonly [string, ClusterSessionStatus]> =>
  Object.entries(parentStatus(parent).clusterSessions ?? {})

export const conditionsOf = (object: KubeObject): ReadonlyArray<Condition> =>
  (object["status"] as { readonly conditions?: ReadonlyArray<Condition> | null } | null | undefined)?.conditions ?? []

export const isParent = ({ ref }: Commit): boolean => ref.plural === mirrordMultiClusterSessions.plural
export const isChild = ({ ref }: Commit): boolean => ref.plural === mirrordClusterSessions.plural

/** The object of a client's session: its parent, or the session of one cluster. */
export const sessionObjectOf = ({ isOfOneCluster, sessionId }: SimClient): string =>
  isOfOneCluster ? sessionIdName(sessionId as SessionId) : parentName(sessionId as SessionId)

/** The cluster that answers for a client's session: its only one, or the default as its parent has it. */
export const defaultOf = (world: World, client: Pick<SimClient, "home" | "isOfOneCluster" | "sessionId">): string => {
  if (client.isOfOneCluster) return client.home
  const parent = world.primary.server.objects.peek(
    mirrordMultiClusterSessions,
    parentName(client.sessionId as SessionId)
  )
  return asString(at(parent, "spec", "defaultCluster")) ?? world.defaultCluster
}

export const isLeaving = (object: KubeObject): boolean => isBeingDeleted(object.metadata)

export const parentUidOf = (child: KubeObject): string | undefined =>
  child.metadata.annotations?.[childAnnotations.parentUid]

/** Whether the session goes on without this child for now, and says why. */
export const isLeftOut = ({ primary }: World, child: string): boolean =>
  primary.server.objects
    .peekAll(mirrordMultiClusterSessions)
    .some((parent) =>
      recordedChildren(parent).some(
        ([, { error, ready, sessionName }]) => sessionName === child && !ready && typeof error === "string"
      )
    )

/** Names of the Jobs that a session owns. */
export const jobsOf = ({ server }: SimCluster, session: KubeObject): ReadonlySet<string> =>
  new Set(
    server.objects
      .peekAll(jobs)
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === session.metadata.uid))
      .map(({ metadata }) => metadata.name)
  )

/** Names of the copies that sessions of a cluster are on. */
export const usedCopies = ({ server }: SimCluster): ReadonlySet<string> =>
  new Set(
    server.objects.peekAll(mirrordClusterSessions).flatMap((session) => {
      const { copyTarget, target } = session["spec"] as {
        readonly copyTarget?: object | null
        readonly target?: { readonly name: string } | null
      }
      const isOnCopy = (copyTarget ?? undefined) !== undefined && !isLeaving(session)
      return isOnCopy && target !== undefined && target !== null ? [target.name] : []
    })
  )
