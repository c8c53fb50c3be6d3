import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  afterCheck,
  afterDisengaging,
  afterEngaging,
  type CheckOptions,
  type ClusterState,
  type ConnectedOperator,
  defaultCheckOptions,
  isWell,
  lastCheckOf,
  missingRightOf,
  neverEngaged,
  nextCheckTimeout,
  unreadableSince
} from "../../../src/domain/fleet/health.ts"

const operator: ConnectedOperator = {
  _tag: "Connected",
  operatorVersion: "1",
  fingerprint: undefined,
  parametersInHeader: true
}
const message = "its operator did not answer in time"
const [first, second] = [
  { askedAt: 1_000, checkedAt: 1_100 },
  { askedAt: 9_000, checkedAt: 12_000 }
]

const noCredentials = afterDisengaging("its Secret does not exist", 500)
const neverChecked = afterEngaging(neverEngaged(0))
const oneFailure: ClusterState = { _tag: "Connecting", reason: { _tag: "NotChecked", failedChecks: 1 } }
const well: ClusterState = { _tag: "Connected", lastCheck: first, operator, failedChecks: 0 }
const doubtful: ClusterState = { ...well, failedChecks: 1 }
const lostBy = (
  failedChecks: number,
  reason: { readonly message: string; readonly lacksRight?: boolean },
  at = first
) =>
  ({
    _tag: "Lost",
    reason: { _tag: "ChecksFailed", lastCheck: at, failedChecks, lacksRight: false, ...reason }
  }) satisfies ClusterState
const lost: ClusterState = lostBy(2, { message: "before" })
/** In the middle of the spread. */
const share = 0.5

const answers = { ...second, found: Result.succeed(operator) }
const fails = { ...second, found: Result.fail({ message, lacksRight: false }) }
const foundWell: ClusterState = { ...well, lastCheck: second }
const foundLost: ClusterState = lostBy(2, { message }, second)

describe("a check of a cluster", () => {
  it.each([
    ["finds a never-checked cluster well", neverChecked, answers, foundWell, 5_000],
    [
      "does not lose a never-checked cluster by one failure, and comes again soon",
      neverChecked,
      fails,
      oneFailure,
      1_000
    ],
    ["loses a never-checked cluster by the second failure", oneFailure, fails, foundLost, 1_000],
    ["finds a never-checked cluster well after one failure", oneFailure, answers, foundWell, 5_000],
    ["keeps what is known of a well cluster at the first failure, and gives it time", well, fails, doubtful, 3_000],
    ["forgets the failure of a cluster that answers again", doubtful, answers, foundWell, 5_000],
    ["loses a well cluster by the second failure in a row", doubtful, fails, foundLost, 1_000],
    [
      "finds a lost cluster lost by each failure, with its newest reason",
      lost,
      fails,
      lostBy(3, { message }, second),
      2_000
    ],
    ["asks a cluster that stays lost less often", lostBy(3, { message }), fails, lostBy(4, { message }, second), 4_000],
    [
      "asks a lost cluster as often as a well one",
      lostBy(99, { message }),
      fails,
      lostBy(100, { message }, second),
      5_000
    ],
    ["finds a lost cluster well by one answer", lost, answers, foundWell, 5_000]
  ] as const)("%s", (_sentence, known, check, state, nextCheckIn) =>
    expect(afterCheck(known, check, defaultCheckOptions, share)).toEqual({ state, nextCheckIn })
  )

  it("asks clusters that were lost together at different moments, around the same pause", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 20 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, place) => {
        const pause = (of: number) =>
          afterCheck(lostBy(failures, { message }), fails, defaultCheckOptions, of).nextCheckIn
        expect(pause(place)).toBeGreaterThanOrEqual(Math.floor(0.8 * pause(share)))
        expect(pause(place)).toBeLessThanOrEqual(Math.ceil(1.2 * pause(share)))
        expect(pause(1)).toBeGreaterThan(pause(0))
      })
    )
  })

  it("keeps that a right is missing, which no time mends", () => {
    const found = Result.fail({ message: "may not get", lacksRight: true })
    const { state } = afterCheck(doubtful, { ...second, found }, defaultCheckOptions, share)
    expect(missingRightOf(state)).toMatchObject({ message: "may not get" })
    expect(lastCheckOf(state)?.health).toEqual({ _tag: "Error", message: "may not get", lacksRight: true })
    expect([doubtful, lost, noCredentials].map(missingRightOf)).toEqual([undefined, undefined, undefined])
  })

  it.each([
    ["may take its time where no single failure decides", neverChecked, 5_000],
    ["may take its time at a well cluster", well, 5_000],
    ["is brief where its failure loses a well cluster", doubtful, 3_000],
    ["is brief where its failure loses a never-checked cluster", oneFailure, 3_000],
    ["may take its time at a lost cluster", lost, 5_000]
  ] as const)("%s", (_sentence, known, timeout) => expect(nextCheckTimeout(known, defaultCheckOptions)).toBe(timeout))
})

describe("engaging", () => {
  it.each([
    ["starts again for a cluster that had no credentials", noCredentials, neverChecked],
    ["starts again for a cluster that was never engaged", neverEngaged(0), neverChecked],
    ["with new credentials is no loss of a well cluster", well, well],
    ["with new credentials keeps the failures of a never-checked cluster", oneFailure, oneFailure],
    ["with new credentials does not find a lost cluster", lost, lost]
  ] as const)("%s", (_sentence, known, state) => expect(afterEngaging(known)).toEqual(state))
})

describe("the last check", () => {
  it.each([
    [
      "of a cluster that was never engaged says so",
      neverEngaged(7),
      { checkedAt: 7, message: "it has not been connected yet" }
    ],
    [
      "of a cluster without credentials says why, without a time of asking",
      noCredentials,
      { checkedAt: 500, message: "its Secret does not exist" }
    ],
    ["of a lost cluster says why and when it was asked", lost, { ...first, message: "before" }]
  ] as const)("%s", (_sentence, state, { message: found, ...times }) =>
    expect(lastCheckOf(state)).toEqual({ ...times, health: { _tag: "Error", message: found } })
  )

  it("of a cluster that has only failed once is missing, and of a well cluster is its operator's answer", () => {
    expect(lastCheckOf(oneFailure)).toBeUndefined()
    expect(lastCheckOf(doubtful)).toEqual({ ...first, health: operator })
  })
})

describe("children", () => {
  it.each([
    ["that can be read are not unreadable", 1, true, false, undefined],
    ["are unreadable from the check on that finds them so", undefined, false, false, 9],
    ["stay unreadable since the first check that found them so", 1, false, false, 1],
    ["of a cluster that is well again get the usual time", 1, false, true, 9]
  ] as const)("%s", (_sentence, before, isReadable, isWellAgain, since) =>
    expect(unreadableSince(before, isReadable, isWellAgain, 9)).toBe(since)
  )
})

describe("checks of a cluster: properties", () => {
  const options = fc
    .integer({ min: 1, max: 5 })
    .map((lostAfter): CheckOptions => ({ ...defaultCheckOptions, lostAfter }))
  const checks = fc.array(fc.constantFrom(answers, fails), { maxLength: 20 })
  const run = (known: ClusterState, given: ReadonlyArray<typeof answers | typeof fails>, by: CheckOptions) =>
    given.reduce((state, check) => afterCheck(state, check, by, share).state, known)
  /** From lost to well. */
  const rank = (state: ClusterState): number => ["Lost", "Connecting", "Connected"].indexOf(state._tag)

  it("no failure makes a cluster healthier, and no answer leaves it in doubt", () => {
    fc.assert(
      fc.property(options, checks, fc.constantFrom(neverChecked, well, lost), (by, before, start) => {
        const known = run(start, before, by)
        expect(rank(run(known, [fails], by))).toBeLessThanOrEqual(rank(known))
        expect(isWell(run(known, [answers], by))).toBe(true)
      })
    )
  })

  it("a well cluster is lost by exactly so many failures in a row, whatever came before", () => {
    fc.assert(
      fc.property(options, checks, (by, before) => {
        const known = run(run(neverChecked, before, by), [answers], by)
        const failures = Array.from({ length: by.lostAfter - 1 }, () => fails)
        expect(run(known, failures, by)._tag).toBe("Connected")
        expect(run(known, [...failures, fails], by)._tag).toBe("Lost")
      })
    )
  })

  it("a check is brief exactly where its failure would lose a cluster that is not lost", () => {
    fc.assert(
      fc.property(options, checks, (by, before) => {
        const known = run(neverChecked, before, by)
        const loses = known._tag !== "Lost" && run(known, [fails], by)._tag === "Lost"
        expect(nextCheckTimeout(known, by)).toBe(loses ? by.decisiveTimeout : by.checkTimeout)
      })
    )
  })
})
