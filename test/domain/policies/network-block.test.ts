import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { mayReach, parseNetworkBlock, reachesOnly } from "../../../src/domain/policies/network-block.ts"
import { formatIp, parseIp } from "../../../src/domain/protocol/ip-address.ts"

const octetsOf = (address: string): Uint8Array => {
  const octets = parseIp(address)
  if (octets === undefined) throw new Error("not readable")
  return octets
}

/** Whether a network has an address where a rule blocks, and where a rule allows. */
const has = (cidr: string, address: string, ...except: ReadonlyArray<string>) => {
  const [block, ...blocks] = [cidr, ...except].flatMap((text) => parseNetworkBlock(text) ?? [])
  if (block === undefined || blocks.length !== except.length) throw new Error("not readable")
  const network = { block, except: blocks }
  return { blocks: mayReach(network, octetsOf(address)), allows: reachesOnly(network, octetsOf(address)) }
}

describe("a network", () => {
  it.each([
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.0.0.77/24", "10.0.0.1", true],
    ["10.0.5.128/25", "10.0.5.127", false],
    ["0.0.0.0/0", "1.2.3.4", true],
    ["0.0.0.0/0", "fd00::1", false],
    ["0.0.0.0/0", "::1", false],
    ["1.2.3.4/32", "1.2.3.5", false],
    ["fd00::/8", "fdff::1", true],
    ["fd00::/8", "fe00::1", false],
    ["::/0", "1.2.3.4", false],
    // The same machine by its other name.
    ["10.0.0.0/8", "::ffff:10.1.2.3", true],
    ["::ffff:10.0.0.0/104", "10.1.2.3", true],
    ["::ffff:10.0.0.0/104", "::ffff:11.1.2.3", false],
    ["::ffff:10.0.0.0/95", "10.1.2.3", false],
    ["64:ff9b::/96", "64:ff9b::10.1.2.3", true],
    ["64:ff9b::/96", "10.1.2.3", false],
    ["64:ff9b:1::/48", "64:ff9b:1::10.1.2.3", true],
    ["2002::/16", "2002:a01:203::1", true]
  ])("%s has %s: %s", (cidr, address, found) => expect(has(cidr, address)).toEqual({ blocks: found, allows: found }))

  const four = fc.uint8Array({ minLength: 4, maxLength: 4 })
  const hex = (octets: Uint8Array) => octets.reduce((text, octet) => text + octet.toString(16).padStart(2, "0"), "")
  const pairs = (text: string) => text.replace(/....(?!$)/gu, "$&:")
  /** The forms of an IPv4 address in IPv6, which RFC 4291, 6052, 2765, 8215 and 3056 know. */
  const inIpv6 = fc.constantFrom<(address: Uint8Array) => string>(
    (address) => `::ffff:${formatIp(address)}`,
    (address) => `64:ff9b::${formatIp(address)}`,
    (address) => `::ffff:0:${formatIp(address)}`,
    (address) => `0:0:0:0:0:0:${formatIp(address)}`,
    (address) => `64:ff9b:1::${formatIp(address)}`,
    (address) => `64:ff9b:1:2:0:0:${formatIp(address)}`,
    (address) => `64:ff9b:1:${hex(address).slice(0, 4)}:${pairs(`00${hex(address).slice(4)}00`)}::`,
    (address) => `64:ff9b:1:${pairs(`02${hex(address).slice(0, 2)}00${hex(address).slice(2)}`)}::`,
    (address) => `64:ff9b:1:2:${pairs(`00${hex(address)}000000`)}`,
    (address) => `2002:${pairs(hex(address))}::1`
  )

  it("of IPv4 that blocks an address blocks it in each form of IPv6, and permits none that it does not have", () => {
    const above = four.filter((address) => address.some((octet, i) => i < 3 && octet !== 0))
    fc.assert(
      fc.property(above, four, fc.integer({ min: 0, max: 32 }), inIpv6, (address, network, bits, form) => {
        const cidr = `${formatIp(network)}/${bits}`
        const [plain, inside] = [has(cidr, formatIp(address)), has(cidr, form(address))]
        if (plain.blocks) expect(inside.blocks).toBe(true)
        else expect(inside.allows).toBe(false)
        // All of IPv6 does not permit what the networks of IPv4 leave out.
        expect(has("::/0", form(address), "fd00::/8").allows).toBe(false)
        expect(has("0.0.0.0/0", form(address), `${formatIp(address)}/32`).allows).toBe(false)
      })
    )
  })

  it("of IPv4 permits what it has also by a translator's address", () => {
    for (const address of ["::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:a01:203::1"]) {
      expect(has("10.0.0.0/8", address).allows).toBe(true)
      expect(has("0.0.0.0/0", address, "192.168.0.0/16").allows).toBe(true)
    }
  })

  it.each(["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "fd00::/129", "10.0.0/8", "/8", "a/8", "10.0.0.0/-1", ""])(
    "is not %j",
    (text) => expect(parseNetworkBlock(text)).toBeUndefined()
  )

  it("has an address exactly if both begin with the same bits", () => {
    const bitsOf = (address: Uint8Array) => Array.from(address, (octet) => octet.toString(2).padStart(8, "0")).join("")
    fc.assert(
      fc.property(four, four, fc.integer({ min: 0, max: 32 }), (network, address, bits) => {
        const same = bitsOf(network).slice(0, bits) === bitsOf(address).slice(0, bits)
        expect(mayReach({ block: { octets: network, bits }, except: [] }, address)).toBe(same)
      })
    )
  })
})
