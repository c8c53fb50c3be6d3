/**
 * Composes an operator: its services, the capabilities that use them, and the facade that asks them. The capabilities
 * do the work; the leadership decides who may run an operator.
 */

import { Clock, Context, Effect, Layer, Result, type Scope } from "effect"
import type { UserAuthority } from "../../adapters/x509/user-certificates.ts"
import type { BranchSettings } from "../../domain/branches/branch-settings.ts"
import { cleanText, quoted, textLimits } from "../../domain/clean-text.ts"
import type { CopyImage } from "../../domain/copies/copied-pod.ts"
import type { ServedCluster } from "../../domain/fleet/cluster-object.ts"
import { defaultSessionTimes, type FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { fleetProblems, roleOf } from "../../domain/fleet/roles.ts"
import type { ServedQueueSplit } from "../../domain/queues/queue-split-object.ts"
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
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { type OpenPersonalLane, PersonalLanes } from "../../ports/outbound-connector.ts"
import { type Facade, mapFacade } from "../api/facade-gate.ts"
import type { AcceptedConnection, Asker } from "../api/operator-facade.ts"
import { type ApiError, badRequest, internalError, notFound } from "../api/status.ts"
import { BranchedEngines, Branches } from "../branches/branches.ts"
import { credentialsRequests } from "../branches/credentials-requests.ts"
import { ensureUserAuthority } from "../certificates/user-authority.ts"
import { issueCertificate, ownerOf } from "../certificates/user-identity.ts"
import { CopySettings } from "../copies/copy-target-capability.ts"
import { copyTargetRequests } from "../copies/copy-target-requests.ts"
import type { ConfigurationSource } from "../fleet/configuration-source.ts"
import type { ClusterOwners } from "../fleet/reported-clusters.ts"
import { ChangeFeed, Changes } from "../kernel/change-feed.ts"
import { Events, makeEventRecorder } from "../kernel/event-recorder.ts"
import { failingLists, type UnreadCollections } from "../kernel/failing-lists.ts"
import { CurrentHoldings, countHolding } from "../kernel/holdings.ts"
import { CurrentSessionActs, SessionActs } from "../kernel/session-acts.ts"
import { SessionNotifier } from "../kernel/session-notifier.ts"
import { CurrentSettings } from "../kernel/setting-values.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { steadyClock } from "../kernel/steady-clock.ts"
import { CurrentTracing } from "../kernel/tracing.ts"
import { answerPodReview } from "../queues/answer-pod-review.ts"
import { PodReviews } from "../queues/pod-reviews.ts"
import { QueueSplits } from "../queues/queue-splits.ts"
import { QueueSplitting, type SplittingOptions } from "../queues/queue-splitting.ts"
import { makeInterceptions } from "../relay/interceptions.ts"
import { Capabilities, type FurtherStatus } from "../services/capability.ts"
import { CopyTargets } from "../services/copy-targets.ts"
import { FleetView } from "../services/fleet-view.ts"
import { OwnCluster } from "../services/own-cluster.ts"
import { type ServedSession, Sessions } from "../services/sessions.ts"
import { Targets } from "../services/targets.ts"
import { UsageReports } from "../services/usage-reports.ts"
import { PrimaryServices } from "../sessions/primary/primary-capability.ts"
import { SessionEnds } from "../sessions/session-ends.ts"
import { SessionServices } from "../sessions/session-services.ts"
import { UsageKeeping, type UsageKept } from "../usage/usage-keeping.ts"
import { admitConnect, usable } from "./admit-connect.ts"
import { admitPerson } from "./admit-person.ts"
import { type Asked, type OperatorCapabilities, operatorCapabilities } from "./capabilities.ts"
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
  /** The longest time of a session, in seconds; `undefined` if there is no bound. */
  readonly maxSessionSecs?: number | undefined
  /** How long a session of this cluster alone lives without a client, in seconds; 60 unless given. */
  readonly sessionTtlSecs?: number | undefined
  /** How long the target of a session may be without pods, ms; `undefined` if for ever. */
  readonly podlessMillis?: number | undefined
  /** Whether primaries may use this cluster, by the chart's values; by default not. */
  readonly isMember?: boolean
  /** Whether a primary must say which cluster it is; by default not. */
  readonly requirePrimary?: boolean
  readonly protectedNamespaces: ProtectedNamespaces
  /** Whether targets are copied; they are unless given. */
  readonly makesCopies?: boolean
  /** The image of copied containers; without it they keep their own. */
  readonly copyImage?: CopyImage | undefined
  /** The engines whose databases have branches in this cluster; `undefined` if none. */
  readonly branchSettings?: BranchSettings | undefined
  /** PEM of the certificate that is served now, for API servers that are told no authority of it. */
  readonly servedAuthority?: (() => string | undefined) | undefined
  /** How queues are split in this cluster; `undefined` if none is. */
  readonly splitting?: SplittingOptions | undefined
  /** Whether the statistics go on after a restart and under another leader. */
  readonly keepsUsers?: boolean
  /** Where the use of sessions is recorded; without it nowhere. */
  readonly usage?: UsageKept | undefined
}

type Making = Effect.Effect<Facade, KubeError, Agents | ClusterConnector | Scope.Scope>

/**
 * The operator of one cluster, in the role that its configuration gives it. Sessions live by a clock of their own that
 * never jumps; certificates are judged by the host's clock.
 */
export const makeOperator = (
  options: OperatorOptions,
  capabilities: OperatorCapabilities = operatorCapabilities
): Making =>
  Effect.gen(function* () {
    const wall = yield* Clock.Clock
    const ours = Context.make(Clock.Clock, steadyClock(wall)).pipe(
      Context.add(CurrentHoldings, yield* CurrentHoldings),
      Context.add(CurrentSettings, yield* CurrentSettings),
      Context.add(CurrentSessionActs, new SessionActs()),
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

/** The services that capabilities are made on. */
const makeServices = Effect.fnUntraced(function* (
  options: OperatorOptions,
  { fingerprint }: UserAuthority,
  wall: Clock.Clock
) {
  const { own } = yield* ClusterConnector
  const { bounds, configuration, namespace, protectedNamespaces } = options
  const notifier = new SessionNotifier()
  yield* countHolding("sessions waited for", () => notifier.size)
  return Context.make(Capabilities, []).pipe(
    Context.add(OwnCluster, {
      api: own.api,
      namespace,
      fleet: configuration?.known() ?? options.fleet,
      protectedNamespaces,
      bounds
    }),
    Context.add(Changes, new ChangeFeed()),
    Context.add(SessionServices, {
      notifier,
      ends: new SessionEnds(),
      interceptions: yield* makeInterceptions,
      maxSessionSecs: options.maxSessionSecs,
      sessionTtlSecs: options.sessionTtlSecs ?? defaultSessionTimes.sessionTtlSecs,
      podlessMillis: options.podlessMillis,
      requirePrimary: options.requirePrimary ?? false
    }),
    Context.add(PrimaryServices, {
      operatorVersion: operatorVersion(options.version),
      fingerprint,
      configuration,
      owners: options.owners
    }),
    Context.add(BranchedEngines, options.branchSettings ?? {}),
    Context.add(QueueSplitting, {
      options: options.splitting,
      servedAuthority: options.servedAuthority ?? (() => undefined)
    }),
    Context.add(UsageKeeping, { kept: options.usage, wall }),
    Context.add(CopySettings, { makesCopies: options.makesCopies ?? true, image: options.copyImage }),
    // Made before the controllers: it ends after them, and so writes their last Events.
    Context.add(Events, yield* makeEventRecorder(own.api))
  )
})

const makeFacade = Effect.fnUntraced(function* (
  options: OperatorOptions,
  capabilities: OperatorCapabilities,
  wall: Clock.Clock
) {
  const { own } = yield* ClusterConnector
  const authority = yield* ensureUserAuthority(own.api, options.namespace)
  const services = yield* makeServices(options, authority, wall)
  const asked = yield* Effect.provideContext(Layer.build(capabilities), services)
  const quota = makeSessionQuota(options.bounds, () => usersSessions(Context.get(asked, Sessions)))
  yield* countHolding("sessions with connections", quota.size)
  const installation = sha256Hex(`installation ${options.namespace}`).slice(0, 32)
  const users = new UserSightings()
  if (options.keepsUsers === true) {
    const keeping = keepUsers({ api: own.api, namespace: options.namespace, users })
    yield* Effect.forkScoped(Effect.provideService(keeping, Clock.Clock, wall))
  }
  return facadeOf({
    options,
    services: Context.get(services, SessionServices),
    api: own.api,
    authority,
    asked,
    quota,
    users,
    installation,
    wall,
    openPersonalLane: yield* PersonalLanes
  })
})

/** Everything that a request may need. */
interface Operator {
  readonly options: OperatorOptions
  /** The API of the operator's own cluster. */
  readonly api: KubeApi
  readonly services: SessionServices["Service"]
  readonly authority: UserAuthority
  readonly asked: Context.Context<Asked>
  readonly quota: SessionQuota
  readonly users: UserSightings
  /** Names this installation in the operator's description. */
  readonly installation: string
  /** The host's clock. */
  readonly wall: Clock.Clock
  readonly openPersonalLane: OpenPersonalLane
}

const facadeOf = (operator: Operator): Facade => {
  const { api, asked, authority, services, options, quota, users, wall } = operator
  const problems = Effect.sync(() => problemsOf(operator))
  const [branches, copies] = [Context.get(asked, Branches), Context.get(asked, CopyTargets)]
  const [sessions, targets] = [Context.get(asked, Sessions), Context.get(asked, Targets)]
  const splits = Context.get(asked, QueueSplits)
  const reception = {
    api,
    role: roleOf(options.fleet),
    ownerOf: (request: Asker, certificate: string) => ownerOf(authority, wall, request, certificate),
    wall,
    capabilities: Context.get(asked, Capabilities),
    sessions,
    branches,
    splits,
    copies,
    quota,
    users,
    names: new NameMismatches(),
    problems
  }
  const listClusters = Effect.map(Clock.currentTimeMillis, Context.get(asked, FleetView).objects)
  const cluster = (name: string) => Effect.flatMap(listClusters, (clusters) => clusterNamed(clusters, name))
  const stopping = { api, ends: services.ends, sessions }
  return {
    problems,
    connect: (request) => admitConnect(reception, request),
    ...copyTargetRequests({ ...reception, usable: usable(reception) }),
    ...credentialsRequests(branches, usable(reception)),
    describe: Effect.gen(function* () {
      return describe(operator, yield* Clock.currentTimeMillis, yield* failingLists)
    }),
    issueCertificate: (csr) => Effect.flatMap(Clock.currentTimeMillis, (now) => issueCertificate(authority, csr, now)),
    listSessions: (namespace, key) =>
      Effect.map(Clock.currentTimeMillis, (now) => listSessions({ sessions, splits }, { namespace, key }, now)),
    listClusters,
    cluster,
    proxy: (request, caller) =>
      admitPerson({ api, clusterNamed: cluster, openLane: operator.openPersonalLane }, request, caller),
    listQueueSplits: (namespace) => splits.objects(namespace),
    queueSplit: (namespace, name) =>
      Effect.flatMap(splits.objects(namespace), (objects) => queueSplitNamed(objects, namespace, name)),
    listTargets: (namespace) => targets.list(namespace),
    target: (...of) => targets.get(...of),
    portLocks: (...of) => Effect.flatMap(Clock.currentTimeMillis, (now) => portLocks({ sessions, splits }, ...of, now)),
    watchInterceptions: ({ user }, key) =>
      Effect.mapError(
        services.interceptions.watch(user, key === undefined ? undefined : cleanText(key, textLimits.parameter)),
        internalError
      ),
    reviewPod: (uid, body) => answerPodReview(Context.get(asked, PodReviews), uid, body),
    usageReport: (which, search) => Context.get(asked, UsageReports).answer(which, search),
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

const queueSplitNamed = (
  objects: ReadonlyArray<ServedQueueSplit>,
  namespace: string,
  name: string
): Effect.Effect<ServedQueueSplit, ApiError> => {
  const found = objects.find(({ metadata }) => metadata.name === name)
  return found === undefined
    ? Effect.fail(
        notFound(
          `No session has the part ${quoted(name)} in a split in the namespace ${namespace}; ` +
            `\`kubectl -n ${namespace} get queuesplits\` lists those that there are.`
        )
      )
    : Effect.succeed(found)
}

/** Problems that block all sessions. Cluster losses after the start are not among them. */
const problemsOf = ({ asked, options: { configuration, fleet } }: Operator): ReadonlyArray<string> => [
  ...(fleet === undefined || fleetProblems(fleet).length === 0 ? [] : fleetProblems(configuration?.known() ?? fleet)),
  ...Context.get(asked, Capabilities).flatMap(({ problems }) => problems?.() ?? [])
]

/** The sessions of users, each once: without the parts that sessions over many clusters have in this one. */
const usersSessions = ({ served }: Sessions["Service"]): ReadonlyArray<ServedSession> =>
  served.flatMap(({ all }) => all())

/** The sessions of an operator, and their parts in splits of queues. */
interface Listed {
  readonly sessions: Sessions["Service"]
  readonly splits: QueueSplits["Service"]
}

/** The sessions that users see in lists, with their owners: of this operator and of others, each once. */
const shownSessions = (
  { sessions, splits }: Listed,
  now: number
): ReadonlyArray<{ readonly info: SessionInfo; readonly owner: SessionOwner; readonly isOfCi: boolean }> => {
  const parts = splits.shown()
  const shown = [...sessions.distant(), ...usersSessions(sessions)].map(({ info, isOfCi, metadata, owner }) => {
    const part = parts.get(metadata.name)
    return { info: { ...info(now), ...(part !== undefined && { sqs: [part] }) }, owner, isOfCi }
  })
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
  const { asked, authority, installation, options, users } = operator
  const capabilities = Context.get(asked, Capabilities)
  const sessions = shownSessions(
    { sessions: Context.get(asked, Sessions), splits: Context.get(asked, QueueSplits) },
    now
  )
  for (const { owner } of sessions) users.saw(owner.userId, now)
  const further = capabilities.reduce<FurtherStatus>((status, { status: of }) => ({ ...status, ...of?.(now) }), {})
  const conditions = [...(further.conditions ?? []), ...collectionsCondition(unread, now)]
  return describeOperator({
    operatorVersion: operatorVersion(options.version),
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
  listed: Listed,
  { key, namespace }: { readonly namespace: string | undefined; readonly key?: string | undefined },
  now: number
): ReadonlyArray<object> =>
  shownSessions(listed, now)
    .filter(({ info }) => namespace === undefined || info.namespace === namespace)
    .filter(({ info }) => key === undefined || info.key === key)
    .map(({ info }) => sessionObject(info))

const portLocks = (listed: Listed, namespace: string, name: string, now: number): Effect.Effect<object, ApiError> =>
  Result.match(parseTargetName(name), {
    onFailure: ({ message }) => Effect.fail(badRequest(message)),
    onSuccess: (target) => {
      const shown = shownSessions(listed, now).map(({ info }) => info)
      return Effect.succeed(lockedTarget(namespace, target, portLocksOf(shown, namespace, target)))
    }
  })
