/** Large transfers over one TCP connection in one direction, with SHA-256 at both ends. */

import { createHash } from "node:crypto"
import * as net from "node:net"
import { listenLocally } from "../support/listen-locally.ts"

export interface Transfer {
  /** Number of bytes that have left, or arrived, at this end. */
  readonly bytes: () => number
  /** SHA-256 of what was sent, and of what arrived. */
  readonly done: Promise<{ readonly sent: string; readonly received: string }>
}

const pieceSize = 64 * 1024
const digestLength = 64
/** The first byte on a connection: which end sends. */
const directions = { up: 1, down: 2 } as const

/** Bytes of which no two kilobytes are the same. */
const piece = (at: number, size: number): Buffer => {
  const bytes = Buffer.alloc(Math.min(pieceSize, size - at))
  for (let place = 0; place + 4 <= bytes.length; place += 1024) bytes.writeUInt32BE(at + place, place)
  return bytes
}

/** The second half of transfers waits until this is over. */
export type Gate = () => Promise<void>

/**
 * Sends so many bytes, as fast as the socket takes them, with a pause in the middle for the gate; then calls back with
 * their SHA-256.
 */
const sendAll = (
  socket: net.Socket,
  { gate, size }: { readonly size: number; readonly gate: Gate },
  progress: (sent: number) => void,
  done: (digest: string) => void
): void => {
  const hash = createHash("sha256")
  let sent = 0
  let isOpen = false
  const send = (): void => {
    while (sent < size) {
      if (!isOpen && sent >= size / 2) {
        socket.off("drain", send)
        void gate().then(() => {
          isOpen = true
          socket.on("drain", send)
          send()
        })
        return
      }
      const bytes = piece(sent, size)
      hash.update(bytes)
      sent += bytes.length
      progress(sent)
      if (!socket.write(bytes)) return
    }
    socket.off("drain", send)
    done(hash.digest("hex"))
  }
  socket.on("drain", send)
  send()
}

/**
 * A server on 127.0.0.1 for transfers of so many bytes, or none. It answers an upload with the SHA-256 of the bytes
 * that came, and ends a download with that of those it has sent.
 */
export const bulkServer = async (
  size: number,
  gate: Gate
): Promise<{ readonly port: number; readonly close: () => void }> => {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined)
    socket.once("data", (head) => {
      const length = head[1] === 0 ? 0 : size
      if (head[0] === directions.down)
        return sendAll(
          socket,
          { size: length, gate },
          () => undefined,
          (digest) => socket.end(digest)
        )
      const hash = createHash("sha256")
      let received = 0
      const take = (bytes: Buffer): void => {
        hash.update(bytes)
        received += bytes.length
        if (received === length) socket.end(hash.digest("hex"))
      }
      socket.on("data", take)
      return take(head.subarray(2))
    })
  })
  return { port: await listenLocally(server), close: () => void server.close() }
}

const opened = (port: number, size: number, direction: keyof typeof directions): net.Socket => {
  const socket = net.connect(port, "127.0.0.1")
  socket.once("connect", () => socket.write(Uint8Array.of(directions[direction], size === 0 ? 0 : 1)))
  return socket
}

/** Sends bytes through a port to a {@link bulkServer} of the same size; with size 0 only asks whether it is there. */
export const upload = (port: number, size: number, gate: Gate = () => Promise.resolve()): Transfer => {
  let bytes = 0
  const done = new Promise<{ readonly sent: string; readonly received: string }>((resolve, reject) => {
    let [sent, received] = ["", ""]
    const socket = opened(port, size, "up")
    socket.once("connect", () =>
      sendAll(
        socket,
        { size, gate },
        (count) => {
          bytes = count
        },
        (digest) => {
          sent = digest
        }
      )
    )
    socket.setEncoding("latin1").on("data", (text: string) => {
      received += text
      if (received.length === digestLength) resolve({ sent, received })
    })
    socket.once("error", reject).once("close", () => reject(new Error(`the upload broke after ${bytes} bytes`)))
  })
  return { bytes: () => bytes, done }
}

/** Receives bytes through a port from a {@link bulkServer} of the same size. */
export const download = (port: number, size: number): Transfer => {
  let bytes = 0
  const done = new Promise<{ readonly sent: string; readonly received: string }>((resolve, reject) => {
    const hash = createHash("sha256")
    let sent = ""
    const socket = opened(port, size, "down")
    socket.on("data", (found: Buffer) => {
      const content = found.subarray(0, Math.max(0, size - bytes))
      hash.update(content)
      bytes += content.length
      sent += found.subarray(content.length).toString()
      if (sent.length === digestLength) resolve({ sent, received: hash.digest("hex") })
    })
    socket.once("error", reject).once("close", () => reject(new Error(`the download broke after ${bytes} bytes`)))
  })
  return { bytes: () => bytes, done }
}
