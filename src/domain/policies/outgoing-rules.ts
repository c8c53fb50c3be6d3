/**
 * The rules of policies about outgoing connections, by the address and by the names under which it was looked up.
 *
 * Not here: the answer that a client gets (policing.ts).
 */

import { parseIp } from "../protocol/ip-address.ts"
import type { SocketAddress } from "../protocol/network-messages.ts"
import { type Effort, newEffort } from "../regex.ts"
import type { Forbidden } from "./incoming-rules.ts"
import { loopbackOf, mayReach, reachedAddress, reachesOnly } from "./network-block.ts"
import type { OutgoingRule, PolicyRules } from "./policy-rules.ts"

export type OutgoingProtocol = "TCP" | "UDP" | "Seqpacket"

/** The most pairs of name and address that are remembered of a connection's look-ups, and the most of one address. */
const maxPairs = 20_000
const maxNames = 200
/** A host name has at most 253 characters. */
export const maxName = 253

/** The form in which names are compared: `Example.com.` is `example.com`. */
const nameForm = (name: string): string => {
  const lower = name.toLowerCase()
  return lower.endsWith(".") ? lower.slice(0, -1) : lower
}

/**
 * The names under which a session has looked addresses up. A connection says its address alone, so a rule with a host
 * name holds for the addresses that this session was given for that name.
 */
export class SeenNames {
  readonly #names = new Map<string, Set<string>>()
  #pairs = 0
  #isFull = false
  /** Addresses with more names than are remembered. */
  readonly #full = new Set<string>()

  /** Whether names of an address may have been forgotten: then a name that is not known proves nothing. */
  isFull(address: string): boolean {
    return this.#isFull || this.#full.has(reachedAddress(address))
  }

  saw(name: string, address: string): void {
    const reached = reachedAddress(address)
    const names = this.#names.get(reached) ?? new Set()
    const known = nameForm(name)
    if (names.has(known)) return
    if (known.length > maxName || this.#pairs >= maxPairs) {
      this.#isFull = true
      return
    }
    if (names.size >= maxNames) return void this.#full.add(reached)
    this.#pairs++
    this.#names.set(reached, names.add(known))
  }

  of(address: string): ReadonlySet<string> {
    return this.#names.get(reachedAddress(address)) ?? nobody
  }
}

const nobody: ReadonlySet<string> = new Set()

interface Connection {
  readonly protocol: OutgoingProtocol
  readonly address: SocketAddress
  readonly names: SeenNames
}
/** A connection that is judged. */
interface Judged extends Connection {
  readonly effort: Effort
}

/** Whether a rule for host names holds. Where names were forgotten, a rule that blocks does. */
const isNamed = ({ hostname }: OutgoingRule, { address, effort, names }: Judged, isBlocking: boolean): boolean => {
  if (hostname === undefined) return true
  if (address._tag !== "Ip") return false
  const { ip } = address.value
  for (const name of names.of(ip)) if (hostname.matches(name, effort, isBlocking)) return true
  return isBlocking && names.isFull(ip)
}

/**
 * An address that reaches another address: a rule that blocks matches if either of them is in the network, a rule that
 * allows only if both are.
 */
const isInNetwork = ({ network }: OutgoingRule, { address }: Connection, isBlocking: boolean): boolean => {
  if (network === undefined) return true
  const octets = address._tag === "Ip" ? parseIp(address.value.ip) : undefined
  if (octets === undefined) return false
  const reached = loopbackOf(octets)
  const forms = reached === undefined ? [octets] : [octets, reached]
  return isBlocking ? forms.some((form) => mayReach(network, form)) : forms.every((form) => reachesOnly(network, form))
}

const isAtPort = ({ ports }: OutgoingRule, { address, protocol }: Connection): boolean =>
  ports.length === 0 ||
  (address._tag === "Ip" && ports.some((one) => one.port === address.value.port && one.protocol === protocol))

const matches = (rule: OutgoingRule, connection: Judged, isBlocking: boolean): boolean =>
  isAtPort(rule, connection) && isInNetwork(rule, connection, isBlocking) && isNamed(rule, connection, isBlocking)

/** Each policy must permit a connection: by one of its `allow` rules, if it has any, and by no `block` rule. */
export const forbiddenConnection = (
  policies: ReadonlyArray<PolicyRules>,
  connection: Connection
): Forbidden | undefined => {
  const judged: Judged = { ...connection, effort: newEffort() }
  for (const { name, outgoing } of policies) {
    const { allow, block } = outgoing
    if (allow.length > 0 && !allow.some((rule) => matches(rule, judged, false)))
      return { policy: name, reason: "none of its network.outgoing.allow rules permits this address" }
    if (block.some((rule) => matches(rule, judged, true)))
      return { policy: name, reason: "one of its network.outgoing.block rules forbids this address" }
  }
  return undefined
}
