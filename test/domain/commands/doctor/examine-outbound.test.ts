import { expect, it } from "vitest"
import { outboundFinding } from "../../../../src/domain/commands/doctor/examine-outbound.ts"

const ready = { type: "Ready", status: "True", reason: "Connected", message: "", lastTransitionTime: "" } as const

it("says of a member that dials out what its primary says", () => {
  expect(outboundFinding("b", ready)).toMatchObject({ status: "ok" })
  const away = { ...ready, status: "False", message: "It has not dialled." } as const
  expect(outboundFinding("b", away)).toMatchObject({ status: "failed", message: expect.stringContaining(away.message) })
  expect(outboundFinding("b", undefined, "403").message).toBe("The primary's operator says nothing of cluster b: 403.")
})
