import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { judgeRedemption, refusedRedemption, type ShownToken } from "../../../src/domain/outbound/redemption.ts"

const until = Date.UTC(2026, 0, 1, 12)
const token = { name: clusterName("b"), id: "k3v9x0a1bz" }
const stored = { ...token, hash: "0f".repeat(32), until, by: "jane" }
const shown: ShownToken = { token, stored, isSame: true, joined: true, now: until - 1 }

describe("a redemption", () => {
  it("of a good token is for its name", () => expect(judgeRedemption(shown)).toEqual(Result.succeed({ name: "b" })))

  it.each<readonly [Partial<ShownToken>, string]>([
    [{ stored: undefined }, "is not stored: it was used, has ended, or was never made here"],
    [{ isSame: false }, "came with a wrong secret"],
    [{ stored: { ...stored, name: clusterName("B") } }, 'was made for cluster "B"'],
    [{ now: until }, "ended at 2026-01-01 12:00 UTC"],
    // A guess learns nothing of the token, and neither does the log of a token that ended long ago.
    [{ isSame: false, now: until, joined: false }, "came with a wrong secret"]
  ])("with %j is refused; only the reason says why", (change, reason) =>
    expect(judgeRedemption({ ...shown, ...change })).toEqual(
      Result.fail({
        answer: refusedRedemption("other").answer,
        reason: `the token k3v9x0a1bz for cluster "b" ${reason}`,
        mayPass: false
      })
    )
  )

  it("of a good token is to be tried again while the configuration does not name the cluster", () =>
    expect(judgeRedemption({ ...shown, joined: false })).toEqual(
      Result.fail({
        answer: expect.stringContaining("is tried again by itself"),
        reason:
          'the token k3v9x0a1bz for cluster "b" is for a cluster that the configuration does not name as one that ' +
          "dials out",
        mayPass: true
      })
    ))
})
