import type { Role } from "../../domain/fleet/roles.ts"
import { protocolVersion } from "../../domain/protocol/version.ts"
import type { MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../../domain/resources/mirrord-multi-cluster-session.ts"
import {
  type ConnectedCluster,
  type Feature,
  type MirrordOperator,
  mirrordOperators
} from "../../domain/resources/mirrord-operator.ts"
import { timeOf, timestamp } from "../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../domain/resources/resource-descriptor.ts"
import type { KubeResourceTarget, SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { SessionInfo } from "../../domain/resources/session.ts"
import { lossGrace, unreadable } from "../../domain/session/cluster-verdict.ts"
import { sessionIdOfParent } from "../../domain/session/names.ts"
import { sessionIdHex } from "../../domain/session/session-id.ts"
import { formatTargetPath } from "../../domain/target/target-path.ts"
import { fromKubeTarget } from "../../domain/target/target.ts"
import type { Fleet } from "../fleet/fleet.ts"

/** The client's release that this operator is compatible with, and its own as build metadata. */
export const operatorVersion = (own: string): string => `3.250.0+braid.${own}`

const features = (role: Role): ReadonlyArray<Feature> => [
  "ProxyApi",
  "LayerReconnect",
  "ExtendableUserCredentials",
  "ConnectParamsInHeader",
  "SessionManagement",
  ...(role._tag === "Primary" ? (["MultiClusterPrimary"] as const) : (["MultiClusterRemote"] as const))
]

const ownerText = (owner: SessionOwner): string => `${owner.username}/${owner.k8sUsername}@${owner.hostname}`

const targetText = (target: KubeResourceTarget | null | undefined, otherwise: string): string => {
  const known = fromKubeTarget(target)
  return known === undefined ? otherwise : formatTargetPath(known)
}

const secondsSince = (created: string | null | undefined, now: number): number =>
  Math.max(0, Math.floor((now - (timeOf(created) ?? now)) / 1000))

/** A session as the client lists it (operator-api.md §4.1). */
export const sessionInfo = (session: MirrordClusterSession, now: number): SessionInfo => ({
  id: session.metadata.name.replace(/^0+(?=.)/, "").toUpperCase(),
  duration_secs: secondsSince(session.metadata.creationTimestamp, now),
  user: ownerText(session.spec.owner),
  target: targetText(session.spec.target, "unknown"),
  namespace: session.spec.namespace,
  user_id: session.spec.owner.userId,
  ...(session.spec.key === undefined ? {} : { key: session.spec.key })
})

/** A multi-cluster session in the same form: the client joins its own rows by the id. */
export const parentInfo = (parent: MirrordMultiClusterSession, now: number): SessionInfo => {
  const id = sessionIdOfParent(parent.metadata.name)
  return {
    id: id === undefined ? parent.metadata.name : sessionIdHex(id),
    duration_secs: secondsSince(parent.metadata.creationTimestamp, now),
    user: ownerText(parent.spec.owner),
    target: targetText(parent.spec.target, parent.spec.targetAlias),
    namespace: parent.spec.namespace,
    user_id: parent.spec.owner.userId,
    ...(parent.spec.key === undefined ? {} : { key: parent.spec.key })
  }
}

export const sessionObject = (info: SessionInfo): object => ({
  apiVersion: "operator.metalbear.co/v1",
  kind: "Session",
  metadata: { name: (info.id ?? "").toLowerCase(), namespace: info.namespace },
  spec: { session: info }
})

const connectedClusters = (fleet: Fleet, now: number): ReadonlyArray<ConnectedCluster> =>
  [...fleet.clusters.values()].map((cluster) => {
    const seen = cluster.health()
    const base = { name: cluster.name, lastCheck: timestamp(seen?.checkedAt ?? now) }
    if (seen === undefined) return { ...base, error: { message: "it has not been checked yet" } }
    const { health } = seen
    if (health._tag === "Error") return { ...base, error: { message: health.message } }
    // Its operator answers, but sessions are refused all the same.
    if (now >= (cluster.unreadableSince() ?? now) + lossGrace) return { ...base, error: { message: unreadable } }
    const { fingerprint, operatorVersion: version } = health
    return {
      ...base,
      connected: { operatorVersion: version, ...(fingerprint === undefined ? {} : { licenseFingerprint: fingerprint }) }
    }
  })

export interface Description {
  readonly version: string
  readonly role: Role
  readonly namespace: string
  readonly fingerprint: string
  /** Constant per installation, so that users keep their key when the authority changes (operator-api.md §5.7). */
  readonly installation: string
  readonly sessions: ReadonlyArray<MirrordClusterSession>
  /** On a primary. */
  readonly multiCluster:
    | { readonly fleet: Fleet; readonly parents: ReadonlyArray<MirrordMultiClusterSession> }
    | undefined
  readonly now: number
}

/** The `MirrordOperator` object. One wrong field in it breaks every command of every user (operator-api.md §3.1). */
export const describeOperator = (
  state: Description
): MirrordOperator & { readonly apiVersion: string; readonly kind: string } => {
  const { multiCluster, now, role } = state
  return {
    apiVersion: apiVersionOf(mirrordOperators),
    kind: mirrordOperators.kind,
    metadata: { name: "operator" },
    spec: {
      operator_version: operatorVersion(state.version),
      default_namespace: "default",
      supported_features: [...features(role)],
      protocol_version: protocolVersion,
      license: {
        // No licence is needed or checked; the client wants the block all the same (operator-api.md §3.3).
        name: "braid",
        organization: "braid",
        expire_at: "9999-12-31",
        fingerprint: state.fingerprint,
        subscription_id: state.installation
      },
      ...(role._tag === "Primary" && role.managementOnly ? { operator_namespace: state.namespace } : {})
    },
    status: {
      sessions: state.sessions.map((session) => sessionInfo(session, now)),
      statistics: { dau: 0, mau: 0 },
      ...(multiCluster === undefined
        ? {}
        : {
            connected_clusters: connectedClusters(multiCluster.fleet, now),
            multi_cluster_sessions: multiCluster.parents.map((parent) => ({
              id: parent.metadata.name,
              durationSecs: secondsSince(parent.metadata.creationTimestamp, now),
              user: ownerText(parent.spec.owner),
              target: targetText(parent.spec.target, parent.spec.targetAlias),
              namespace: parent.spec.namespace,
              clusters: parent.spec.clusters,
              phase: parent.status?.phase ?? "Initializing"
            }))
          })
    }
  }
}
