/**
 * Accepts WebSockets: the handshake is the library's, everything behind it is ours (websocket-channel.ts). Compression
 * is not offered.
 *
 * Not here: who may connect, which is decided before (app/api).
 */

import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import { connectSubprotocol } from "../../domain/resources/operator-api.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { noteListeners } from "./added-listeners.ts"
import { WebSocketChannel, type WebSocketOptions } from "./websocket-channel.ts"

/** An upgrade request, as the HTTP server hands it over. */
export interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** The first bytes behind the request. */
  readonly head: Buffer
}

export interface WebSocketAcceptor {
  /**
   * Answers 101 and gives the channel, or refuses the handshake itself and gives nothing. `pingsWithin` as for
   * {@link WebSocketOptions}.
   */
  readonly accept: (
    upgrade: UpgradeRequest,
    pingsWithin: number | undefined,
    accepted: (channel: FrameChannel) => void
  ) => void
  /** Closes all open WebSockets, and tells their clients that the server ends. */
  readonly goAway: () => void
}

export const makeWebSocketAcceptor = (options: Pick<WebSocketOptions, "largest" | "room"> = {}): WebSocketAcceptor => {
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(connectSubprotocol) ? connectSubprotocol : false)
  })
  const open = new Set<WebSocketChannel>()
  return {
    accept: ({ head, request, socket }, pingsWithin, accepted) => {
      const removeLater = noteListeners(socket)
      handshakes.handleUpgrade(request, socket, head, () => {
        // In this very turn: not a byte may be read before the socket is ours.
        removeLater()
        const channel = new WebSocketChannel(socket, { ...options, isServer: true, pingsWithin })
        open.add(channel)
        channel.on("close", () => open.delete(channel))
        accepted(channel)
      })
    },
    goAway: () => {
      for (const channel of open) channel.goAway()
    }
  }
}
