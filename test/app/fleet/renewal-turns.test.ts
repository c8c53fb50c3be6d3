import { describe, expect } from "vitest"
import { renewalBurst, renewalEvery } from "../../../src/domain/fleet/credentials/renewal-pace.ts"
import { it } from "../../support/effect-it.ts"
import { maxInASecond } from "../../support/most-in-a-second.ts"
import { renewalsTogether } from "./renewals-together.ts"

describe("members whose tokens are all overdue", () => {
  it.effect("are renewed a few at a time, each once, and none is lost", function* () {
    const { asked, lost } = yield* renewalsTogether(300)
    expect([asked.length, lost]).toEqual([300, []])
    const most = renewalBurst + 1_000 / renewalEvery
    expect(maxInASecond(asked)).toBeLessThanOrEqual(most)
    // Without a pace 30 would be asked in the first of the ten seconds over which overdue renewals are spread.
    expect(asked.at(-1)).toBeGreaterThan(10_000)
  })
})
