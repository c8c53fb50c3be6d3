/**
 * TLS on a connection to an agent. The operator has dialled, and is the server all the same: the agent plays the client
 * (agent.md §3.9), which is how it knows the operator without any secret of its own.
 *
 * Not here: dialling (agent-channel.ts), and which certificate an agent has (pod-agents.ts).
 */

import type { Socket } from "node:net"
import { createServer, type Server, type TLSSocket } from "node:tls"
import { Redacted } from "effect"

/** The operator towards one agent. */
export interface AgentTls {
  readonly certificatePem: string
  readonly keyPem: Redacted.Redacted
  /** The name in the certificate, for which the agent asks. */
  readonly serverName: string
}

/** How a handshake ended. `failed`: why, a clause. */
export interface Handshake {
  readonly secured: (socket: TLSSocket) => void
  readonly failed: (reason: string) => void
}

/** OpenSSL's word for a mistake is in `reason`; the message around it is for programmers. */
const wordOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "no reason given"
  return "reason" in error && typeof error.reason === "string" ? error.reason : error.message
}

/** A server that never listens: the public way to the server's side of TLS on a connection that was dialled. */
const serverWith = ({ certificatePem, keyPem }: AgentTls): Server =>
  createServer({
    cert: certificatePem,
    key: Redacted.value(keyPem),
    // Not asked for, and given only so that no system authorities are loaded.
    ca: certificatePem,
    minVersion: "TLSv1.2"
  })

/**
 * Makes a fresh connection one with TLS. The agent proves nothing but that it has read its own certificate: it asks for
 * the name in it. The caller bounds the time, and ends the socket when the handshake fails.
 */
export const secureAgent = (socket: Socket, tls: AgentTls, { failed, secured }: Handshake): void => {
  const { serverName } = tls
  let server: Server
  try {
    server = serverWith(tls)
  } catch (error) {
    // The certificate comes from a Job, which others may have written to.
    return failed(`the operator's certificate in its Job cannot be used (${wordOf(error)})`)
  }
  server.once("secureConnection", (secure) => {
    const { servername } = secure
    if (servername === serverName) return secured(secure)
    secure.on("error", () => undefined).destroy()
    const found = typeof servername === "string" ? `for ${JSON.stringify(servername.slice(0, 100))}` : "for no name"
    failed(`it asks ${found} instead of the operator's, so it is not the agent that was started there`)
  })
  server.once("tlsClientError", (error) =>
    failed(`the TLS handshake failed (${wordOf(error)}): it refuses the operator's certificate, or speaks clear text`)
  )
  server.emit("connection", socket)
}
