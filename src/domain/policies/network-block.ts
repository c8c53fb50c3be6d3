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

/** A network without the networks in it that it leaves out. */
export interface Network {
  readonly block: NetworkBlock
  readonly except: ReadonlyArray<NetworkBlock>
}

/** IPv6 addresses that hold an IPv4 one, by which a connection may reach the machine of that. */
interface Embedding {
  readonly prefix: ReadonlyArray<number>
  /** The places of the IPv4 address's octets; several where a network chooses one of them. */
  readonly places: ReadonlyArray<ReadonlyArray<number>>
}

const zeros = (length: number): ReadonlyArray<number> => Array.from({ length }, () => 0)
const atEnd = [[12, 13, 14, 15]]
const mapped: Embedding = { prefix: [...zeros(10), 0xff, 0xff], places: atEnd }
const nat64 = [0x00, 0x64, 0xff, 0x9b]

/** RFC 4291, 6052, 2765, 8215 and 3056. */
const embeddings: ReadonlyArray<Embedding> = [
  mapped,
  { prefix: [...nat64, ...zeros(8)], places: atEnd },
  { prefix: [...zeros(8), 0xff, 0xff, 0, 0], places: atEnd },
  // Without a mark of its own, as old tunnels have it.
  { prefix: zeros(12), places: atEnd },
  { prefix: [...nat64, 0, 1], places: [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], ...atEnd] },
  { prefix: [0x20, 0x02], places: [[2, 3, 4, 5]] }
]

const isOf = ({ prefix }: Embedding, octets: Uint8Array): boolean =>
  octets.length === 16 && prefix.every((octet, i) => octet === octets[i])

/** The embedding of an address; `undefined` if it holds no IPv4 address. `::` and `::1` are addresses of their own. */
const embeddingOf = (octets: Uint8Array): Embedding | undefined => {
  const [found] = octets.subarray(0, 15).some((octet) => octet !== 0)
    ? embeddings.filter((one) => isOf(one, octets))
    : []
  return found
}

/** The IPv4 addresses that an address may hold. */
const innerOf = ({ places }: Embedding, octets: Uint8Array): ReadonlyArray<Uint8Array> =>
  places.map((place) => Uint8Array.from(place, (at) => octets[at] ?? 0))

/** Octets of an address; those of an IPv4 address inside of an IPv6 one, which reaches the same machine. */
const plain = (octets: Uint8Array): Uint8Array => (embeddingOf(octets)?.places === atEnd ? octets.subarray(12) : octets)

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
  const inner = isOf(mapped, octets) ? octets.subarray(12) : octets
  const outer = (octets.length - inner.length) * 8
  return bits < outer ? { octets, bits } : { octets: inner, bits: bits - outer }
}

/** Whether an address is in a block. Addresses of the two families are never in each other's. */
const isInBlock = ({ bits, octets }: NetworkBlock, address: Uint8Array): boolean => {
  if (octets.length !== address.length) return false
  return octets.every((octet, i) => {
    const rest = Math.max(0, Math.min(8, bits - i * 8))
    const mask = (0xff << (8 - rest)) & 0xff
    return (octet & mask) === ((address[i] ?? 0) & mask)
  })
}

const isInNetwork = ({ block, except }: Network, address: Uint8Array): boolean =>
  isInBlock(block, address) && !except.some((one) => isInBlock(one, address))

/** Whether a network, or an IPv4 address in it, may be reached by an address. A rule that forbids holds then. */
export const mayReach = (network: Network, address: Uint8Array): boolean => {
  const embedding = embeddingOf(address)
  const held = embedding === undefined ? [] : innerOf(embedding, address)
  return [address, ...held].some((form) => isInNetwork(network, form))
}

/**
 * Whether an address reaches nothing but the network, so that a rule that permits holds. An address that holds an IPv4
 * one counts as that, unless the network is one of such addresses: `::/0` is the whole of IPv6, and permits no machine
 * of IPv4 by a translator.
 */
export const reachesOnly = (network: Network, address: Uint8Array): boolean => {
  const embedding = embeddingOf(address)
  if (embedding === undefined) return isInNetwork(network, address)
  return (
    innerOf(embedding, address).every((inner) => isInNetwork(network, inner)) ||
    (network.block.bits >= embedding.prefix.length * 8 && isInNetwork(network, address))
  )
}
