/**
 * Networks in CIDR form, as rules for outgoing connections have them.
 *
 * Not here: addresses on the wire and as texts (protocol/ip-address.ts).
 */

import { formatIp, parseIp } from "../protocol/ip-address.ts"

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

const loopback4 = Uint8Array.of(127, 0, 0, 1)
const loopback6 = Uint8Array.of(...Array.from({ length: 15 }, () => 0), 1)

/**
 * The loopback address that a connection to an unspecified address (`0.0.0.0`, `::`) reaches, as Linux connects to
 * itself then; `undefined` for all other addresses.
 */
export const loopbackOf = (octets: Uint8Array): Uint8Array | undefined => {
  const reached = plain(octets)
  if (reached.some((octet) => octet !== 0)) return undefined
  return reached.length === 4 ? loopback4 : loopback6
}

/** The same text for addresses by which a connection reaches the same machine; a text that is no address stays. */
export const reachedAddress = (address: string): string => {
  const octets = parseIp(address)
  return octets === undefined ? address : formatIp(loopbackOf(octets) ?? plain(octets))
}

/** Reads `10.0.0.0/8` or `fd00::/8`; `undefined` for anything else. `::ffff:10.0.0.0/104` is `10.0.0.0/8`. */
export const parseNetworkBlock = (text: string): NetworkBlock | undefined => {
  const at = text.indexOf("/")
  const octets = at === -1 ? undefined : parseIp(text.slice(0, at))
  const bitsText = text.slice(at + 1)
  if (octets === undefined || !/^(?:0|[1-9][0-9]{0,2})$/u.test(bitsText)) return undefined
  const bits = Number(bitsText)
  if (bits > octets.length * 8) return undefined
  const inner = plain(octets)
  const outer = (octets.length - inner.length) * 8
  return bits < outer ? { octets, bits } : { octets: inner, bits: bits - outer }
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
