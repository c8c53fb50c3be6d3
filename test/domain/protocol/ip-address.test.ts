import { isIP } from "node:net"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { formatIp, parseIp } from "../../../src/domain/protocol/ip-address.ts"

describe("addresses", () => {
  const texts: ReadonlyArray<readonly [string, string]> = [
    ["10.0.0.1", "10.0.0.1"],
    ["::", "::"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["2001:DB8::0:1", "2001:db8::1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["1::", "1::"],
    ["::ffff:a00:1", "::ffff:10.0.0.1"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"],
    ["::10.0.0.1", "::a00:1"]
  ]
  it.each(texts)("%s is written %s (RFC 5952)", (text, canonical) => {
    const octets = parseIp(text)
    expect(octets && formatIp(octets)).toBe(canonical)
  })
  it.each([
    "",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "1:2:3",
    ":::",
    "1::2::3",
    "fe80::1%eth0",
    "12345::",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8",
    "1.2.3.4::",
    "x"
  ])("%j is none", (text) => expect(parseIp(text)).toBeUndefined())
  it("every address survives being written and read", () => {
    const octets = fc.constantFrom(4, 16).chain((length) => fc.uint8Array({ minLength: length, maxLength: length }))
    fc.assert(
      fc.property(octets, (address) => {
        expect(parseIp(formatIp(address))).toEqual(address)
      })
    )
  })
  it("what is accepted, Node accepts too", () => {
    const text = fc
      .array(fc.constantFrom("0", "1", "ff", "255", ".", ":", "::", "1.2.3.4", "ffff"), { maxLength: 10 })
      .map((parts) => parts.join(""))
    fc.assert(
      fc.property(text, (candidate) => {
        expect([candidate, parseIp(candidate) !== undefined]).toEqual([candidate, isIP(candidate) !== 0])
      }),
      { numRuns: 3000 }
    )
  })
})
