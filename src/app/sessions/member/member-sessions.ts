import { Effect, Result, type Scope } from "effect"
import type { Caller } from "../../../domain/credentials/front-proxy.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../../domain/resources/mirrord-cluster-session.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../../domain/resources/resource-descriptor.ts"
import type { SessionOwner } from "../../../domain/resources/session-shapes.ts"
import { memberName } from "../../../domain/routing/member.ts"
import { observeChild } from "../../../domain/session/child-observation.ts"
import { type ConnectParams, parseConnectQuery } from "../../../domain/session/connect-request.ts"
import { failureStatus } from "../../../domain/session/failure-status.ts"
import { ownerLabel, parentName } from "../../../domain/session/names.ts"
import { explainFailure } from "../../../domain/session/session-failure.ts"
import { type SessionId, sessionIdName } from "../../../domain/session/session-id.ts"
import { parseTargetName } from "../../../domain/target/target-path.ts"
import { isSameTarget, toKubeTarget } from "../../../domain/target/target.ts"
import { Agents, type AgentUnreachable } from "../../../ports/agents.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { mayDo } from "../../api/access-review.ts"
import { askedBy } from "../../api/asked-by.ts"
import type { AcceptedConnection, ConnectRequest } from "../../api/operator-facade.ts"
import {
  ApiError,
  badRequest,
  forbidden,
  internalError,
  ofAnotherTarget,
  reconnectNotPossible
} from "../../api/status.ts"
import { audit, auditedChild } from "../../kernel/audit.ts"
import type { Changes } from "../../kernel/changes.ts"
import { held } from "../../kernel/holdings.ts"
import { retrying, retryingApi } from "../../kernel/retrying-api.ts"
import { serveClient } from "../../relay/serve-client.ts"
import {
  arrive,
  type ClientIdentity,
  clientIdentity,
  makeSessionLocks,
  makeSessionLockTable,
  type SessionLocks
} from "../../relay/session-locks.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import { type AgentUser, makeAgentLockTable } from "./agent-lock-table.ts"
import type { ClusterSessionController, SessionAgent } from "./cluster-session-controller.ts"
import { makeLinkTerms } from "./link-terms.ts"

/** Agents need no pings to live, but a dead one is noticed by them, in ms. */
const pingAgentsEvery = 20_000

export interface MemberSessionsOptions {
  readonly api: KubeApi
  readonly cluster: string
  readonly controller: ClusterSessionController
  readonly sockets: SocketRegistry
  readonly changes: Changes
  readonly remoteSessionTimeoutSecs: number
}

/**
 * Sessions with agents in this cluster: children of a primary's session, and sessions of users who connect here
 * directly.
 */
export interface MemberSessions {
  /** Attaches to the child of a primary's session, which must exist already or come soon; creates none. */
  readonly attachChild: (
    request: ConnectRequest,
    id: SessionId
  ) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
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
  mayDo(api, caller, { group: mirrordClusterSessions.group, resource: mirrordClusterSessions.plural, verb: "create" })

/** The client's own default where it says nothing (operator-api.md §7.8). */
const policyOf = ({ values }: ConnectParams): AgentUser["policy"] => values.on_concurrent_steal ?? "abort"

const identityOf = ({ clientHostname, clientName }: ConnectRequest): ClientIdentity =>
  clientIdentity(clientName, clientHostname)

type Standing =
  | { readonly _tag: "Usable"; readonly name: string; readonly agents: ReadonlyArray<SessionAgent> }
  | { readonly _tag: "Over"; readonly error: ApiError }

export const makeMemberSessions = (
  options: MemberSessionsOptions
): Effect.Effect<MemberSessions, never, Agents | Scope.Scope> =>
  Effect.gen(function* () {
    const { api, changes, controller, sockets } = options
    const agents = yield* Agents
    const sessionLocks = makeSessionLockTable()
    const agentLocks = makeAgentLockTable()
    const linkTerms = makeLinkTerms()
    let links = 0
    yield* held("session locks", sessionLocks.size)
    yield* held("agent locks", agentLocks.size)
    yield* held("link terms", linkTerms.size)

    const retryingCalls = retryingApi(api)
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
      const { code, message, reason } = failureStatus({
        ...child.failure,
        message: explainFailure(options.cluster, child.failure)
      })
      return { _tag: "Over", error: new ApiError({ code, reason, message }) }
    }

    const late = (what: string): ApiError =>
      internalError(
        `${what} was not ready within ${options.remoteSessionTimeoutSecs} s in cluster ${options.cluster}; look ` +
          "at the operator's log and at the mirrord-agent pods there."
      )

    /**
     * Waits for a session, which changes under the name `key`, to become usable, then connects to its representative
     * agent.
     */
    const attach = (
      key: string,
      find: () => MirrordClusterSession | undefined,
      what: string,
      client: {
        readonly isUser: boolean
        readonly identity: ClientIdentity
        readonly policy: AgentUser["policy"]
        readonly asked: ReturnType<typeof askedBy>
        readonly term?: string | undefined
      }
    ): Effect.Effect<AcceptedConnection, ApiError, Scope.Scope> =>
      Effect.gen(function* () {
        const succeeded = yield* linkTerms.arrive(key, client.term)
        const before = find()
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
        const first = yield* retrying(connectAgent(representative, user), () => true).pipe(
          Effect.mapError((error) => internalError(`${error.message}.`)),
          // A client that leaves before its upgrade is never served.
          Effect.tap((channel) => Effect.addFinalizer(() => Effect.sync(channel.close)))
        )
        // The connections of a primary's session were arbitrated there; of two here the later one is the one that
        // counts.
        const shared = client.isUser ? yield* sessionLocks.use(usable.name) : makeSessionLocks()
        const hasYounger = yield* arrive(shared, client.identity)
        const about = auditedChild(usable.name, present.spec)
        const wasServed = (before?.status?.connectedTimestamp ?? undefined) !== undefined
        return accepted(user, usable.agents, representative, first, shared, hasYounger, client.isUser, succeeded, {
          begin: audit({ act: wasServed ? "reconnected" : "connected", ...client.asked, ...about }),
          end: (message) => audit({ act: "disconnected", ...client.asked, ...about, message })
        })
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
      hasYounger: () => boolean,
      isUser: boolean,
      succeeded: Effect.Effect<void>,
      audited: { readonly begin: Effect.Effect<void>; readonly end: (message: string) => Effect.Effect<void> }
    ): AcceptedConnection => ({
      serve: (client) =>
        Effect.andThen(audited.begin, () =>
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
              return agent === undefined
                ? Effect.fail({ message: `${member} has no agent now` })
                : connectAgent(agent, user)
            },
            locks,
            hasYounger,
            isUser,
            terminated: Effect.raceFirst(
              changes.until(user.session, () => {
                const session = controller.session(user.session)
                const gone = session === undefined || isBeingDeleted(session.metadata)
                return gone ? { reason: "The session was ended." } : undefined
              }),
              Effect.as(succeeded, {
                reason: "Another replica of the primary's operator leads, and has linked the session."
              })
            ),
            label: user.session
          })
        ).pipe(Effect.flatMap((end) => audited.end(`${end._tag}: ${end.reason}`)))
    })

    return {
      attachChild: (request, id) =>
        Effect.gen(function* () {
          if (!(yield* isPrimary(retryingCalls, request.caller))) {
            return yield* forbidden(
              `User ${request.caller.user} connects without a user certificate (header x-client-der), which only ` +
                "the operator of a primary cluster may: one that may create mirrordclustersessions here."
            )
          }
          const parent = parentName(id)
          const find = (): MirrordClusterSession | undefined => {
            const object = controller.sessions
              .all()
              .find(
                (one) =>
                  (one["spec"] as { readonly multiClusterParentName?: unknown } | undefined)?.multiClusterParentName ===
                  parent
              )
            return object === undefined ? undefined : controller.session(object.metadata.name)
          }
          const params = parseConnectQuery(request.query)
          if (Result.isFailure(params)) return yield* badRequest(params.failure.map(({ message }) => message).join(" "))
          return yield* attach(parent, find, `The session of ${parent}`, {
            isUser: false,
            identity: identityOf(request),
            policy: policyOf(params.success),
            asked: askedBy(request),
            term: request.term
          })
        }),
      attachUser: (request, id, owner, params) =>
        Effect.gen(function* () {
          const name = sessionIdName(id)
          const find = () => controller.session(name)
          const asked = askedBy(request, owner)
          const target = parseTargetName(request.target, params.values.label_target)
          if (Result.isFailure(target)) return yield* badRequest(target.failure.message)
          if (target.success._tag === "Label")
            return yield* badRequest("Label targets are not supported yet; name a workload.")
          const kubeTarget = toKubeTarget(target.success)
          if (find() === undefined) {
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
            yield* retryingCalls.create(mirrordClusterSessions, body).pipe(
              Effect.andThen(audit({ act: "created", ...asked, ...auditedChild(name, body.spec) })),
              Effect.catch((error) =>
                error.reason === "AlreadyExists"
                  ? Effect.void
                  : Effect.fail(internalError(`The session cannot be created: ${error.detail}.`))
              )
            )
          }
          const { spec: of } = yield* changes.until(name, find).pipe(
            Effect.timeoutOrElse({
              duration: options.remoteSessionTimeoutSecs * 1_000,
              orElse: () => Effect.fail(late(`Session ${name}`))
            })
          )
          if (of.owner.userId !== owner.userId) return yield* forbidden(`Session ${name} belongs to another user.`)
          // The API server has checked the URL, which does not name the session.
          if (of.namespace !== request.namespace || !isSameTarget(of.target, kubeTarget))
            return yield* ofAnotherTarget(name, request.target, request.namespace)
          return yield* attach(name, find, `Session ${name}`, {
            isUser: true,
            identity: identityOf(request),
            policy: policyOf(params),
            asked
          })
        })
    }
  })
