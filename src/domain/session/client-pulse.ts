/**
 * Whether a client still lives, told from what it says. A laptop that sleeps or changes its network closes nothing, and
 * it may not be asked: a WebSocket ping is an error to it (operator-api.md §8.4). But the internal proxy, the external
 * proxy and port-forwarding send protocol Pings at an interval that the user configures (operator-api.md §8.5), so it
 * is learnt; `cli` and `dump` never send any, and of them nothing can be told.
 *
 * All times are ms of one clock that never jumps; which one does not matter.
 */
import { peekClient } from "../protocol/peek.ts"

export interface Pulse {
  /** When anything came last. */
  readonly heardAt: number
  /** When a Ping came last, if the time since tells something. */
  readonly pingedAt: number | undefined
  /** ms between the last Pings, newest last. */
  readonly gaps: ReadonlyArray<number>
}

/** So many gaps are remembered: a connection's first one may be anything (wire.md §6.16). */
const remembered = 4
/** A client's interval unless it was configured (operator-api.md §8.5); one gap alone proves no shorter one. */
const usualInterval = 30_000
/** A silence that is shorter proves nothing on a busy machine, however short the interval. */
const leastSilence = 15_000

export const newPulse = (now: number): Pulse => ({ heardAt: now, pingedAt: undefined, gaps: [] })

/** Something came from the client, whatever it is. */
export const heard = (pulse: Pulse, bytes: Uint8Array, now: number): Pulse => {
  if (peekClient(bytes) !== "Ping") return { ...pulse, heardAt: now }
  const gaps = pulse.pingedAt === undefined ? pulse.gaps : [...pulse.gaps, now - pulse.pingedAt].slice(-remembered)
  return { heardAt: now, pingedAt: now, gaps }
}

/**
 * The client could not be heard until now, as it was not read or this process stood still: its silence proves nothing.
 */
export const excuse = (pulse: Pulse, now: number): Pulse => ({ ...pulse, heardAt: now, pingedAt: undefined })

/**
 * The client's ping interval, `undefined` before two Pings. The longest gap counts: where two programs ping through one
 * connection, the short ones say nothing.
 */
export const intervalOf = ({ gaps }: Pulse): number | undefined => {
  if (gaps.length === 0) return undefined
  return Math.max(...gaps, gaps.length === 1 ? usualInterval : 0)
}

/** It used to ping and has said nothing at all for three intervals: it will not come back on this connection. */
export const isGone = (pulse: Pulse, now: number): boolean => {
  const interval = intervalOf(pulse)
  return interval !== undefined && now - pulse.heardAt >= Math.max(leastSilence, 3 * interval)
}

/**
 * Whether its Pings are so late that it has most likely given this connection up. A client reconnects when a Ping went
 * unanswered for an interval in which nothing else came: by then its next Ping is overdue by half an interval or more,
 * and nothing else has come for at least that long. A client without an interval, which may never ping, counts as one
 * of the usual interval.
 */
export const isOverdue = (pulse: Pulse, now: number): boolean => {
  const interval = intervalOf(pulse) ?? usualInterval
  return now - (pulse.pingedAt ?? pulse.heardAt) > 1.5 * interval && now - pulse.heardAt > 0.5 * interval
}

/**
 * Whether another connection of its session may take its ports from it (wire.md §8.22). A client without an interval
 * must have said nothing for the usual one.
 */
export const mayBeReplaced = (pulse: Pulse, now: number): boolean =>
  intervalOf(pulse) === undefined ? now - pulse.heardAt >= usualInterval : isOverdue(pulse, now)
