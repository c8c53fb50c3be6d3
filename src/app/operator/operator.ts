/**
 * Composes an operator: the ground, the capabilities on it, and the facade that asks them. The capabilities do the
 * work; the leadership decides who may run an operator.
 */

import { Clock, Context, Effect, Result, type Scope } from "effect"
import type { UserAuthority } from "../../adapters/x509/user-certificates.ts"
import type { BranchSettings } from "../../domain/branches/branch-settings.ts"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import type { CopyImage } from "../../domain/copies/copied-pod.ts"
import type { ServedCluster } from "../../domain/fleet/cluster-object.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { fleetProblems, roleOf } from "../../domain/fleet/roles.ts"
import type { Condition } from "../../domain/resources/condition.ts"
import { collectionsRead } from "../../domain/resources/mirrord-operator.ts"
import { timestamp } from "../../domain/resources/object-meta.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { SessionInfo } from "../../domain/resources/session.ts"
import type { SessionBounds } from "../../domain/sessions/session-bounds.ts"
import { portLocksOf } from "../../domain/targets/port-locks-of-target.ts"
import type { ProtectedNamespaces } from "../../domain/targets/protected-namespaces.ts"
import { parseTargetName } from "../../domain/targets/target-path.ts"
import type { Agents } from "../../ports/agents.ts"
import { ClusterConnector } from "../../ports/cluster-connector.ts"
import type { KubeError } from "../../ports/kube-api.ts"
import type { Capability, FurtherStatus, ServedSession, Targets } from "../api/capability.ts"
import { type Facade, mapFacade } from "../api/facade-gate.ts"
import type { AcceptedConnection } from "../api/operator-facade.ts"
import { type ApiError, badRequest, internalError, notFound } from "../api/status.ts"
import { ensureUserAuthority } from "../certificates/user-authority.ts"
import { issueCertificate } from "../certificates/user-identity.ts"
import type { ConfigurationSource } from "../fleet/configuration-source.ts"
import type { ClusterOwners } from "../fleet/reported-clusters.ts"
import { ChangeFeed } from "../kernel/change-feed.ts"
import { makeEventRecorder } from "../kernel/event-recorder.ts"
import { failingLists, type UnreadCollections } from "../kernel/failing-lists.ts"
import { CurrentHoldings, countHolding } from "../kernel/holdings.ts"
import { SessionNotifier } from "../kernel/session-notifier.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { steadyClock } from "../kernel/steady-clock.ts"
import { CurrentTracing } from "../kernel/tracing.ts"
import { makeInterceptions } from "../relay/interceptions.ts"
import { SessionEnds } from "../sessions/session-ends.ts"
import { admitConnect } from "./admit-connect.ts"
import { type Ground, makeCapabilities, type MakeCapability, operatorCapabilities } from "./capabilities.ts"
import { copyTargetRequests } from "./copy-target-requests.ts"
import { credentialsRequests } from "./credentials-requests.ts"
import { describeOperator, lockedTarget, operatorVersion, sessionObject } from "./describe.ts"
import { NameMismatches } from "./name-mismatches.ts"
import { makeSessionQuota, type SessionQuota } from "./session-quota.ts"
import { stopSession, stopSessions } from "./stop-sessions.ts"
import { keepUsers } from "./user-memory.ts"
import { UserSightings } from "./user-sightings.ts"

export interface OperatorOptions {
  readonly namespace: string
  readonly version: string
  /** The fleet of a primary; without it the operator serves its own cluster only, with a member's abilities. */
  readonly fleet: FleetConfiguration | undefined
  /** Where the fleet's configuration changes while the operator runs; without it never. */
  readonly configuration?: ConfigurationSource | undefined
  /** The owners of the clusters, if they are shared among replicas. */
  readonly owners?: ClusterOwners | undefined
  readonly bounds: SessionBounds
  /** The longest time of a session, in seconds; nothing: as long as it has a client. */
  readonly longestSessionSecs?: number | undefined
  /** How long the target of a session may be without pods, ms; nothing: for ever. */
  readonly podlessMillis?: number | undefined
  /** Whether primaries may use this cluster, by the chart's values; not unless given. */
  readonly isMember?: boolean
  /** Whether a primary must say which cluster it is; not unless given. */
  readonly requirePrimary?: boolean
  readonly protectedNamespaces: ProtectedNamespaces
  /** Whether targets are copied; they are unless given. */
  readonly makesCopies?: boolean
  /** Whether stolen requests get a header with the key of their session; not unless given. */
  readonly addsSessionKey?: boolean
  /** The image of copied containers; without it they keep their own. */
  readonly copyImage?: CopyImage | undefined
  /** The engines whose databases have branches in this cluster; nothing: none. */
  readonly branchSettings?: BranchSettings | undefined
  /** Whether the statistics go on after a restart and under another leader. */
  readonly keepsUsers?: boolean
}

type Making = Effect.Effect<Facade, KubeError, Agents | ClusterConnector | Scope.Scope>

/**
 * The operator of one cluster, in the role that its configuration gives it. Sessions live by a clock of their own that
 * never jumps; certificates are judged by the host's clock.
 */
export const makeOperator = (
  options: OperatorOptions,
  capabilities: ReadonlyArray<MakeCapability> = operatorCapabilities
): Making =>
  Effect.gen(function* () {
    const wall = yield* Clock.Clock
    const ours = Context.make(Clock.Clock, steadyClock(wall)).pipe(
      Context.add(CurrentHoldings, yield* CurrentHoldings),
      Context.add(CurrentTracing, yield* CurrentTracing)
    )
    const facade = yield* Effect.provideContext(makeFacade(options, capabilities, wall), ours)
    return mapFacade(Effect.succeed(facade), {
      problems: facade.problems,
      write: (request) => Effect.provideContext(request, ours),
      connect: (connecting) =>
        connecting.pipe(
          Effect.map(({ serve }): AcceptedConnection => ({
            serve: (client) => Effect.provideContext(serve(client), ours)
          })),
          Effect.provideContext(ours)
        )
    })
  })

/** The ground that capabilities are made on. */
const makeGround = (options: OperatorOptions, { fingerprint }: UserAuthority) =>
  Effect.gen(function* () {
    const { own } = yield* ClusterConnector
    const { bounds, configuration, copyImage, longestSessionSecs, namespace, podlessMillis } = options
    const notifier = new SessionNotifier()
    yield* countHolding("sessions waited for", () => notifier.size)
    return {
      api: own.api,
      namespace,
      operatorVersion: operatorVersion(options.version),
      fingerprint,
      fleet: configuration?.known() ?? options.fleet,
      configuration,
      owners: options.owners,
      bounds,
      longestSessionSecs,
      podlessMillis,
      requirePrimary: options.requirePrimary,
      protectedNamespaces: options.protectedNamespaces,
      makesCopies: options.makesCopies ?? true,
      addsSessionKey: options.addsSessionKey ?? false,
      copyImage,
      branchSettings: options.branchSettings,
      feed: new ChangeFeed(),
      notifier,
      ends: new SessionEnds(),
      interceptions: yield* makeInterceptions,
      // Made before the controllers: it ends after them, and so writes their last Events.
      events: yield* makeEventRecorder(own.api)
    } satisfies Ground
  })

const makeFacade = (options: OperatorOptions, list: ReadonlyArray<MakeCapability>, wall: Clock.Clock): Making =>
  Effect.gen(function* () {
    const { own } = yield* ClusterConnector
    const authority = yield* ensureUserAuthority(own.api, options.namespace)
    const ground = yield* makeGround(options, authority)
    const capabilities = yield* makeCapabilities(ground, list)
    const quota = makeSessionQuota(options.bounds, () => usersSessions(capabilities))
    yield* countHolding("sessions with connections", quota.size)
    const installation = sha256Hex(`installation ${options.namespace}`).slice(0, 32)
    const users = new UserSightings()
    if (options.keepsUsers === true) {
      const keeping = keepUsers({ api: own.api, namespace: options.namespace, users })
      yield* Effect.forkScoped(Effect.provideService(keeping, Clock.Clock, wall))
    }
    return facadeOf({ options, ground, authority, capabilities, quota, users, installation, wall })
  })

/** Everything that a request may need. */
interface Operator {
  readonly options: OperatorOptions
  readonly ground: Ground
  readonly authority: UserAuthority
  readonly capabilities: ReadonlyArray<Capability>
  readonly quota: SessionQuota
  readonly users: UserSightings
  /** Names this installation in the operator's description. */
  readonly installation: string
  /** The host's clock. */
  readonly wall: Clock.Clock
}

const facadeOf = (operator: Operator): Facade => {
  const { authority, capabilities, ground, options, quota, users, wall } = operator
  const { api, ends } = ground
  const problems = Effect.sync(() => problemsOf(operator))
  const names = new NameMismatches()
  const reception = { api, role: roleOf(options.fleet), authority, wall, capabilities, quota, users, names, problems }
  const targets = capabilities.findLast((capability) => capability.targets !== undefined)?.targets ?? noTargets
  const listClusters = Effect.map(Clock.currentTimeMillis, (now) =>
    capabilities.flatMap(({ clusterObjects }) => clusterObjects?.(now) ?? [])
  )
  const stopping = { api, ends, capabilities }
  return {
    problems,
    connect: (request) => admitConnect(reception, request),
    ...copyTargetRequests(reception),
    ...credentialsRequests(reception),
    describe: Effect.gen(function* () {
      return describe(operator, yield* Clock.currentTimeMillis, yield* failingLists)
    }),
    issueCertificate: (csr) => Effect.flatMap(Clock.currentTimeMillis, (now) => issueCertificate(authority, csr, now)),
    listSessions: (namespace, key) =>
      Effect.map(Clock.currentTimeMillis, (now) => listSessions(operator, { namespace, key }, now)),
    listClusters,
    cluster: (name) => Effect.flatMap(listClusters, (clusters) => clusterNamed(clusters, name)),
    listTargets: (namespace) => targets.list(namespace),
    target: (...of) => targets.get(...of),
    portLocks: (...of) => Effect.flatMap(Clock.currentTimeMillis, (now) => portLocks(operator, ...of, now)),
    watchInterceptions: ({ user }, key) =>
      Effect.mapError(
        ground.interceptions.watch(user, key === undefined ? undefined : cleanText(key, textLimits.parameter)),
        internalError
      ),
    deleteSession: (reference, by, namespace) => stopSession(stopping, reference, by, namespace),
    deleteSessions: (which, by, namespace) => stopSessions(stopping, { which, namespace }, by)
  }
}

const clusterNamed = (clusters: ReadonlyArray<ServedCluster>, name: string): Effect.Effect<ServedCluster, ApiError> => {
  const found = clusters.find(({ metadata }) => metadata.name === name)
  if (found !== undefined) return Effect.succeed(found)
  const names = clusters.map(({ metadata }) => metadata.name).join(", ")
  const why = clusters.length === 0 ? "this operator has no fleet" : `the fleet has ${names}`
  return Effect.fail(notFound(`There is no cluster ${name}: ${why}.`))
}

/** The targets of an operator without workloads and without a fleet. */
const noTargets: Targets = {
  list: () => Effect.succeed([]),
  get: (_namespace, name) => Effect.fail(notFound(`There is no target ${name}: this operator has none.`))
}

/** Why there is no session to be had. A fleet that has begun well stays so, whatever becomes of its clusters. */
const problemsOf = ({
  capabilities,
  ground: { configuration },
  options: { fleet }
}: Operator): ReadonlyArray<string> => [
  ...(fleet === undefined || fleetProblems(fleet).length === 0 ? [] : fleetProblems(configuration?.known() ?? fleet)),
  ...capabilities.flatMap(({ problems }) => problems?.() ?? [])
]

/** The sessions of users, each once: without the parts that sessions over many clusters have in this one. */
const usersSessions = (capabilities: ReadonlyArray<Capability>): ReadonlyArray<ServedSession> =>
  capabilities.flatMap(({ sessions }) => sessions?.all() ?? [])

/** The sessions that users see in lists, with their owners: of this operator and of others, each once. */
const shownSessions = (
  capabilities: ReadonlyArray<Capability>,
  now: number
): ReadonlyArray<{ readonly info: SessionInfo; readonly owner: SessionOwner; readonly isOfCi: boolean }> => {
  const distant = capabilities.flatMap(({ distantSessions }) => distantSessions?.() ?? [])
  const shown = [...distant, ...usersSessions(capabilities)].map(({ info, isOfCi, owner }) => ({
    info: info(now),
    owner,
    isOfCi
  }))
  // The own ones come last, and stay: a primary may have a part of its session in its own cluster.
  return [...new Map(shown.map((session) => [session.info.id, session])).values()]
}

/** Whether the operator reads all that it keeps by list and watch; `undefined` if it does. `now`: epoch ms. */
const collectionsCondition = ({ longest, sentences }: UnreadCollections, now: number): ReadonlyArray<Condition> =>
  sentences.length === 0
    ? []
    : [
        {
          type: collectionsRead,
          status: "False",
          reason: "ListFailing",
          message: cleanText(sentences.join(" "), textLimits.message),
          lastTransitionTime: timestamp(now - longest)
        }
      ]

const describe = (operator: Operator, now: number, unread: UnreadCollections): object => {
  const { authority, capabilities, ground, installation, options, users } = operator
  const sessions = shownSessions(capabilities, now)
  for (const { owner } of sessions) users.saw(owner.userId, now)
  const further = capabilities.reduce<FurtherStatus>((status, { status: of }) => ({ ...status, ...of?.(now) }), {})
  const conditions = [...(further.conditions ?? []), ...collectionsCondition(unread, now)]
  return describeOperator({
    operatorVersion: ground.operatorVersion,
    role: roleOf(options.fleet),
    isMember: options.isMember ?? false,
    namespace: options.namespace,
    fingerprint: authority.fingerprint,
    installation,
    features: capabilities.flatMap(({ features }) => features?.() ?? []),
    sessions: sessions.map(({ info }) => info),
    statistics: { ...users.count(now), active_ci_sessions_count: sessions.filter(({ isOfCi }) => isOfCi).length },
    status: { ...further, ...(conditions.length === 0 ? {} : { conditions }) }
  })
}

const listSessions = (
  { capabilities }: Operator,
  { key, namespace }: { readonly namespace: string | undefined; readonly key?: string | undefined },
  now: number
): ReadonlyArray<object> =>
  shownSessions(capabilities, now)
    .filter(({ info }) => namespace === undefined || info.namespace === namespace)
    .filter(({ info }) => key === undefined || info.key === key)
    .map(({ info }) => sessionObject(info))

const portLocks = (
  { capabilities }: Operator,
  namespace: string,
  name: string,
  now: number
): Effect.Effect<object, ApiError> =>
  Result.match(parseTargetName(name), {
    onFailure: ({ message }) => Effect.fail(badRequest(message)),
    onSuccess: (target) => {
      const sessions = shownSessions(capabilities, now).map(({ info }) => info)
      return Effect.succeed(lockedTarget(namespace, target, portLocksOf(sessions, namespace, target)))
    }
  })
