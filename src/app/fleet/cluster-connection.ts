/**
 * The connection to one workload cluster: engaged while it has credentials, and checked regularly.
 * domain/fleet/health.ts decides; fleet.ts knows the clusters and reads their credentials. Not an RcMap or LayerMap: a
 * connection lives as long as its cluster is in the fleet, however many sessions use it, and the last known health of
 * the cluster outlives each engagement.
 */

import { Clock, Deferred, Effect, Exit, Latch, Predicate, Result, Scope, type Semaphore } from "effect"
import { branchFeaturesAmong } from "../../domain/branches/branch-features.ts"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import type { SessionEvent } from "../../domain/events/event-catalogue.ts"
import {
  clusterConnectedEvent,
  clusterLostEvent,
  identityRefusedEvent,
  rightMissingEvent
} from "../../domain/events/fleet-events.ts"
import { checkProblem } from "../../domain/fleet/check-problem.ts"
import type { IdentityVerdict } from "../../domain/fleet/cluster-identity.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { EndingCredentials } from "../../domain/fleet/credentials/credential-end.ts"
import {
  afterCheck,
  afterDisengaging,
  afterEngaging,
  afterRefusing,
  type CheckOptions,
  type ClusterState,
  type ConnectedOperator,
  type FailedCheck,
  isWell,
  lossOf,
  missingRightOf,
  neverEngaged,
  nextCheckTimeout,
  type RefusedCluster,
  refusalOf,
  unreadableSince
} from "../../domain/fleet/health.ts"
import { missingRight } from "../../domain/fleet/missing-right.ts"
import type { WorkloadCluster } from "../../domain/fleet/roles.ts"
import { mirrordClusterSessions } from "../../domain/resources/mirrord-cluster-session.ts"
import { mirrordOperators } from "../../domain/resources/mirrord-operator.ts"
import { lossGrace } from "../../domain/sessions/cluster-verdict.ts"
import type { ClusterAccess } from "../../ports/cluster-connector.ts"
import type { KubeError, KubeObject } from "../../ports/kube-api.ts"
import { toldIdentity } from "../kernel/cluster-uid.ts"
import { isHeartbeatOnly } from "../kernel/heartbeat-only.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { readHeartbeat } from "../kernel/read-cached.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import type { JudgeIdentity } from "./identity-pins.ts"

/** Events of a connection. */
export interface ConnectionEvents {
  /** A child of a parent changed in a cluster. */
  readonly childChanged: (cluster: ClusterName, child: KubeObject) => void
  /** A cluster was lost, came back or was engaged, or its sessions became readable or unreadable. */
  readonly reachChanged: (cluster: ClusterName) => void
  /** Something happened to a cluster that its MirrordCluster is to report. */
  readonly happened: (cluster: ClusterName, event: SessionEvent) => void
}

/** The credentials of a cluster, as its metrics report them. */
export interface CredentialState {
  /** The word of the configuration for them, such as `bearerToken`. */
  readonly auth: string
  /** When those in use end, epoch ms; undefined: they have no known end. */
  readonly until: number | undefined
  /** Tries in a row that brought no new ones. */
  readonly failures: number
}

/** The children of sessions in a cluster: watched, or known by the reports of the cluster's owner. */
export type Children = Pick<Reflector, "all" | "get" | "problem" | "reread" | "retryNow" | "synced" | "wrote">

/** Everything that ends when the cluster is disengaged. */
interface Engagement {
  readonly access: ClusterAccess
  readonly children: Children
  readonly scope: Scope.Closeable
  /** Whether the cluster is the one that its name stands for; it is not used before that is known. */
  identity: "Unknown" | "Accepted"
}

export interface ClusterConnection {
  /** The way to authenticate may change. */
  cluster: WorkloadCluster
  /** How this operator describes itself, for the cluster that it runs in. */
  readonly ownHealth: ConnectedOperator
  readonly events: ConnectionEvents
  readonly options: CheckOptions
  readonly judgeIdentity: JudgeIdentity
  /** From 0 up to 1: this cluster's place among others for which the same is due, and the same after a restart. */
  readonly share: number
  /** The members that may be connected to at once. */
  readonly places: Semaphore.Semaphore
  /** Whether another process watches the cluster and reports on it. */
  readonly isReported: boolean
  /** Lives until the cluster leaves the fleet; engagements are its children. */
  readonly scope: Scope.Scope
  /** Opens when the health of the cluster is known for the first time. */
  readonly isKnown: Latch.Latch
  state: ClusterState
  /** {@link ConnectedOperator.branchFeatures}, also while the cluster is lost. */
  branchFeatures: ReadonlyArray<string> | undefined
  /** Since when it is of this sort, epoch ms. */
  stateSince: number
  /** Missing while the cluster is disengaged. */
  engagement: Engagement | undefined
  /**
   * Called when the cluster does not know this operator. Says why that is, if it is known; a clause. `now`: epoch ms.
   */
  unauthorized: (now: number) => string | undefined
  /** Undefined for the operator's own cluster, and while its credentials have not been looked for. */
  credentials: () => CredentialState | undefined
  /** Since when the tunnel of a member that dials out is used, epoch ms; `undefined` without a tunnel. */
  tunnelSince: () => number | undefined
  /** Its credentials, if they end and are not renewed. */
  ending: EndingCredentials | undefined
  /** Since when the children cannot be read, as of the last check; epoch ms. */
  unreadableSince: number | undefined
  /** The credentials are others than at the last look at the cluster's identity. */
  isReauthenticated: boolean
  /** Of the cluster's identity. */
  readonly log: LogOnce
  /** Of rights that are missing there. */
  readonly rightsLog: LogOnce
  /** Whether the loss of the cluster was reported. */
  isToldLost: boolean
}

/** A cluster that was refused when it left the fleet. */
export interface KnownRefusal {
  /** As in {@link MemberConfiguration}. */
  readonly server: string | undefined
  readonly refusal: RefusedCluster
  readonly log: LogOnce
}

/** The refusal of a member, which holds when it comes back at the same address. */
export const knownRefusal = ({ cluster, log, state }: ClusterConnection): KnownRefusal | undefined => {
  const refusal = refusalOf(state)
  if (refusal === undefined || cluster.member === undefined) return undefined
  return { server: cluster.member.server, refusal, log }
}

/** A connection that is not engaged yet. Ends with its scope. */
export const makeConnection = Effect.fnUntraced(function* (
  options: Pick<
    ClusterConnection,
    "cluster" | "ownHealth" | "events" | "options" | "judgeIdentity" | "share" | "places" | "isReported"
  >,
  before: KnownRefusal | undefined
): Effect.fn.Return<ClusterConnection, never, Scope.Scope> {
  const now = yield* Clock.currentTimeMillis
  const connection: ClusterConnection = {
    ...options,
    scope: yield* Effect.scope,
    isKnown: yield* Latch.make(false),
    state: before === undefined ? neverEngaged(now) : afterRefusing(before.refusal),
    branchFeatures: undefined,
    stateSince: now,
    engagement: undefined,
    unauthorized: () => undefined,
    credentials: () => undefined,
    tunnelSince: () => undefined,
    ending: undefined,
    unreadableSince: undefined,
    isReauthenticated: false,
    log: before?.log ?? new LogOnce(),
    rightsLog: new LogOnce(),
    isToldLost: false
  }
  // Cleared, because users may still hold the connection after the cluster has left.
  yield* Effect.addFinalizer(() => Effect.sync(() => (connection.engagement = undefined)))
  return connection
})

/** The engagement with a cluster that is the one it should be. */
export const usable = ({ engagement }: ClusterConnection): Engagement | undefined =>
  engagement?.identity === "Accepted" ? engagement : undefined

/** Whether all children of the cluster are known now. */
export const isReadable = (connection: ClusterConnection): boolean => {
  const engagement = usable(connection)
  if (engagement === undefined) return false
  if (connection.isReported) return connection.unreadableSince === undefined
  return engagement.children.synced() && engagement.children.problem() === undefined
}

export const setState = (connection: ClusterConnection, state: ClusterState, now: number): void => {
  const { _tag: before } = connection.state
  connection.state = state
  if (state._tag === "Connected") connection.branchFeatures = state.operator.branchFeatures
  if (before === state._tag) return
  connection.stateSince = now
  connection.events.reachChanged(connection.cluster.name)
}

export const endEngagement = (connection: ClusterConnection): Effect.Effect<void> => {
  const { engagement } = connection
  connection.engagement = undefined
  return engagement === undefined ? Effect.void : Scope.close(engagement.scope, Exit.void)
}

/** Reports the loss of the cluster and its return, once each. A missing right and a refusal are reported elsewhere. */
const tellOfLoss = (connection: ClusterConnection): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { cluster, events, isToldLost, state } = connection
    const { name } = cluster
    const problem = lossOf(state)
    if (isToldLost && isWell(state)) {
      connection.isToldLost = false
      events.happened(name, clusterConnectedEvent(name))
      return logInfo("cluster is back", { cluster: name })
    }
    if (isToldLost || problem === undefined) return Effect.void
    connection.isToldLost = true
    events.happened(name, clusterLostEvent(name, problem))
    return logWarning("cluster is lost", { cluster: name, problem })
  })

/** Ends the engagement, if there is one. Until the next engagement the cluster counts as lost for this reason. */
export const disengage = (connection: ClusterConnection, why: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const wasConnected = connection.state._tag === "Connected"
    setState(connection, afterDisengaging(why, now), now)
    return Effect.andThen(endEngagement(connection), () =>
      Effect.andThen(wasConnected ? tellOfLoss(connection) : Effect.void, Effect.asVoid(connection.isKnown.open))
    )
  })

/**
 * How long a member keeps its place among those that are connected to, in ms, so that silent ones delay no other for
 * longer.
 */
const placeFor = 1_000

/** Engages a cluster; the latch opens after its first check. */
const engageNow = Effect.fnUntraced(function* (
  connection: ClusterConnection,
  connect: Effect.Effect<ClusterAccess, never, Scope.Scope>,
  isChecked: Latch.Latch
): Effect.fn.Return<void> {
  const { cluster, events } = connection
  yield* endEngagement(connection)
  const now = yield* Clock.currentTimeMillis
  connection.unreadableSince = now
  const scope = yield* Scope.fork(connection.scope)
  const access = yield* connect.pipe(Scope.provide(scope))
  const children = yield* makeReflector(access.api, mirrordClusterSessions, (child, deleted, before) => {
    if (deleted || !isHeartbeatOnly(before, child)) return events.childChanged(cluster.name, child)
    readHeartbeat(mirrordClusterSessions, before, child)
  }).pipe(Scope.provide(scope))
  // Our own cluster needs no proof.
  const identity = cluster.member === undefined ? "Accepted" : "Unknown"
  connection.engagement = { access, children, scope, identity }
  setState(connection, afterEngaging(connection.state), now)
  // Reported here, because in a cluster without children no event tells that all children are known.
  yield* Effect.forkIn(
    Effect.andThen(children.awaitSynced, () => Effect.sync(() => events.reachChanged(cluster.name))),
    scope
  )
  const checking = Effect.tap(check(connection), isChecked.open)
  yield* Effect.forkIn(Effect.forever(Effect.flatMap(checking, Effect.sleep)), scope)
})

/** Engages a cluster, in place of an earlier engagement: new credentials alone are no loss of the cluster. */
export const engage = Effect.fnUntraced(function* (
  connection: ClusterConnection,
  connect: Effect.Effect<ClusterAccess, never, Scope.Scope>
): Effect.fn.Return<void> {
  const isChecked = yield* Latch.make(false)
  const engaging = engageNow(connection, connect, isChecked)
  if (connection.cluster.member === undefined) return yield* engaging
  const engaged = yield* Deferred.make<void>()
  const inPlace = Effect.andThen(Deferred.into(engaging, engaged), Effect.timeoutOption(isChecked.await, placeFor))
  yield* Effect.forkIn(connection.places.withPermit(inPlace), connection.scope)
  return yield* Deferred.await(engaged)
})

const describeOperator = (operator: KubeObject): ConnectedOperator => {
  const spec = (operator["spec"] ?? {}) as {
    readonly operator_version?: unknown
    readonly license?: { readonly fingerprint?: unknown }
    readonly supported_features?: unknown
  }
  const fingerprint = spec.license?.fingerprint
  return {
    _tag: "Connected",
    operatorVersion: cleanText(String(spec.operator_version ?? "unknown"), textLimits.name),
    fingerprint: typeof fingerprint === "string" ? cleanText(fingerprint, textLimits.name) : undefined,
    parametersInHeader:
      Array.isArray(spec.supported_features) && spec.supported_features.includes("ConnectParamsInHeader"),
    branchFeatures: branchFeaturesAmong(spec.supported_features)
  }
}

/**
 * Asks a member's operator for its description. Of its own cluster the operator checks only that the API server
 * answers.
 */
const askOperator = (
  { cluster, ownHealth }: ClusterConnection,
  { api }: ClusterAccess
): Effect.Effect<ConnectedOperator, KubeError> =>
  cluster.member === undefined
    ? Effect.as(api.list(mirrordClusterSessions), ownHealth)
    : Effect.map(api.get(mirrordOperators, "operator"), describeOperator)

type Refusal = Extract<IdentityVerdict, { readonly _tag: "Refused" }>

/** Looks at the cluster's identity if it may be another cluster than at the last look. */
const askIdentity = (connection: ClusterConnection, engagement: Engagement) =>
  Effect.gen(function* () {
    const { cluster, isReauthenticated, judgeIdentity, log, state } = connection
    const { member, name } = cluster
    const isKnown = engagement.identity === "Accepted" && isWell(state) && !isReauthenticated
    if (member === undefined || isKnown) return undefined
    // Before the question, as the credentials may change again until the answer.
    connection.isReauthenticated = false
    const verdict = yield* judgeIdentity(name, yield* toldIdentity(engagement.access.api))
    if (verdict._tag === "Refused") return verdict
    engagement.identity = "Accepted"
    if (verdict._tag !== "Untold") return log.reset()
    const line = "identity of a cluster is not known: its namespace kube-system may not be read there"
    return yield* log.tell("untold", logInfo(line, { cluster: name }))
  }).pipe(
    Effect.onError(() =>
      Effect.sync(() => {
        // Another cluster may have its address when it answers again.
        if (!isWell(connection.state)) engagement.identity = "Unknown"
      })
    )
  )

/** Keeps everybody from a cluster that is another than its name stands for. */
const refuseIdentity = Effect.fnUntraced(function* (
  connection: ClusterConnection,
  { message }: Refusal
): Effect.fn.Return<number> {
  const { cluster, engagement, events, isKnown, log, options } = connection
  const now = yield* Clock.currentTimeMillis
  if (engagement !== undefined) engagement.identity = "Unknown"
  connection.unreadableSince ??= now
  const told = Effect.sync(() => events.happened(cluster.name, identityRefusedEvent(cluster.name, message)))
  const line = logWarning("cluster is refused", { cluster: cluster.name, problem: message })
  yield* log.tell(message, Effect.andThen(line, told))
  setState(connection, afterRefusing({ _tag: "Refused", since: now, message }), now)
  isKnown.openUnsafe()
  return options.checkEvery
})

/** Asks for all that a check needs at once; an identity that is refused outweighs every other answer. */
const askCluster = Effect.fnUntraced(function* (connection: ClusterConnection, engagement: Engagement) {
  const answers = [
    Effect.result(askIdentity(connection, engagement)),
    Effect.result(askOperator(connection, engagement.access))
  ] as const
  const [identity, operator] = yield* Effect.all(answers, { concurrency: "unbounded" })
  const refusal = Result.getOrUndefined(identity)
  if (refusal !== undefined) return yield* Effect.fail(refusal)
  const found = yield* Effect.fromResult(operator)
  yield* Effect.fromResult(identity)
  return found
})

/** Says for people why a check failed. */
const failedCheck = (
  { cluster: { member, name }, unauthorized }: ClusterConnection,
  error: KubeError,
  askedAt: number
): FailedCheck => {
  const { message, reason } = error
  if (reason === "Forbidden") return { message: missingRight(message), lacksRight: true }
  const why = reason === "Unauthorized" ? unauthorized(askedAt) : undefined
  return { message: checkProblem({ name, auth: member?.auth._tag }, error, why), lacksRight: false }
}

/** Reports once that this operator lacks a right in the cluster, whose API server otherwise answers. */
const tellOfMissingRight = (connection: ClusterConnection, now: number): Effect.Effect<void> => {
  const { cluster, engagement, events, rightsLog, state, unreadableSince: since } = connection
  const unread = since !== undefined && now >= since + lossGrace ? engagement?.children.problem() : undefined
  const ofSessions = unread?.reason === "Forbidden" ? missingRight(unread.detail) : undefined
  const problem = missingRightOf(state)?.message ?? ofSessions
  if (problem === undefined) return Effect.sync(rightsLog.reset)
  const event = Effect.sync(() => events.happened(cluster.name, rightMissingEvent(cluster.name, problem)))
  const line = logWarning("a right is missing in a cluster", { cluster: cluster.name, problem })
  return rightsLog.tell(problem, Effect.andThen(line, event))
}

/** Checks the cluster, and returns the ms until the next check. */
const check = Effect.fnUntraced(function* (connection: ClusterConnection): Effect.fn.Return<number> {
  const { cluster, engagement, events, isKnown, options, share } = connection
  // The ending of an engagement interrupts its checks, so this check is not repeated.
  if (engagement === undefined) return options.checkEvery
  const askedAt = yield* Clock.currentTimeMillis
  const found = yield* askCluster(connection, engagement).pipe(
    Effect.mapError((error) =>
      error._tag === "Refused" ? { ...error, lacksRight: false } : failedCheck(connection, error, askedAt)
    ),
    Effect.timeoutOrElse({
      duration: nextCheckTimeout(connection.state, options),
      orElse: () => Effect.fail({ message: "its operator did not answer in time", lacksRight: false })
    }),
    Effect.result
  )
  if (Result.isFailure(found) && Predicate.isTagged(found.failure, "Refused"))
    return yield* refuseIdentity(connection, found.failure)
  const checkedAt = yield* Clock.currentTimeMillis
  const { nextCheckIn, state } = afterCheck(connection.state, { askedAt, checkedAt, found }, options, share)
  const wasReadable = connection.unreadableSince === undefined
  const readable = isReadable(connection)
  const isWellAgain = isWell(state) && !isWell(connection.state)
  connection.unreadableSince = unreadableSince(connection.unreadableSince, readable, isWellAgain, checkedAt)
  if (wasReadable !== readable) events.reachChanged(cluster.name)
  // The cluster answers again, so the rest of the reflector's pause would only keep sessions waiting.
  if (isWell(state) && engagement.children.problem() !== undefined) engagement.children.retryNow()
  setState(connection, state, checkedAt)
  if (state._tag !== "Connecting") isKnown.openUnsafe()
  yield* tellOfLoss(connection)
  yield* tellOfMissingRight(connection, checkedAt)
  return nextCheckIn
})
