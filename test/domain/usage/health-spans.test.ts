import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  adoptHealth,
  afterSpanWrites,
  dueSpans,
  type FollowedHealth,
  followedSpans,
  type HealthReading,
  type HealthSpan,
  minute,
  noHealth,
  readHealth,
  spanKey
} from "../../../src/domain/usage/health-spans.ts"

const second = 1_000
const begin = Date.UTC(2026, 10, 29)

/** A store as a table, and the operator beside it. */
class Life {
  readonly rows = new Map<string, HealthSpan>()
  state: FollowedHealth = noHealth

  /** A reading, and the writes after it. */
  readonly read = (now: number, readings: ReadonlyArray<HealthReading>, isWritten = true): void => {
    this.state = readHealth(this.state, readings, now)
    const due = dueSpans(this.state)
    if (!isWritten) return
    for (const span of due) this.rows.set(spanKey(span), span)
    this.state = afterSpanWrites(this.state, due)
    expect(dueSpans(this.state)).toEqual([])
  }

  /** The operator ends at once, and another one begins. */
  readonly restart = (): void => {
    const open = [...this.rows.values()].filter(({ to }) => to === undefined)
    const ends = [...this.rows.values()].map(({ lastSeen }) => lastSeen)
    this.state = adoptHealth(noHealth, { open, end: ends.length === 0 ? undefined : Math.max(...ends) })
  }

  /** All spans of a cluster, the store's and the newer ones. */
  readonly spans = (cluster: string): ReadonlyArray<HealthSpan> =>
    [...new Map([...this.rows, ...followedSpans(this.state).map((span) => [spanKey(span), span] as const)]).values()]
      .filter((span) => span.cluster === cluster)
      .toSorted((a, b) => a.from - b.from)
}

const lost = { reason: "Lost", message: "it does not answer" }
type Seen = "ready" | "lost" | "none"
const readingsOf = (clusters: Readonly<Record<string, Seen>>): ReadonlyArray<HealthReading> =>
  Object.entries(clusters).flatMap(([cluster, seen]) =>
    seen === "none" ? [] : [{ cluster, unready: seen === "lost" ? lost : undefined }]
  )

interface Stretch {
  readonly from: number
  readonly to: number
  readonly seen: Seen
}

/** The knowledge of one life of an operator: between two readings that have the cluster, the first one's. */
const known = (
  readings: ReadonlyArray<readonly [now: number, seen: Seen]>,
  isAlive: boolean
): ReadonlyArray<Stretch> => {
  const stretches: Array<Stretch> = []
  const add = (one: Stretch): void => {
    const last = stretches.at(-1)
    if (last?.seen === one.seen) stretches[stretches.length - 1] = { ...last, to: one.to }
    else stretches.push(one)
  }
  readings.forEach(([from, state], index) => {
    const [to, next] = readings[index + 1] ?? [from, state]
    add({ from, to: from, seen: state })
    add({ from, to, seen: next === "none" || to - from > minute ? "none" : state })
  })
  return stretches.flatMap((one, index): ReadonlyArray<Stretch> => {
    const isShort = one.seen === "ready" && one.to - one.from < minute && !(isAlive && index === stretches.length - 1)
    if (!isShort) return one.seen === "none" ? [] : [one]
    const isWithin = stretches[index - 1]?.seen === "lost" && stretches[index + 1]?.seen === "lost"
    return isWithin ? [{ ...one, seen: "lost" }] : []
  })
}

const seenAt = (stretches: ReadonlyArray<Stretch>, at: number): Seen =>
  stretches.find(({ from, to }) => from <= at && at < to)?.seen ?? "none"

const stretchesOf = (spans: ReadonlyArray<HealthSpan>): ReadonlyArray<Stretch> =>
  spans.map(({ from, lastSeen: to, unready }) => ({ from, to, seen: unready === undefined ? "ready" : "lost" }))

const seen = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Seen>("ready") },
  { weight: 3, arbitrary: fc.constant<Seen>("lost") },
  { weight: 1, arbitrary: fc.constant<Seen>("none") }
)
/** A reading, so many seconds after the one before; sometimes of another operator. */
const turn = (seconds: fc.Arbitrary<number>) =>
  fc.record({
    seconds,
    a: seen,
    b: seen,
    isRestarted: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
  })
const onward = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(1, 59, 60, 61, 300))
const anyTime = fc.oneof(
  { weight: 5, arbitrary: onward },
  { weight: 1, arbitrary: fc.constantFrom(0, -1, -30, -60, -61, -500, 4_000, -4_000) }
)

const noOverlap = (spans: ReadonlyArray<HealthSpan>): void => {
  spans.forEach(({ from, lastSeen, to }, index) => {
    expect(from).toBeLessThanOrEqual(lastSeen)
    expect(to ?? lastSeen).toBe(lastSeen)
    expect(lastSeen).toBeLessThanOrEqual(spans[index + 1]?.from ?? Infinity)
  })
}

describe("spans of clusters' health", () => {
  it("are what the readings say, and what a crash costs is of the last minute", () => {
    fc.assert(
      fc.property(fc.array(turn(onward), { maxLength: 40 }), (turns) => {
        const life = new Life()
        let now = begin
        let readings: Array<readonly [now: number, seen: Seen]> = []
        const all: Array<Stretch> = []
        const crashes: Array<number> = []
        for (const { a, b, isRestarted, seconds } of turns) {
          if (isRestarted) {
            life.restart()
            all.push(...known(readings, false))
            crashes.push(now)
            readings = []
          }
          now += seconds * second
          readings.push([now, a])
          life.read(now, readingsOf({ a, b }))
        }
        all.push(...known(readings, true))
        const spans = life.spans("a")
        noOverlap(spans)
        const found = stretchesOf(spans)
        for (let at = begin; at <= now; at += second) {
          const isLost = crashes.some((crash) => crash - minute < at && at <= crash)
          const [expected, is] = [seenAt(all, at), seenAt(found, at)]
          if (!isLost || is !== "none") expect([at - begin, is]).toEqual([at - begin, expected])
        }
        // Spans are few: a minute and a minute.
        expect(spans.filter(({ unready }) => unready === undefined).length).toBeLessThanOrEqual(
          (now - begin) / minute + 1
        )
      })
    )
  })

  it("never overlap, whatever the clock does and whichever writes fail, and are ready where a reading was", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(turn(anyTime), fc.boolean()), { maxLength: 40 }), (turns) => {
        const life = new Life()
        let now = begin
        const ready: Array<Stretch> = []
        let before: readonly [now: number, seen: Seen] | undefined
        for (const [{ a, b, isRestarted, seconds }, isWritten] of turns) {
          if (isRestarted) {
            life.restart()
            before = undefined
          }
          now += seconds * second
          if (before !== undefined && before[1] === "ready") ready.push({ from: before[0], to: now, seen: "ready" })
          // A clock that was set back a little is waited for.
          if (before === undefined || now > before[0] || before[0] - now > minute) before = [now, a]
          life.read(now, readingsOf({ a, b }), isWritten)
          noOverlap(life.spans("a"))
        }
        for (const { from, lastSeen, unready } of life.spans("a"))
          for (let at = from; unready === undefined && at < lastSeen; at += second)
            expect(seenAt(ready, at)).toBe("ready")
      })
    )
  })

  it("end when their cluster leaves the fleet, and have why it was not ready at last", () => {
    const life = new Life()
    life.read(begin, readingsOf({ a: "lost" }))
    for (let at = 1; at <= 60; at++) life.read(begin + at * second, readingsOf({ a: "lost" }))
    expect([...life.rows.values()]).toMatchObject([{ lastSeen: begin + minute, to: undefined, unready: lost }])
    const refused = { reason: "CredentialsRefused", message: "401" }
    life.read(begin + 61 * second, [{ cluster: "a", unready: refused }])
    life.read(begin + 62 * second, [])
    expect([...life.rows.values()]).toMatchObject([
      { from: begin, to: begin + 61 * second, lastSeen: begin + 61 * second, unready: refused }
    ])
  })

  it("are written once in a minute while nothing changes, and one outage is one span however a cluster flaps", () => {
    const life = new Life()
    let writes = 0
    for (let at = 0; at <= 3_620; at++) {
      const isUp = at < 600 || at % 59 > 3
      life.state = readHealth(life.state, readingsOf({ a: isUp ? "ready" : "lost" }), begin + at * second)
      const due = dueSpans(life.state)
      if (due.length > 0 && at < 600) writes++
      for (const span of due) life.rows.set(spanKey(span), span)
      life.state = afterSpanWrites(life.state, due)
    }
    expect(writes).toBe(9)
    expect(life.spans("a").map(({ unready }) => unready?.reason)).toEqual([undefined, "Lost", undefined])
  })

  it("lose a minute at most to a clock that jumps for a moment", () => {
    const life = new Life()
    const year = 365 * 86_400 * second
    for (let at = 0; at < 200; at++) {
      const jump = at === 100 ? year : 0
      life.read(begin + at * second + (at === 150 ? -year : jump), readingsOf({ a: at < 80 ? "ready" : "lost" }))
    }
    expect(life.spans("a").map(({ from, lastSeen }) => [(from - begin) / second, (lastSeen - begin) / second])).toEqual(
      [
        [0, 80],
        [80, 99],
        [151, 199]
      ]
    )
  })

  it("that wait for a store are bounded, and are written again to one that was opened again", () => {
    const life = new Life()
    for (let at = 0; at < 10_000; at++) {
      const which: Seen = at % 2 === 0 ? "lost" : "none"
      life.state = readHealth(life.state, readingsOf({ a: which, b: "ready" }), begin + at * second)
    }
    expect(followedSpans(life.state)).toHaveLength(2_001)
    life.state = adoptHealth(life.state, { open: [], end: undefined })
    life.read(begin + 10_000 * second, readingsOf({ a: "lost", b: "ready" }))
    expect(life.rows.size).toBe(2_001)
    const others = { cluster: "a", unready: undefined, from: begin, lastSeen: begin + 20_000 * second, to: undefined }
    const alone = readHealth(noHealth, readingsOf({ a: "ready" }), begin + second)
    const adopted = adoptHealth(alone, { open: [others], end: others.lastSeen })
    expect(followedSpans(adopted)).toEqual([{ ...others, to: others.lastSeen }])
  })
})
