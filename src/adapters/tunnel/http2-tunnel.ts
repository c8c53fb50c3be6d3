/**
 * A tunnel over one TLS connection that stands: HTTP/2 with its roles reversed. The cell is the client of HTTP/2 and
 * opens a lane as a stream CONNECT; the outpost, which has dialled, is the server. Each lane has a window of its own.
 *
 * Not here: TLS and who may have a tunnel (cell-listener.ts, tunnel-dialler.ts), and what is said on the control lane
 * (domain/outbound).
 */

import { createHmac } from "node:crypto"
import { type Http2Session, type Http2Stream, constants } from "node:http2"
import { Duplex } from "node:stream"
import type { TLSSocket } from "node:tls"
import { Deferred, Effect } from "effect"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import type { Tunnel } from "../../ports/tunnel.ts"

/** The protocol's name in TLS (ALPN). A change that an older side would not understand gets another number. */
export const tunnelProtocol = "braid-tunnel/1"
/** The lanes that there are. No host and no port ever comes over a tunnel. */
export const laneNames = { control: "control", api: "api", people: "people" } as const

const kibibyte = 1024
/** Bytes that a lane, and that a whole tunnel, may have under way. Node's own windows of 64 KiB are slow afar. */
const laneWindow = 256 * kibibyte
const tunnelWindow = 4 * 1024 * kibibyte
/** Streams that the outpost announces: above that Node lets a lane wait without a word. */
export const announcedStreams = 1_000
/** Longest line of the control lane, and the most that waits there for a side that does not read, in bytes. */
const maxLine = 1024 * kibibyte
const maxWaiting = 4 * maxLine
/** How long the last bytes of a tunnel that was ended may take, in ms. A busy member may read its refusal late. */
const farewell = 5_000

/** The most memory of a session in MB: that of all lanes with full windows. */
const maxSessionMemory = 320
export const sessionOptions = { maxSessionMemory, settings: { initialWindowSize: laneWindow, enablePush: false } }

const ignored = (): void => undefined

/**
 * The stream as a lane. A stream that the other side gives up would otherwise end like one that it has finished, and
 * half of an answer would pass for a whole one.
 */
export const asLane = <A extends Http2Stream>(stream: A): A => {
  stream.on("error", ignored)
  stream.on("aborted", () => stream.destroy(new Error("the other side of the tunnel has given this lane up")))
  return stream
}

/** The error of a lane whose tunnel has ended. */
export const laneError = (why: string): Error => new Error(`the tunnel has ended: ${why}`)

/** A lane that never was. */
export const failedLane = (why: Error): Duplex =>
  new Duplex({ read: ignored, write: (_chunk, _encoding, done) => done() }).on("error", ignored).destroy(why)

/** Closes a socket whose other side may be gone, so that its last bytes may never be taken. */
const cutLater = (socket: TLSSocket): void => {
  const timer = setTimeout(() => socket.destroy(), farewell).unref()
  socket.once("close", () => clearTimeout(timer))
}

/** Ends a session with a reason, which the other side hears. */
const sayGoodbye = (session: Http2Session, socket: TLSSocket, code: number, why: string): void => {
  cutLater(socket)
  if (session.destroyed) return
  session.goaway(code, 0, Buffer.from(cleanText(why, textLimits.message)))
  session.destroy(laneError(why))
}

/** Ends a connection on which there is to be no tunnel, and says why, in the way in which tunnels end. */
export const refuse = (session: Http2Session, socket: TLSSocket, why: string): void => {
  session.on("error", ignored)
  sayGoodbye(session, socket, constants.NGHTTP2_REFUSED_STREAM, why)
}

/** The label of the key that both ends derive from their TLS connection (RFC 8446, 7.5). */
const bindingLabel = "EXPORTER-braid-tunnel-hello"

export class Http2Tunnel implements Tunnel {
  readonly binding: string
  readonly ended: Effect.Effect<string>
  /** The reason of the end; `undefined` while the tunnel stands. */
  protected reason: string | undefined
  readonly #session: Http2Session
  readonly #socket: TLSSocket
  readonly #end = Deferred.makeUnsafe<string>()
  #control: Http2Stream | undefined
  #isRefused = false

  /** `session`: just made on this socket. */
  constructor(session: Http2Session, socket: TLSSocket) {
    this.#session = session
    this.#socket = socket
    this.ended = Deferred.await(this.#end)
    const key = socket.exportKeyingMaterial(32, bindingLabel, Buffer.alloc(0))
    this.binding = createHmac("sha256", key).update("hello").digest("hex")
    session.setLocalWindowSize(tunnelWindow)
    session.on("error", ({ message }) => this.#broken(`the connection broke: ${message}`))
    session.on("close", () => this.#broken("the connection was closed"))
    session.on("goaway", (code, _last, data) => {
      this.#isRefused = code === constants.NGHTTP2_REFUSED_STREAM
      const why = cleanText(Buffer.from(data ?? []).toString("utf8"), textLimits.message)
      this.#broken(why === "" ? "the other side ended the tunnel without a reason" : why)
    })
    // Before the session's own, which end the lanes as if they were finished.
    socket.prependListener("error", ({ message }) => this.#broken(`the connection broke: ${message}`))
    socket.prependListener("close", () => {
      if (!session.destroyed) this.#broken("the connection was closed by the other side or on the way")
    })
  }

  /** Whether the other side has ended the tunnel as one that it does not want ({@link refuse}). */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** Takes the control lane. Called once, before the tunnel is used. */
  control(stream: Http2Stream): this {
    this.#control = asLane(stream)
    const over = (): void => this.destroy("the other side has ended the control lane")
    stream.once("end", over).once("close", over)
    return this
  }

  readonly send = (line: string): void => {
    if (this.reason !== undefined || this.#control === undefined) return
    this.#control.write(`${line}\n`)
    if (this.#control.writableLength > maxWaiting) this.destroy("the other side does not read the control lane")
  }

  readonly listen = (onLine: (line: string) => void): void => {
    let rest: Buffer = Buffer.alloc(0)
    this.#control?.on("data", (chunk: Buffer) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let from = 0
      for (let end = bytes.indexOf("\n", rest.length); end !== -1; end = bytes.indexOf("\n", from)) {
        if (this.reason !== undefined || end - from > maxLine) break
        onLine(bytes.toString("utf8", from, end))
        from = end + 1
      }
      rest = bytes.subarray(from)
      if (rest.length > maxLine) this.destroy(`a line of the control lane has more than ${maxLine} bytes`)
    })
  }

  readonly received = (): number => this.#socket.bytesRead

  readonly destroy = (why: string): void => {
    if (!this.#ends(why)) return
    // Not in the turn of bytes that came: a session that ends in it does not send its reason.
    setImmediate(() => sayGoodbye(this.#session, this.#socket, constants.NGHTTP2_NO_ERROR, why))
  }

  /** The other side has ended the tunnel, or its connection is gone. */
  #broken(why: string): void {
    if (!this.#ends(why)) return
    this.#session.destroy(laneError(why))
    cutLater(this.#socket)
  }

  /** Whether this is the end. */
  #ends(why: string): boolean {
    if (this.reason !== undefined) return false
    this.reason = why
    return Deferred.doneUnsafe(this.#end, Effect.succeed(why))
  }
}
