/**
 * Composes an operator: the ground, the capabilities on it, and the facade that asks them. The capabilities do the
 * work; the leadership decides who may run an operator.
 */

import { Clock, Context, Effect, type Scope } from "effect"
import type { UserAuthority } from "../../adapters/x509/user-certificates.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { fleetProblems, roleOf } from "../../domain/fleet/roles.ts"
import type { MirrordOperatorStatus } from "../../domain/resources/mirrord-operator.ts"
import type { Agents } from "../../ports/agents.ts"
import { ClusterConnector } from "../../ports/cluster-connector.ts"
import type { KubeError } from "../../ports/kube-api.ts"
import type { Capability } from "../api/capability.ts"
import { type Facade, mapFacade } from "../api/facade-gate.ts"
import type { AcceptedConnection } from "../api/operator-facade.ts"
import { ChangeFeed } from "../kernel/change-feed.ts"
import { makeEventRecorder } from "../kernel/event-recorder.ts"
import { CurrentHoldings, countHolding } from "../kernel/holdings.ts"
import { SessionNotifier } from "../kernel/session-notifier.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { steadyClock } from "../kernel/steady-clock.ts"
import { SessionEnds } from "../sessions/session-ends.ts"
import { admitConnect } from "./admit-connect.ts"
import { type Ground, makeCapabilities, type MakeCapability, operatorCapabilities } from "./capabilities.ts"
import { describeOperator, operatorVersion, sessionObject } from "./describe.ts"
import { stopAllSessions, stopSession } from "./stop-sessions.ts"
import { ensureUserAuthority } from "./user-authority.ts"
import { issueCertificate } from "./user-identity.ts"

export interface OperatorOptions {
  readonly namespace: string
  readonly version: string
  /** The fleet of a primary; without it the operator serves its own cluster only, with a member's abilities. */
  readonly fleet: FleetConfiguration | undefined
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
    const ours = Context.make(Clock.Clock, steadyClock(wall)).pipe(Context.add(CurrentHoldings, yield* CurrentHoldings))
    const facade = yield* Effect.provideContext(makeFacade(options, capabilities, wall), ours)
    return mapFacade(Effect.succeed(facade), {
      problems: facade.problems,
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
const makeGround = ({ fleet, namespace, version }: OperatorOptions, { fingerprint }: UserAuthority) =>
  Effect.gen(function* () {
    const { own } = yield* ClusterConnector
    const notifier = new SessionNotifier()
    yield* countHolding("sessions waited for", () => notifier.size)
    return {
      api: own.api,
      namespace,
      operatorVersion: operatorVersion(version),
      fingerprint,
      fleet,
      feed: new ChangeFeed(),
      notifier,
      ends: new SessionEnds(),
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
    return facadeOf({ options, ground, authority, capabilities, wall })
  })

/** Everything that a request may need. */
interface Operator {
  readonly options: OperatorOptions
  readonly ground: Ground
  readonly authority: UserAuthority
  readonly capabilities: ReadonlyArray<Capability>
  /** The host's clock. */
  readonly wall: Clock.Clock
}

const facadeOf = (operator: Operator): Facade => {
  const { authority, capabilities, ground, options, wall } = operator
  const { api, ends } = ground
  const problems = Effect.sync(() => problemsOf(operator))
  const reception = { api, role: roleOf(options.fleet), authority, wall, capabilities, problems }
  const stopping = { api, ends, capabilities }
  return {
    problems,
    connect: (request) => admitConnect(reception, request),
    describe: Effect.map(Clock.currentTimeMillis, (now) => describe(operator, now)),
    issueCertificate: (csr) => Effect.flatMap(Clock.currentTimeMillis, (now) => issueCertificate(authority, csr, now)),
    listSessions: (namespace) => Effect.map(Clock.currentTimeMillis, (now) => listSessions(operator, namespace, now)),
    deleteSession: (reference, by, namespace) => stopSession(stopping, reference, by, namespace),
    deleteAllSessions: (by) => stopAllSessions(stopping, by)
  }
}

const problemsOf = ({ capabilities, options: { fleet } }: Operator): ReadonlyArray<string> => [
  ...(fleet === undefined ? [] : fleetProblems(fleet)),
  ...capabilities.flatMap(({ problems }) => problems?.() ?? [])
]

const describe = ({ authority, capabilities, ground, options }: Operator, now: number): object =>
  describeOperator({
    operatorVersion: ground.operatorVersion,
    role: roleOf(options.fleet),
    namespace: options.namespace,
    fingerprint: authority.fingerprint,
    installation: sha256Hex(`installation ${options.namespace}`).slice(0, 32),
    features: capabilities.flatMap(({ features }) => features ?? []),
    status: capabilities.reduce<Partial<MirrordOperatorStatus>>(
      (status, capability) => ({ ...status, ...capability.status?.(now) }),
      {}
    )
  })

const listSessions = ({ capabilities }: Operator, namespace: string | undefined, now: number): ReadonlyArray<object> =>
  capabilities
    .flatMap(({ sessions }) => sessions?.all() ?? [])
    .filter((session) => namespace === undefined || session.namespace === namespace)
    .map(({ info }) => sessionObject(info(now)))
