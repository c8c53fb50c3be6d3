/**
 * Sessions with agents in this cluster, as a capability of every operator: its controller, its connections, and what
 * users see of it. Sessions over many clusters are the primary's.
 */

import { Effect, Result, type Scope } from "effect"
import { defaultSessionTimes, type FleetConfiguration } from "../../../domain/fleet/configuration.ts"
import { roleOf } from "../../../domain/fleet/roles.ts"
import { phaseOf, sessionSamples } from "../../../domain/metrics/session-samples.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../../domain/resources/mirrord-cluster-session.ts"
import { observeChild } from "../../../domain/sessions/child-observation.ts"
import { parentNameOf } from "../../../domain/sessions/child-owner.ts"
import { branchNames } from "../../../domain/sessions/connect-request.ts"
import { parentName } from "../../../domain/sessions/names.ts"
import type { SessionBounds } from "../../../domain/sessions/session-bounds.ts"
import { sessionIdHex, sessionIdName } from "../../../domain/sessions/session-id.ts"
import { isOfCi, sessionInfo } from "../../../domain/sessions/session-info.ts"
import type { ProtectedNamespaces } from "../../../domain/targets/protected-namespaces.ts"
import type { Agents } from "../../../ports/agents.ts"
import type { KubeApi, KubeObject } from "../../../ports/kube-api.ts"
import type { Capability, ConnectAttempt, DistantSession, ServedSession } from "../../api/capability.ts"
import { askLimits } from "../../api/session-limits.ts"
import { unlessProtected } from "../../api/unless-protected.ts"
import type { BranchDirectory } from "../../branches/branch-directory.ts"
import { makeSessionBranches, type SessionBranches } from "../../branches/session-branches.ts"
import { auditedChild } from "../../kernel/audit.ts"
import type { ChangeFeed } from "../../kernel/change-feed.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { measure } from "../../kernel/metrics.ts"
import { readCached } from "../../kernel/read-cached.ts"
import { retryingApi } from "../../kernel/retrying-api.ts"
import type { SessionNotifier } from "../../kernel/session-notifier.ts"
import { makeStoppedLedger, storedLedger } from "../../kernel/stopped-ledger.ts"
import type { Interceptions } from "../../relay/interceptions.ts"
import type { SessionEnds } from "../session-ends.ts"
import { makeSocketRegistry } from "../socket-registry.ts"
import { type ClusterSessionController, makeClusterSessionController } from "./cluster-session-controller.ts"
import { makeMemberSessions, type MemberSessions } from "./member-sessions.ts"
import { makeAdmitPrimary } from "./primary-lease.ts"
import { targetsHere } from "./targets-here.ts"

/** The parts of the operator that this capability builds on. */
export interface MemberGround {
  readonly api: KubeApi
  /** Namespace of the operator. */
  readonly namespace: string
  /** The fleet that this operator is the primary of, if it has one. */
  readonly fleet: FleetConfiguration | undefined
  readonly bounds: SessionBounds
  /** The longest time of a session, in seconds; nothing: as long as it has a client. */
  readonly longestSessionSecs: number | undefined
  /** How long the target of a session may be without pods, ms; nothing: for ever. */
  readonly podlessMillis?: number | undefined
  /** Whether a primary must say which cluster it is; not unless given. */
  readonly requirePrimary?: boolean | undefined
  readonly protectedNamespaces: ProtectedNamespaces
  readonly feed: ChangeFeed
  readonly notifier: SessionNotifier
  readonly ends: SessionEnds
  readonly events: EventRecorder
  readonly interceptions: Interceptions
  /** Whether stolen requests get a header with the key of their session. */
  readonly addsSessionKey: boolean
  /** The database branches of this cluster; without them connects that name any are refused. */
  readonly branches?: BranchDirectory | undefined
}

/** The sessions in this cluster: users' own ones, or the children of sessions over many clusters. */
const sessionsHere = (
  { session, sessions }: ClusterSessionController,
  which: "Own" | "Children"
): ReadonlyArray<MirrordClusterSession> =>
  sessions.all().flatMap(({ metadata }) => {
    const read = session(metadata.name)
    if (read === undefined) return []
    const isChild = (read.spec.multiClusterParentName ?? undefined) !== undefined
    return isChild === (which === "Children") ? [read] : []
  })

/** The pods of copies that sessions run on, as `namespace/name`: of users' own sessions and of primaries' children. */
const usedCopies = (sessions: ReadonlyArray<KubeObject>): ReadonlyArray<string> =>
  sessions.flatMap((object) => {
    const { copyTarget, namespace, target } =
      Result.getOrUndefined(readCached(mirrordClusterSessions, object))?.spec ?? {}
    return (copyTarget ?? undefined) === undefined || target?.kind !== "Pod" ? [] : [`${namespace}/${target.name}`]
  })

const served =
  (members: MemberSessions, { isInactive }: ClusterSessionController) =>
  (session: MirrordClusterSession): ServedSession => ({
    resource: mirrordClusterSessions,
    metadata: session.metadata,
    namespace: session.spec.namespace,
    owner: session.spec.owner,
    info: (now) => sessionInfo(session, members.ports(session.metadata.name), now),
    isOfCi: isOfCi(session.spec),
    isInactive: (now) => isInactive(session, now),
    audited: auditedChild(session.metadata.name, session.spec)
  })

/** The parts of sessions over many clusters, without those that have ended here with their namespace. */
const partsHere = (members: MemberSessions, controller: ClusterSessionController): ReadonlyArray<DistantSession> =>
  sessionsHere(controller, "Children")
    .filter(({ metadata: { name } }) => !controller.hasLeft(name))
    .map((session) => ({
      ...served(members, controller)(session),
      endWithNamespace: controller.endWithNamespace(session)
    }))

const attachTo =
  (members: MemberSessions) =>
  (attempt: ConnectAttempt): ReturnType<MemberSessions["attachUser"]> | undefined => {
    switch (attempt._tag) {
      case "Child":
        return members.attachChild(attempt.request, attempt.id)
      case "SingleCluster":
        return members.attachUser(attempt.request, attempt.id, attempt.owner, attempt.params)
      case "MultiCluster":
        return undefined
    }
  }

/**
 * Refuses branches that a new session could not use, also one over many clusters that has its branches here. A session
 * that has begun is told more as it attaches.
 */
const admitBranches = (
  branches: SessionBranches | undefined,
  { session, sessions }: ClusterSessionController,
  { id, params, request: { namespace } }: ConnectAttempt
): ReturnType<SessionBranches["check"]> => {
  const names = branchNames(params)
  if (branches === undefined || names.length === 0) return Effect.void
  const parent = parentName(id)
  const hasBegun =
    session(sessionIdName(id)) !== undefined || sessions.all().some((object) => parentNameOf(object) === parent)
  return hasBegun ? Effect.void : branches.check(sessionIdHex(id), { namespace, names })
}

/** Refuses what cannot be served, before anything is made for it. */
const admitHere =
  (
    { fleet, protectedNamespaces }: MemberGround,
    branches: SessionBranches | undefined,
    controller: ClusterSessionController
  ): NonNullable<Capability["admit"]> =>
  (attempt) => {
    const { _tag, request } = attempt
    const isOwn = _tag === "SingleCluster"
    const allowed = isOwn ? unlessProtected(protectedNamespaces, request, fleet?.clusterName) : Effect.void
    return Effect.andThen(allowed, admitBranches(branches, controller, attempt))
  }

/** A session over many clusters has its branches in the default cluster. */
const servesBranches = ({ branches, fleet }: MemberGround, route: ConnectAttempt["_tag"]): boolean => {
  const role = roleOf(fleet)
  const isHere = role._tag === "Primary" && role.isDefault && !role.managementOnly
  return branches !== undefined && (route !== "MultiCluster" || isHere)
}

/** `earlier`: the capabilities that sessions in this cluster may have to wait for, and those that limit them. */
export const makeMemberCapability = (
  ground: MemberGround,
  earlier: ReadonlyArray<Capability>
): Effect.Effect<Capability, never, Agents | Scope.Scope> =>
  Effect.gen(function* () {
    const { api, feed, fleet, namespace, notifier, protectedNamespaces } = ground
    const stopped = makeStoppedLedger(api, namespace, storedLedger(retryingApi(api), namespace))
    const times = fleet ?? defaultSessionTimes
    const sockets = makeSocketRegistry((session) => feed.publish({ _tag: "ChildChanged", session }))
    yield* countHolding("sockets of sessions", sockets.size)
    const controller = yield* makeClusterSessionController({
      ...ground,
      sockets,
      stopped,
      admitPrimary: makeAdmitPrimary({ api: retryingApi(api), namespace, mustTell: ground.requirePrimary ?? false }),
      requirePrimary: ground.requirePrimary ?? false,
      defaults: times,
      stealTls: earlier.find(({ stealTls }) => stealTls !== undefined)?.stealTls ?? (() => Effect.succeed([])),
      requirements: (session) => earlier.flatMap(({ requirement }) => requirement?.(session) ?? [])
    })
    const branches = ground.branches === undefined ? undefined : yield* makeSessionBranches(ground.branches)
    const members = yield* makeMemberSessions({
      api,
      cluster: fleet?.clusterName ?? "this cluster",
      controller,
      sockets,
      notifier,
      ends: ground.ends,
      remoteSessionTimeoutSecs: times.remoteSessionTimeoutSecs,
      limits: askLimits(earlier),
      interceptions: ground.interceptions,
      addsSessionKey: ground.addsSessionKey,
      branches
    })
    const phasesOf = (which: Parameters<typeof sessionsHere>[1]) =>
      sessionsHere(controller, which).map((session) => phaseOf(observeChild(session)))
    yield* measure(() => [
      ...sessionSamples("single_cluster", phasesOf("Own")),
      ...sessionSamples("child", phasesOf("Children"))
    ])
    return {
      features: () => [
        ...(fleet === undefined ? (["MultiClusterRemote"] as const) : []),
        // The client takes a label target for one of the operator's own cluster, which has to run workloads.
        ...(fleet?.managementOnly === true ? [] : (["LabelTargeting"] as const))
      ],
      problems: () => (controller.sessions.synced() ? [] : ["The sessions of this cluster have not been read yet."]),
      started: controller.sessions.awaitSynced,
      sessions: {
        all: () => sessionsHere(controller, "Own").map(served(members, controller)),
        nameOf: sessionIdName,
        find: (name) => {
          const session = controller.session(name)
          return session === undefined ? undefined : served(members, controller)(session)
        },
        stopped
      },
      usedCopies: () => usedCopies(controller.sessions.all()),
      storedCopyUses: Effect.map(api.list(mirrordClusterSessions), ({ items }) => usedCopies(items)),
      distantSessions: () => partsHere(members, controller),
      servesBranches: (route) => servesBranches(ground, route),
      admit: admitHere(ground, branches, controller),
      targets: targetsHere({ api: retryingApi(api), protectedNamespaces }),
      hear: (change) => {
        if (change._tag === "ChildChanged") controller.enqueue(change.session)
      },
      attach: attachTo(members)
    }
  })
