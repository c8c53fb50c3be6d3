/**
 * Judges from a client's messages whether the client still lives. A laptop that sleeps or changes its network closes no
 * connection, and a WebSocket ping would be an error to the client (operator-api.md §8.4). The internal proxy, the
 * external proxy and port-forwarding send protocol Pings at an interval that the user configures (operator-api.md
 * §8.5), so the interval is learnt. Of `cli` and `dump`, which never ping, nothing can be judged.
 *
 * All times are ms of one clock that never jumps; which clock does not matter.
 */

export interface Pulse {
  /** When the last message came. */
  readonly heardAt: number
  /** When the last Ping came; `undefined` if the time since then proves nothing. */
  readonly pingedAt: number | undefined
  /** Whether a Ping ever came. The proxies open their connections with one (wire.md §6.16). */
  readonly pings: boolean
  /** Milliseconds between the last Pings, newest last. */
  readonly gaps: ReadonlyArray<number>
}

/** Number of gaps that are remembered: a connection's first gap may have any length (wire.md §6.16). */
const remembered = 4
/**
 * The interval of a client whose user configured none (operator-api.md §8.5). A single gap proves no shorter interval.
 */
const defaultInterval = 30_000
/** A shorter silence proves nothing on a busy machine, however short the interval, ms. */
const minSilence = 15_000

export const newPulse = (now: number): Pulse => ({ heardAt: now, pingedAt: undefined, pings: false, gaps: [] })

/** The pulse after a Ping of the client. */
export const heardPing = (pulse: Pulse, now: number): Pulse => {
  const gaps = pulse.pingedAt === undefined ? pulse.gaps : [...pulse.gaps, now - pulse.pingedAt].slice(-remembered)
  return { heardAt: now, pingedAt: now, pings: true, gaps }
}

/** The pulse after other messages of the client. */
export const heardNoPing = (pulse: Pulse, now: number): Pulse => ({ ...pulse, heardAt: now })

/** Forgives the silence until now, which proves nothing: the client was not read, or this process stood still. */
export const excuse = (pulse: Pulse, now: number): Pulse => ({ ...pulse, heardAt: now, pingedAt: undefined })

/**
 * The client's ping interval, `undefined` before two Pings. The longest gap counts: if two programs ping through one
 * connection, the short gaps say nothing.
 */
export const intervalOf = ({ gaps }: Pulse): number | undefined => {
  if (gaps.length === 0) return undefined
  return Math.max(...gaps, gaps.length === 1 ? defaultInterval : 0)
}

/**
 * When a client that used to ping has said nothing at all for three intervals, if it goes on saying nothing;
 * `undefined` for one that never pinged. It will not come back on this connection. A single Ping gives no interval, but
 * shows that more were to come: its client is given three usual ones, times `patience`, since its own may be longer.
 */
export const goneAt = (pulse: Pulse, patience = 1): number | undefined => {
  const interval = intervalOf(pulse) ?? (pulse.pings ? defaultInterval * patience : undefined)
  return interval === undefined ? undefined : pulse.heardAt + Math.max(minSilence, 3 * interval)
}

/** Whether that time has come. */
export const isGone = (pulse: Pulse, now: number, patience = 1): boolean => now >= (goneAt(pulse, patience) ?? Infinity)

/**
 * Whether the client's Pings are so late that it has most likely given this connection up. A client reconnects when a
 * Ping went unanswered for an interval in which nothing else came: by then its next Ping is overdue by half an interval
 * or more, and nothing else has come for at least that long. A client without an interval, which may never ping, counts
 * as a client of the usual interval.
 */
export const isOverdue = (pulse: Pulse, now: number): boolean => {
  const interval = intervalOf(pulse) ?? defaultInterval
  return now - (pulse.pingedAt ?? pulse.heardAt) > 1.5 * interval && now - pulse.heardAt > 0.5 * interval
}

/**
 * Whether another connection of the session may take this client's ports (wire.md §8.22). A client without an interval
 * must have been silent for the usual interval.
 */
export const mayBeReplaced = (pulse: Pulse, now: number): boolean =>
  intervalOf(pulse) === undefined ? now - pulse.heardAt >= defaultInterval : isOverdue(pulse, now)
