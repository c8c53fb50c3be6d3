import { expect, it } from "vitest"
import { activeUsers } from "../../../../src/domain/commands/overview/active-users.ts"

const [day, now] = [86_400_000, Date.UTC(2026, 10, 22)]

it("counts users of a day and of thirty days, each once", () => {
  const seen = new Map([
    ["now", now],
    ["today", now - day + 1],
    ["yesterday", now - day],
    ["this month", now - 30 * day + 1],
    ["long ago", now - 30 * day]
  ])
  expect(activeUsers(seen, now)).toEqual({ dau: 2, mau: 4 })
  expect(activeUsers(new Map(), now)).toEqual({ dau: 0, mau: 0 })
})
