/**
 * The health of clusters over time as spans: each says from when to when a cluster was ready, or was not. The time
 * between two spans is unknown. Decides from one reading of the fleet after the other which spans there are, and which
 * of them are to be written.
 *
 * Few spans follow from any readings. Ready time of less than a minute makes none: between two outages it belongs to
 * them, so that a cluster that comes and goes has one long outage, and elsewhere it is unknown. A span is written once
 * it is over or a minute old, and its last moment each minute. So a crash, or a clock that jumps for a moment, loses a
 * minute at most.
 *
 * Not here: reading the fleet and writing (app/usage), and what a report makes of spans (health-report.ts).
 */

/** Why a cluster is not ready. */
export interface Unreadiness {
  /** One word, as the condition of the cluster's object has it. */
  readonly reason: string
  /** A clause for a person. */
  readonly message: string
}

/** A cluster at one moment. A cluster of which nothing is known has no reading. */
export interface HealthReading {
  readonly cluster: string
  /** `undefined` if it is ready. */
  readonly unready: Unreadiness | undefined
}

/** A stretch of time. All times are epoch ms. */
export interface HealthSpan {
  readonly cluster: string
  /** As it was seen last; `undefined` if the cluster was ready. */
  readonly unready: Unreadiness | undefined
  /** No two spans of a cluster begin together. */
  readonly from: number
  /** The end of the known time: where the span ends if its end was not seen. */
  readonly lastSeen: number
  /** `undefined` while the span goes on; else as `lastSeen`. */
  readonly to: number | undefined
}

/** Milliseconds: the age at which spans are written, and then each time; and the longest pause between two readings. */
export const minute = 60_000

/** Ended spans that wait for a store that cannot be written. */
const maxWaiting = 2_000

interface Followed {
  readonly span: HealthSpan
  /** The span as the store has it; `undefined` if it has none. */
  readonly written: HealthSpan | undefined
}

interface OpenSpan extends Followed {
  /** The outage that ended where a ready span of less than a minute begins. */
  readonly before: Followed | undefined
}

/** The spans that are not done with. */
export interface FollowedHealth {
  /** The time of the last reading, or the end of the last span that the store has: no span begins before. */
  readonly at: number
  /** The end of the last span that the store has. */
  readonly stored: number
  /** By clusters, those that go on. */
  readonly open: ReadonlyMap<string, OpenSpan>
  /** Those whose end is to be written, in the order of their ends. */
  readonly ended: ReadonlyArray<Followed>
}

export const noHealth: FollowedHealth = { at: -Infinity, stored: -Infinity, open: new Map(), ended: [] }

/** The spans that a store has, as it is opened. */
export interface StoredHealth {
  /** Those without an end. */
  readonly open: ReadonlyArray<HealthSpan>
  /** The end of the last one; `undefined` without any. */
  readonly end: number | undefined
}

/** One row per span. */
export const spanKey = ({ cluster, from }: Pick<HealthSpan, "cluster" | "from">): string => `${from} ${cluster}`

const isOld = ({ from }: HealthSpan, at: number): boolean => at - from >= minute

const isDue = ({ span, written }: Followed): boolean => {
  if (span.to !== undefined) return written?.to !== span.to
  if (written === undefined) return isOld(span, span.lastSeen)
  return (
    written.to !== undefined ||
    written.unready?.reason !== span.unready?.reason ||
    span.lastSeen - written.lastSeen >= minute
  )
}

const endedAt = ({ span, written }: Followed, to: number): Followed => ({
  span: { ...span, lastSeen: to, to },
  written
})

/** The rest of a span that ends: ready time of less than a minute is no span. */
const ending = (open: OpenSpan, to: number): ReadonlyArray<Followed> => [
  ...(open.before === undefined ? [] : [open.before]),
  ...(open.span.unready === undefined && !isOld(open.span, to) ? [] : [endedAt(open, to)])
]

const begun = ({ cluster, unready }: HealthReading, now: number, before?: Followed): OpenSpan => ({
  span: { cluster, unready, from: now, lastSeen: now, to: undefined },
  written: undefined,
  before
})

/** The spans after a reading of one cluster: the span that goes on, and those that have ended. */
interface Step {
  readonly open: OpenSpan
  readonly ended: ReadonlyArray<Followed>
}

const goOn = (open: OpenSpan, unready: Unreadiness | undefined, now: number): Step => {
  const next = { ...open, span: { ...open.span, unready, lastSeen: now } }
  // The outage before is over for good.
  return open.before !== undefined && isOld(open.span, now)
    ? { open: { ...next, before: undefined }, ended: [open.before] }
    : { open: next, ended: [] }
}

const step = (open: OpenSpan, reading: HealthReading, now: number): Step => {
  const { unready } = reading
  const isReady = unready === undefined
  if (isReady === (open.span.unready === undefined)) return goOn(open, unready, now)
  if (isReady) return { open: begun(reading, now, endedAt(open, now)), ended: [] }
  const { before, span } = open
  if (before !== undefined && !isOld(span, now))
    return {
      open: { ...before, span: { ...before.span, unready, lastSeen: now, to: undefined }, before: undefined },
      ended: []
    }
  return { open: begun(reading, now), ended: ending(open, now) }
}

/** The same spans, all of which have ended where they were seen last. */
const allEnded = ({ ended, open, ...state }: FollowedHealth): FollowedHealth => ({
  ...state,
  open: new Map(),
  ended: [...ended, ...[...open.values()].flatMap((one) => ending(one, one.span.lastSeen))]
})

const endOf = (followed: ReadonlyArray<Followed>): number =>
  followed.reduce((end, { span }) => Math.max(end, span.lastSeen), -Infinity)

/**
 * A clock that has gone back by more than a minute was wrong before or is wrong now. Spans that are not written and
 * begin in the future go; others stay, and no span begins before they end.
 */
const setBack = (state: FollowedHealth, now: number): FollowedHealth => {
  const all = allEnded(state)
  const ended = all.ended.filter(({ span, written }) => written !== undefined || span.from <= now)
  return { ...all, ended, at: Math.max(state.stored, endOf(ended)) }
}

/** The spans after a reading of all clusters. `now`: epoch ms. */
export const readHealth = (
  before: FollowedHealth,
  readings: ReadonlyArray<HealthReading>,
  now: number
): FollowedHealth => {
  const known = before.at - now > minute ? setBack(before, now) : before
  // A clock that was set back a little catches up.
  if (now <= known.at) return known
  const state = now - known.at > minute ? allEnded(known) : known
  const open = new Map<string, OpenSpan>()
  const ended = [...state.ended]
  for (const reading of readings) {
    const found = state.open.get(reading.cluster)
    const next = found === undefined ? { open: begun(reading, now), ended: [] } : step(found, reading, now)
    open.set(reading.cluster, next.open)
    ended.push(...next.ended)
  }
  for (const [cluster, gone] of state.open) if (!open.has(cluster)) ended.push(...ending(gone, gone.span.lastSeen))
  return { ...state, at: now, open, ended: ended.filter(isDue).slice(-maxWaiting) }
}

/**
 * Takes over a store that was opened. Its open spans of before end where they were seen last, because it is not known
 * what happened since. Spans that are followed are written again, in case that the store has lost them.
 */
export const adoptHealth = (before: FollowedHealth, { end = -Infinity, open }: StoredHealth): FollowedHealth => {
  const rows = new Map(open.map((span) => [spanKey(span), span]))
  const taken = (followed: Followed): ReadonlyArray<Followed> => {
    const row = rows.get(spanKey(followed.span))
    rows.delete(spanKey(followed.span))
    // Another process has written of the same time.
    const isOthers = row === undefined && followed.written === undefined && followed.span.from < end
    return isOthers ? [] : [{ span: followed.span, written: row }]
  }
  const ended = before.ended.flatMap(taken)
  const kept = new Map<string, OpenSpan>()
  for (const [cluster, one] of before.open) {
    const earlier = one.before === undefined ? [] : taken(one.before)
    const [now] = taken(one)
    if (now === undefined) ended.push(...earlier)
    else kept.set(cluster, { ...now, before: earlier[0] })
  }
  const others = [...rows.values()].map((row) => endedAt({ span: row, written: row }, row.lastSeen))
  return { at: Math.max(before.at, end), stored: end, open: kept, ended: [...others, ...ended] }
}

const all = ({ ended, open }: FollowedHealth): ReadonlyArray<Followed> => [
  ...ended,
  ...[...open.values()].flatMap((one) => (one.before === undefined ? [one] : [one.before, one]))
]

/** All spans that are followed, which are as the store has them or newer. */
export const followedSpans = (state: FollowedHealth): ReadonlyArray<HealthSpan> => all(state).map(({ span }) => span)

/** The spans to write. */
export const dueSpans = (state: FollowedHealth): ReadonlyArray<HealthSpan> =>
  all(state)
    .filter(isDue)
    .map(({ span }) => span)

/** The same spans after these were written. */
export const afterSpanWrites = (state: FollowedHealth, spans: ReadonlyArray<HealthSpan>): FollowedHealth => {
  const rows = new Map(spans.map((span) => [spanKey(span), span]))
  const after = <One extends Followed>(one: One): One => ({
    ...one,
    written: rows.get(spanKey(one.span)) ?? one.written
  })
  return {
    at: state.at,
    stored: spans.reduce((end, { lastSeen }) => Math.max(end, lastSeen), state.stored),
    open: new Map(
      [...state.open].map(([cluster, one]) => [
        cluster,
        { ...after(one), before: one.before === undefined ? undefined : after(one.before) }
      ])
    ),
    ended: state.ended.map(after).filter(isDue)
  }
}
