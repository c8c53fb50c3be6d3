import { expect, it } from "vitest"
import { linkEnd } from "../../../src/domain/sessions/link-end.ts"

it.each([
  ["code 1000", undefined, "its part of the session has ended there, or is being started again"],
  ["closed by the other side", undefined, "its part of the session has ended there, or is being started again"],
  ["code 1006", undefined, "the connection broke off"],
  ["two pings were not answered", undefined, "two pings were not answered"],
  ["code 1000", "there is no deployment/web", "there is no deployment/web"]
])("the end %s of a link is told without numbers, and by the session's own reason %s", (reason, own, told) =>
  expect(linkEnd(reason, own)).toBe(told)
)
