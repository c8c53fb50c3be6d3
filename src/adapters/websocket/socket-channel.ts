/**
 * A frame channel over one WebSocket: binary messages in and out, back pressure, and one end with a reason.
 *
 * Not here: opening the socket (member-link.ts, app/api) and what the frames mean.
 */

import { Socket } from "node:net"
import type WebSocket from "ws"
import type { FrameChannel, FrameHandlers } from "../../ports/frame-channel.ts"
import { awaitPings } from "./pings-awaited.ts"

/** How long a peer may take to finish a closing handshake before its socket is cut, in ms. */
const closeGrace = 5_000

/**
 * A {@link FrameChannel} over an open WebSocket. Only binary messages count, and nothing else is sent: the real client
 * takes any other frame for an error (operator-api.md §8.4). Writes of one event-loop turn leave in one packet.
 *
 * `pingsWithin`: silence after which the other side counts as gone, ms. It does nothing while the other side has sent
 * no WebSocket ping. Undefined: silence means nothing.
 */
export const socketChannel = (socket: WebSocket, pingsWithin?: number): FrameChannel => {
  let handlers: FrameHandlers | undefined
  /** Events from before `open`, in order. */
  const early: Array<(given: FrameHandlers) => void> = []
  /** The socket has ended, or `close` was called: nothing is sent any more. */
  let over = false
  /** `close` was called: nothing is delivered any more. */
  let closed = false
  let corked = false
  // `ws` does not type the socket that it owns; it is needed for corking and for its `drain`.
  const inner: unknown = Reflect.get(socket, "_socket")
  const raw = inner instanceof Socket ? inner : undefined

  const deliver = (event: (given: FrameHandlers) => void): void => {
    if (handlers === undefined) early.push(event)
    else event(handlers)
  }
  const end = (reason: string): void => {
    if (over) return
    over = true
    deliver((given) => given.ended(reason))
  }
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (over) return
    if (!isBinary) return deliver((given) => given.ignored("text frame"))
    // A small frame is a view into a slab shared with its neighbours; a copy keeps one message from pinning all of it.
    const bytes =
      data.length < 16_384 ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.length)
    deliver((given) => given.message(bytes))
  })
  socket.on("close", (code: number, reason: Buffer) =>
    end(reason.length > 0 ? `${code} ${reason.toString()}` : `code ${code}`)
  )
  socket.on("error", (error: Error) => {
    end(error.message)
    socket.terminate()
  })
  if (pingsWithin !== undefined) {
    awaitPings(socket, pingsWithin, () => {
      socket.terminate()
      end(`no ping and no message for ${Math.round(pingsWithin / 1_000)} s`)
    })
  }
  raw?.on("drain", () => {
    if (!over) handlers?.drained()
  })

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
      if (closed) return
      closed = true
      over = true
      socket.resume()
      socket.close(1000)
      setTimeout(() => socket.terminate(), closeGrace).unref()
    },
    open: (given) => {
      handlers = given
      for (const event of early.splice(0)) if (!closed) event(given)
    }
  }
}
