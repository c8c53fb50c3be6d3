/**
 * The cell: listens for tunnels and for redemptions of tokens. Implements the port `TunnelListener`.
 *
 * Not here: which certificates and tokens are good (adapters/x509, domain/outbound), and the tunnels that stand
 * (http2-cell-tunnel.ts).
 */

import type { X509Certificate } from "node:crypto"
import { createServer, type TLSSocket } from "node:tls"
import { Effect, Result } from "effect"
import { renewCommand } from "../../domain/outbound/renew-command.ts"
import type { CellOptions, MemberCertificate, TunnelListener } from "../../ports/tunnel.ts"
import { addressOf, defaultBounds, listenAt, type ListenerBounds, listenGuarded } from "./guarded-listener.ts"
import { Http2CellTunnel, sessionOn } from "./http2-cell-tunnel.ts"
import { refuse, tunnelProtocol } from "./http2-tunnel.ts"
import { redemptionServer } from "./redemptions.ts"
import { webSocketBridge } from "./websocket-bridge.ts"

/** Reads the certificate of a member, which TLS has verified. The `x509` adapter implements it. */
export type ReadMember = (certificate: X509Certificate) => Result.Result<MemberCertificate, string>

/** The member at the other end of a connection, or a sentence without its end why it gets no tunnel. */
const memberOf = (
  socket: TLSSocket,
  readMember: ReadMember,
  refusal: CellOptions["refusal"]
): Result.Result<MemberCertificate, string> => {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined)
    return Result.fail("the primary wants a certificate, and none was shown: join the cluster with a token first")
  if (!socket.authorized)
    return Result.fail(
      `the primary does not accept the certificate that was shown (${String(socket.authorizationError)}): it has ` +
        `ended, or another primary has signed it; run ${renewCommand("NAME")}, and give this cluster the token`
    )
  return Result.flatMap(readMember(certificate), (member) => {
    const why = refusal(member)
    return why === undefined ? Result.succeed(member) : Result.fail(why)
  })
}

/** `readMember`: passed in, because adapters do not import each other. `bounds`: of what strangers may ask for. */
export const makeTunnelListener = (
  readMember: ReadMember,
  bounds: ListenerBounds = defaultBounds
): TunnelListener["Service"] => ({
  listen: Effect.fnUntraced(function* (options) {
    const { accepted, hosts, identity, port, refusal } = options
    const tunnels = new Set<Http2CellTunnel>()
    /** Connections of members. One whose certificate is refused is bounded like a stranger's. */
    const proved = new WeakSet<TLSSocket>()
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const tunnel of tunnels) tunnel.destroy("the primary's operator ends here, or leads no more")
      })
    )
    // A connection without a good certificate is accepted, so that the member hears the reason.
    const trust = { requestCert: true, rejectUnauthorized: false }
    const secure = createServer({ ...trust, ALPNProtocols: [tunnelProtocol], handshakeTimeout: bounds.handshake })
    secure.on("secureConnection", (socket) => {
      socket.on("error", () => undefined)
      if (socket.alpnProtocol !== tunnelProtocol) return void socket.destroy()
      const member = memberOf(socket, readMember, refusal)
      if (Result.isFailure(member)) return refuse(sessionOn(socket), socket, member.failure)
      proved.add(socket)
      const tunnel = new Http2CellTunnel(socket, member.success, addressOf(socket))
      tunnels.add(tunnel)
      socket.once("close", () => tunnels.delete(tunnel))
      accepted(tunnel)
    })
    // Asked in the same turn, after the listener above.
    const hasProved = (socket: TLSSocket): boolean => proved.has(socket)
    const tunnelPort = yield* listenGuarded(secure, { hosts, port, identity, bounds, hasProved })
    const redemptions = yield* redemptionServer(options, bounds)
    const strangers = { hosts, port: options.bootstrapPort, identity, bounds, hasProved: () => false }
    const bootstrapPort = yield* listenGuarded(redemptions, strangers)
    const ports = { port: tunnelPort, bootstrapPort }
    if (options.webSocketPort === undefined) return ports
    const bridge = webSocketBridge({ tunnels: tunnelPort, bootstrap: bootstrapPort })
    const end = (): void => void bridge.close()
    return { ...ports, webSocketPort: yield* listenAt(bridge, { hosts, port: options.webSocketPort }, end) }
  })
})
