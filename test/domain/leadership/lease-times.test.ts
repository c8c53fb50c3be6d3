import { describe, expect, it } from "vitest"
import { leaseTimesProblem, defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"

describe("times of a Lease", () => {
  it("are usually those of client-go", () => expect(leaseTimesProblem(defaultLeaseTimes)).toBeUndefined())

  it.each([
    [{ ...defaultLeaseTimes, retryPeriod: 0 }, /^the retry period is 0 s/],
    [
      { ...defaultLeaseTimes, renewDeadline: 2_400 },
      /^the renew deadline is 2.4 s; it must be more than 1.2 times the retry period of 2 s/
    ],
    [
      { ...defaultLeaseTimes, leaseDuration: 10_000 },
      /^the lease duration is 10 s; it must be longer than the renew deadline of 10 s/
    ]
  ])("%o cannot be", (times, problem) => expect(leaseTimesProblem(times)).toMatch(problem))
})
