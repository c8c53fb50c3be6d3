/**
 * Decides about the tunnels of an outpost, the side that dials. From the memory of this process and an observation, the
 * plan says which tunnels are dialled, asked for a sign of life, drained and destroyed, and when another certificate is
 * asked for. The same memory and observation give the same plan; its memory holds its actions as carried out. Each
 * event leads to the next memory. There is no state that the outpost does not leave by itself, but for a certificate
 * that is missing or has ended.
 *
 *     observe → outpostPlan → perform → afterEvent… → observe → …
 *
 * Not here: carrying a plan out (app/outbound), the bounds of both sides (tunnel-end.ts), and the other side
 * (cell-tunnels.ts). Without another word times are those of the steady clock, ms.
 */

import type { ClusterName } from "../fleet/cluster-name.ts"
import { renewalAt, type TunnelLife, whyEnded } from "./certificate-plan.ts"
import {
  afterLook,
  boundAt,
  type BoundedTunnel,
  lostAfter,
  noSilence,
  reachedBound,
  type TunnelMoment
} from "./tunnel-end.ts"

const second = 1_000

/** Time between two beats. Proxies cut what is idle for 60 s. */
const beatEvery = 10 * second
/** How late the answer to a beat may be. After that another tunnel is dialled beside the suspect one. */
const answerWithin = 5 * second
/** Pauses before a dial: the first one is up to `first`, each further one twice as long, up to `max`. */
const pauses = { first: 5 * second, max: 30 * second }
/** Pauses begin with the first one again, if a tunnel was live for so long and answers. */
const calmAfter = 60 * second
/** How long after a question for a certificate that is not answered the next one comes. */
const renewAgainAfter = 60 * second

/** The certificate, key and authorities with which an outpost dials. */
export interface OutpostIdentity {
  /** Changes with each of them. */
  readonly id: string
  readonly name: ClusterName
  readonly life: TunnelLife
}

/** The clocks, and chance: `share` is from 0 up to 1, another one for each event and plan. */
export interface OutpostMoment extends TunnelMoment {
  readonly share: number
}

export interface OutpostTunnel extends BoundedTunnel {
  /** Grows from tunnel to tunnel of a process. */
  readonly id: number
  /** Id of the identity with which it is dialled. */
  readonly identity: string
  /** Numbers of the last beat that was sent and the last one that was answered, and the times; they begin with 0. */
  readonly beats: {
    readonly sent: number
    readonly sentAt: number
    readonly answered: number
    readonly answeredAt: number
  }
  /** Why the cell has refused it; `undefined` if it has not. */
  readonly refused: string | undefined
}

/** The knowledge of an outpost about its tunnels. Empty again after a restart. */
export interface OutpostMemory {
  /** In the order in which they were dialled. */
  readonly tunnels: ReadonlyArray<OutpostTunnel>
  readonly lastId: number
  /**
   * No dial may begin before that time. `failures`: failed dials and lost tunnels in a row. `isRefused`: the last one
   * was refused by the cell, or by what stands before it.
   */
  readonly retry: { readonly failures: number; readonly notBefore: number; readonly isRefused: boolean }
  /** Id of the identity at the last plan; `undefined` if there was none. */
  readonly identity: string | undefined
  /** The last question for another certificate; `undefined` before the first. */
  readonly renewal: { readonly tunnel: number; readonly at: number } | undefined
  /** The last reason why there is no tunnel, a clause; `undefined` if none failed since one was live. */
  readonly problem: string | undefined
  /** This member's place among members that renew in the same hours, from 0 up to 1. */
  readonly place: number
}

const pauseAfter = (failures: number, share: number): number =>
  failures === 0
    ? pauses.first * share
    : Math.min(pauses.max, pauses.first * 2 ** Math.min(failures, 10)) * (1 + share) * 0.5

/** The pause of a process that has just started, and of a new identity: many members may begin at once. */
const firstRetry = ({ elapsed, share }: OutpostMoment): OutpostMemory["retry"] => ({
  failures: 1,
  notBefore: elapsed + pauseAfter(0, share),
  isRefused: false
})

/** The memory of an outpost that starts. */
export const newOutpost = (moment: OutpostMoment): OutpostMemory => ({
  tunnels: [],
  lastId: 0,
  retry: firstRetry(moment),
  identity: undefined,
  renewal: undefined,
  problem: undefined,
  place: moment.share
})

// Events

/** `id`: of the tunnel, as the plan has given it. Events of tunnels that are not known any more change nothing. */
export type OutpostEvent =
  /** The connection stands, with both certificates verified, and the hello is sent. */
  | { readonly _tag: "Stands"; readonly id: number }
  | { readonly _tag: "Welcomed"; readonly id: number }
  | { readonly _tag: "Answered"; readonly id: number; readonly number: number }
  /** The cell refuses the tunnel and ends it. */
  | { readonly _tag: "Refused"; readonly id: number; readonly why: string }
  | {
      readonly _tag: "DialFailed"
      readonly id: number
      /** As the port for tunnels has them. */
      readonly reason: "Refused" | "Untrusted" | "Unreachable"
      readonly message: string
    }
  | { readonly _tag: "Ended"; readonly id: number; readonly why: string }

interface Failure {
  readonly why: string
  /** Whether another dial is of little use: the cell, or what stands before it, will answer the same. */
  readonly isRefusal: boolean
}

const afterFailure = (
  memory: OutpostMemory,
  { isRefusal, why }: Failure,
  { elapsed, share }: OutpostMoment
): OutpostMemory => {
  const { failures } = memory.retry
  const pause = pauseAfter(isRefusal ? Infinity : failures, share)
  return {
    ...memory,
    problem: why,
    retry: { failures: failures + 1, notBefore: elapsed + pause, isRefused: isRefusal }
  }
}

const without = (memory: OutpostMemory, id: number): OutpostMemory => ({
  ...memory,
  tunnels: memory.tunnels.filter((tunnel) => tunnel.id !== id)
})

const changed = (memory: OutpostMemory, tunnel: OutpostTunnel): OutpostMemory => ({
  ...memory,
  tunnels: memory.tunnels.map((other) => (other.id === tunnel.id ? tunnel : other))
})

const afterAnswer = (
  memory: OutpostMemory,
  tunnel: OutpostTunnel,
  number: number,
  { elapsed }: OutpostMoment
): OutpostMemory => {
  const { beats, since, state } = tunnel
  if (number > beats.sent || number <= beats.answered) return memory
  const isCalm = state === "Live" && elapsed - since >= calmAfter
  const answered = changed(memory, { ...tunnel, beats: { ...beats, answered: number, answeredAt: elapsed } })
  return isCalm ? { ...answered, retry: { ...memory.retry, failures: 0 } } : answered
}

/** The memory after an event. */
export const afterEvent = (memory: OutpostMemory, event: OutpostEvent, moment: OutpostMoment): OutpostMemory => {
  const { elapsed } = moment
  const tunnel = memory.tunnels.find(({ id }) => id === event.id)
  if (tunnel === undefined) return memory
  switch (event._tag) {
    case "Stands":
      return changed(memory, { ...tunnel, state: "Greeting", since: elapsed, silence: noSilence(elapsed) })
    case "Welcomed": {
      if (tunnel.state !== "Greeting") return memory
      const beats = { sent: 0, sentAt: elapsed, answered: 0, answeredAt: elapsed }
      return { ...changed(memory, { ...tunnel, state: "Live", since: elapsed, beats }), problem: undefined }
    }
    case "Answered":
      return afterAnswer(memory, tunnel, event.number, moment)
    case "Refused": {
      const refused = changed(memory, { ...tunnel, refused: event.why })
      // Another tunnel has replaced a drained one, and hears for itself if it is refused too.
      return tunnel.state === "Draining" ? refused : afterFailure(refused, { why: event.why, isRefusal: true }, moment)
    }
    case "DialFailed": {
      const failure = { why: event.message, isRefusal: event.reason !== "Unreachable" }
      return afterFailure(without(memory, event.id), failure, moment)
    }
    case "Ended": {
      const isFailure = tunnel.state !== "Draining" && tunnel.refused === undefined
      const rest = without(memory, event.id)
      return isFailure ? afterFailure(rest, { why: event.why, isRefusal: false }, moment) : rest
    }
  }
}

// The plan

export interface OutpostObservation {
  /** `undefined` until this operator has a certificate. */
  readonly identity: OutpostIdentity | undefined
  /** By tunnel: the bytes that have come on it. */
  readonly received: ReadonlyMap<number, number>
}

export type OutpostAction =
  /** Another tunnel has replaced this one, and the cell opens no more lanes on it: for the log. */
  | { readonly _tag: "Drain"; readonly id: number }
  | { readonly _tag: "Destroy"; readonly id: number; readonly why: string }
  | { readonly _tag: "SendBeat"; readonly id: number; readonly number: number }
  /** Ask on this tunnel for another certificate. */
  | { readonly _tag: "Renew"; readonly id: number }
  /** Dial a tunnel with the identity that was observed. */
  | { readonly _tag: "Dial"; readonly id: number }

export interface OutpostPlan {
  readonly memory: OutpostMemory
  /** To be carried out in this order. */
  readonly actions: ReadonlyArray<OutpostAction>
  /** When there is something to do without a change, by the steady clock; `undefined` if never. */
  readonly wakeAt: number | undefined
}

/** When the tunnel becomes suspect by an answer that is missing; Infinity if none is. */
const suspectAt = ({ beats }: OutpostTunnel): number => {
  if (beats.answered === beats.sent) return Infinity
  // The beat before the last one is overdue since before the last one was sent.
  return beats.answered === beats.sent - 1 ? beats.sentAt + answerWithin : beats.sentAt
}

const nextBeat = ({ beats }: OutpostTunnel): number => beats.sentAt + beatEvery
const isBeating = ({ state }: OutpostTunnel): boolean => state === "Live" || state === "Draining"
const isPending = ({ state }: OutpostTunnel): boolean => state === "Dialling" || state === "Greeting"

/** The newest tunnel on which the cell answers, and which has the newest identity; `undefined` if there is none. */
const goodTunnel = ({ identity, tunnels }: OutpostMemory, elapsed: number): OutpostTunnel | undefined =>
  tunnels.findLast((tunnel) => tunnel.state === "Live" && tunnel.identity === identity && suspectAt(tunnel) > elapsed)

/** Looks at the bytes that have come. The pauses of another identity say nothing of this one. */
const look = (
  memory: OutpostMemory,
  { identity, received }: OutpostObservation,
  moment: OutpostMoment
): OutpostMemory => {
  const tunnels = memory.tunnels.map((tunnel) => {
    const bytes = received.get(tunnel.id)
    return bytes === undefined ? tunnel : { ...tunnel, silence: afterLook(tunnel.silence, bytes, moment.elapsed) }
  })
  const isOther = memory.identity !== identity?.id
  return { ...memory, tunnels, identity: identity?.id, retry: isOther ? firstRetry(moment) : memory.retry }
}

/** Why a tunnel is destroyed now, a clause; `undefined` if it is not. */
const whyDestroyed = (tunnel: OutpostTunnel, memory: OutpostMemory, moment: OutpostMoment): string | undefined => {
  if (tunnel.refused !== undefined) return `the cell refuses it: ${tunnel.refused}`
  if (memory.identity === undefined) return "this operator has no certificate any more"
  const bound = reachedBound(tunnel, moment)
  if (bound !== undefined) return bound
  if (!isPending(tunnel)) return undefined
  if (tunnel.identity !== memory.identity) return "this operator has another certificate now"
  // One that is greeted goes on: the cell may have put it into the first one's place already.
  const isNeeded = tunnel.state === "Greeting" || goodTunnel(memory, moment.elapsed) === undefined
  return isNeeded ? undefined : "the tunnel beside it answers again"
}

interface Step {
  readonly memory: OutpostMemory
  readonly actions: ReadonlyArray<OutpostAction>
}

/** Destroys tunnels. A dial or a greeting that took too long is a failed one. */
const destroy = (before: OutpostMemory, moment: OutpostMoment): Step => {
  let memory = before
  const actions: Array<OutpostAction> = []
  for (const tunnel of before.tunnels) {
    const why = whyDestroyed(tunnel, before, moment)
    if (why === undefined) continue
    actions.push({ _tag: "Destroy", id: tunnel.id, why })
    memory = without(memory, tunnel.id)
    if (isPending(tunnel) && reachedBound(tunnel, moment) === why)
      memory = afterFailure(
        memory,
        { why: `the tunnel to the primary's cell failed: ${why}`, isRefusal: false },
        moment
      )
  }
  return { memory, actions }
}

/** Drains the tunnels that a good one has replaced, and sends the beats that are due. */
const tend = (before: OutpostMemory, { elapsed }: OutpostMoment): Step => {
  const good = goodTunnel(before, elapsed)
  const actions: Array<OutpostAction> = []
  const tunnels = before.tunnels.map((tunnel) => {
    const { beats, id } = tunnel
    const isReplaced = good !== undefined && good.id !== id && tunnel.state === "Live"
    if (isReplaced) actions.push({ _tag: "Drain", id })
    const isDue = isBeating(tunnel) && nextBeat(tunnel) <= elapsed
    const sent = beats.sent + 1
    if (isDue) actions.push({ _tag: "SendBeat", id, number: sent })
    return {
      ...tunnel,
      ...(isReplaced && { state: "Draining" as const, since: elapsed }),
      ...(isDue && { beats: { ...beats, sent, sentAt: elapsed } })
    }
  })
  return { memory: { ...before, tunnels }, actions }
}

/**
 * The tunnel on which another certificate is asked for: that of the newest identity, or one before it if the cell
 * refuses the newest; `undefined` if there is none.
 */
const renewedOn = (memory: OutpostMemory, elapsed: number): OutpostTunnel | undefined => {
  const good = goodTunnel(memory, elapsed)
  if (good !== undefined || !memory.retry.isRefused) return good
  return memory.tunnels.findLast((tunnel) => tunnel.state === "Live" && suspectAt(tunnel) > elapsed)
}

/** When another certificate is asked for on this tunnel. */
const renewAt = (
  { place, renewal }: OutpostMemory,
  { id, life }: OutpostIdentity,
  tunnel: OutpostTunnel,
  { elapsed, now }: OutpostMoment
): number => {
  const due = tunnel.identity === id ? elapsed + renewalAt(life, place) - now : elapsed
  return renewal?.tunnel === tunnel.id ? Math.max(due, renewal.at + renewAgainAfter) : due
}

const renew = (
  before: OutpostMemory,
  identity: OutpostIdentity | undefined,
  moment: OutpostMoment
): Step & { readonly at: number } => {
  const { elapsed } = moment
  const tunnel = renewedOn(before, elapsed)
  if (identity === undefined || tunnel === undefined) return { memory: before, actions: [], at: Infinity }
  const at = renewAt(before, identity, tunnel, moment)
  if (at > elapsed) return { memory: before, actions: [], at }
  const memory = { ...before, renewal: { tunnel: tunnel.id, at: elapsed } }
  return { memory, actions: [{ _tag: "Renew", id: tunnel.id }], at: renewAt(memory, identity, tunnel, moment) }
}

const dial = (
  before: OutpostMemory,
  identity: OutpostIdentity | undefined,
  { elapsed, now }: OutpostMoment
): Step & { readonly at: number } => {
  if (identity === undefined || goodTunnel(before, elapsed) !== undefined || before.tunnels.some(isPending))
    return { memory: before, actions: [], at: Infinity }
  // A look now and then, since this clock may be set back.
  if (now >= identity.life.until) return { memory: before, actions: [], at: elapsed + pauses.max }
  const { notBefore } = before.retry
  if (notBefore > elapsed) return { memory: before, actions: [], at: notBefore }
  const id = before.lastId + 1
  const tunnel: OutpostTunnel = {
    id,
    state: "Dialling",
    since: elapsed,
    silence: noSilence(elapsed),
    until: identity.life.until,
    identity: identity.id,
    beats: { sent: 0, sentAt: elapsed, answered: 0, answeredAt: elapsed },
    refused: undefined
  }
  const memory = { ...before, lastId: id, tunnels: [...before.tunnels, tunnel] }
  return { memory, actions: [{ _tag: "Dial", id }], at: Infinity }
}

/** The times at which a tunnel needs a look by itself. */
const turnsOf = (tunnel: OutpostTunnel, moment: OutpostMoment): ReadonlyArray<number> => {
  const times = isBeating(tunnel) ? [nextBeat(tunnel), suspectAt(tunnel)] : []
  return [boundAt(tunnel, moment), ...times]
}

/** Plans the next actions of an outpost. */
export const outpostPlan = (
  before: OutpostMemory,
  observed: OutpostObservation,
  moment: OutpostMoment
): OutpostPlan => {
  const { identity } = observed
  const destroyed = destroy(look(before, observed, moment), moment)
  const tended = tend(destroyed.memory, moment)
  const renewed = renew(tended.memory, identity, moment)
  const dialled = dial(renewed.memory, identity, moment)
  const { memory } = dialled
  const turns = [renewed.at, dialled.at, ...memory.tunnels.flatMap((tunnel) => turnsOf(tunnel, moment))]
  const later = Math.min(...turns.filter((at) => at > moment.elapsed))
  return {
    memory,
    actions: [destroyed, tended, renewed, dialled].flatMap(({ actions }) => actions),
    wakeAt: later === Infinity ? undefined : later
  }
}

/**
 * Why this member has no tunnel, a clause for people; `undefined` while the cell answers on one, or has done so a short
 * while ago.
 */
export const whyAway = (
  { problem, tunnels }: OutpostMemory,
  { identity }: Pick<OutpostObservation, "identity">,
  { elapsed, now }: TunnelMoment
): string | undefined => {
  if (tunnels.some(({ beats, state }) => state === "Live" && elapsed < beats.answeredAt + lostAfter)) return undefined
  if (identity === undefined) return "this operator has no certificate for a tunnel to its primary yet"
  return whyEnded(identity.name, identity.life, now) ?? problem ?? "the tunnel to the primary is not live yet"
}
