import { expect, it } from "vitest"
import { cureOf } from "../../../src/app/kernel/kube-cure.ts"

it.each([
  ["Forbidden", /administrator/u],
  ["Invalid", /administrator/u],
  ["Unreachable", /again/u],
  ["Conflict", /again/u]
] as const)("an error of reason %s has a cure that can help", (reason, cure) =>
  expect(cureOf({ reason })).toMatch(cure)
)
