import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  adopt,
  afterWrites,
  dueRecords,
  follow,
  type FollowedSessions,
  heartbeatEvery
} from "../../../src/domain/usage/follow-usage.ts"
import { recordKey, type UsageRecord } from "../../../src/domain/usage/usage-record.ts"
import { record } from "./some-records.ts"

const none: ReadonlyMap<string, number> = new Map()
const nothing: FollowedSessions = new Map()

/** A store as a table: one row per key. */
class Table {
  readonly rows = new Map<string, UsageRecord>()
  readonly put = (written: UsageRecord): void => void this.rows.set(recordKey(written), written)
  readonly open = (): ReadonlyArray<UsageRecord> => [...this.rows.values()].filter((row) => row.stoppedAt === undefined)
}

describe("sessions that are followed", () => {
  it("have one record, which is written at their start and at their end", () => {
    const seen = record({ startedAt: 1_000 })
    const begun = follow(nothing, { sessions: [seen], ends: none })
    expect(dueRecords(begun)).toEqual([seen])
    const later = follow(afterWrites(begun, [seen]), { sessions: [{ ...seen, lastSeenAt: 11_000 }], ends: none })
    expect(dueRecords(later)).toEqual([])
    const over = follow(later, { sessions: [{ ...seen, lastSeenAt: 11_000, stoppedAt: 14_000 }], ends: none })
    expect(dueRecords(over)).toEqual([{ ...seen, lastSeenAt: 11_000, stoppedAt: 14_000 }])
    const written = afterWrites(over, dueRecords(over))
    expect(dueRecords(follow(written, { sessions: [{ ...seen, stoppedAt: 15_000 }], ends: none }))).toEqual([])
    expect(follow(written, { sessions: [], ends: none }).size).toBe(0)
  })

  it("write their heartbeat now and then, and at once when another cluster takes part", () => {
    const seen = record({ startedAt: 0, clusters: ["a"] })
    const begun = afterWrites(follow(nothing, { sessions: [seen], ends: none }), [seen])
    const due = (changed: Partial<UsageRecord>) =>
      dueRecords(follow(begun, { sessions: [{ ...seen, ...changed }], ends: none }))
    expect(due({ lastSeenAt: heartbeatEvery - 1 })).toEqual([])
    expect(due({ lastSeenAt: heartbeatEvery })).toHaveLength(1)
    expect(due({ clusters: ["b"] })[0]?.clusters).toEqual(["a", "b"])
  })

  it("stay the same object while they are seen as before", () => {
    const seen = record({ clusters: ["b", "a"] })
    const begun = follow(nothing, { sessions: [seen], ends: none })
    const key = recordKey(seen)
    expect(follow(begun, { sessions: [seen], ends: none }).get(key)).toBe(begun.get(key))
  })

  it("end at their last heartbeat if nothing is known of their end, and else at that end", () => {
    const open = record({ startedAt: 1_000, lastSeenAt: 61_000 })
    const gone = (ends: ReadonlyMap<string, number>) =>
      dueRecords(follow(adopt(nothing, [open]), { sessions: [], ends }))[0]?.stoppedAt
    expect(gone(none)).toBe(61_000)
    expect(gone(new Map([[recordKey(open), 70_000]]))).toBe(70_000)
  })

  it("go on with their record when their client comes back under the same id", () => {
    const closed = record({ startedAt: 1_000, stoppedAt: 5_000 })
    const back = follow(adopt(nothing, [closed]), { sessions: [record({ startedAt: 9_000 })], ends: none })
    expect(dueRecords(back)).toEqual([record({ startedAt: 1_000, lastSeenAt: 9_000 })])
  })

  it("that began and ended before the store could be opened are written when it is", () => {
    const seen = record({ startedAt: 1_000 })
    const gone = follow(follow(nothing, { sessions: [seen], ends: none }), { sessions: [], ends: none })
    const stored = record({ id: "2", startedAt: 500 })
    expect(dueRecords(adopt(gone, [stored]))).toEqual([{ ...seen, stoppedAt: 1_000 }])
    expect(dueRecords(adopt(gone, [record({ startedAt: 400 })]))).toEqual([
      { ...seen, startedAt: 400, lastSeenAt: 1_000, stoppedAt: 1_000 }
    ])
  })

  it("are neither lost nor counted twice, wherever the operator is stopped", () => {
    const life = fc.record({
      id: fc.integer({ min: 1, max: 4 }),
      from: fc.nat(20),
      length: fc.integer({ min: 1, max: 9 })
    })
    const act = fc.constantFrom("look", "write", "crash")
    fc.assert(
      fc.property(
        fc.uniqueArray(life, { selector: ({ id }) => id }),
        fc.array(act, { maxLength: 40 }),
        (lives, acts) => {
          const table = new Table()
          let followed: FollowedSessions = nothing
          const reached = new Set<string>()
          const look = (at: number): void => {
            const sessions = lives
              .filter(({ from, length }) => from <= at && at < from + length)
              .map(({ from, id }) => record({ id: String(id), startedAt: from, lastSeenAt: at }))
            followed = follow(followed, { sessions, ends: none })
          }
          acts.forEach((what, at) => {
            look(at)
            if (what === "crash") followed = adopt(nothing, table.open())
            const [first] = dueRecords(followed)
            if (what !== "write" || first === undefined) return
            table.put(first)
            reached.add(recordKey(first))
            followed = afterWrites(followed, [first])
          })
          followed = follow(adopt(nothing, table.open()), { sessions: [], ends: none })
          dueRecords(followed).forEach(table.put)
          expect(new Set(table.rows.keys())).toEqual(reached)
          for (const { id, startedAt, stoppedAt = Infinity } of table.rows.values()) {
            const real = lives.find((one) => String(one.id) === id)
            expect(startedAt).toBe(real?.from)
            expect(stoppedAt).toBeLessThan((real?.from ?? 0) + (real?.length ?? 0))
          }
        }
      )
    )
  })
})
