/** Reading a kube-apiserver's audit log: each request once, oldest first. */

import * as fc from "fast-check"
import { expect, it } from "vitest"
import { parseAuditLog, readAuditLog } from "../../../../lab/playground/kubernetes/audit-log.ts"

const line = (fields: object): string =>
  JSON.stringify({
    kind: "Event",
    auditID: "1",
    stage: "ResponseComplete",
    verb: "create",
    requestURI: "/api/v1/pods?limit=1",
    user: { username: "ann", groups: ["dev"] },
    responseStatus: { code: 201 },
    userAgent: "curl/8",
    requestReceivedTimestamp: "2026-01-02T03:04:05.600000Z",
    ...fields
  })

it("gives who asked for what, and what became of it", () => {
  expect(parseAuditLog(`${line({})}\n`)).toEqual([
    {
      at: Date.parse("2026-01-02T03:04:05.600Z"),
      user: "ann",
      groups: ["dev"],
      method: "POST",
      path: "/api/v1/pods?limit=1",
      status: 201,
      userAgent: "curl/8"
    }
  ])
})

it("gives a request that an operator makes for a person to the person, and that for an account to the operator", () => {
  const users = (username: string) =>
    parseAuditLog(line({ impersonatedUser: { username, groups: ["there"] } })).map(({ groups, user }) => [user, groups])
  expect(users("primary:bob")).toEqual([["primary:bob", ["there"]]])
  expect(users("system:serviceaccount:mirrord:envoy")).toEqual([["ann", ["dev"]]])
})

it("counts a request once, when its answer begins", () => {
  const watch = { verb: "watch", auditID: "2" }
  const calls = parseAuditLog(
    [
      line({ ...watch, stage: "ResponseStarted", responseStatus: { code: 101 } }),
      line({}),
      line({ ...watch, responseStatus: { code: 200 } })
    ].join("\n")
  )
  expect(calls.map(({ method, status }) => [method, status])).toEqual([
    ["GET", 101],
    ["POST", 201]
  ])
})

it("leaves out the line that is just being written", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: line({}).length - 1 }), (length) => {
      expect(parseAuditLog(`${line({})}\n${line({ auditID: "2" }).slice(0, length)}`)).toHaveLength(1)
    })
  )
})

it("a file that is not there yet has no requests", () => {
  expect(readAuditLog("/does/not/exist")).toEqual([])
})
