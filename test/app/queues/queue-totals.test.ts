import { expect, it } from "vitest"
import { newTotals, userTotal } from "../../../src/app/queues/queue-totals.ts"

it("totals tell a bounded number of users apart, and those who were there first for ever", () => {
  const totals = newTotals()
  for (const round of [1, 2])
    for (let n = 0; n < 250; n++) userTotal(totals, { k8sUsername: "x", username: `${n}` }).forwarded += round
  expect(totals.users.size).toBe(201)
  expect(userTotal(totals, { k8sUsername: "x", username: "7" })).toEqual({ k8sUser: "x", localUser: "7", forwarded: 3 })
  expect(userTotal(totals, { k8sUsername: "x", username: "new" })).toEqual({
    k8sUser: "",
    localUser: "",
    forwarded: 150
  })
})
