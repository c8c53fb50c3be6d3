/**
 * The caller of a request, as far as the API server vouches for it on this connection. access-review.ts asks for the
 * caller's rights.
 */

import type { X509Certificate } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { Result } from "effect"
import { leadsTo } from "../../adapters/x509/certificate-bundle.ts"
import {
  type Caller,
  callerFrom,
  type FrontProxy,
  isAllowedName,
  defaultHeaders
} from "../../domain/fleet/credentials/front-proxy.ts"
import { type ApiError, badRequest, unauthorized } from "./status.ts"

/** The caller of a request, or the refusal of it. */
export type CallerResult = Result.Result<Caller, ApiError>

/** The front proxy as it is known now, with the certificates of its bundle. */
export interface KnownFrontProxy extends FrontProxy {
  readonly authorities: ReadonlyArray<X509Certificate>
}

/** The API server's front proxy as far as it is known. */
export interface FrontProxySource {
  readonly known: () => KnownFrontProxy | undefined
  /** Calls back after each change until the scope of the source ends. */
  readonly listen: (changed: () => void) => void
}

/** Connections whose certificate led to the current authorities when it was last checked. */
const vouched = new WeakMap<TLSSocket, KnownFrontProxy>()

const notThrough = (why: string): ApiError => unauthorized(`Access is through the API server only: ${why}.`)

/** The reason why a connection is not the front proxy's, if there is one. */
const problemOf = (socket: Socket, proxy: KnownFrontProxy | undefined): string | undefined => {
  if (proxy === undefined) return "the front-proxy CA is not known yet"
  const isTls = socket instanceof TLSSocket
  const certificate = isTls ? socket.getPeerX509Certificate() : undefined
  if (!isTls || !socket.authorized || certificate === undefined)
    return "the connection has no client certificate of the API server's front proxy"
  // Checked again, because the handshake was judged by the authorities of its time.
  if (vouched.get(socket) !== proxy && !leadsTo(certificate, proxy.authorities))
    return "the client certificate's authority is not the front proxy's any more"
  vouched.set(socket, proxy)
  const commonName = socket.getPeerCertificate().subject?.CN
  const name = typeof commonName === "string" ? commonName : ""
  return isAllowedName(proxy, name)
    ? undefined
    : `the client certificate belongs to ${JSON.stringify(name)}, not to the API server's front proxy`
}

/** Whether a connection is the front proxy's, as far as is known now. */
export const isFrontProxy = (socket: Socket, proxy: KnownFrontProxy | undefined): boolean =>
  problemOf(socket, proxy) === undefined

/**
 * Reads the identity that the API server vouches for. The front proxy's headers count only on a connection whose client
 * certificate leads to its CA and has one of its names; any other client of this port has no identity. `verify` is
 * false only if the installation sets `requireFrontProxyClientCert: false`.
 */
export const callerOf = (
  request: IncomingMessage,
  proxy: KnownFrontProxy | undefined,
  verify: boolean
): CallerResult => {
  const refused = verify ? problemOf(request.socket, proxy) : undefined
  if (refused !== undefined) return Result.fail(notThrough(refused))
  const names = proxy?.headers ?? defaultHeaders
  return Result.mapError(callerFrom(request.headersDistinct, names), (problem) =>
    problem._tag === "NoUser"
      ? notThrough(`the request names no user (header ${names.user.join(" or ")})`)
      : badRequest(
          `The user's name, groups or other properties are not UTF-8 (header ${JSON.stringify(problem.header)}), and ` +
            "identify no user; log in under a name in UTF-8, or ask whoever runs the identity provider."
        )
  )
}
