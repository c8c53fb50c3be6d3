/**
 * The real agent's treatment of a host name before it asks a resolver, as pure functions. Shared by the reference agent
 * and the simulated agent.
 */

import type { AddressFamily } from "../../../src/domain/protocol/client-message.ts"
import { formatIp, parseIp } from "../../../src/domain/protocol/ip-address.ts"
import type { ResolveErrorKind, ResponseError } from "../../../src/domain/protocol/response-error.ts"

/** One answered address; names end in a dot. */
export interface LookupRecord {
  readonly name: string
  readonly ip: string
}

export const dnsError = (kind: ResolveErrorKind): ResponseError => ({ _tag: "DnsLookup", value: { kind } })

/** Response codes that travel in `NoRecordsFound`: the name exists without such records, or does not exist. */
export const noData: ResolveErrorKind = { _tag: "NoRecordsFound", value: 0 }
export const noSuchName: ResolveErrorKind = { _tag: "NoRecordsFound", value: 3 }

const maxLabel = 63

/** Why a name cannot be asked for, in the words of the real agent; `undefined` if it can. */
const rejection = (node: string): string | undefined => {
  const bare = node.endsWith(".") ? node.slice(0, -1) : node
  const unknown = /[^\p{L}\p{M}\p{N}_*.-]/u.exec(bare)
  if (unknown !== null) return `Msg("unrecognized char: ${unknown[0]}")`
  for (const label of bare.split(".")) {
    if (label === "") return 'Msg("Malformed label: ")'
    if (label.length > maxLabel) return `Decode(LabelBytesTooLong(${label.length}))`
  }
  return undefined
}

/** The treatment of a name, decided without a resolver. */
export type Question =
  | { readonly _tag: "Answered"; readonly records: ReadonlyArray<LookupRecord> }
  | { readonly _tag: "Refused"; readonly kind: ResolveErrorKind }
  /** `name` has no trailing dot; `answerName` has one. */
  | { readonly _tag: "Ask"; readonly name: string; readonly answerName: string }

/**
 * Decides as the real agent does. Addresses answer themselves, whatever family is asked for (IPv4 under their own text,
 * IPv6 under an empty name); the root has no records; malformed names are refused with a message.
 */
export const question = (node: string): Question => {
  const octets = parseIp(node)
  if (octets !== undefined) {
    return { _tag: "Answered", records: [{ name: octets.length === 4 ? node : "", ip: formatIp(octets) }] }
  }
  if (node === "" || node === ".") return { _tag: "Refused", kind: noSuchName }
  const rejected = rejection(node)
  if (rejected !== undefined) {
    return { _tag: "Refused", kind: { _tag: "Message", value: `node name rejected by hickory: ${rejected}` } }
  }
  const name = node.endsWith(".") ? node.slice(0, -1) : node
  return { _tag: "Ask", name, answerName: `${name}.` }
}

/**
 * The families to ask for, in order. `first`: stop at the first family that has addresses; otherwise all addresses are
 * joined. The old request form without a family counts as `Any`.
 */
export const families = (
  family: AddressFamily["_tag"]
): { readonly ask: ReadonlyArray<4 | 6>; readonly first: boolean } => {
  switch (family) {
    case "Ipv4Only":
      return { ask: [4], first: false }
    case "Ipv6Only":
      return { ask: [6], first: false }
    case "Any":
      return { ask: [4, 6], first: true }
    case "Both":
    case "UnknownAddressFamilyFromNewerClient":
      return { ask: [4, 6], first: false }
  }
}
