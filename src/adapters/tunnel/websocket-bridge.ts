/**
 * The cell's port for WebSockets, behind an ingress that ends TLS: each WebSocket becomes a connection to one of the
 * cell's own ports, where its TLS ends and where strangers are bounded.
 *
 * Not here: the member's side (websocket-carrier.ts).
 */

import { createServer } from "node:http"
import { connect, type Server } from "node:net"
import { pipeline } from "node:stream"
import { createWebSocketStream, WebSocketServer } from "ws"

/** The ports of a cell, by the last part of the path that leads to each. */
export interface BridgedPorts {
  readonly tunnels: number
  readonly bootstrap: number
}

/** Longest time until a request is there, and how often that is looked at, ms. */
const patience = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 5_000 }

const portOf = (ports: BridgedPorts, url = ""): number | undefined =>
  new Map(Object.entries(ports)).get(url.slice(url.lastIndexOf("/") + 1))

/** The server of the port, which does not listen itself. */
export const webSocketBridge = (ports: BridgedPorts): Server => {
  const handshakes = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false })
  // Load balancers ask the root whether the port is well.
  const server = createServer(patience, ({ url }, response) => {
    response.writeHead(url === "/" ? 200 : 426, { "content-type": "text/plain", connection: "close" })
    response.end("Tunnels of members come to this port by WebSocket, at /tunnels and /bootstrap.\n")
  })
  return server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => undefined)
    const port = portOf(ports, request.url)
    if (port === undefined) return void socket.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n")
    handshakes.handleUpgrade(request, socket, head, (webSocket) => {
      const inside = createWebSocketStream(webSocket)
      const own = connect({ host: "localhost", port, noDelay: true })
      // Each end takes the other along.
      pipeline(inside, own, inside, () => webSocket.terminate())
    })
  })
}
