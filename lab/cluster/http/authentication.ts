/**
 * Finds the caller of a request: by its client certificate, else by the bearer token of a service account, else it is
 * anonymous. The rights of a caller are decided in `rbac.ts`.
 */

import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { TLSSocket } from "node:tls"
import { unauthorized } from "../wire/status-error.ts"
import { type Identity, anonymous, authenticatedGroup } from "./identity.ts"
import type { ServiceAccountTokens } from "./tokens.ts"

const listOf = (value: string | ReadonlyArray<string> | undefined): ReadonlyArray<string> => [value ?? []].flat()

const fromCertificate = (socket: unknown): Identity | undefined => {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const certificate = socket.getPeerCertificate()
  // Node types one value per attribute; a certificate with several O comes as an array.
  const subject: Record<string, string | ReadonlyArray<string> | undefined> = { ...certificate.subject }
  const user = listOf(subject["CN"])[0]
  if (user === undefined) return undefined
  const hash = createHash("sha256").update(certificate.raw).digest("hex")
  return {
    user,
    groups: [...listOf(subject["O"]), authenticatedGroup],
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${hash}`] }
  }
}

const hasCertificate = (socket: unknown): boolean =>
  socket instanceof TLSSocket && Object.keys(socket.getPeerCertificate()).length > 0

/** Throws 401. */
export const authenticate = (req: IncomingMessage, tokens: ServiceAccountTokens): Identity => {
  const certificate = fromCertificate(req.socket)
  if (certificate !== undefined) return certificate
  const bearer = /^Bearer\s+(\S+)$/i.exec(req.headers.authorization ?? "")?.[1]
  if (bearer !== undefined) {
    const result = tokens.check(bearer)
    if ("identity" in result) return result.identity
    throw unauthorized()
  }
  // A certificate of an unknown authority is a wrong credential; a caller without any certificate is anonymous.
  if (hasCertificate(req.socket)) throw unauthorized()
  return anonymous
}
