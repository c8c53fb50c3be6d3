/**
 * The agent's side of TLS with its operator, as the real agent has it (agent.md §3.9): it is the client of TLS on
 * connections that it has accepted, and trusts the one certificate that it was started with.
 */

import { X509Certificate } from "node:crypto"
import { isIP } from "node:net"
import type { Duplex } from "node:stream"
import { connect, type TLSSocket } from "node:tls"
import { Result } from "effect"

/** The operator that an agent trusts. */
export interface TrustedOperator {
  readonly certificatePem: string
  /** The first name or address in the certificate. */
  readonly name: string
}

const firstPem = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/u

/** Reads the certificate of the operator, the first of a PEM text. The failure is a clause; it means exit code 1. */
export const readTrustedOperator = (text: string): Result.Result<TrustedOperator, string> => {
  const [certificatePem] = firstPem.exec(text) ?? []
  const problem = (what: string) => Result.fail(`the operator's certificate (AGENT_OPERATOR_CERT_ENV) ${what}`)
  if (certificatePem === undefined) return problem("is no PEM certificate")
  try {
    const names = new X509Certificate(certificatePem).subjectAltName ?? ""
    const [, name] = /(?:DNS|IP Address):([^,\s]+)/u.exec(names) ?? []
    return name === undefined ? problem("names no host") : Result.succeed({ certificatePem, name })
  } catch {
    return problem("cannot be read")
  }
}

/** How the handshake with an operator ended. */
interface OperatorHandshake {
  readonly secured: (socket: TLSSocket) => void
  /** `reason`: a clause. The connection is cut already. */
  readonly failed: (reason: string) => void
}

/** Asks for the operator's certificate on a connection that it has dialled. */
export const secureOperator = (
  socket: Duplex,
  { certificatePem, name }: TrustedOperator,
  { failed, secured }: OperatorHandshake
): void => {
  // OpenSSL takes the certificate of an authority for a server's, the real agent does not.
  if (new X509Certificate(certificatePem).ca) {
    socket.destroy()
    return failed("the operator's certificate is that of an authority")
  }
  const secure = connect({
    socket,
    ca: certificatePem,
    minVersion: "TLSv1.2",
    host: name,
    ...(isIP(name) === 0 ? { servername: name } : {})
  })
  let isOver = false
  const cut = (reason: string): void => {
    if (isOver) return
    isOver = true
    socket.destroy()
    failed(reason)
  }
  // After the handshake the client connection hears errors and the end by handlers of its own.
  secure.on("error", (error) => cut(error.message))
  secure.once("close", () => cut("the operator ended the TLS handshake"))
  secure.once("secureConnect", () => {
    isOver = true
    secured(secure)
  })
}
