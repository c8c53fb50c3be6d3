/**
 * Sessions with agents in this cluster, as a capability of every operator: its controller, its connections, and what
 * users see of it. Sessions over many clusters are the primary's.
 */

import { Context, Effect, Layer, Result } from "effect"
import { defaultSessionTimes, type FleetConfiguration } from "../../../domain/fleet/configuration.ts"
import { phaseOf, sessionSamples } from "../../../domain/metrics/session-samples.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../../domain/resources/mirrord-cluster-session.ts"
import { observeChild } from "../../../domain/sessions/child-observation.ts"
import { parentNameOf } from "../../../domain/sessions/child-owner.ts"
import { branchNames } from "../../../domain/sessions/connect-request.ts"
import { parentName } from "../../../domain/sessions/names.ts"
import { sessionIdHex, sessionIdName } from "../../../domain/sessions/session-id.ts"
import { isOfCi, sessionInfo } from "../../../domain/sessions/session-info.ts"
import type { ProtectedNamespaces } from "../../../domain/targets/protected-namespaces.ts"
import { seenChild } from "../../../domain/usage/seen-session.ts"
import type { KubeObject } from "../../../ports/kube-api.ts"
import { unlessProtected } from "../../api/unless-protected.ts"
import { Branches } from "../../branches/branches.ts"
import { makeSessionBranches, type SessionBranches } from "../../branches/session-branches.ts"
import { auditedChild } from "../../kernel/audit.ts"
import { Changes } from "../../kernel/change-feed.ts"
import { Events } from "../../kernel/event-recorder.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { measure } from "../../kernel/metrics.ts"
import { readCached } from "../../kernel/read-cached.ts"
import { retryingApi } from "../../kernel/retrying-api.ts"
import { CurrentSettings } from "../../kernel/setting-values.ts"
import { makeStoppedLedger, storedLedger } from "../../kernel/stopped-ledger.ts"
import { QueueSplits } from "../../queues/queue-splits.ts"
import { Capabilities, type Capability, type ConnectAttempt, withCapability } from "../../services/capability.ts"
import { CopyUses } from "../../services/copy-targets.ts"
import { OwnCluster } from "../../services/own-cluster.ts"
import { SessionLimits } from "../../services/session-limits.ts"
import { type DistantSession, type ServedSession, Sessions } from "../../services/sessions.ts"
import { Targets } from "../../services/targets.ts"
import { TlsSettings } from "../../services/tls-settings.ts"
import { SessionServices } from "../session-services.ts"
import { makeSocketRegistry } from "../socket-registry.ts"
import { type ClusterSessionController, makeClusterSessionController } from "./cluster-session-controller.ts"
import { makeMemberSessions, type MemberSessions } from "./member-sessions.ts"
import { makeAdmitPrimary } from "./primary-lease.ts"
import { targetsHere } from "./targets-here.ts"

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
const usedCopies = (sessions: ReadonlyArray<KubeObject>): ReadonlySet<string> =>
  new Set(
    sessions.flatMap((object) => {
      const { copyTarget, namespace, target } =
        Result.getOrUndefined(readCached(mirrordClusterSessions, object))?.spec ?? {}
      return (copyTarget ?? undefined) === undefined || target?.kind !== "Pod" ? [] : [`${namespace}/${target.name}`]
    })
  )

const served =
  (members: MemberSessions, { isInactive }: ClusterSessionController) =>
  (session: MirrordClusterSession): ServedSession => ({
    resource: mirrordClusterSessions,
    metadata: session.metadata,
    namespace: session.spec.namespace,
    owner: session.spec.owner,
    info: (now) => sessionInfo(session, members.ports(session.metadata.name), now),
    isOfCi: isOfCi(session.spec),
    use: () => seenChild(session),
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
 * that has begun learns more as it attaches.
 */
const admitBranches = (
  check: SessionBranches["check"],
  { session, sessions }: ClusterSessionController,
  { id, params, request: { namespace } }: ConnectAttempt
): ReturnType<SessionBranches["check"]> => {
  const names = branchNames(params)
  if (names.length === 0) return Effect.void
  const parent = parentName(id)
  const hasBegun =
    session(sessionIdName(id)) !== undefined || sessions.all().some((object) => parentNameOf(object) === parent)
  return hasBegun ? Effect.void : check(sessionIdHex(id), { namespace, names })
}

interface Admission {
  readonly fleet: FleetConfiguration | undefined
  readonly protectedNamespaces: ProtectedNamespaces
  readonly branches: Branches["Service"]
  readonly check: SessionBranches["check"]
  readonly controller: ClusterSessionController
}

/** Refuses what cannot be served, before anything is made for it. */
const admitHere =
  ({ branches, check, controller, fleet, protectedNamespaces }: Admission): NonNullable<Capability["admit"]> =>
  (attempt) => {
    const { _tag, request } = attempt
    const isOwn = _tag === "SingleCluster"
    const allowed = isOwn ? unlessProtected(protectedNamespaces, request, fleet?.clusterName) : Effect.void
    const isHere = branches.areServed(_tag)
    return Effect.andThen(allowed, isHere ? admitBranches(check, controller, attempt) : Effect.void)
  }

/** The controller of the sessions, which waits for what the capabilities before it require. */
const makeController = Effect.gen(function* () {
  const { api, bounds, fleet, namespace, protectedNamespaces } = yield* OwnCluster
  const { ends, maxSessionSecs, notifier, podlessMillis, requirePrimary, sessionTtlSecs } = yield* SessionServices
  const earlier = yield* Capabilities
  const feed = yield* Changes
  const stopped = makeStoppedLedger(api, namespace, storedLedger(retryingApi(api), namespace))
  const sockets = makeSocketRegistry((session) => feed.publish({ _tag: "ChildChanged", session }))
  yield* countHolding("sockets of sessions", sockets.size)
  const controller = yield* makeClusterSessionController({
    api,
    bounds,
    maxSessionSecs,
    podlessMillis,
    protectedNamespaces,
    notifier,
    ends,
    events: yield* Events,
    sockets,
    stopped,
    admitPrimary: makeAdmitPrimary({ api: retryingApi(api), namespace, mustTell: requirePrimary }),
    requirePrimary,
    defaults: fleet ?? { ...defaultSessionTimes, sessionTtlSecs },
    stealTls: (yield* TlsSettings).stealTls,
    requirements: (session) => earlier.flatMap(({ requirement }) => requirement?.(session) ?? [])
  })
  return { controller, sockets, stopped }
})

/** The services that other capabilities and the operator have of the sessions here. */
const providedServices = (
  { api, protectedNamespaces }: OwnCluster["Service"],
  { controller, stopped }: Effect.Success<typeof makeController>,
  members: MemberSessions
) =>
  Context.make(Sessions, {
    served: [
      {
        all: () => sessionsHere(controller, "Own").map(served(members, controller)),
        nameOf: sessionIdName,
        find: (name) => {
          const session = controller.session(name)
          return session === undefined ? undefined : served(members, controller)(session)
        },
        stopped
      }
    ],
    distant: () => partsHere(members, controller)
  }).pipe(
    Context.add(Targets, targetsHere({ api: retryingApi(api), protectedNamespaces })),
    Context.add(CopyUses, {
      cached: () => (controller.sessions.synced() ? usedCopies(controller.sessions.all()) : undefined),
      stored: Effect.map(api.list(mirrordClusterSessions), ({ items }) => usedCopies(items))
    })
  )

const measureSessions = (controller: ClusterSessionController) => {
  const phasesOf = (which: Parameters<typeof sessionsHere>[1]) =>
    sessionsHere(controller, which).map((session) => phaseOf(observeChild(session)))
  return measure(() => [
    ...sessionSamples("single_cluster", phasesOf("Own")),
    ...sessionSamples("child", phasesOf("Children"))
  ])
}

/** Sessions with agents in this cluster. Capabilities that a session may have to wait for are made before it. */
export const memberLayer = Layer.effectContext(
  Effect.gen(function* () {
    const own = yield* OwnCluster
    const { api, fleet, protectedNamespaces } = own
    const { ends, interceptions, notifier } = yield* SessionServices
    const made = yield* makeController
    const { controller, sockets } = made
    const branches = yield* Branches
    const sessionBranches = yield* makeSessionBranches(branches.directory)
    const members = yield* makeMemberSessions({
      api,
      cluster: fleet?.clusterName ?? "this cluster",
      controller,
      sockets,
      notifier,
      ends,
      remoteSessionTimeoutSecs: (fleet ?? defaultSessionTimes).remoteSessionTimeoutSecs,
      limits: (yield* SessionLimits).ask,
      interceptions,
      addsSessionKey: (yield* CurrentSettings).addsSessionKey,
      branches: sessionBranches,
      splits: yield* QueueSplits
    })
    yield* measureSessions(controller)
    const capability = yield* withCapability({
      features: () => [
        ...(fleet === undefined ? (["MultiClusterRemote"] as const) : []),
        // The client takes a label target for one of the operator's own cluster, which has to run workloads.
        ...(fleet?.managementOnly === true ? [] : (["LabelTargeting"] as const))
      ],
      problems: () => (controller.sessions.synced() ? [] : ["The sessions of this cluster have not been read yet."]),
      started: controller.sessions.awaitSynced,
      admit: admitHere({ fleet, protectedNamespaces, branches, check: sessionBranches.check, controller }),
      hear: (change) => {
        if (change._tag === "ChildChanged") controller.changed(change.session)
      },
      attach: attachTo(members)
    })
    return Context.merge(capability, providedServices(own, made, members))
  })
)
