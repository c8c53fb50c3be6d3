import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isInBlock, parseNetworkBlock } from "../../../src/domain/policy/network-block.ts"
import { parseIp } from "../../../src/domain/protocol/ip-address.ts"

const isIn = (cidr: string, address: string): boolean => {
  const [block, octets] = [parseNetworkBlock(cidr), parseIp(address)]
  if (block === undefined || octets === undefined) throw new Error("not readable")
  return isInBlock(block, octets)
}

describe("a network", () => {
  it.each([
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.0.0.77/24", "10.0.0.1", true],
    ["10.0.5.128/25", "10.0.5.127", false],
    ["0.0.0.0/0", "1.2.3.4", true],
    ["0.0.0.0/0", "fd00::1", false],
    ["1.2.3.4/32", "1.2.3.5", false],
    ["fd00::/8", "fdff::1", true],
    ["fd00::/8", "fe00::1", false],
    ["::/0", "1.2.3.4", false],
    // The same machine by its other name.
    ["10.0.0.0/8", "::ffff:10.1.2.3", true],
    ["::ffff:10.0.0.0/104", "10.1.2.3", true],
    ["::ffff:10.0.0.0/104", "::ffff:11.1.2.3", false],
    ["::ffff:10.0.0.0/95", "10.1.2.3", false]
  ])("%s has %s: %s", (cidr, address, has) => {
    expect(isIn(cidr, address)).toBe(has)
  })

  it.each(["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "fd00::/129", "10.0.0/8", "/8", "a/8", "10.0.0.0/-1", ""])(
    "is not %j",
    (text) => {
      expect(parseNetworkBlock(text)).toBeUndefined()
    }
  )

  it("has an address exactly if both begin with the same bits", () => {
    const octets = fc.uint8Array({ minLength: 4, maxLength: 4 })
    const bitsOf = (four: Uint8Array) => Array.from(four, (octet) => octet.toString(2).padStart(8, "0")).join("")
    fc.assert(
      fc.property(octets, octets, fc.integer({ min: 0, max: 32 }), (network, address, bits) => {
        const same = bitsOf(network).slice(0, bits) === bitsOf(address).slice(0, bits)
        expect(isInBlock({ octets: network, bits }, address)).toBe(same)
      })
    )
  })
})
