import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import {
  changedDays,
  recallUsers,
  rememberUsers,
  userHash
} from "../../../../src/domain/commands/overview/remembered-users.ts"

const [hour, day] = [3_600_000, 86_400_000]
const now = Date.UTC(2026, 10, 22, 9, 30)
const [ann, bob] = ["ann", "bob"].map((user) => userHash(sha256Hex, "salt", user)) as [string, string]

describe("the memory of users", () => {
  it("has each user once, on the last day, with the hour, as a hash that another salt makes another", () => {
    const seen = new Map([
      [ann, now - day],
      [bob, now]
    ])
    expect(rememberUsers(seen)).toEqual({ "2026-11-21": `${ann}j`, "2026-11-22": `${bob}j` })
    expect(JSON.stringify(rememberUsers(seen))).not.toContain("ann")
    expect(userHash(sha256Hex, "other salt", "ann")).not.toBe(ann)
  })

  it("comes back to the hour, never later than now, the latest last", () => {
    const user = fc.stringMatching(/^[0-9a-f]{12}$/)
    const time = fc.integer({ min: now - 29 * day, max: now })
    fc.assert(
      fc.property(fc.dictionary(user, time, { maxKeys: 20 }), (seen) => {
        const recalled = recallUsers(rememberUsers(new Map(Object.entries(seen))), now)
        expect([...recalled.keys()].toSorted()).toEqual(Object.keys(seen).toSorted())
        for (const [known, at] of recalled) {
          expect(at).toBeGreaterThanOrEqual(seen[known] ?? Infinity)
          expect(at - (seen[known] ?? 0)).toBeLessThan(hour)
          expect(at).toBeLessThanOrEqual(now)
        }
        expect([...recalled.values()]).toEqual([...recalled.values()].toSorted((a, b) => a - b))
      })
    )
  })

  it("leaves out what is old, and what somebody has spoilt", () => {
    const spoilt = { salt: "x", "2026-11-22": `${ann}a nonsense ${bob}z`, "2026-13-99": `${bob}a`, "2026-11-20": 5 }
    expect([...recallUsers({ ...spoilt, "2026-10-01": `${bob}a` }, now).keys()]).toEqual([ann])
    // The clock of another host was ahead.
    expect(recallUsers({ "2026-12-24": `${ann}a` }, now)).toEqual(new Map([[ann, now]]))
  })

  it("is written where it has changed alone", () => {
    const stored = { salt: "x", "2026-11-20": "1", "2026-11-21": "2", "2026-11-22": "3" }
    const wanted = { "2026-11-21": "2", "2026-11-22": "4", "2026-11-23": "5" }
    expect(changedDays(wanted, stored)).toEqual({ "2026-11-20": null, "2026-11-22": "4", "2026-11-23": "5" })
    expect(changedDays(wanted, { salt: "x", ...wanted })).toEqual({})
  })
})
