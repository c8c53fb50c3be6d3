/**
 * Dials a port of the cell over TLS 1.3, through the proxy of the environment where it names one, and says which
 * certificate stands at the other end. Where the address is a URL, a WebSocket carries the TLS.
 *
 * Not here: what is said then (tunnel-dialler.ts, redeem-token.ts), and the WebSocket (websocket-carrier.ts).
 */

import type { X509Certificate } from "node:crypto"
import { isIP } from "node:net"
import type { Duplex } from "node:stream"
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls"
import { Effect } from "effect"
import { quotation, quoted } from "../../domain/clean-text.ts"
import { proxyFor } from "../../domain/fleet/proxy.ts"
import { DialFailed } from "../../ports/tunnel.ts"
import { dialTcp, type Endpoint, hostOf } from "../stream/dial-tcp.ts"
import { dialWebSocket, webSocketUrl } from "./websocket-carrier.ts"

/** Longest time until a tunnel stands, or a redemption is answered, in ms. */
const patience = 10_000

export const failed = (reason: DialFailed["reason"], message: string): DialFailed => new DialFailed({ reason, message })

/** The failure for a certificate that is not the cell's. `problem`: a clause. */
export const untrusted = (certificate: X509Certificate | undefined, problem: string): DialFailed => {
  const issuer = quotation((certificate?.issuer ?? "unknown").split("\n").join(", "))
  return failed(
    "Untrusted",
    "something between here and the primary answers with its own certificate, or the address is another server's: " +
      `issuer ${quoted(issuer)}, ${problem}; let the connection through without TLS inspection, or mend the address`
  )
}

/** The way to the cell: the name that it has there, and a connection that carries bytes. */
interface Way {
  readonly host: string
  readonly dialled: Effect.Effect<Duplex, string>
}

const wayTo = (address: string): Way | undefined => {
  const webSocket = webSocketUrl(address)
  if (webSocket !== undefined) return { host: hostOf(webSocket), dialled: dialWebSocket(webSocket, patience) }
  const text = `https://${address}`
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const endpoint: Endpoint = { host: hostOf(url), port: Number(url.port || 443) }
  return { host: endpoint.host, dialled: dialTcp(proxyFor(text, process.env), endpoint, patience) }
}

/** The handshake, whose certificate the caller judges: this side says what is wrong, where TLS would say a code. */
const secure = (options: ConnectionOptions, begun: (socket: TLSSocket) => void): Effect.Effect<TLSSocket, string> =>
  Effect.callback((resume) => {
    try {
      const socket = connect({
        ...options,
        minVersion: "TLSv1.3",
        rejectUnauthorized: false,
        // The name that counts stands in a URI.
        checkServerIdentity: () => undefined
      })
      begun(socket)
      socket.on("error", ({ message }) => resume(Effect.fail(message)))
      socket.once("close", () => resume(Effect.fail("the connection was closed in the middle of the handshake")))
      socket.once("secureConnect", () => resume(Effect.succeed(socket)))
    } catch (cause) {
      resume(Effect.fail(`OpenSSL cannot use this side's certificate (${String(cause)})`))
    }
  })

/**
 * A connection on which TLS stands. Nothing is verified. `options`: of TLS. `begun`: takes the connection before it
 * stands, to end it.
 */
export const dialCell = (
  address: string,
  options: ConnectionOptions,
  begun: (socket: TLSSocket) => void
): Effect.Effect<TLSSocket, DialFailed> =>
  Effect.gen(function* () {
    const way = wayTo(address)
    if (way === undefined)
      return yield* failed("Unreachable", `${quoted(address)} is no host and port; write it as cell.example.com:8443`)
    const servername = isIP(way.host) === 0 ? way.host : ""
    const dialled = Effect.flatMap(way.dialled, (socket) => secure({ ...options, socket, servername }, begun))
    return yield* Effect.mapError(dialled, (problem) =>
      failed("Unreachable", `the primary cannot be reached at ${address}: ${quotation(problem)}`)
    )
  })

/** Bounds the time of dialling. */
export const withPatience = <A>(
  address: string,
  dialling: Effect.Effect<A, DialFailed>
): Effect.Effect<A, DialFailed> =>
  Effect.timeoutOrElse(dialling, {
    duration: patience,
    orElse: () => Effect.fail(failed("Unreachable", `${address} did not answer within ${patience / 1_000} s`))
  })
