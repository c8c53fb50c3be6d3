/**
 * The cell: the side of tunnels at a primary, for as long as it leads. Accepts tunnels, keeps the newest of each
 * member, answers beats, renews certificates, and opens lanes.
 *
 * Not here: the decisions (domain/outbound/cell-tunnels.ts), tokens and keys (members.ts), and TLS (adapters/tunnel).
 */

import type { Duplex } from "node:stream"
import { Clock, Effect, FiberSet, Queue, Result, type Scope } from "effect"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../domain/fleet/credentials/cluster-auth.ts"
import { whyOutside } from "../../domain/outbound/bootstrap-ranges.ts"
import {
  afterAccepted,
  afterEnded,
  afterHello,
  afterRefusals,
  afterRenewed,
  type CellAction,
  cellPlan,
  type CellStep,
  type CellTunnels,
  currentOf,
  dueAt,
  newCell,
  type TunnelRef,
  whyUnusable
} from "../../domain/outbound/cell-tunnels.ts"
import { maxCertificateHours, tunnelLife } from "../../domain/outbound/certificate-plan.ts"
import { whyBehind } from "../../domain/outbound/command-sequence.ts"
import {
  type OutpostMessage,
  readOutpostLine,
  tunnelProtocol,
  writeLine
} from "../../domain/outbound/control-message.ts"
import type { TunnelMoment } from "../../domain/outbound/tunnel-end.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { mirrordClusters } from "../../domain/resources/mirrord-cluster.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import {
  type CellNotServed,
  type CellPorts,
  type CellTunnel,
  type LaneKind,
  type MemberCertificate,
  TunnelListener
} from "../../ports/tunnel.ts"
import { type EventRecorder, makeEventRecorder } from "../kernel/event-recorder.ts"
import { countHolding } from "../kernel/holdings.ts"
import { makeInTurn } from "../kernel/keyed-mutex.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { makeReflector } from "../kernel/reflector.ts"
import { elapsedOf } from "../kernel/term.ts"
import { untilDone } from "../kernel/until-done.ts"
import { version } from "../kernel/version.ts"
import { ensureTunnelAuthority, exchangeAuthority, type TunnelAuthority } from "./authority.ts"
import {
  hasJoined,
  shutOutFormerKeys,
  type MembersOptions,
  redeemToken,
  refusalOf,
  renewCertificate,
  secretNameOf
} from "./members.ts"
import { CurrentTunnelCertificates } from "./tunnel-certificates.ts"

export interface CellSettings extends CellPorts {
  /** As in the port for tunnels. */
  readonly hosts: ReadonlyArray<string>
  /** Networks from which tokens are taken, in CIDR form; empty: all. */
  readonly bootstrapRanges: ReadonlyArray<string>
  readonly certificateHours: number
}

export interface CellOptions {
  /** The operator's own cluster. */
  readonly api: KubeApi
  readonly namespace: string
  readonly settings: CellSettings
  /** Whether the fleet has a cluster of this name that dials out. */
  readonly isConfigured: (name: ClusterName) => boolean
  /** The clusters that dial out. */
  readonly configured: () => ReadonlyArray<ClusterName>
  /** Calls back after each change of the fleet, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

/** A cell for those who reach members through it. */
export interface Cell extends CellPorts {
  /** Opens a lane to a member's API server. Throws an error that says why there is no tunnel. */
  readonly openLane: (name: ClusterName, kind?: LaneKind) => Duplex
  /** The lanes of the member's tunnel that are open. */
  readonly lanes: (name: ClusterName) => number
  /** When the certificate of the member's tunnel ends, epoch ms; `undefined` while there is none. */
  readonly until: (name: ClusterName) => number | undefined
  /** Since when the member's tunnel is used, epoch ms; `undefined` while there is none. */
  readonly since: (name: ClusterName) => number | undefined
}

type Held = Pick<Extract<OutpostMessage, { readonly _tag: "Holds" }>, "epoch" | "hash" | "number">

interface State {
  readonly members: MembersOptions
  /** The authority of the moment. */
  authority: TunnelAuthority
  /** The authorities that outposts say that they have, by tunnel. */
  readonly held: Map<number, Held>
  readonly events: EventRecorder
  readonly clock: Clock.Clock
  readonly elapsed: () => number
  readonly tunnels: Map<number, CellTunnel>
  /** Another look is due sooner than {@link State.wakeAt}. */
  readonly news: Queue.Queue<void>
  readonly run: (work: Effect.Effect<void>) => unknown
  /** Members for which a certificate is being made. */
  readonly renewing: Set<ClusterName>
  /** Refusals of dials that were told here, each a key with the reason. */
  readonly refused: Set<string>
  known: CellTunnels
  /** When the next look is due, by the steady clock, ms; Infinity without tunnels. */
  wakeAt: number
}

/** How long the cell's own certificate is valid, in hours, and how long it is shown, ms. */
const ownHours = maxCertificateHours
const ownShownFor = 24 * 3_600_000

/** Pause between two looks at the authority, ms. */
const exchangeEvery = 60_000

/** Most tunnels of one member: far more than a path can need that breaks again and again, and each takes memory. */
const maxTunnels = 32

/** Refusals of dials that are remembered, so that each is told once. */
const maxRefusals = 1_000

const momentOf = ({ clock, elapsed }: State): TunnelMoment => ({
  elapsed: elapsed(),
  now: clock.currentTimeMillisUnsafe()
})

const perform = (state: State, action: CellAction): void => {
  if (action._tag === "Report") {
    const { name, reason, why: message } = action
    state.events.record(mirrordClusters, { metadata: { name } }, { reason, message })
    return
  }
  const tunnel = state.tunnels.get(action.id)
  switch (action._tag) {
    case "Welcome": {
      const { now: clock } = momentOf(state)
      tunnel?.send(
        writeLine({ _tag: "Welcome", protocol: tunnelProtocol, version, capabilities: [], clock, number: action.id })
      )
      return
    }
    case "Drain":
      return tunnel?.drain()
    case "Refuse":
      tunnel?.send(writeLine({ _tag: "Refused", why: action.why }))
      return tunnel?.destroy(action.why)
    case "Destroy":
      return tunnel?.destroy(action.why)
  }
}

const carryOut = (state: State, { actions, tunnels }: CellStep): void => {
  state.known = tunnels
  for (const action of actions) perform(state, action)
}

/** Has the tunnels looked at sooner, if a member needs that: a look at all of them for each event costs too much. */
const hasten = (state: State, { member: { name } }: TunnelRef): void => {
  if (dueAt(state.known, name, momentOf(state)) < state.wakeAt) Queue.offerUnsafe(state.news, undefined)
}

/** Sends a member the authorities to trust, unless it says that it has them. */
const sendAuthorities = ({ authority, held, tunnels }: State, id: number): void => {
  const { bundleHash, bundlePem: authorities, sequence } = authority
  if (held.get(id)?.hash !== bundleHash)
    tunnels.get(id)?.send(writeLine({ _tag: "Authorities", ...sequence, authorities }))
}

/** Takes note of a member that refuses a command, and tells people. */
const refusedCommand = (
  { authority, events, held }: State,
  { id, member: { name } }: TunnelRef,
  last: Held
): Effect.Effect<void> => {
  held.set(id, last)
  const message = whyBehind(name, authority.sequence, last)
  events.record(mirrordClusters, { metadata: { name } }, { reason: "CommandRefused", message })
  return logWarning("command is refused by a member", { cluster: name, problem: message })
}

const greet = (state: State, tunnel: TunnelRef, holds: Held): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { member } = tunnel
    const step = afterHello(state.known, tunnel, momentOf(state))
    carryOut(state, step)
    hasten(state, tunnel)
    // A second hello says nothing new.
    const isWelcome = step.actions.some(({ _tag }) => _tag === "Welcome")
    if (!isWelcome) return Effect.void
    state.held.set(tunnel.id, holds)
    sendAuthorities(state, tunnel.id)
    return Effect.andThen(
      logInfo("tunnel of a member is live", { cluster: member.name, tunnel: tunnel.id }),
      shutOutFormerKeys(state.members, member)
    )
  })

const renew = Effect.fnUntraced(function* (
  state: State,
  tunnel: TunnelRef,
  { id, request }: Extract<OutpostMessage, { readonly _tag: "Renew" }>
): Effect.fn.Return<void> {
  const { member } = tunnel
  const renewed = yield* Effect.result(renewCertificate(state.members, member, request))
  const open = state.tunnels.get(tunnel.id)
  if (Result.isFailure(renewed)) {
    open?.send(writeLine({ _tag: "Refused", id, why: renewed.failure }))
    return yield* logWarning("certificate of a member is not renewed", {
      cluster: member.name,
      problem: renewed.failure
    })
  }
  const { certificatePem: certificate, keyId } = renewed.success
  state.known = afterRenewed(state.known, tunnel, keyId)
  open?.send(writeLine({ _tag: "Certificate", id, certificate }))
  yield* logInfo("certificate of a member renewed", { cluster: member.name, tunnel: tunnel.id })
})

/** A member has one certificate made at a time, however often it asks: each costs a signature and a write. */
const startRenewal = (
  state: State,
  tunnel: TunnelRef,
  asked: Extract<OutpostMessage, { readonly _tag: "Renew" }>
): void => {
  const { renewing, run, tunnels } = state
  const { name } = tunnel.member
  if (renewing.has(name)) {
    const why = `a certificate for cluster ${name} is being made already; ask again when it has come`
    return tunnels.get(tunnel.id)?.send(writeLine({ _tag: "Refused", id: asked.id, why }))
  }
  renewing.add(name)
  run(
    Effect.ensuring(
      renew(state, tunnel, asked),
      Effect.sync(() => renewing.delete(name))
    )
  )
  return undefined
}

const foreignHello =
  "the hello was made for another TLS connection: something on the way passes on what it hears; let TLS through from " +
  "the member to the cell"

const take = (state: State, tunnel: TunnelRef, line: string): void => {
  const open = state.tunnels.get(tunnel.id)
  const read = readOutpostLine(line)
  if (Result.isFailure(read)) return open?.destroy(read.failure)
  const message = read.success
  switch (message?._tag) {
    case undefined:
      return
    case "Hello":
      if (message.binding !== open?.binding) return open?.destroy(foreignHello)
      return void state.run(greet(state, tunnel, message.holds))
    case "Holds":
      return void state.held.set(tunnel.id, message)
    case "Behind":
      return void state.run(refusedCommand(state, tunnel, message))
    case "Beat":
      return open?.send(writeLine({ _tag: "Answer", number: message.number }))
    case "Renew":
      return startRenewal(state, tunnel, message)
  }
}

/** A member that is refused dials again and again, and people here hear of the reason once for each key. */
const tellRefused = (
  { events, refused }: State,
  { keyId, name }: MemberCertificate,
  problem: string
): Effect.Effect<void> => {
  const news = `${keyId} ${problem}`
  if (refused.has(news)) return Effect.void
  const [oldest = ""] = refused
  if (refused.size >= maxRefusals) refused.delete(oldest)
  refused.add(news)
  events.record(mirrordClusters, { metadata: { name } }, { reason: "TunnelRefused", message: problem })
  return logWarning("tunnel of a member is refused", { cluster: name, problem })
}

/** The reason why the certificate of a member that dials is refused, a sentence; `undefined` if it is not. */
const whyRefused = (state: State, member: MemberCertificate): string | undefined => {
  const why = refusalOf(state.members, member)
  if (why !== undefined) state.run(tellRefused(state, member, why))
  return why
}

const accept = (state: State, open: CellTunnel): void => {
  const { name } = open.member
  const before = [...state.tunnels.values()].filter(({ member }) => member.name === name).length
  if (before >= maxTunnels) return open.destroy(`cluster ${name} has ${before} tunnels already; end one of them first`)
  const { tunnel, tunnels } = afterAccepted(state.known, open, momentOf(state))
  state.known = tunnels
  state.tunnels.set(tunnel.id, open)
  open.listen((line) => take(state, tunnel, line))
  const over = Effect.flatMap(open.ended, (why) => {
    state.tunnels.delete(tunnel.id)
    state.held.delete(tunnel.id)
    carryOut(state, afterEnded(state.known, tunnel, why, momentOf(state)))
    return logInfo("tunnel of a member is over", { cluster: tunnel.member.name, tunnel: tunnel.id, why })
  })
  state.run(over)
  return hasten(state, tunnel)
}

/** Looks at the tunnels, and waits until another look is due. */
const look = Effect.fnUntraced(function* (state: State): Effect.fn.Return<void> {
  const moment = momentOf(state)
  const received = new Map([...state.tunnels].map(([id, tunnel]) => [id, tunnel.received()] as const))
  const { wakeAt, ...step } = cellPlan(state.known, received, moment)
  carryOut(state, step)
  state.wakeAt = wakeAt ?? Infinity
  const heard = Queue.take(state.news)
  yield* wakeAt === undefined ? heard : Effect.timeoutOption(heard, Math.max(0, Math.ceil(wakeAt - moment.elapsed)))
})

/** Ends the tunnels of members that have left, or whose keys are admitted no more. `only`: as in the domain. */
const dropRefused = (state: State, only?: ClusterName): void =>
  carryOut(
    state,
    afterRefusals(state.known, (member) => refusalOf(state.members, member), momentOf(state), only)
  )

/** Judges the member whose Secret has changed; there is none while the member has no tunnel. */
const judgeAgain = (state: State, secret: string): void => {
  const name = [...state.known.byName.keys()].find((one) => secretNameOf(one) === secret)
  if (name !== undefined) dropRefused(state, name)
}

/** Whether each member that has joined has this bundle. */
const isKnown = (state: State, configured: ReadonlyArray<ClusterName>, bundleHash: string): boolean =>
  configured.every((name) => {
    const current = currentOf(state.known, name)
    return !hasJoined(state.members, name) || state.held.get(current?.id ?? 0)?.hash === bundleHash
  })

/** Takes the next step of an exchange of the authority, and tells the members. */
const exchange = Effect.fnUntraced(function* (state: State, { api, configured, namespace }: CellOptions) {
  const before = state.authority.bundleHash
  const exchanged = yield* Effect.result(
    exchangeAuthority(api, namespace, (bundleHash) => isKnown(state, configured(), bundleHash), state.authority)
  )
  if (Result.isFailure(exchanged))
    return yield* logWarning("authority for tunnels cannot be read or exchanged", { problem: exchanged.failure.detail })
  state.authority = exchanged.success
  if (exchanged.success.bundleHash === before) return
  for (const id of state.tunnels.keys()) if (state.held.has(id)) sendAuthorities(state, id)
})

/** The cell's own certificate: another one each day, and with each authority. */
const makeOwnIdentity = Effect.fnUntraced(function* (state: State, options: CellOptions) {
  const { signCell } = yield* CurrentTunnelCertificates
  const make = Effect.gen(function* () {
    const { authority } = state
    const now = yield* Clock.currentTimeMillis
    const life = tunnelLife(now, ownHours)
    const signed = yield* signCell(authority, life, authority.chainPem)
    return { ...signed, until: now + ownShownFor, chainPem: authority.chainPem }
  })
  let own = yield* make
  const look = Effect.gen(function* () {
    yield* exchange(state, options)
    const isDue = (yield* Clock.currentTimeMillis) >= own.until
    if (isDue || own.chainPem !== state.authority.chainPem) own = yield* make
  })
  const renewed = untilDone(look, "the cell's own certificate could not be renewed")
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(exchangeEvery), renewed)))
  return () => ({ ...own, authoritiesPem: state.authority.bundlePem })
})

/** Accepts tunnels until the scope ends, and with it all tunnels. */
export const startCell = Effect.fnUntraced(function* (
  options: CellOptions
): Effect.fn.Return<Cell, CellNotServed | KubeError, TunnelListener | Scope.Scope> {
  const { api, isConfigured, listen, namespace, settings } = options
  const first = yield* ensureTunnelAuthority(api, namespace)
  let changed = (_secret: string): void => {}
  const cache = yield* makeReflector(api, secrets, ({ metadata }) => changed(metadata.name), {
    namespace,
    labelSelector: `${credentialsLabel}=true`
  })
  // Before that every key would be refused.
  yield* cache.awaitSynced
  const clock = yield* Clock.Clock
  const state: State = {
    members: {
      api,
      namespace,
      authority: () => state.authority,
      certificateHours: settings.certificateHours,
      isConfigured,
      cache,
      inTurn: makeInTurn()
    },
    authority: first,
    held: new Map(),
    events: yield* makeEventRecorder(api),
    clock,
    elapsed: elapsedOf(clock),
    tunnels: new Map(),
    news: yield* Queue.sliding<void>(1),
    run: yield* FiberSet.makeRuntime<never, void, never>(),
    renewing: new Set(),
    refused: new Set(),
    known: newCell(clock.currentTimeMillisUnsafe()),
    wakeAt: Infinity
  }
  changed = (secret) => judgeAgain(state, secret)
  yield* Effect.acquireRelease(
    Effect.sync(() => listen(() => dropRefused(state))),
    (stop) => Effect.sync(stop)
  )
  yield* countHolding("tunnels of members", () => state.tunnels.size)
  yield* Effect.forkScoped(Effect.forever(untilDone(look(state), "tunnels could not be looked after")))
  const ports = yield* (yield* TunnelListener).listen({
    ...settings,
    identity: yield* makeOwnIdentity(state, options),
    refusal: (member) => whyRefused(state, member),
    accepted: (tunnel) => accept(state, tunnel),
    outside: (from) => {
      const why = whyOutside(settings.bootstrapRanges, from)
      if (why !== undefined) state.run(logWarning("token is not taken from this address", { from, problem: why }))
      return why
    },
    redeem: (redemption) => redeemToken(state.members, redemption)
  })
  yield* logInfo("cell takes tunnels", { ...ports, pin: first.pin })
  return {
    ...ports,
    until: (name) => currentOf(state.known, name)?.until,
    since: (name) => currentOf(state.known, name)?.liveAt,
    lanes: (name) => state.tunnels.get(currentOf(state.known, name)?.id ?? 0)?.lanes() ?? 0,
    openLane: (name, kind) => {
      const why = whyUnusable(state.known, name, momentOf(state))
      const current = currentOf(state.known, name)
      const open = current && state.tunnels.get(current.id)
      if (why !== undefined || open === undefined) throw new Error(why ?? `Cluster ${name} has no tunnel.`)
      return open.openLane(kind)
    }
  }
})
