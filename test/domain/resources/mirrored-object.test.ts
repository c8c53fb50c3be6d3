import { expect, it } from "vitest"
import { mirrorNeed } from "../../../src/domain/resources/mirrored-object.ts"

it.each([
  ["This", "Keep"],
  ["Earlier", "Delete"],
  ["Other", "Yield"]
] as const)("an object whose owner is %s: %s, or Wait while it is being deleted", (owner, need) => {
  expect([mirrorNeed(owner, false), mirrorNeed(owner, true)]).toEqual([need, "Wait"])
})
