import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, Result, type Scope } from "effect"
import { issueUserCertificate, verifyUserCertificate } from "../../adapters/x509/user-certificates.ts"
import type { Caller } from "../../domain/credentials/front-proxy.ts"
import { defaultSessionTimes, type FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { fleetProblems, roleOf } from "../../domain/fleet/roles.ts"
import { mirrordClusterSessions, type MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import {
  mirrordMultiClusterSessions,
  type MirrordMultiClusterSession
} from "../../domain/resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted, type ObjectMeta } from "../../domain/resources/object-meta.ts"
import type { ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { parseConnectQuery } from "../../domain/session/connect-request.ts"
import { parentName } from "../../domain/session/names.ts"
import type { AuditedSession } from "../../domain/session/session-act.ts"
import { parseSessionIdHeader, parseSessionReference, sessionIdName } from "../../domain/session/session-id.ts"
import type { Agents } from "../../ports/agents.ts"
import { ClusterConnector } from "../../ports/cluster-connector.ts"
import type { KubeError } from "../../ports/kube-api.ts"
import { type Deed, mayDo } from "../api/access-review.ts"
import type { AcceptedConnection, ConnectRequest, OperatorFacade } from "../api/operator-facade.ts"
import { badRequest, forbidden, internalError, notFound } from "../api/status.ts"
import { type FleetCluster, makeFleet } from "../fleet/fleet.ts"
import { auditedChild, auditedParent } from "../kernel/audit.ts"
import { Changes } from "../kernel/changes.ts"
import { type EventRecorder, makeEventRecorder } from "../kernel/event-recorder.ts"
import { CurrentHoldings, held } from "../kernel/holdings.ts"
import { logWarning } from "../kernel/log.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { steadyClock } from "../kernel/steady-clock.ts"
import { makeSessionLockTable } from "../relay/session-locks.ts"
import { makeClusterSessionController } from "../sessions/member/cluster-session-controller.ts"
import { makeMemberSessions } from "../sessions/member/member-sessions.ts"
import { makeDebtLedger } from "../sessions/primary/debt-ledger.ts"
import { makeSessionManager } from "../sessions/primary/multi-cluster-session-manager.ts"
import { makePrimarySessions } from "../sessions/primary/primary-sessions.ts"
import { SessionEnds } from "../sessions/session-ends.ts"
import { makeSocketRegistry } from "../sessions/socket-registry.ts"
import { describeOperator, operatorVersion, parentInfo, sessionInfo, sessionObject } from "./describe.ts"
import { ensureUserAuthority } from "./user-authority.ts"

const connectTo = ({ namespace, target }: ConnectRequest): Deed => ({
  group: "operator.metalbear.co",
  resource: "targets",
  verb: "proxy",
  namespace,
  name: target
})

export interface OperatorOptions {
  readonly namespace: string
  readonly version: string
  /** A primary's fleet; without it the operator is single, with a member's abilities. */
  readonly fleet: FleetConfiguration | undefined
}

/** By whom sessions are stopped, and whether one or all. */
interface Stop {
  readonly by: Caller
  readonly cause: "Stopped" | "AllStopped"
}

/** The primary's half: fleet, session manager and sessions over many clusters. */
const makePrimary = (
  configuration: FleetConfiguration,
  options: OperatorOptions,
  fingerprint: string,
  changes: Changes,
  ends: SessionEnds,
  events: EventRecorder
) =>
  Effect.gen(function* () {
    const { own: ownCluster } = yield* ClusterConnector
    const debts = yield* makeDebtLedger(ownCluster.api, options.namespace)
    const run = Effect.runForkWith(yield* Effect.context<never>())
    // The manager is made after the fleet that it observes; until then there is nobody to tell.
    let onChange: (session?: string) => void = () => {}
    const sockets = makeSocketRegistry((session) => onChange(session))
    yield* held("sockets of sessions", sockets.size)
    const own = {
      _tag: "Connected",
      operatorVersion: operatorVersion(options.version),
      fingerprint,
      parametersInHeader: true
    } as const
    const clusterChanged = (cluster: FleetCluster | undefined): void => {
      onChange()
      const access = cluster?.access()
      if (cluster !== undefined && access !== undefined && cluster.reach().reachable) {
        run(
          debts
            .pay(cluster.name, access.api)
            .pipe(Effect.catch((error) => logWarning("debts not paid", { problem: error.message })))
        )
      }
    }
    const fleet = yield* makeFleet({
      configuration,
      namespace: options.namespace,
      sha256Hex,
      ownHealth: own,
      events: {
        joined: clusterChanged,
        left: () => onChange(),
        childChanged: (_cluster, child) => {
          const parent = (child["spec"] as { readonly multiClusterParentName?: unknown } | undefined)
            ?.multiClusterParentName
          if (typeof parent === "string") onChange(parent)
        },
        reachChanged: (cluster) => clusterChanged(fleet.clusters.get(cluster))
      }
    })
    yield* Effect.forkScoped(debts.keepPaying((cluster) => fleet.clusters.get(cluster)?.access()?.api))
    const manager = yield* makeSessionManager({
      local: ownCluster.api,
      fleet,
      defaultCluster: configuration.defaultCluster,
      settings: configuration,
      sockets,
      debts,
      changes,
      ends,
      events,
      sha256Hex
    })
    onChange = (session) => {
      if (session === undefined) {
        manager.enqueueAll()
        changes.notifyAll()
      } else {
        manager.enqueue(session)
        changes.notify(session)
      }
    }
    const locks = makeSessionLockTable()
    yield* held("session locks", locks.size)
    const sessions = makePrimarySessions({
      local: ownCluster.api,
      clusterName: configuration.clusterName,
      defaultCluster: configuration.defaultCluster,
      manager,
      fleet,
      sockets,
      locks,
      changes,
      ends,
      remoteSessionTimeoutSecs: configuration.remoteSessionTimeoutSecs
    })
    return { fleet, manager, sessions }
  })

/**
 * The operator of one cluster, in the role that its configuration gives it. Sessions live by a clock of their own that
 * never jumps; certificates are judged by the host's.
 */
export const makeOperator = (
  options: OperatorOptions
): Effect.Effect<OperatorFacade["Service"], KubeError, Agents | ClusterConnector | Scope.Scope> =>
  Effect.gen(function* () {
    const wall = yield* Clock.Clock
    const ours = Context.make(Clock.Clock, steadyClock(wall)).pipe(Context.add(CurrentHoldings, yield* CurrentHoldings))
    const { connect, ...facade } = yield* Effect.provideContext(make(options, wall), ours)
    return {
      ...facade,
      connect: (request) =>
        connect(request).pipe(
          Effect.map(
            ({ serve }) =>
              ({ serve: (client) => Effect.provideContext(serve(client), ours) }) satisfies AcceptedConnection
          ),
          Effect.provideContext(ours)
        )
    }
  })

const make = (
  options: OperatorOptions,
  wall: Clock.Clock
): Effect.Effect<OperatorFacade["Service"], KubeError, Agents | ClusterConnector | Scope.Scope> =>
  Effect.gen(function* () {
    const { own: ownCluster } = yield* ClusterConnector
    const role = roleOf(options.fleet)
    const times = options.fleet ?? defaultSessionTimes
    const authority = yield* ensureUserAuthority(ownCluster.api, options.namespace)
    const changes = new Changes()
    // Before the controllers: it ends after them, and writes what they told last.
    const events = yield* makeEventRecorder(ownCluster.api)
    const ends = new SessionEnds()

    let onSocket: (session: string) => void = () => {}
    const sockets = makeSocketRegistry((session) => onSocket(session))
    yield* held("sockets of sessions", sockets.size)
    yield* held("sessions waited for", () => changes.size)
    const controller = yield* makeClusterSessionController({
      api: ownCluster.api,
      sockets,
      changes,
      ends,
      events,
      defaults: times
    })
    onSocket = controller.enqueue
    const members = yield* makeMemberSessions({
      api: ownCluster.api,
      cluster: options.fleet?.clusterName ?? "this cluster",
      controller,
      sockets,
      changes,
      remoteSessionTimeoutSecs: times.remoteSessionTimeoutSecs
    })
    const primary =
      options.fleet === undefined
        ? undefined
        : yield* makePrimary(options.fleet, options, authority.fingerprint, changes, ends, events)

    const parents = (): ReadonlyArray<MirrordMultiClusterSession> =>
      (primary?.manager.parents.all() ?? []).flatMap(({ metadata }) => primary?.manager.parent(metadata.name) ?? [])
    /** Users' own sessions in this cluster, without the children of anybody's multi-cluster sessions. */
    const ownSessions = () =>
      controller.sessions.all().flatMap(({ metadata }) => {
        const session = controller.session(metadata.name)
        return session === undefined || (session.spec.multiClusterParentName ?? undefined) !== undefined
          ? []
          : [session]
      })

    const problems = Effect.sync(() => [
      ...(options.fleet === undefined ? [] : fleetProblems(options.fleet)),
      ...(controller.sessions.synced() ? [] : ["The sessions of this cluster have not been read yet."]),
      ...(primary === undefined || primary.manager.parents.synced()
        ? []
        : ["The multi-cluster sessions have not been read yet."])
    ])

    /** Waits shortly for what a starting operator still has to read, then says what is missing. */
    const usable = Effect.gen(function* () {
      yield* controller.sessions.awaitSynced
      if (primary !== undefined) {
        yield* primary.manager.parents.awaitSynced
        yield* primary.fleet.checked
      }
    }).pipe(
      Effect.timeoutOption("8 seconds"),
      Effect.andThen(() => problems),
      Effect.flatMap((found) =>
        found.length === 0
          ? Effect.void
          : Effect.fail(
              internalError(`The operator cannot serve sessions now: ${found.join(" ")} Try again in a moment.`)
            )
      )
    )

    const userOf = (request: ConnectRequest, header: string) =>
      Effect.flatMap(wall.currentTimeMillis, (now) => {
        const user = verifyUserCertificate(authority, header, now)
        if ("_tag" in user)
          return Effect.fail(forbidden(`${user.message.charAt(0).toUpperCase()}${user.message.slice(1)}.`))
        const owner: SessionOwner = {
          userId: user.userId,
          username: request.clientName ?? user.commonName,
          hostname: request.clientHostname ?? user.commonName,
          k8sUsername: request.caller.user
        }
        return Effect.succeed(owner)
      })

    const connect = (request: ConnectRequest) =>
      Effect.gen(function* () {
        const id = parseSessionIdHeader(request.sessionId)
        if (Result.isFailure(id)) return yield* badRequest(id.failure.message)
        // To read a target is not to connect to it, and only below the prefix `proxy/` did the API server ask for the
        // right to connect.
        if (request.checked !== "proxy" && !(yield* mayDo(ownCluster.api, request.caller, connectTo(request)))) {
          return yield* forbidden(
            `User ${request.caller.user} cannot proxy resource "targets" in API group "operator.metalbear.co" in ` +
              `the namespace "${request.namespace}".`
          )
        }
        const params = parseConnectQuery(request.query)
        if (Result.isFailure(params)) return yield* badRequest(params.failure.map(({ message }) => message).join(" "))
        if (request.certificate === undefined) {
          yield* usable
          return yield* members.attachChild(request, id.success)
        }
        const owner = yield* userOf(request, request.certificate)
        yield* usable
        const isLocal =
          params.success.values.multi_cluster === false ||
          request.target === "label" ||
          request.target.startsWith("label.")
        if (primary !== undefined && !isLocal)
          return yield* primary.sessions.attach(request, id.success, owner, params.success)
        if (role._tag === "Primary" && role.managementOnly) {
          return yield* badRequest(
            "This cluster only manages sessions and runs no workloads; leave multi_cluster unset and target a " +
              "workload by its name."
          )
        }
        return yield* members.attachUser(request, id.success, owner, params.success)
      })

    const stop = (resource: ResourceDescriptor<unknown>, metadata: ObjectMeta, how: Stop, about: AuditedSession) => {
      // Its end has its line already, maybe of the leader before.
      if (isBeingDeleted(metadata)) return Effect.void
      return ends
        .end(metadata, ownCluster.api.delete(resource, metadata.name), { act: "ended", ...how, ...about })
        .pipe(
          Effect.catch((error) =>
            error.reason === "NotFound"
              ? Effect.void
              : Effect.fail(internalError(`Session ${metadata.name} cannot be deleted: ${error.detail}.`))
          )
        )
    }

    const isThere = (
      session: { readonly spec: { readonly namespace: string } },
      namespace: string | undefined
    ): boolean => namespace === undefined || session.spec.namespace === namespace

    const stopParent = ({ metadata, spec }: MirrordMultiClusterSession, how: Stop) =>
      stop(mirrordMultiClusterSessions, metadata, how, auditedParent(metadata.name, spec))

    const stopOwn = ({ metadata, spec }: MirrordClusterSession, how: Stop) =>
      stop(mirrordClusterSessions, metadata, how, auditedChild(metadata.name, spec))

    const deleteSession = (reference: string, by: Caller, namespace?: string) =>
      Effect.gen(function* () {
        const ids = parseSessionReference(reference)
        if (Result.isFailure(ids)) return yield* badRequest(ids.failure.message)
        for (const id of ids.success) {
          const parent = primary?.manager.parent(parentName(id))
          if (parent !== undefined && isThere(parent, namespace))
            return yield* stopParent(parent, { by, cause: "Stopped" })
          const session = controller.session(sessionIdName(id))
          if (session !== undefined && isThere(session, namespace))
            return yield* stopOwn(session, { by, cause: "Stopped" })
        }
        return yield* notFound(`There is no session ${reference}.`)
      })

    return {
      problems,
      connect,
      deleteSession,
      describe: Effect.map(Clock.currentTimeMillis, (now) =>
        describeOperator({
          version: options.version,
          role,
          namespace: options.namespace,
          fingerprint: authority.fingerprint,
          installation: sha256Hex(`installation ${options.namespace}`).slice(0, 32),
          sessions: ownSessions(),
          multiCluster: primary === undefined ? undefined : { fleet: primary.fleet, parents: parents() },
          now
        })
      ),
      issueCertificate: (csr) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const issued = issueUserCertificate(authority, csr, now, randomBytes(16))
          return typeof issued === "string"
            ? Effect.succeed(issued)
            : Effect.fail(badRequest(`spec.csr: ${issued.message}.`))
        }),
      listSessions: (namespace) =>
        Effect.map(Clock.currentTimeMillis, (now) =>
          [
            ...ownSessions().map((session) => sessionInfo(session, now)),
            ...parents().map((parent) => parentInfo(parent, now))
          ]
            .filter((info) => namespace === undefined || info.namespace === namespace)
            .map(sessionObject)
        ),
      deleteAllSessions: (by) =>
        Effect.gen(function* () {
          const [multi, own] = [parents(), ownSessions()]
          yield* Effect.forEach(multi, (parent) => Effect.ignore(stopParent(parent, { by, cause: "AllStopped" })), {
            discard: true
          })
          yield* Effect.forEach(own, (session) => Effect.ignore(stopOwn(session, { by, cause: "AllStopped" })), {
            discard: true
          })
          return multi.length + own.length
        })
    }
  })
