/**
 * Answers name look-ups of one client of the reference agent, with the names of the target's cluster first and then the
 * machine's resolver. Judging a name is in `dns-names.ts`.
 */

import * as dns from "node:dns/promises"
import type { AddressFamily } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { ResolveErrorKind } from "../../../src/domain/protocol/response-error.ts"
import { type AgentOutput, err, ok } from "../agent-output.ts"
import { agentError } from "../io-errors.ts"
import { dnsError, families, type LookupRecord, noSuchName, question } from "./dns-names.ts"

/** Addresses of one family, or why there are none. */
type Found =
  | { readonly _tag: "Ips"; readonly ips: ReadonlyArray<string> }
  | { readonly _tag: "None"; readonly kind: ResolveErrorKind }

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

/**
 * Why there are no addresses. The machine's resolver cannot tell "no such name" from "no such records"; both are "no
 * such name" here.
 */
const kindOf = (error: unknown): ResolveErrorKind => {
  switch (codeOf(error)) {
    case "ENOTFOUND":
    case "ENODATA":
      return noSuchName
    case "EAI_AGAIN":
    case "ETIMEOUT":
      return { _tag: "Timeout" }
    default:
      return { _tag: "Message", value: error instanceof Error ? error.message : String(error) }
  }
}

const isV6 = (ip: string): boolean => ip.includes(":")

/**
 * Name look-ups of one client. Any number run at once and are answered in the order of the requests; forward and
 * reverse look-ups are ordered apart (wire.md §7.2).
 */
export class AgentDns {
  readonly #output: AgentOutput
  readonly #resolve: (name: string) => ReadonlyArray<string> | undefined
  #forward: Promise<void> = Promise.resolve()
  #reverse: Promise<void> = Promise.resolve()

  constructor(output: AgentOutput, resolve: (name: string) => ReadonlyArray<string> | undefined) {
    this.#output = output
    this.#resolve = resolve
  }

  /** `family` is `Any` for the old request form, which has none. */
  lookup(node: string, family: AddressFamily["_tag"]): void {
    const answer = this.#answer(node, family)
    this.#forward = this.#after(this.#forward, answer)
  }

  reverse(ip: string): void {
    const answer = dns.lookupService(ip, 0).then(
      ({ hostname }): DaemonMessage => ({ _tag: "ReverseDnsLookup", value: ok({ hostname: ok(hostname) }) }),
      (): DaemonMessage => ({ _tag: "ReverseDnsLookup", value: ok({ hostname: err(agentError("Other")) }) })
    )
    this.#reverse = this.#after(this.#reverse, answer)
  }

  async #after(before: Promise<void>, answer: Promise<DaemonMessage>): Promise<void> {
    await before
    this.#output.send(await answer)
  }

  async #answer(node: string, family: AddressFamily["_tag"]): Promise<DaemonMessage> {
    const asked = question(node)
    switch (asked._tag) {
      case "Answered":
        return { _tag: "GetAddrInfoResponse", value: ok(asked.records) }
      case "Refused":
        return { _tag: "GetAddrInfoResponse", value: err(dnsError(asked.kind)) }
      case "Ask": {
        const { ask, first } = families(family)
        const records: Array<LookupRecord> = []
        let kind = noSuchName
        for (const found of await Promise.all(ask.map((version) => this.#addresses(asked.name, version)))) {
          if (found._tag === "Ips") records.push(...found.ips.map((ip) => ({ name: asked.answerName, ip })))
          else kind = found.kind
          if (first && records.length > 0) break
        }
        return { _tag: "GetAddrInfoResponse", value: records.length > 0 ? ok(records) : err(dnsError(kind)) }
      }
    }
  }

  async #addresses(name: string, version: 4 | 6): Promise<Found> {
    const known = this.#resolve(name)?.filter((ip) => isV6(ip) === (version === 6))
    if (known !== undefined) return known.length > 0 ? { _tag: "Ips", ips: known } : { _tag: "None", kind: noSuchName }
    // The real agent's resolver answers `localhost` itself, even where /etc/hosts knows no IPv6.
    if (name.toLowerCase() === "localhost") return { _tag: "Ips", ips: [version === 4 ? "127.0.0.1" : "::1"] }
    try {
      const found = await dns.lookup(name, { all: true, family: version })
      const ips = [...new Set(found.map(({ address }) => address.replace(/%.*$/, "")))]
      return ips.length > 0 ? { _tag: "Ips", ips } : { _tag: "None", kind: noSuchName }
    } catch (error) {
      return { _tag: "None", kind: kindOf(error) }
    }
  }
}
