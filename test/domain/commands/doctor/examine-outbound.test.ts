import { describe, expect, it } from "vitest"
import {
  lastingFinding,
  outboundFinding,
  type SeenOutbound
} from "../../../../src/domain/commands/doctor/examine-outbound.ts"

const ready = { type: "Ready", status: "True", reason: "Connected", message: "", lastTransitionTime: "" } as const
const away = { ...ready, status: "False", message: "It has not dialled." } as const

it("says of a member that dials out what its primary says", () => {
  expect(outboundFinding("b", ready)).toMatchObject({ status: "ok" })
  expect(outboundFinding("b", away)).toMatchObject({ status: "failed", message: expect.stringContaining(away.message) })
  expect(outboundFinding("b", undefined, "403").message).toBe("The primary's operator says nothing of cluster b: 403.")
})

describe("a tunnel that is watched", () => {
  const now = Date.UTC(2026, 10, 21, 12)
  const at = (before: number): string => new Date(now - before * 1_000).toISOString()
  const well: SeenOutbound = { ready, tunnelSince: at(7_200), certificateUntil: at(-70_000), why: undefined }
  const without: SeenOutbound = { ready, tunnelSince: undefined, certificateUntil: undefined, why: undefined }
  const again = { ...well, tunnelSince: at(20) }

  it.each<[string, SeenOutbound, SeenOutbound, string]>([
    ["is the same", well, well, "ok: Its tunnel has held for these 150 s, and began 2h ago."],
    ["was replaced", well, again, "failed: Its tunnel began again 20s ago, and has not held for 150 s."],
    ["came meanwhile", without, again, "failed: Its tunnel began again 20s ago, and has not held for 150 s."],
    [
      "was replaced at the renewal of its certificate, which cuts nothing",
      well,
      { ...again, certificateUntil: at(-86_000) },
      "warning: Its tunnel began 20s ago with a renewed certificate, in place of the watched one."
    ],
    ["is gone", well, { ...without, ready: away }, "failed: It has no tunnel after 150 s."],
    ["is gone, and not missed yet", without, without, "failed: It has no tunnel after 150 s."],
    [
      "never was",
      { ...without, ready: away },
      { ...without, ready: away },
      "skipped: It has no tunnel that could be watched."
    ],
    [
      "stands and carries nothing any more",
      well,
      { ...well, ready: away },
      "failed: The primary does not use it: It has not dialled."
    ],
    [
      "cannot be seen any more",
      well,
      { ...without, ready: undefined, why: "403" },
      "failed: The primary's operator says nothing of cluster b: 403."
    ]
  ])("%s", (_, before, after, text) => {
    const { fix, message, status } = lastingFinding("b", [before, after], { now, seconds: 150 })
    expect(`${status}: ${message}`).toBe(text)
    expect(fix !== undefined).toBe(status === "failed" || status === "warning")
  })
})
