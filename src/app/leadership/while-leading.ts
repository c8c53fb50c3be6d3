/**
 * The world as a leader may change it: every write, link and dial checks at its moment whether the term still lasts. A
 * process that was suspended past its term and wakes up sends nothing. Without a waiting user the refusal comes at
 * once, and the caller decides again. A call that a user waits for waits for a late renewal first. Renewals are late
 * now and then on a slow machine, and a refusal would end the user's session.
 */

import { Context, Effect } from "effect"
import { AgentFailed, type Agents, AgentUnreachable } from "../../ports/agents.ts"
import type { ClusterAccess, ClusterConnector } from "../../ports/cluster-connector.ts"
import { type KubeApi, KubeError } from "../../ports/kube-api.ts"
import { LinkRefused } from "../../ports/member-link.ts"
import type { ConnectOutbound } from "../../ports/outbound-connector.ts"
import { type Facade, mapFacade } from "../api/facade-gate.ts"
import type { AcceptedConnection } from "../api/operator-facade.ts"
import { type ApiError, serviceUnavailable } from "../api/status.ts"
import type { Term } from "../kernel/term.ts"
import { channelWhileLeading } from "./channel-while-leading.ts"

/** Whether a user waits for the current call. */
const IsAwaited = Context.Reference<boolean>("braid/app/leadership/IsAwaited", { defaultValue: () => false })

const awaited = Effect.provideService(IsAwaited, true)
/** Why a write is refused after the term, a clause. */
export const whyNotLeading = "this operator is not the leader any more, or could not renew its lease in time"

/** Runs an act while the term lasts. Nothing comes between the check and the act. */
const gated = <A, E, R, E2>(term: Term, act: Effect.Effect<A, E, R>, refused: () => E2): Effect.Effect<A, E | E2, R> =>
  Effect.suspend((): Effect.Effect<A, E | E2, R> => {
    const now = Effect.suspend((): Effect.Effect<A, E | E2, R> => (term.lasts() ? act : Effect.fail(refused())))
    return term.lasts()
      ? act
      : Effect.flatMap(IsAwaited, (isAwaited) => (isAwaited ? Effect.andThen(term.lastsSoon, () => now) : now))
  })

/** An API whose writes check the term. Reads need no check: they change nothing. */
export const apiWhileLeading = (term: Term, api: KubeApi): KubeApi => {
  const write = <A>(operation: string, act: Effect.Effect<A, KubeError>): Effect.Effect<A, KubeError> =>
    gated(
      term,
      act,
      () => new KubeError({ cluster: api.cluster, operation, reason: "NotLeading", detail: whyNotLeading })
    )
  return {
    cluster: api.cluster,
    get: (ref, name, namespace) => api.get(ref, name, namespace),
    list: (ref, selection) => api.list(ref, selection),
    watch: (ref, resourceVersion, selection) => api.watch(ref, resourceVersion, selection),
    create: (ref, object, namespace) => write(`create ${ref.plural}`, api.create(ref, object, namespace)),
    mergePatch: (ref, name, patch, options) =>
      write(`patch ${ref.plural} ${name}`, api.mergePatch(ref, name, patch, options)),
    update: (ref, object, options) =>
      write(`update ${ref.plural} ${object.metadata.name}`, api.update(ref, object, options)),
    delete: (ref, name, options) => write(`delete ${ref.plural} ${name}`, api.delete(ref, name, options))
  }
}

const accessWhileLeading = (term: Term, { api, link }: ClusterAccess): ClusterAccess => ({
  api: apiWhileLeading(term, api),
  link: (request) =>
    awaited(
      gated(
        term,
        link({ ...request, term: String(term.epoch) }),
        () => new LinkRefused({ cluster: request.cluster, reason: "NotLeading", detail: whyNotLeading })
      )
    )
})

export const connectorWhileLeading = (
  term: Term,
  connector: ClusterConnector["Service"]
): ClusterConnector["Service"] => ({
  own: accessWhileLeading(term, connector.own),
  member: (configuration, credentials) =>
    Effect.map(connector.member(configuration, credentials), (access) => ({
      ...accessWhileLeading(term, access),
      reauthenticate: access.reauthenticate
    }))
})

export const outboundWhileLeading =
  (term: Term, connect: ConnectOutbound): ConnectOutbound =>
  (configuration) =>
    Effect.map(connect(configuration), ({ since, until, ...access }) => ({
      ...accessWhileLeading(term, access),
      since,
      until
    }))

export const agentsWhileLeading = (term: Term, agents: Agents["Service"]): Agents["Service"] => ({
  ensure: (placement, owner, tls) =>
    awaited(
      gated(
        term,
        agents.ensure(placement, owner, tls),
        () => new AgentFailed({ agent: placement?.podName ?? owner.name, detail: whyNotLeading })
      )
    ),
  giveUp: (agent) =>
    gated(term, agents.giveUp(agent), () => new AgentFailed({ agent: agent.name, detail: whyNotLeading })),
  connect: (agent) =>
    awaited(
      gated(term, agents.connect(agent), () => new AgentUnreachable({ agent: agent.name, detail: whyNotLeading }))
    )
})

/**
 * The answer of a replica that does not lead. On 503 clients repeat by themselves, without a word (operator-api.md
 * §2.4), and the Service leads them to the new leader: the only case in which that is wanted.
 */
export const notTheLeader = (): ApiError => serviceUnavailable(`Try again: ${whyNotLeading}.`)

/** A facade whose requests and connections end with the term. The clients come back to the new leader. */
export const facadeWhileLeading = (term: Term, facade: Facade): Facade => {
  const untilOver = <A, R>(request: Effect.Effect<A, ApiError, R>): Effect.Effect<A, ApiError, R> =>
    Effect.raceFirst(
      awaited(request),
      Effect.andThen(term.over, () => Effect.fail(notTheLeader()))
    )
  const changing = <A, R>(request: Effect.Effect<A, ApiError, R>): Effect.Effect<A, ApiError, R> =>
    Effect.flatMap(term.lastsSoon, (lasts) => (lasts ? untilOver(request) : Effect.fail(notTheLeader())))
  return mapFacade(Effect.succeed(facade), {
    problems: facade.problems,
    read: untilOver,
    write: changing,
    connect: (connecting) =>
      Effect.map(changing(connecting), ({ serve }): AcceptedConnection => ({
        serve: (client) => Effect.raceFirst(awaited(serve(channelWhileLeading(term, client))), term.over)
      }))
  })
}
