/**
 * The WebSocket that carries a tunnel, or a redemption, where only HTTP passes and something on the way ends TLS. The
 * tunnel's own TLS is inside of it, from end to end.
 *
 * Not here: the cell's side (websocket-bridge.ts), and the TLS inside (dial-cell.ts).
 */

import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { connect } from "node:tls"
import { Effect } from "effect"
import { createWebSocketStream, WebSocket } from "ws"
import { proxyFor } from "../../domain/fleet/proxy.ts"
import { dialTcp, hostOf } from "../stream/dial-tcp.ts"

/** The URL of a WebSocket; `undefined` if the address is a host and a port. */
export const webSocketUrl = (address: string): URL | undefined =>
  /^wss?:\/\//iu.test(address) && URL.canParse(address) ? new URL(address) : undefined

/** The handshake of HTTP on a connection, which it owns. */
const upgrade = (url: URL, connection: Duplex): Effect.Effect<Duplex, string> =>
  Effect.callback((resume) => {
    // TLS and HTTP take any stream as a socket; their types ask for one of the network.
    const socket = connection as Socket
    const outer =
      url.protocol === "wss:"
        ? // The TLS of the way protects nothing here, and a proxy that inspects it has a certificate of its own.
          connect({ socket, servername: hostOf(url), rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] })
        : socket
    const webSocket = new WebSocket(url, { createConnection: () => outer, perMessageDeflate: false })
    webSocket.once("unexpected-response", (_request, { statusCode = 0 }) => {
      webSocket.terminate()
      const cure = "let WebSockets pass, and look at the path of the URL"
      resume(Effect.fail(`it answers ${statusCode} to a WebSocket; ${cure}`))
    })
    webSocket.on("error", ({ message }) => resume(Effect.fail(message)))
    webSocket.once("open", () => resume(Effect.succeed(createWebSocketStream(webSocket))))
    return Effect.sync(() => webSocket.terminate())
  })

/**
 * Dials the URL of a WebSocket, through the proxy of the environment where it names one. The caller bounds the time,
 * and owns the connection. `timeout`: as in `dialTcp`. The failure is a clause.
 */
export const dialWebSocket = (url: URL, timeout: number): Effect.Effect<Duplex, string> => {
  const usual = url.protocol === "wss:" ? 443 : 80
  const proxy = proxyFor(url.href.replace(/^ws/u, "http"), process.env)
  const endpoint = { host: hostOf(url), port: Number(url.port === "" ? usual : url.port) }
  return Effect.flatMap(dialTcp(proxy, endpoint, timeout), (connection) => upgrade(url, connection))
}
