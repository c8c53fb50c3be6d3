/**
 * The shape of everything that the operator can do beyond answering its API: sessions in this cluster, sessions over
 * many clusters, and what comes next. Each capability is a folder of its own and one line in operator/capabilities.ts;
 * the operator asks all of them in turn and knows none by name.
 */

import type { Effect, Scope } from "effect"
import type { BranchCredentials } from "../../domain/branches/branch-credentials.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { ServedCluster } from "../../domain/fleet/cluster-object.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import type { PolicyRules } from "../../domain/policies/policy-rules.ts"
import type { SessionPolicies } from "../../domain/policies/session-policies.ts"
import type { PortTls } from "../../domain/policies/tls/tls-steal-rules.ts"
import type { MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import type { Feature, MirrordOperatorStatus } from "../../domain/resources/mirrord-operator.ts"
import type { ObjectMeta } from "../../domain/resources/object-meta.ts"
import type { ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import type { SessionFailure } from "../../domain/resources/session-failure.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { SessionInfo } from "../../domain/resources/session.ts"
import type { ConnectParams } from "../../domain/sessions/connect-request.ts"
import type { ConnectRoute } from "../../domain/sessions/connect-route.ts"
import type { Requirement } from "../../domain/sessions/requirement.ts"
import type { AuditedSession } from "../../domain/sessions/session-act.ts"
import type { SessionId } from "../../domain/sessions/session-id.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import type { Target } from "../../domain/targets/target.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import type { Change } from "../kernel/change-feed.ts"
import type { StoppedLedger } from "../kernel/stopped-ledger.ts"
import type { AcceptedConnection, ConnectRequest, CopySelection, CopyTargetRequest } from "./operator-facade.ts"
import type { ApiError } from "./status.ts"

/** A connect request that could be read. */
interface Attempt {
  readonly request: ConnectRequest
  readonly id: SessionId
  readonly params: ConnectParams
}

/** A connect request by its sort: the client, and the kind of session that it connects to. */
export type ConnectAttempt =
  /** A client without a user certificate links to a child: the operator of a primary. */
  | (Attempt & { readonly _tag: "Child" })
  /** A user connects, with a verified certificate. */
  | (Attempt & { readonly _tag: ConnectRoute; readonly owner: SessionOwner })

/** A session that users see in lists and may stop. */
export interface ServedSession {
  readonly resource: ResourceDescriptor<unknown>
  readonly metadata: ObjectMeta
  readonly namespace: string
  readonly owner: SessionOwner
  readonly info: (now: number) => SessionInfo
  /** Whether it was started in a CI run. */
  readonly isOfCi: boolean
  /** Whether it has no client now. */
  readonly isInactive: (now: number) => boolean
  /** The session's part of the audit line when it is stopped. */
  readonly audited: AuditedSession
}

/** A session that users see here and that another operator serves. */
export interface DistantSession extends Pick<
  ServedSession,
  "metadata" | "namespace" | "owner" | "info" | "isOfCi" | "audited"
> {
  /** Asks that operator to stop it; nothing where it has to be stopped there. */
  readonly stop?: Effect.Effect<void, KubeError>
  /** Ends this cluster's part of it if its namespace is being deleted; the result is whether that is so. */
  readonly endWithNamespace?: Effect.Effect<boolean, KubeError>
}

/** Sessions of one sort. */
export interface ServedSessions {
  readonly all: () => ReadonlyArray<ServedSession>
  /** Name of the object of the session with this id. */
  readonly nameOf: (id: SessionId) => string
  /** The session whose object has this name. */
  readonly find: (name: string) => ServedSession | undefined
  /** Which of them were stopped, and stay so. */
  readonly stopped: StoppedLedger
}

/** A session on a copy, for which its user asks to be connected. */
export interface CopyConnect {
  readonly namespace: string
  /** Name of the copy target. */
  readonly name: string
  readonly owner: SessionOwner
  readonly caller: Caller
  /** The session of its id, if there is one already. `target`: as a connect URL names it. */
  readonly begun: { readonly target: string | undefined } | undefined
}

/** The target of a session on a copy. */
export interface ConnectedCopy {
  /** The copied pod, as a connect URL names targets. */
  readonly target: string
  /** Whether the copy replaces its workload. */
  readonly scaledown: boolean
  /** The copied target, where the copy's pod need not be in this cluster; missing while the pod's cluster is away. */
  readonly of?: Target | undefined
  /** Why clusters have no copy, by cluster. */
  readonly leftOut: ReadonlyMap<string, string>
}

/** Copies of targets (operator-api.md §9). */
export interface CopyTargets {
  readonly create: (request: CopyTargetRequest, owner: SessionOwner) => Effect.Effect<object, ApiError>
  /** Makes a copy that a primary orders here, for the user whom its order names. */
  readonly createOrdered: (request: CopyTargetRequest) => Effect.Effect<object, ApiError>
  readonly list: (selection: CopySelection) => Effect.Effect<ReadonlyArray<object>, ApiError>
  readonly get: (namespace: string, name: string, caller: Caller) => Effect.Effect<object, ApiError>
  readonly connect: (session: CopyConnect) => Effect.Effect<ConnectedCopy, ApiError>
}

/** Targets that sessions may have, as `Target` objects (operator-api.md §6.5). */
export interface Targets {
  /** Those of a namespace, or of the whole cluster. */
  readonly list: (namespace: string | undefined) => Effect.Effect<ReadonlyArray<object>, ApiError>
  /** `name`: as a connect URL has it. */
  readonly get: (namespace: string, name: string) => Effect.Effect<object, ApiError>
}

/** A workload cluster that a primary reaches. */
export interface ReachedCluster {
  readonly name: ClusterName
  readonly isDefault: boolean
  /** Missing while the cluster cannot be asked. */
  readonly api: () => KubeApi | undefined
  /** Why the cluster counts as lost, if it does; one sentence. */
  readonly lost: () => string | undefined
  /** The features of branches that its operator has told of last; nothing: it has not answered yet. */
  readonly branchFeatures?: (() => ReadonlyArray<Feature> | undefined) | undefined
}

/** A session whose limits are asked for. */
export interface LimitedSession {
  readonly namespace: string
  readonly target: Target
  /** The containers that it uses; `undefined`: any may be meant. */
  readonly containers: ReadonlyArray<string> | undefined
  /** Connect parameter `profile`. */
  readonly profile: string | undefined
  /** Whether its agents tell their own variables beside the target's. */
  readonly tellsAgentVariables?: boolean
  /** Set for a session on a copy, whose pod is its target. `of`: the copied target; missing: the pod tells it. */
  readonly copy?: Pick<ConnectedCopy, "scaledown" | "of"> | undefined
  /** The pods that have agents now, first that of environment and files; missing where there are none yet. */
  readonly pods?: () => ReadonlyArray<LimitedPod>
}

/** A pod of a session's target, and the container that the session uses. */
export type LimitedPod = Pick<AgentPlacement, "podName" | "podLabels" | "podOwners" | "containerName">

/** A copy that is asked for. */
export interface WantedCopy {
  readonly namespace: string
  readonly target: Target
  /** Whether the copy is to replace its workload. */
  readonly scaleDown: boolean
}

/** An agent that is about to be started for a session, beside a container. */
export interface TlsSubject {
  readonly namespace: string
  readonly target: Target
  readonly placement: AgentPlacement
}

/** The limits of a session. The relay holds a connection to them. */
export interface SessionLimits {
  readonly policies: SessionPolicies
  /** Completes, with the reason, when others hold for the session: it has to be connected anew. */
  readonly outdated: Effect.Effect<{ readonly reason: string }>
  /**
   * The policies that hold for traffic at a pod beside {@link policies}, whichever way the target leads to it. Fails if
   * the session may not be there, or if that cannot be told.
   */
  readonly atPod: (pod: LimitedPod) => Effect.Effect<ReadonlyArray<PolicyRules>, ApiError>
}

/** The status of the `MirrordOperator` object without sessions and statistics, which the operator makes by itself. */
export type FurtherStatus = Omit<Partial<MirrordOperatorStatus>, "sessions" | "statistics">

/**
 * The questions that the operator asks a capability; each capability answers those that concern it. Times are epoch ms.
 */
export interface Capability {
  /** Features that clients may ask for. */
  readonly features?: () => ReadonlyArray<Feature>
  /** The reasons why sessions cannot be served at the moment, one sentence each; every connect is refused with them. */
  readonly problems?: () => ReadonlyArray<string>
  /** Completes when the capability has read what it serves from. A connect waits for it, for a moment. */
  readonly started?: Effect.Effect<void>
  /** The capability's part of the status of the `MirrordOperator` object. */
  readonly status?: (now: number) => FurtherStatus
  readonly sessions?: ServedSessions
  /** Those that other operators serve. A session that this operator serves as well may be among them. */
  readonly distantSessions?: () => ReadonlyArray<DistantSession>
  readonly copyTargets?: CopyTargets
  /** The targets of its sessions. Those of a later capability count. */
  readonly targets?: Targets
  /** The pods of copies that its sessions run on, as `namespace/name`. */
  readonly usedCopies?: () => ReadonlyArray<string>
  /** The same as the API server has it now: a watch may be late. */
  readonly storedCopyUses?: Effect.Effect<ReadonlyArray<string>, KubeError>
  /** The workload clusters of a primary, as people see them. */
  readonly clusterObjects?: (now: number) => ReadonlyArray<ServedCluster>
  /** The same, as the operator uses them. */
  readonly clusters?: () => ReadonlyArray<ReachedCluster>
  /** Takes a change from which its sessions are planned. */
  readonly hear?: (change: Change) => void
  /**
   * A requirement that must be met before a session in this cluster is ready. When it changes, the capability publishes
   * `ChildChanged`.
   */
  readonly requirement?: (session: MirrordClusterSession) => Requirement
  /**
   * The limits of a session in this cluster, which hold for as long as a connection lasts. Fails if the session may not
   * be, and if that cannot be told.
   */
  readonly limits?: (session: LimitedSession) => Effect.Effect<SessionLimits, ApiError>
  /** Whether connects of a sort may name database branches. */
  readonly servesBranches?: (route: ConnectAttempt["_tag"]) => boolean
  /** Takes values for a database branch, and returns the name of the Secret that the branch's spec is to name. */
  readonly takeCredentials?: (credentials: BranchCredentials, caller: Caller) => Effect.Effect<string, ApiError>
  /** Refuses a copy that may not be made in this cluster. */
  readonly permitCopy?: (copy: WantedCopy) => Effect.Effect<void, ApiError>
  /** The ports of a target that serve TLS, for its agent. Fails with a sentence if that cannot be told. */
  readonly stealTls?: (subject: TlsSubject) => Effect.Effect<ReadonlyArray<PortTls>, SessionFailure>
  /** Refuses a connect that is impossible, such as a connect whose parameters need something that is not there. */
  readonly admit?: (attempt: ConnectAttempt) => Effect.Effect<void, ApiError>
  /** Serves an attempt of the capability's own sort; `undefined` for other attempts. */
  readonly attach?: (attempt: ConnectAttempt) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope> | undefined
}
