/**
 * The bounds of a tunnel, which both sides keep each by itself: how long it may be dialled, greeted, silent and
 * drained.
 *
 * Not here: other reasons to end a tunnel (outpost-plan.ts, cell-tunnels.ts).
 */

import { momentText, spanText } from "../fleet/credentials/validity.ts"

const second = 1_000

/** How long nothing may be heard on a tunnel, ms. The fleet's checks and the beats are heard far more often. */
export const lostAfter = 90 * second
/**
 * The same on a drained tunnel, ms: three beats. The one in its place is well, and what hangs on a dead path, such as
 * the link of a session, begins on it again.
 */
const drainedLostAfter = 30 * second
/** How long a tunnel may be in a state, ms; Infinity: as long as its certificate lasts. */
const maxTime = { Dialling: 10 * second, Greeting: 10 * second, Live: Infinity, Draining: 300 * second }
/** The end of a sentence that says what such a tunnel has not done. */
const missed = {
  Dialling: "did not stand",
  Greeting: "was not greeted by the other side",
  Live: "",
  Draining: "still had lanes, although another has replaced it,"
}

/**
 * - `Dialling`: there is no connection yet. The cell sees none of these.
 * - `Greeting`: the connection stands, and the outpost's hello or the cell's welcome has not come.
 * - `Live`: it is used.
 * - `Draining`: another tunnel has replaced it, and what began on it may end on it.
 */
export type TunnelState = keyof typeof maxTime

/** A side's clocks. */
export interface TunnelMoment {
  /** The steady clock, ms: by it silence and pauses are measured. It goes on while the process is stopped. */
  readonly elapsed: number
  /** The host's clock, epoch ms: by it certificates end. It may be set at any time. */
  readonly now: number
}

/** When the other side was heard, by the steady clock, ms. */
export interface Silence {
  /** Bytes that had come at the last look. */
  readonly received: number
  readonly looked: number
  /** The other side was heard at this time or later. */
  readonly heard: number
}

/** The silence of a tunnel that has just begun. */
export const noSilence = (elapsed: number): Silence => ({ received: 0, looked: elapsed, heard: elapsed })

/**
 * The silence after a look at the bytes that have come. New ones may have come right after the look before, so a
 * silence counts as longer rather than as shorter.
 */
export const afterLook = (
  { heard, looked, received: before }: Silence,
  received: number,
  elapsed: number
): Silence => ({
  received,
  looked: elapsed,
  heard: received === before ? heard : looked
})

/** A tunnel, as far as its bounds matter. */
export interface BoundedTunnel {
  readonly state: TunnelState
  /** When the state began, by the steady clock, ms. */
  readonly since: number
  readonly silence: Silence
  /** When the certificate ends that it was opened with, epoch ms. */
  readonly until: number
}

const maxSilence = ({ state }: BoundedTunnel): number => (state === "Draining" ? drainedLostAfter : lostAfter)

/** When a bound of the tunnel is reached, by the steady clock, ms, if both clocks go on as they do. */
export const boundAt = (tunnel: BoundedTunnel, { elapsed, now }: TunnelMoment): number => {
  const { silence, since, state, until } = tunnel
  return Math.min(since + maxTime[state], silence.heard + maxSilence(tunnel), elapsed + until - now)
}

/** The bound that the tunnel has reached, a clause; `undefined` if there is none. */
export const reachedBound = (tunnel: BoundedTunnel, moment: TunnelMoment): string | undefined => {
  const { silence, since, state, until } = tunnel
  const { elapsed, now } = moment
  if (boundAt(tunnel, moment) > elapsed) return undefined
  if (until <= now) return `the certificate that it was opened with ended at ${momentText(until)}`
  const silent = maxSilence(tunnel)
  if (elapsed >= silence.heard + silent) return `nothing was heard of the other side for ${spanText(silent)}`
  return `it ${missed[state]} after ${spanText(elapsed - since)}`
}
