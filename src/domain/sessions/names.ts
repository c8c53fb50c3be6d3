/**
 * Names of sessions' objects, and the finalizer, annotations and labels on them.
 *
 * Not here: clusters' names as DNS labels, and their Secrets' names (fleet/cluster-name.ts), and reading session ids
 * (session-id.ts).
 */

import { clusterSlug, type ClusterName, type Sha256Hex } from "../fleet/cluster-name.ts"
import type { ObjectMeta } from "../resources/object-meta.ts"
import { sessionIdName, type SessionId } from "./session-id.ts"

/**
 * Name of the MirrordMultiClusterSession of a session: `mc-` and 16 lower-case hex digits (published-chart.md §1.3).
 */
export const parentName = (id: SessionId): string => `mc-${sessionIdName(id)}`

/**
 * Name of the MirrordClusterSession of a parent in one cluster: `<parent>-<cluster>`, the cluster as a DNS label. At
 * most 83 characters for a parent of {@link parentName}, far below the 253 of an object's name.
 */
export const childName = (parent: string, cluster: ClusterName, sha256Hex: Sha256Hex): string =>
  `${parent}-${clusterSlug(cluster, sha256Hex)}`

/** Name of the parent in a child's name, or nothing when the name is no such name. */
export const parentInName = (child: string): string | undefined => /^(mc-[0-9a-f]{16})-/u.exec(child)?.[1]

/** The id in a parent's name, or nothing when the name is no such name. */
export const sessionIdOfParent = (name: string): SessionId | undefined => {
  const hex = /^mc-([0-9a-f]{16})$/u.exec(name)?.[1]
  return hex === undefined ? undefined : (BigInt(`0x${hex}`) as SessionId)
}

/** Held by the primary on a parent until the children that its status names are gone or owed. */
export const parentFinalizer = "operator.metalbear.co/multi-cluster-session"

/** Annotations for values that the published child has no field for. The primary writes and the member reads them. */
export const childAnnotations = {
  /**
   * UID of the parent, which distinguishes this parent's child from a child that an earlier parent of the same name
   * left behind.
   */
  parentUid: "operator.metalbear.co/multi-cluster-parent-uid",
  /** UID of the namespace `kube-system` of the primary's cluster. */
  primaryUid: "operator.metalbear.co/multi-cluster-primary-uid",
  /** Seconds that the child lives without a socket. */
  sessionTtlSecs: "operator.metalbear.co/session-ttl-secs",
  /** Seconds that the child waits for its first socket. */
  remoteSessionTimeoutSecs: "operator.metalbear.co/remote-session-timeout-secs"
} as const

/**
 * Annotations by which the split of queues that a session asks for goes from cluster to cluster; domain/queues knows
 * their texts.
 */
export const splitAnnotations = {
  /** The wish, on the parent and on its children. */
  wish: "operator.metalbear.co/split-wish",
  /** The queues that the default cluster has made for the session, on its child there, by its member. */
  made: "operator.metalbear.co/split-queues",
  /** The same on the other children, by the primary. */
  given: "operator.metalbear.co/split-given-queues",
  /** How the split stands in a cluster, on each child, by its member: for the lists of the primary. */
  state: "operator.metalbear.co/split-state"
} as const

/** Whether a session's object asks for a split by the annotation of a primary. */
export const asksForSplit = ({ annotations }: Pick<ObjectMeta, "annotations">): boolean =>
  annotations?.[splitAnnotations.wish] !== undefined

/**
 * Annotation on a session's object that names its trace: W3C `traceparent`. Only operators that trace write and read
 * it.
 */
export const traceparentAnnotation = "operator.metalbear.co/traceparent"

/** Annotation on a user's session that splits queues, from its beginning: it may not run before they are split. */
export const splitsQueuesAnnotation = { "operator.metalbear.co/splits-queues": "true" } as const

/** Whether a user's session splits queues. */
export const splitsQueues = ({ annotations }: Pick<ObjectMeta, "annotations">): boolean =>
  Object.entries(splitsQueuesAnnotation).every(([name, value]) => annotations?.[name] === value)

/** Label on everything that an operator makes; hides it from `mirrord ls` (published-chart.md §1.3). */
export const ownerLabel = { "operator.metalbear.co/owner": "mirrord-operator" } as const
