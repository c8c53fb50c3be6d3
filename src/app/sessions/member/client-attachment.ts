/**
 * Attaches a client, a user's or a primary's operator, to a session of this cluster: waits until the session is usable,
 * connects to its representative agent, and serves the client. `member-sessions.ts` checks beforehand whether the
 * client may attach.
 */

import { Effect, Result, type Scope } from "effect"
import { EnvironmentAnswers } from "../../../domain/branches/environment-answers.ts"
import { type EnvironmentPlan, withQueues } from "../../../domain/branches/environment-plan.ts"
import { forbiddenAtPod, whyForbidden } from "../../../domain/policies/pod-policies.ts"
import type { MessageFilter } from "../../../domain/protocol/message-filter.ts"
import { memberName } from "../../../domain/relay/member.ts"
import { sessionKeyHeader } from "../../../domain/relay/session-key.ts"
import type { MirrordClusterSession } from "../../../domain/resources/mirrord-cluster-session.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import { explainFailure } from "../../../domain/resources/session-failure.ts"
import { observeChild } from "../../../domain/sessions/child-observation.ts"
import { branchNames, type ConnectParams, ignoredWarnings } from "../../../domain/sessions/connect-request.ts"
import { failureStatus } from "../../../domain/sessions/failure-status.ts"
import { representativeNews } from "../../../domain/sessions/representative-news.ts"
import { type SessionId, sessionIdHex } from "../../../domain/sessions/session-id.ts"
import { fromKubeTarget } from "../../../domain/targets/kube-target.ts"
import type { Target } from "../../../domain/targets/target.ts"
import type { Agents, AgentUnreachable } from "../../../ports/agents.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import type { askedBy } from "../../api/asked-by.ts"
import type { AcceptedConnection } from "../../api/operator-facade.ts"
import { ApiError, badRequest, internalError, reconnectNotPossible } from "../../api/status.ts"
import type { SessionBranches } from "../../branches/session-branches.ts"
import { audit, auditedChild } from "../../kernel/audit.ts"
import { retrying } from "../../kernel/retrying-api.ts"
import type { SessionNotifier } from "../../kernel/session-notifier.ts"
import { currentTraceparent } from "../../kernel/tracing.ts"
import type { QueueSplits } from "../../queues/queue-splits.ts"
import type { ClientConnectionOptions, DialFailure, ServedConnection } from "../../relay/client-connection.ts"
import type { Interceptions } from "../../relay/interceptions.ts"
import { serveClient } from "../../relay/serve-client.ts"
import {
  arrive,
  type ClientIdentity,
  makeSessionLocks,
  type SessionLocks,
  type SessionLockTable
} from "../../relay/session-locks.ts"
import { traceFirstByte } from "../../relay/trace-first-byte.ts"
import type { AskLimits, HeldLimits } from "../../services/session-limits.ts"
import type { Admission } from "../admission.ts"
import type { SessionEnds } from "../session-ends.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import type { AgentLockTable, AgentUser } from "./agent-lock-table.ts"
import type { ClusterSessionController } from "./cluster-session-controller.ts"
import { failingAgent } from "./failing-agent.ts"
import type { LinkTerms } from "./link-terms.ts"
import type { NewSessions } from "./new-sessions.ts"
import { policedAgent } from "./policed-agent.ts"
import type { SessionAgent, SessionClient } from "./session-state.ts"
import { proveVariables, useBranches } from "./use-branches.ts"
import { notSplit, orderSplit, patienceOf } from "./use-splits.ts"

/** How often agents are pinged, in ms. An agent lives without pings, but only pings show that it is dead. */
const pingAgentsEvery = 20_000

export interface MemberSessionsOptions {
  readonly api: KubeApi
  readonly cluster: string
  readonly controller: ClusterSessionController
  readonly sockets: SocketRegistry
  readonly notifier: SessionNotifier
  readonly ends: SessionEnds
  readonly remoteSessionTimeoutSecs: number
  /** Asks for the limits of a session here. */
  readonly limits: AskLimits
  readonly interceptions: Interceptions
  /** Whether users' stolen requests get a header with the key of their session. */
  readonly addsSessionKey: boolean
  readonly branches: SessionBranches
  readonly splits: QueueSplits["Service"]
}

export interface MemberSessionsState {
  readonly options: MemberSessionsOptions
  readonly agents: Agents["Service"]
  /** `options.api` with retries, for calls that a client waits for. */
  readonly retryingApi: KubeApi
  /** Ports of users' own sessions, by session. */
  readonly sessionLocks: SessionLockTable
  /** Ports that different sessions share at one agent. */
  readonly agentLocks: AgentLockTable
  readonly linkTerms: LinkTerms
  /** The agent that a connection to agents leads to. */
  readonly leadsTo: WeakMap<FrameChannel, SessionAgent>
  readonly newSessions: NewSessions
  /** How many clients have attached so far; tells their uses of an agent apart. */
  links: number
}

/** A client that attaches. */
export interface AttachingClient {
  /** The name under which the notifier reports the session's changes. */
  readonly key: string
  /** The session, as soon as there is one. */
  readonly find: () => MirrordClusterSession | undefined
  /** The session, at the beginning of a sentence. */
  readonly title: string
  /** Whether it is a user, and not the operator of a primary. */
  readonly isUser: boolean
  readonly identity: ClientIdentity
  readonly params: ConnectParams
  /** The workload whose queues it splits; missing: the session's target. */
  readonly queuesOf?: Target | undefined
  readonly id: SessionId
  readonly asked: ReturnType<typeof askedBy>
  readonly term?: string | undefined
  /** The trace of its request, where it belongs to one. */
  readonly traceparent?: string | undefined
}

/** A client that can be served. */
interface AttachedClient {
  readonly client: AttachingClient
  readonly user: AgentUser
  /** The session as it was when the client began to wait for its agents. */
  readonly session: MirrordClusterSession
  /** Whether a client was connected to the session before. */
  readonly wasServed: boolean
  /** The agents at the start of the connection; the first is the representative. */
  readonly agents: readonly [SessionAgent, ...ReadonlyArray<SessionAgent>]
  /** The connection to the representative. */
  readonly first: FrameChannel
  /** The news about the representative, a sentence each. */
  readonly news: ReadonlyArray<string>
  readonly locks: SessionLocks
  readonly limits: HeldLimits
  /** The client's connection, once it is served. */
  readonly connection: { served: ServedConnection | undefined }
  /** Where it uses branches or splits queues: the variables that lead to them. */
  readonly environment: EnvironmentPlan | undefined
  /** Whether the client has connected again since. */
  readonly hasYounger: () => boolean
  /** Completes when a later leader of the primary has linked the session. */
  readonly succeeded: Effect.Effect<void>
  /** The connect of a user, in its trace; a primary traces its own. */
  readonly traceparent: string | undefined
}

interface UsableSession {
  readonly name: string
  readonly agents: ReadonlyArray<SessionAgent>
}

export const notInTime = ({ cluster }: MemberSessionsOptions, title: string, secs: number): ApiError =>
  internalError(
    `${title} was not ready within ${secs} s in cluster ${cluster}; look ` +
      "at the operator's log and at the mirrord-agent pods there."
  )

/** Without the parameter the client's own default holds (operator-api.md §7.8). */
const policyOf = ({ values }: ConnectParams): AgentUser["policy"] => values.on_concurrent_steal ?? "abort"

/** Whether a client that waits for the session is let in. `wasServed`: whether a client was connected to it before. */
const admission = (
  { cluster, controller, splits }: MemberSessionsOptions,
  { isUser }: AttachingClient,
  session: MirrordClusterSession,
  wasServed: boolean
): Admission<UsableSession, ApiError> => {
  const { name } = session.metadata
  const child = observeChild(session)
  if (child._tag !== "Present") return undefined
  if (child.deleting) return Result.fail(reconnectNotPossible(`Session ${name} is being ended; start a new one.`))
  // The object of a session may not say yet how its split is.
  const split = splits.requirement(session)
  if (split._tag === "Failed") return Result.fail(notSplit(cluster, split.failure, { isUser, wasServed }))
  if (split._tag === "Pending") return undefined
  const agents = controller.agents(name)
  if (child.ready && agents.length > 0) return Result.succeed({ name, agents })
  if (child.failure === undefined) return undefined
  const { code, message, reason } = failureStatus({ ...child.failure, message: explainFailure(cluster, child.failure) })
  return Result.fail(new ApiError({ code, reason, message }))
}

/** Connects a client to an agent, held to the policies of the agent's pod. */
const connectAgent = Effect.fnUntraced(function* (
  { agentLocks, agents, leadsTo }: MemberSessionsState,
  agent: SessionAgent,
  { limits, user }: Pick<AttachedClient, "limits" | "user">
): Effect.fn.Return<FrameChannel, AgentUnreachable | ApiError> {
  const { handle, placement } = agent
  const policies = placement === undefined ? [] : yield* limits.atPod(placement)
  const channel = failingAgent(yield* agents.connect(handle), agent.hold.failed)
  const confirmations = { rounds: agent.hold.rounds, unconfirmed: agent.hold.leftPortOpen }
  const guarded = policedAgent(agentLocks.guard(handle.name, channel, user, confirmations), policies)
  leadsTo.set(guarded, agent)
  return guarded
})

/** Why a connection leads to an agent that was given up, if it does. */
const lostWith = ({ leadsTo }: MemberSessionsState, channel: FrameChannel): string | undefined => {
  const health = leadsTo.get(channel)?.hold.health()
  return health?._tag === "Lost" ? health.why : undefined
}

/**
 * Completes with a sentence when the client is not to be served any more. A link ends as well when its child was edited
 * to name another parent: no parent would delete the child, and with a link it would never end. A program whose queues
 * are not split any more would wait for messages in vain.
 */
const terminated = (
  { cluster, controller, notifier, splits }: MemberSessionsOptions,
  { client, succeeded, user }: AttachedClient
): ClientConnectionOptions["terminated"] =>
  Effect.raceFirst(
    notifier.until(user.session, () => {
      const session = controller.session(user.session)
      const isOurs = client.isUser || session?.spec.multiClusterParentName === client.key
      if (session === undefined || isBeingDeleted(session.metadata) || !isOurs) {
        return { reason: "The session was ended." }
      }
      const split = splits.requirement(session)
      return split._tag === "Failed" ? { reason: explainFailure(cluster, split.failure) } : undefined
    }),
    Effect.as(succeeded, {
      reason: "Another replica of the primary's operator leads, and has linked the session."
    })
  )

/** A link's messages are reported where its user's connection ends, at the primary. */
const watchedBy = (
  { interceptions }: MemberSessionsOptions,
  { client, session: { spec } }: AttachedClient
): ClientConnectionOptions["watched"] =>
  client.isUser
    ? interceptions.watched({
        key: spec.key ?? undefined,
        service: spec.target?.name ?? "",
        user: spec.owner.k8sUsername
      })
    : undefined

const relayOptions = (
  state: MemberSessionsState,
  attached: AttachedClient,
  channel: FrameChannel,
  firstByte: MessageFilter | undefined
): ClientConnectionOptions => {
  const { addsSessionKey, branches, controller, notifier } = state.options
  const { agents, client, environment, first, hasYounger, limits, locks, news, user } = attached
  const representative = memberName(agents[0].pod)
  return {
    router: {
      members: agents.map(({ pod }) => memberName(pod)),
      defaultMember: representative,
      memberKind: "agent",
      pingMembersEvery: pingAgentsEvery,
      // The requests of a session over many clusters get it from the primary.
      keyHeader: addsSessionKey && client.isUser ? sessionKeyHeader(attached.session.spec.key) : undefined
    },
    client: channel,
    connected: new Map([[representative, first]]),
    members: {
      now: () => controller.agents(user.session).map(({ pod }) => memberName(pod)),
      isReady: () => true,
      lost: (channel) => lostWith(state, channel),
      listen: (changed) => notifier.listen(user.session, changed)
    },
    connect: (member) => {
      const agent = controller.agents(user.session).find(({ pod }) => memberName(pod) === member)
      return agent === undefined
        ? Effect.fail({ message: `${member} has no agent now` })
        : Effect.mapError(connectAgent(state, agent, attached), (error) => dialFailure(agent, error))
    },
    warnings: [...(client.isUser ? ignoredWarnings(client.asked.ignored) : []), ...news],
    limits,
    environment:
      environment === undefined
        ? undefined
        : new EnvironmentAnswers(environment, (why) => branches.refuse(sessionIdHex(client.id), why)),
    locks,
    served: (connection) => (attached.connection.served = connection),
    hasYounger,
    isUser: client.isUser,
    terminated: terminated(state.options, attached),
    watched: watchedBy(state.options, attached),
    firstByte,
    label: user.session
  }
}

/** An agent's pod may have policies that refuse the session, which then goes on without the pod. */
const dialFailure = ({ pod }: SessionAgent, error: AgentUnreachable | ApiError): DialFailure =>
  error._tag === "ApiError"
    ? { message: error.message, refusal: error.code === 403 ? `pod ${pod} takes no part: ${error.message}` : undefined }
    : error

/** The client as the policies of a pod see it: by its profile and its subscriptions. */
const clientAtPods = ({ connection, limits }: AttachedClient): SessionClient => ({
  forbidden: (placement) =>
    limits.atPod(placement).pipe(
      Effect.map((policies) => {
        const found = forbiddenAtPod(policies, connection.served?.subscriptions() ?? [])
        return found === undefined ? undefined : whyForbidden(found)
      }),
      Effect.catch((error) => (error.code === 403 ? Effect.succeed(error.message) : Effect.fail(error)))
    ),
  warn: (message) => connection.served?.warn(message)
})

const serveAttached = (
  state: MemberSessionsState,
  attached: AttachedClient,
  channel: FrameChannel
): Effect.Effect<void, never, Scope.Scope> => {
  const { client, session, user, wasServed } = attached
  const about = { ...client.asked, ...auditedChild(user.session, session.spec) }
  return audit({ act: wasServed ? "reconnected" : "connected", ...about }).pipe(
    Effect.andThen(traceFirstByte(user.session, attached.traceparent)),
    Effect.tap(state.options.controller.consult(user.session, clientAtPods(attached))),
    Effect.flatMap((firstByte) => serveClient(relayOptions(state, attached, channel, firstByte))),
    Effect.flatMap((end) => audit({ act: "disconnected", ...about, message: `${end._tag}: ${end.reason}` }))
  )
}

/** The limits of the session with the containers and the pods that its agents work on. */
const limitsOf = (
  { controller, limits }: MemberSessionsOptions,
  { params, title }: AttachingClient,
  { metadata, spec }: MirrordClusterSession,
  agents: ReadonlyArray<SessionAgent>
): ReturnType<AskLimits> => {
  const target = fromKubeTarget(spec.target)
  if (target === undefined) return Effect.fail(internalError(`${title} has a target that cannot be read.`))
  const containers = agents.flatMap(({ placement }) => placement?.containerName ?? [])
  const tellsAgentVariables = agents.some(({ handle }) => handle.tellsOwnVariables === true)
  const pods = () => controller.agents(metadata.name).flatMap(({ placement }) => placement ?? [])
  const { copyTarget, namespace } = spec
  const { profile } = params.values
  return limits({ namespace, target, containers, profile, tellsAgentVariables, pods, copy: copyTarget ?? undefined })
}

/** The variables of the client's session that lead to its branches and its queues; `undefined` if none does. */
const environmentOf = Effect.fnUntraced(function* (
  { options }: MemberSessionsState,
  using: ReturnType<typeof useBranches>,
  { placement }: SessionAgent,
  session: string
) {
  const branches = yield* using
  if (branches !== undefined && placement !== undefined) yield* proveVariables(options.api, branches, placement)
  return yield* Effect.fromResult(Result.mapError(withQueues(branches, options.splits.variables(session)), badRequest))
})

/** Waits for the client's session to become usable, then connects to its representative agent. */
const waitForAgent = Effect.fnUntraced(function* (
  state: MemberSessionsState,
  client: AttachingClient
): Effect.fn.Return<AttachedClient, ApiError, Scope.Scope> {
  const { notifier, remoteSessionTimeoutSecs, sockets } = state.options
  const { find, key, title } = client
  const succeeded = yield* state.linkTerms.arrive(key, client.term)
  const before = find()
  const session = yield* notifier.until(key, find)
  const wasServed = (before?.status?.connectedTimestamp ?? undefined) !== undefined
  const using = useBranches(state.options, { ...client, branches: branchNames(client.params) }, session, wasServed)
  // At once, as the session's start may take longer than an unused branch stays.
  yield* using
  yield* orderSplit(state.options.splits, client, session)
  yield* sockets.track(session.metadata.name)
  const admitted = yield* notifier.until(key, () => {
    const current = find()
    return current === undefined
      ? Result.fail(reconnectNotPossible(`${title} is gone.`))
      : admission(state.options, client, current, wasServed)
  })
  const { agents, name } = yield* Effect.fromResult(admitted)
  const [representative, ...others] = agents
  if (representative === undefined) return yield* notInTime(state.options, title, remoteSessionTimeoutSecs)
  const limits = yield* limitsOf(state.options, client, session, agents)
  const user: AgentUser = { session: name, link: ++state.links, policy: policyOf(client.params) }
  const connecting = connectAgent(state, representative, { limits, user })
  const first = yield* retrying(connecting, ({ _tag }) => _tag === "AgentUnreachable").pipe(
    Effect.mapError((error) => (error._tag === "ApiError" ? error : internalError(`${error.message}.`))),
    // A client that leaves before its upgrade is never served.
    Effect.tap((channel) => Effect.addFinalizer(() => Effect.sync(channel.close)))
  )
  // The primary has arbitrated between the connections of its session, so a link gets locks of its own; of two links
  // of a session the later one counts.
  const locks = client.isUser ? yield* state.sessionLocks.use(name) : makeSessionLocks()
  const hasYounger = yield* arrive(locks, client.identity)
  const environment = yield* environmentOf(state, using, representative, name)
  const { pod, placement } = representative
  const servedBy = state.options.controller.attaching(name, pod)
  return {
    client,
    user,
    session,
    wasServed,
    agents: [representative, ...others],
    first,
    news: representativeNews({ pod, placement, before: servedBy, isUser: client.isUser }),
    locks,
    limits,
    connection: { served: undefined },
    environment,
    hasYounger,
    succeeded,
    traceparent: client.isUser ? yield* currentTraceparent : undefined
  }
})

/** Attaches a client; fails when its session is over, or is not usable in time. */
export const attachClient = (
  state: MemberSessionsState,
  client: AttachingClient
): Effect.Effect<AcceptedConnection, ApiError, Scope.Scope> => {
  const secs = patienceOf(state.options.remoteSessionTimeoutSecs, client)
  return waitForAgent(state, client).pipe(
    Effect.map((attached): AcceptedConnection => ({ serve: (channel) => serveAttached(state, attached, channel) })),
    Effect.timeoutOrElse({
      duration: secs * 1_000,
      orElse: () => Effect.fail(notInTime(state.options, client.title, secs))
    })
  )
}
