/** Host names as the real agent treats them: addresses, malformed names, families. */

import { expect, it } from "vitest"
import { families, question } from "../../../../lab/agent/dns/dns-names.ts"

it.each([
  ["db", { _tag: "Ask", name: "db", answerName: "db." }],
  ["db.store.svc.", { _tag: "Ask", name: "db.store.svc", answerName: "db.store.svc." }],
  ["_sip._tcp.example", { _tag: "Ask", name: "_sip._tcp.example", answerName: "_sip._tcp.example." }],
  ["10.0.0.1", { _tag: "Answered", records: [{ name: "10.0.0.1", ip: "10.0.0.1" }] }],
  ["FD00::0:1", { _tag: "Answered", records: [{ name: "", ip: "fd00::1" }] }],
  ["", { _tag: "Refused", kind: { _tag: "NoRecordsFound", value: 3 } }],
  [
    "a..b",
    { _tag: "Refused", kind: { _tag: "Message", value: 'node name rejected by hickory: Msg("Malformed label: ")' } }
  ]
])("%j", (node, expected) => expect(question(node)).toEqual(expected))

it("prefers IPv4 unless told otherwise", () => {
  expect(families("Any")).toEqual({ ask: [4, 6], first: true })
  expect(families("Both")).toEqual({ ask: [4, 6], first: false })
  expect(families("Ipv6Only").ask).toEqual([6])
})
