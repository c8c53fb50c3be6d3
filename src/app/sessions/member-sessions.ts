import { Effect, Result, type Scope } from "effect"
import { mirrordClusterSessions, type MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import { subjectAccessReviews } from "../../domain/resources/core-kinds.ts"
import { apiVersionOf, readResource } from "../../domain/resources/resource-descriptor.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { memberName } from "../../domain/routing/member.ts"
import { observeChild } from "../../domain/session/child-observation.ts"
import { type ConnectParams, parseConnectQuery } from "../../domain/session/connect-params.ts"
import { explainFailure } from "../../domain/session/session-failure.ts"
import { failureStatus } from "../../domain/session/failure-status.ts"
import { ownerLabel, parentName } from "../../domain/session/names.ts"
import { type SessionId, sessionIdName } from "../../domain/session/session-id.ts"
import { parseTargetName } from "../../domain/target/target-path.ts"
import { toKubeTarget } from "../../domain/target/target.ts"
import { Agents, type AgentUnreachable } from "../../ports/agents.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { Caller } from "../api/caller.ts"
import type { AcceptedConnection, ConnectRequest } from "../api/operator-facade.ts"
import { ApiError, badRequest, forbidden, internalError, reconnectNotPossible } from "../api/status.ts"
import type { ClusterSessionController, SessionAgent } from "../controllers/cluster-session-controller.ts"
import { type AgentUser, makeAgentLockTable } from "./agent-lock-table.ts"
import type { Changes } from "./changes.ts"
import { serveClient } from "./client-connection.ts"
import { makeSessionLocks, makeSessionLockTable, type SessionLocks } from "./session-locks.ts"
import type { SocketRegistry } from "./socket-registry.ts"
import { held } from "../holdings.ts"
import { logInfo } from "../log.ts"

/** Agents need no pings to live, but a dead one is noticed by them (issue "a session", §5), in ms. */
const pingAgentsEvery = 20_000

export interface MemberSessionsOptions {
  readonly api: KubeApi
  readonly cluster: string
  readonly controller: ClusterSessionController
  readonly sockets: SocketRegistry
  readonly changes: Changes
  readonly remoteSessionTimeoutSecs: number
}

/** Sessions with agents in this cluster: children of a primary's session, and sessions of users who connect here directly. */
export interface MemberSessions {
  /** Attaches to the child of a primary's session, which must exist already or come soon; creates none. */
  readonly attachChild: (request: ConnectRequest, id: SessionId) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
  /** Attaches to a user's own session here, made at the first connect. */
  readonly attachUser: (
    request: ConnectRequest,
    id: SessionId,
    owner: SessionOwner,
    params: ConnectParams
  ) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
}

/** Whether the caller may drive sessions here, as only a primary's identity may (docs/member-link.md). */
const isPrimary = (api: KubeApi, caller: Caller): Effect.Effect<boolean, ApiError> =>
  api
    .create(subjectAccessReviews, {
      apiVersion: apiVersionOf(subjectAccessReviews),
      kind: subjectAccessReviews.kind,
      spec: {
        user: caller.user,
        groups: caller.groups,
        extra: caller.extra,
        resourceAttributes: { group: mirrordClusterSessions.group, resource: mirrordClusterSessions.plural, verb: "create" }
      }
    })
    .pipe(
      Effect.mapError((error) => internalError(`The caller's permissions cannot be looked up: ${error.detail}.`)),
      Effect.map((review) => {
        const answer = readResource(subjectAccessReviews, review)
        return Result.isSuccess(answer) && answer.success.status.allowed
      })
    )

/** The client's own default where it says nothing (operator-api §1.8.2). */
const policyOf = ({ values }: ConnectParams): AgentUser["policy"] => values.on_concurrent_steal ?? "abort"

type Standing =
  | { readonly _tag: "Usable"; readonly name: string; readonly agents: ReadonlyArray<SessionAgent> }
  | { readonly _tag: "Over"; readonly error: ApiError }

export const makeMemberSessions = (options: MemberSessionsOptions): Effect.Effect<MemberSessions, never, Agents | Scope.Scope> =>
  Effect.gen(function* () {
    const { api, changes, controller, sockets } = options
    const agents = yield* Agents
    const sessionLocks = makeSessionLockTable()
    const agentLocks = makeAgentLockTable()
    let links = 0
    yield* held("session locks", sessionLocks.size)
    yield* held("agent locks", agentLocks.size)

    const connectAgent = (agent: SessionAgent, user: AgentUser): Effect.Effect<FrameChannel, AgentUnreachable> =>
      Effect.map(agents.connect(agent.handle), (channel) => agentLocks.guard(agent.handle.name, channel, user))

    /** How a session stands for a client that waits: usable, over, or `undefined`: not decided yet. */
    const standing = (session: MirrordClusterSession): Standing | undefined => {
      const { name } = session.metadata
      const child = observeChild(session)
      if (child._tag !== "Present") return undefined
      if (child.deleting) return { _tag: "Over", error: reconnectNotPossible(`Session ${name} is being ended.`) }
      const started = controller.agents(name)
      if (child.ready && started.length > 0) return { _tag: "Usable", name, agents: started }
      if (child.failure === undefined) return undefined
      const { code, message, reason } = failureStatus({ ...child.failure, message: explainFailure(options.cluster, child.failure) })
      return { _tag: "Over", error: new ApiError({ code, reason, message }) }
    }

    const late = (what: string): ApiError =>
      internalError(`${what} was not ready within ${options.remoteSessionTimeoutSecs} s in cluster ${options.cluster}; look at the operator's log and at the mirrord-agent pods there.`)

    /** Waits for a session, which changes under the name `key`, to become usable, then connects to its representative agent. */
    const attach = (
      key: string,
      find: () => MirrordClusterSession | undefined,
      what: string,
      client: { readonly isUser: boolean; readonly policy: AgentUser["policy"] }
    ): Effect.Effect<AcceptedConnection, ApiError, Scope.Scope> =>
      Effect.gen(function* () {
        const present = yield* changes.until(key, find)
        yield* sockets.track(present.metadata.name)
        const usable = yield* changes.until(key, () => {
          const session = find()
          return session === undefined
            ? ({ _tag: "Over", error: reconnectNotPossible(`${what} is gone.`) } as const)
            : standing(session)
        })
        if (usable._tag === "Over") return yield* usable.error
        const [representative] = usable.agents
        if (representative === undefined) return yield* late(what)
        const user: AgentUser = { session: usable.name, link: ++links, policy: client.policy }
        const first = yield* connectAgent(representative, user).pipe(
          Effect.mapError((error) => internalError(`${error.message}.`)),
          // A client that leaves before its upgrade is never served.
          Effect.tap((channel) => Effect.addFinalizer(() => Effect.sync(channel.close)))
        )
        // The connections of a primary's session were arbitrated there; of two here the later one is the one that counts.
        const shared = client.isUser ? yield* sessionLocks.use(usable.name) : makeSessionLocks()
        return accepted(user, usable.agents, representative, first, shared, client.isUser)
      }).pipe(
        Effect.timeoutOrElse({
          duration: options.remoteSessionTimeoutSecs * 1_000,
          orElse: () => Effect.fail(late(what))
        })
      )

    const accepted = (
      user: AgentUser,
      all: ReadonlyArray<SessionAgent>,
      representative: SessionAgent,
      first: FrameChannel,
      locks: SessionLocks,
      isUser: boolean
    ): AcceptedConnection => ({
      serve: (client) =>
        serveClient({
          router: {
            members: all.map(({ pod }) => memberName(pod)),
            defaultMember: memberName(representative.pod),
            memberKind: "agent",
            pingMembersEvery: pingAgentsEvery
          },
          client,
          connected: new Map([[memberName(representative.pod), first]]),
          members: {
            now: () => controller.agents(user.session).map(({ pod }) => memberName(pod)),
            isReady: () => true,
            listen: (changed) => changes.listen(user.session, changed)
          },
          connect: (member) => {
            const agent = controller.agents(user.session).find(({ pod }) => memberName(pod) === member)
            return agent === undefined ? Effect.fail({ message: `${member} has no agent now` }) : connectAgent(agent, user)
          },
          locks,
          isUser,
          terminated: changes.until(user.session, () => {
            const session = controller.session(user.session)
            const gone = session === undefined || (session.metadata.deletionTimestamp ?? undefined) !== undefined
            return gone ? { reason: "The session was ended." } : undefined
          }),
          label: user.session
        }).pipe(
          Effect.tap((end) => logInfo("client connection ended", { session: user.session, end: end._tag, reason: end.reason })),
          Effect.asVoid
        )
    })

    return {
      attachChild: (request, id) =>
        Effect.gen(function* () {
          if (!(yield* isPrimary(api, request.caller))) {
            return yield* forbidden(
              `User ${request.caller.user} connects without a user certificate (header x-client-der), which only the operator of a primary cluster may: one that may create mirrordclustersessions here.`
            )
          }
          const parent = parentName(id)
          const find = (): MirrordClusterSession | undefined => {
            const object = controller.sessions
              .all()
              .find((one) => (one["spec"] as { readonly multiClusterParentName?: unknown } | undefined)?.multiClusterParentName === parent)
            return object === undefined ? undefined : controller.session(object.metadata.name)
          }
          const params = parseConnectQuery(request.query)
          if (Result.isFailure(params)) return yield* badRequest(params.failure.map(({ message }) => message).join(" "))
          return yield* attach(parent, find, `The session of ${parent}`, { isUser: false, policy: policyOf(params.success) })
        }),
      attachUser: (request, id, owner, params) =>
        Effect.gen(function* () {
          const name = sessionIdName(id)
          const find = () => controller.session(name)
          const existing = find()
          if (existing === undefined) {
            const target = parseTargetName(request.target, params.values.label_target)
            if (Result.isFailure(target)) return yield* badRequest(target.failure.message)
            if (target.success._tag === "Label") return yield* badRequest("Label targets are not supported yet; name a workload.")
            const kubeTarget = toKubeTarget(target.success)
            const body = {
              apiVersion: apiVersionOf(mirrordClusterSessions),
              kind: mirrordClusterSessions.kind,
              metadata: { name, labels: ownerLabel },
              spec: {
                namespace: request.namespace,
                owner,
                ...(kubeTarget === undefined ? {} : { target: kubeTarget }),
                ...(params.values.key === undefined ? {} : { key: params.values.key }),
                ...(request.clientVersion === undefined ? {} : { clientCliVersion: request.clientVersion })
              }
            }
            yield* api.create(mirrordClusterSessions, body).pipe(
              Effect.catch((error) =>
                error.reason === "AlreadyExists" ? Effect.void : Effect.fail(internalError(`The session cannot be created: ${error.detail}.`))
              )
            )
          } else if (existing.spec.owner.userId !== owner.userId) {
            return yield* forbidden(`Session ${name} belongs to another user.`)
          }
          return yield* attach(name, find, `Session ${name}`, { isUser: true, policy: policyOf(params) })
        })
    }
  })

