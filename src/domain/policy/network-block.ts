/**
 * Networks in CIDR form, as rules for outgoing connections have them.
 *
 * Not here: addresses on the wire and as texts (protocol/ip-address.ts).
 */

import { parseIp } from "../protocol/ip-address.ts"

export interface NetworkBlock {
  /** 4 or 16 octets. */
  readonly octets: Uint8Array
  /** How many bits of an address count. */
  readonly bits: number
}

/** The beginning of an IPv6 address that holds an IPv4 one. */
const mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

/** Octets of an address; those of an IPv4 address inside of an IPv6 one, which reaches the same machine. */
const plain = (octets: Uint8Array): Uint8Array => {
  const isMapped = octets.length === 16 && mapped.every((octet, i) => octet === octets[i])
  return isMapped ? octets.subarray(12) : octets
}

/** Reads `10.0.0.0/8` or `fd00::/8`; `undefined` for anything else. */
export const parseNetworkBlock = (text: string): NetworkBlock | undefined => {
  const at = text.indexOf("/")
  const octets = at === -1 ? undefined : parseIp(text.slice(0, at))
  const bitsText = text.slice(at + 1)
  if (octets === undefined || !/^(?:0|[1-9][0-9]{0,2})$/u.test(bitsText)) return undefined
  const bits = Number(bitsText)
  return bits <= octets.length * 8 ? { octets, bits } : undefined
}

/** Whether an address is in the network. Addresses of the two families are never in each other's. */
export const isInBlock = ({ bits, octets }: NetworkBlock, address: Uint8Array): boolean => {
  const found = octets.length === 4 ? plain(address) : address
  if (octets.length !== found.length) return false
  return octets.every((octet, i) => {
    const rest = Math.max(0, Math.min(8, bits - i * 8))
    const mask = (0xff << (8 - rest)) & 0xff
    return (octet & mask) === ((found[i] ?? 0) & mask)
  })
}
