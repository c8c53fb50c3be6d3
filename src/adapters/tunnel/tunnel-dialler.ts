/**
 * The outpost's end of tunnels: dials, proves itself, verifies the cell, and hands on the lanes that the cell opens.
 * Implements the port `TunnelDialler`.
 *
 * Not here: when to dial (domain/outbound), and what is done with a lane (adapters/kubernetes/serve-lanes.ts).
 */

import type { X509Certificate } from "node:crypto"
import { performServerHandshake, type ServerHttp2Stream } from "node:http2"
import type { TLSSocket } from "node:tls"
import { Deferred, Effect, Redacted } from "effect"
import type { DialFailed, DialOptions, Tunnel, TunnelDialler } from "../../ports/tunnel.ts"
import { dialCell, failed, untrusted, withPatience } from "./dial-cell.ts"
import { announcedStreams, asLane, Http2Tunnel, laneNames, sessionOptions, tunnelProtocol } from "./http2-tunnel.ts"
import { redeemToken } from "./redeem-token.ts"

/** Judges certificates of cells. The `x509` adapter implements it; adapters do not import each other. */
export interface CellCertificates {
  /** Why a certificate that TLS trusts is not a cell's, a clause; `undefined` if it is one. */
  readonly cellProblem: (certificate: X509Certificate) => string | undefined
  /** Why a chain is not a cell's under the authority with this pin at `now`, epoch ms. */
  readonly pinProblem: (leaf: X509Certificate, pin: string, now: number) => string | undefined
}

/** Flaws of a certificate that leads to the right authority. */
const clockFlaws: ReadonlySet<string> = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"])

/** Why the certificate at the other end is not the cell's; `undefined` if it is. */
const distrust = (socket: TLSSocket, { cellProblem }: CellCertificates): DialFailed | undefined => {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return untrusted(certificate, "no certificate was shown")
  if (socket.authorized) {
    const problem = cellProblem(certificate)
    return problem === undefined ? undefined : untrusted(certificate, problem)
  }
  const { authorizationError: error } = socket
  const code = typeof error === "object" && "code" in error ? String(error.code) : String(error)
  if (!clockFlaws.has(code)) return untrusted(certificate, code)
  const [from, until] = [certificate.validFromDate, certificate.validToDate].map((date) => date.toISOString())
  return failed("Untrusted", `the primary's certificate is valid from ${from} to ${until} only; look at both clocks`)
}

/** Many requests are given up at once when their watches begin again. The other side is authenticated. */
const resets = { streamResetBurst: 1_000_000, streamResetRate: 100_000 }

/** The tunnel on a connection to the cell, and its control lane, which the cell opens at once. */
const stand = (socket: TLSSocket, serve: DialOptions["serve"]) => {
  const session = performServerHandshake(socket, {
    ...sessionOptions,
    ...resets,
    settings: { ...sessionOptions.settings, maxConcurrentStreams: announcedStreams }
  })
  const tunnel = new Http2Tunnel(session, socket)
  const stands = Deferred.makeUnsafe<Tunnel>()
  let hasControl = false
  session.on("stream", (stream: ServerHttp2Stream, { ":authority": name, ":method": method }) => {
    asLane(stream)
    const isControl = name === laneNames.control && !hasControl
    const kind = name === laneNames.api || name === laneNames.people ? name : undefined
    if (method !== "CONNECT" || (!isControl && kind === undefined)) {
      return stream.respond({ ":status": 403 }, { endStream: true })
    }
    stream.respond({ ":status": 200 })
    if (kind !== undefined) return serve(stream, kind)
    hasControl = true
    tunnel.control(stream)
    return Deferred.doneUnsafe(stands, Effect.succeed(tunnel))
  })
  const refused = Effect.flatMap(tunnel.ended, (why) =>
    Effect.fail(failed(tunnel.isRefused ? "Refused" : "Unreachable", why))
  )
  return { tunnel, ready: Effect.raceFirst(Deferred.await(stands), refused) }
}

/** The dialler of an outpost. `certificates`: judges those of cells. */
export const makeTunnelDialler = (certificates: CellCertificates): TunnelDialler["Service"] => ({
  dial: Effect.fnUntraced(function* ({ address, identity, serve }) {
    let end: () => void = () => undefined
    yield* Effect.addFinalizer(() => Effect.sync(() => end()))
    const options = {
      ca: identity.authoritiesPem,
      cert: identity.certificatePem,
      key: Redacted.value(identity.keyPem),
      ALPNProtocols: [tunnelProtocol]
    }
    const dialling = Effect.gen(function* () {
      const socket = yield* dialCell(address, options, (begun) => {
        end = () => void begun.destroy()
      })
      const problem = distrust(socket, certificates)
      if (problem !== undefined) return yield* problem
      const { ready, tunnel } = stand(socket, serve)
      end = () => tunnel.destroy("the member's operator has ended the tunnel")
      return yield* ready
    })
    return yield* withPatience(address, dialling).pipe(Effect.onError(() => Effect.sync(() => end())))
  }),
  redeem: (options) => redeemToken(options, certificates.pinProblem)
})
