import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sessionsChangeAt, sessionsNow } from "../../../src/domain/branches/branch-sessions.ts"
import { leaderGrace } from "../../../src/domain/sessions/liveness.ts"

const owner = { userId: "u", username: "ann", hostname: "box", k8sUsername: "ann" }
const ids = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"))
const sessions = (names: ReadonlyArray<string>) => Object.fromEntries(names.map((id) => [id, { id, owner }]))

describe("the sessions of a branch", () => {
  it("are those that are known, and for a while those that may return", () => {
    fc.assert(
      fc.property(ids, ids, ids, fc.integer({ min: 0, max: 2 * leaderGrace }), (stored, used, released, after) => {
        const gone = released.filter((id) => !used.includes(id))
        const known = { since: 1_000, uses: sessions(used), released: new Set(gone) }
        const now = known.since + after
        const found = Object.keys(sessionsNow(known, sessions(stored), now)).toSorted()
        const returning = after < leaderGrace ? stored.filter((id) => !gone.includes(id)) : []
        expect(found).toEqual([...new Set([...used, ...returning])].toSorted())
        // Nothing changes by time alone but at the time that is named.
        const changeAt = sessionsChangeAt(known, sessions(stored), now)
        const later = (time: number) => Object.keys(sessionsNow(known, sessions(stored), time)).toSorted()
        if (changeAt === undefined) expect(later(now + 10 * leaderGrace)).toEqual(found)
        else expect([later(changeAt - 1), later(changeAt)]).toEqual([found, used.toSorted()])
      })
    )
  })
})
