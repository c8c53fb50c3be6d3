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

  it.each([
    [400, 400, "BadRequest"],
    [404, 404, "NotFound"],
    [409, 409, "Conflict"],
    [403, 403, "Forbidden"],
    [413, 413, "BadRequest"],
    [502, 502, "InternalError"],
    [599, 599, "InternalError"],
    [undefined, 500, "InternalError"],
    [399, 500, "InternalError"],
    [600, 500, "InternalError"],
    [503, 500, "InternalError"]
  ])("gives a failure with the code %j the code %i %s", (own, code, reason) => {
    const status = failureStatus({ reason: "QueuesNotSplit", message: "why", code: own })
    expect(status).toMatchObject({ code, reason, message: "why" })
  })

  it("is never one on which the client retries in silence", () => {
    const code = fc.option(fc.integer({ min: 0, max: 700 }), { nil: undefined })
    fc.assert(
      fc.property(fc.constantFrom(...failureReasons), fc.string(), code, (reason, message, own) => {
        expect([429, 503, 504]).not.toContain(failureStatus({ reason, message, code: own }).code)
      })
    )
  })
})
