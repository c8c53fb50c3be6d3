import * as fc from "fast-check"
import { expect, it } from "vitest"
import { loopbackAddresses, publishedAddresses } from "../../../../lab/cluster/node/pod-addresses.ts"
import { AddressBook } from "../../../../lab/cluster/node/pod-network.ts"

const octet = fc.integer({ min: 0, max: 255 })

it("an address of a pod is published outside of loopback and found again; all others stay", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 254 }), octet, octet, octet, fc.ipV4(), (subnet, x, y, other, any) => {
      const addresses = publishedAddresses(subnet)
      const real = `127.${subnet}.${x}.${y}`
      expect(addresses.publish(real)).toBe(`10.${subnet}.${x}.${y}`)
      expect(addresses.real(addresses.publish(real))).toBe(real)
      if (other !== subnet) {
        expect(addresses.publish(`127.${other}.${x}.${y}`)).toBe(`127.${other}.${x}.${y}`)
        expect(addresses.real(`10.${other}.${x}.${y}`)).toBe(`10.${other}.${x}.${y}`)
      }
      if (!any.startsWith(`10.${subnet}.`)) expect(addresses.real(any)).toBe(any)
      expect(loopbackAddresses.real(any)).toBe(any)
      expect(loopbackAddresses.publish(any)).toBe(any)
    })
  )
})

it("the address book finds a port that had to be another one by the published address too", () => {
  const book = new AddressBook(publishedAddresses(9))
  book.set({ ip: "127.9.1.1", port: 80 }, { ip: "127.9.1.1", port: 40_000 })
  expect(book.reach({ ip: "10.9.1.1", port: 80 })).toEqual({ ip: "127.9.1.1", port: 40_000 })
  expect(book.reach({ ip: "10.9.1.1", port: 81 })).toEqual({ ip: "127.9.1.1", port: 81 })
  expect(book.reach({ ip: "127.0.0.1", port: 80 })).toEqual({ ip: "127.0.0.1", port: 80 })
})
