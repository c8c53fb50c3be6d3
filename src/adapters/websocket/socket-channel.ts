import type { Socket } from "node:net"
import type WebSocket from "ws"
import type { FrameChannel, FrameHandlers } from "../../ports/frame-channel.ts"

/** How long a peer may take to finish a closing handshake before its socket is cut, in ms. */
const closeGrace = 5_000

/**
 * A {@link FrameChannel} over an open WebSocket. Only binary messages count; nothing else is ever sent, as the real client takes
 * any other frame for an error (operator-api §5.3). Writes of one event-loop turn leave in one packet.
 */
export const socketChannel = (socket: WebSocket): FrameChannel => {
  let handlers: FrameHandlers | undefined
  const early: Array<Uint8Array> = []
  let endedEarly: string | undefined
  let over = false
  let corked = false
  // `ws` does not type the socket that it owns; it is needed for corking and for its `drain`.
  const raw = (socket as unknown as { readonly _socket?: Socket })._socket

  const end = (reason: string): void => {
    if (over) return
    over = true
    if (handlers === undefined) endedEarly = reason
    else handlers.ended(reason)
  }
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (over) return
    if (!isBinary) return handlers?.ignored("text frame")
    // A small frame is a view into a slab shared with its neighbours; a copy keeps one message from pinning all of it.
    const bytes = data.length < 16_384 ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.length)
    if (handlers === undefined) early.push(bytes)
    else handlers.message(bytes)
  })
  socket.on("close", (code: number, reason: Buffer) => end(reason.length > 0 ? `${code} ${reason.toString()}` : `code ${code}`))
  socket.on("error", (error: Error) => {
    end(error.message)
    socket.terminate()
  })
  raw?.on("drain", () => handlers?.drained())

  return {
    send: (bytes) => {
      if (over || socket.readyState !== socket.OPEN) return
      if (!corked && raw !== undefined) {
        corked = true
        raw.cork()
        process.nextTick(() => {
          corked = false
          raw.uncork()
        })
      }
      socket.send(bytes, { binary: true })
    },
    queuedBytes: () => socket.bufferedAmount,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => {
      over = true
      socket.resume()
      socket.close(1000)
      setTimeout(() => socket.terminate(), closeGrace).unref()
    },
    open: (given) => {
      handlers = given
      for (const bytes of early.splice(0)) given.message(bytes)
      if (endedEarly !== undefined) given.ended(endedEarly)
    }
  }
}
