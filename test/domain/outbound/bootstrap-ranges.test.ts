import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { forms, hasForm } from "../../../src/domain/catalogue/setting.ts"
import { whyOutside } from "../../../src/domain/outbound/bootstrap-ranges.ts"
import { parseNetworkBlock } from "../../../src/domain/policies/network-block.ts"

describe("the networks from which tokens are taken", () => {
  const ranges = ["10.1.0.0/16", "fd00::/8"]
  it.each([
    ["10.1.255.255", true],
    ["::ffff:10.1.0.1", true],
    ["10.2.0.0", false],
    ["fd12::1", true],
    ["fe80::1", false],
    ["", false]
  ])("%s: %s", (from, isInside) => {
    expect(whyOutside(ranges, from) === undefined).toBe(isInside)
    expect(whyOutside([], from)).toBeUndefined()
    expect(whyOutside(["10.1.0.0"], from)).toContain("takes no tokens from")
  })

  it("are in each text that has the form of the setting", () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.stringMatching(/^[0-9a-f:]{1,12}$/u))
    fc.assert(
      fc.property(address, fc.nat(140), (text, bits) => {
        const range = `${text}/${bits}`
        // An IPv4 address inside of an IPv6 one is a network too, and none that people need.
        if (text.includes(":") && text.includes(".")) return
        expect(hasForm(forms.ranges, range)).toBe(parseNetworkBlock(range) !== undefined)
      })
    )
  })
})
