/**
 * Decides which TLS ports an agent gets, and what follows if an agent of the container runs with others already.
 *
 * Not here: reading the objects (tls-steal-rules.ts).
 */

import * as Order from "effect/Order"
import * as Result from "effect/Result"
import { appliesTo, needsLineage, type PolicySubject } from "../target-pattern.ts"
import type { PortTls, TlsStealRules } from "./tls-steal-rules.ts"

/** The ports of an agent, and the entries that count for nothing since another object has the same port. */
export interface AgentTls {
  /** In the order of their numbers. */
  readonly ports: ReadonlyArray<PortTls>
  /** One sentence each. */
  readonly leftOut: ReadonlyArray<string>
}

/** Objects of a namespace come before those of the cluster, and then the name decides. */
const byPrecedence: Order.Order<TlsStealRules> = Order.combine(
  Order.mapInput(Order.Boolean, ({ target }) => target.namespace === undefined),
  Order.mapInput(Order.String, ({ title }) => title)
)

/**
 * The TLS ports of the agent beside a container. Objects that apply are merged; of two entries for one port the first
 * counts (agent.md §6.9). Fails with a sentence if an object that applies cannot be used: an agent without it would
 * take encrypted connections for plain TCP, and steal them whole or not at all.
 */
export const agentTls = (
  all: ReadonlyArray<TlsStealRules>,
  subject: PolicySubject
): Result.Result<AgentTls, string> => {
  const by = new Map<number, { readonly entry: PortTls; readonly title: string }>()
  const leftOut: Array<string> = []
  for (const { ports, target, title } of all.toSorted(byPrecedence)) {
    if (!appliesTo(target, subject)) continue
    if (Result.isFailure(ports)) return Result.fail(`${title} cannot be used: ${ports.failure}`)
    for (const entry of ports.success) {
      const before = by.get(entry.port)
      if (before === undefined) by.set(entry.port, { entry, title })
      else if (JSON.stringify(before.entry) !== JSON.stringify(entry))
        leftOut.push(`port ${entry.port} of ${title} counts for nothing: ${before.title} has that port too`)
    }
  }
  const ports = [...by.values()].map(({ entry }) => entry).toSorted((a, b) => a.port - b.port)
  return Result.succeed({ ports, leftOut })
}

/** Whether it must be known which labels the target has and which objects own it. */
export const tlsNeedsLineage = (all: ReadonlyArray<TlsStealRules>): boolean =>
  all.some(({ target }) => needsLineage(target))

/** A session that holds an agent, as an owner of its Job. */
export type AgentOwner = "Asking" | "Alive" | "Gone"

/**
 * The decision for a session whose agent runs with other TLS settings than hold now. They are fixed for an agent's
 * life. A session keeps the agent that it has. An agent that no other session uses is replaced. Otherwise the session
 * has to wait, since the agent's end would cut the others' connections.
 */
export const otherTls = (owners: ReadonlyArray<AgentOwner>): "Keep" | "Replace" | "Refuse" => {
  if (owners.includes("Asking")) return "Keep"
  return owners.includes("Alive") ? "Refuse" : "Replace"
}
