import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { explainFailure, failureReasons } from "../../../src/domain/resources/session-failure.ts"
import { failureStatus } from "../../../src/domain/sessions/failure-status.ts"

describe("failureStatus", () => {
  it("maps 404, 400, 403, 410 and 500 and names cluster, cause and cure", () => {
    const status = (reason: (typeof failureReasons)[number]) =>
      failureStatus({ reason, message: explainFailure("cluster-a", { reason, message: "the cause." }) })
    expect(status("NoSuchTarget")).toMatchObject({ kind: "Status", status: "Failure", code: 404, reason: "NotFound" })
    expect(status("UnusableTarget")).toMatchObject({ code: 400, reason: "BadRequest" })
    expect(status("Forbidden")).toMatchObject({ code: 403, reason: "Forbidden" })
    expect(status("NoPods")).toMatchObject({ code: 410, reason: "ReconnectNotPossible" })
    expect(status("DefaultLost")).toMatchObject({ code: 410, reason: "ReconnectNotPossible" })
    for (const reason of ["TimedOut", "ClusterLost", "TargetNotReady", "Error"] as const)
      expect(status(reason)).toMatchObject({ code: 500 })
    for (const reason of failureReasons) expect(status(reason).message).toMatch(/cluster-a: the cause; .+\.$/u)
  })

  it("is never one on which the client retries in silence", () => {
    fc.assert(
      fc.property(fc.constantFrom(...failureReasons), fc.string(), (reason, message) => {
        expect([429, 503, 504]).not.toContain(failureStatus({ reason, message }).code)
      })
    )
  })
})
