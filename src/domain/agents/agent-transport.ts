/**
 * Decides whether an agent that is there can be used: it must speak TLS exactly if the operator is to, with a
 * certificate whose key this operator has.
 *
 * Not here: making and reading certificates (adapters/x509), and the handshake (adapters/agents/secure-agent.ts).
 */

import type { ServingLife } from "../fleet/credentials/serving-renewal.ts"

const day = 86_400_000

/** The certificate that an agent was started with, as this operator can use it. */
export type AgentCertificate =
  /** The agent speaks clear text. */
  | { readonly _tag: "None" }
  /** Of another key, or no certificate at all. */
  | { readonly _tag: "Foreign" }
  /** `serverName`: the name by which the agent asks for it, which begins with the agent's own. */
  | { readonly _tag: "Ours"; readonly serverName: string; readonly life: ServingLife }

/**
 * The time for which the certificate of a new agent is valid, epoch ms: an agent lives for days, and the clock of its
 * node, by which it judges (agent.md §3.9), may be wrong by hours.
 */
export const agentCertificateLife = (now: number): ServingLife => ({ from: now - day, until: now + 365 * day })

/** Whether a certificate of ours was made for the agent of this name, and not copied from another agent's Job. */
export const isFor = (agent: string, serverName: string): boolean => serverName.startsWith(`${agent}-`)

/** An agent that is there. `isEncrypted`: whether agents are to speak TLS. */
interface PresentAgent {
  readonly name: string
  readonly certificate: AgentCertificate
  readonly isEncrypted: boolean
}

/**
 * Why an agent that is there has to make way for another one, a clause; undefined if it can be used. The last day of a
 * certificate counts as over.
 */
export const whyUnfit = ({ certificate, isEncrypted, name }: PresentAgent, now: number): string | undefined => {
  if (!isEncrypted) return certificate._tag === "None" ? undefined : "it speaks TLS, and agents are to speak clear text"
  switch (certificate._tag) {
    case "None":
      return "it speaks clear text, and agents are to speak TLS"
    case "Foreign":
      return "its certificate is not of the key that this operator has"
    case "Ours":
      if (!isFor(name, certificate.serverName)) return "its certificate was made for another agent"
      return now < certificate.life.from || now > certificate.life.until - day
        ? "its certificate is not valid now"
        : undefined
  }
}
