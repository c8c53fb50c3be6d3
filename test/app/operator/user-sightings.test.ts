import { expect, it } from "vitest"
import { UserSightings } from "../../../src/app/operator/user-sightings.ts"

const day = 86_400_000

it("counts a user from the last time on", () => {
  const users = new UserSightings()
  users.saw("ann", 0)
  users.saw("bob", 0)
  users.saw("ann", day)
  expect(users.count(day)).toEqual({ dau: 1, mau: 2 })
  expect(users.count(31 * day)).toEqual({ dau: 0, mau: 0 })
})

it("forgets those whom it need not count, and the first of too many", () => {
  const users = new UserSightings()
  for (let number = 0; number < 10_001; number++) users.saw(`user ${number}`, number)
  expect(users.count(10_000).mau).toBe(10_000)
  users.saw("late", 31 * day)
  expect(users.count(10_001)).toEqual({ dau: 1, mau: 1 })
})
