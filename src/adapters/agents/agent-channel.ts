/**
 * Connections to agents over TCP: dials them and finds the messages in their stream. `pod-agents.ts` decides which
 * agents there are.
 */

import net from "node:net"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { daemonBulk } from "../../domain/protocol/bulk.ts"
import { DaemonMessage, daemonMessage } from "../../domain/protocol/daemon-message.ts"
import { FrameCutter, maxMessage } from "../../domain/protocol/frame-cutter.ts"
import { AgentUnreachable } from "../../ports/agents.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { Kept } from "../stream/kept.ts"
import { noPieces } from "../stream/message-in-place.ts"
import type { MessageRoom } from "../stream/message-room.ts"
import { SocketChannel } from "../stream/socket-channel.ts"
import { type AgentTls, type Handshake, secureAgent } from "./secure-agent.ts"

/** How long an agent may take to accept a connection, in ms. */
const dialTimeout = 10_000
/**
 * How long a connection may be idle before the system asks whether the other side is still there, in ms. It keeps idle
 * connections in the tables of the machines between; an agent that hangs is not noticed by it.
 */
const keepAliveAfter = 15_000

/** Bytes in which an unfinished message looks for its end. */
const cutAtOnce = 4 * 1024

const newCutter = () => new FrameCutter(daemonMessage, DaemonMessage)

/**
 * A {@link FrameChannel} over an agent's raw TCP stream, which has no message boundaries (wire.md §1.3). Bulk messages
 * are recognised where they lie; all others are cut out and checked.
 */
export class AgentChannel extends SocketChannel {
  finished = 0
  protected readonly absent = "the connection to the agent is gone"
  #cutter = newCutter()
  /** A bulk message whose end has not been read. */
  readonly #kept = new Kept()

  constructor(socket: Duplex, room?: MessageRoom) {
    super(socket, { reads: "raw", writes: "raw", room })
  }

  get isUnfinished(): boolean {
    return !this.#kept.isEmpty || this.#cutter.pending > 0
  }

  protected after(more: number): number {
    return this.#kept.after(more) + this.#cutter.after(more)
  }

  protected get most(): number {
    return this.#kept.isEmpty ? maxMessage : this.#kept.total
  }

  protected forget(): void {
    this.#kept.clear()
    this.#cutter = newCutter()
  }

  protected read(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length && !this.isOver) {
      if (!this.#kept.isEmpty) at = this.#complete(chunk, at)
      else if (this.#cutter.pending > 0) at = this.#cut(chunk, at)
      else at = this.#scan(chunk, at)
    }
    this.passing.finish()
    this.settle()
  }

  protected left(): void {
    this.#fail(this.isUnfinished ? "the agent's stream broke off inside a message" : "the agent closed the connection")
  }

  protected unfinished(why: string): void {
    this.#fail(`from the agent: ${why}`)
  }

  protected sayGoodbye(): void {
    this.outlet.end()
  }

  /** Reads bulk messages where they lie, as far as they are whole. */
  #scan(chunk: Buffer, from: number): number {
    const { message } = this.passing
    const end = chunk.length
    let at = from
    message.bytes = chunk
    message.isAlone = false
    while (at < end && !this.isOver) {
      const length = daemonBulk.measure(chunk, at, end)
      if (length === 0 || length > maxMessage) return this.#cut(chunk, at)
      if (length > end - at) {
        this.#kept.expect(length)
        return this.#kept.fill(chunk, at)
      }
      this.#take(at, length)
      at = this.#repeat(at + length, end, length)
    }
    return at
  }

  /** Passes messages of `length` bytes on that go on with a row. Gives the place behind them. */
  #repeat(from: number, end: number, length: number): number {
    let at = from
    for (; end - at >= length && this.passing.repeat(at, at, 0); at += length) this.finished++
    return at
  }

  #take(at: number, length: number): void {
    const { message } = this.passing
    message.at = at
    message.length = length
    this.finished++
    this.passing.whole(at)
  }

  #complete(chunk: Buffer, from: number): number {
    const kept = this.#kept
    const at = kept.fill(chunk, from)
    if (kept.isWhole) this.#takeKept()
    return at
  }

  #takeKept(): void {
    const kept = this.#kept
    const { message } = this.passing
    const { length } = kept
    message.bytes = kept.bytes
    message.pieces = kept.pieces
    message.isAlone = message.pieces.length === 0
    kept.clear()
    this.#take(0, length)
    this.passing.flush()
    message.pieces = noPieces
  }

  /** Cuts one message out of the stream, whatever it is. The rest of an unfinished one is copied, so only a part is. */
  #cut(chunk: Buffer, from: number): number {
    const until = this.#cutter.pending > 0 ? from + cutAtOnce : chunk.length
    const { error, frame, used } = this.#cutter.next(chunk.subarray(from, until))
    if (frame !== undefined) {
      this.passing.flush()
      this.#takeCut(frame)
    }
    if (error !== undefined) {
      this.passing.flush()
      this.#fail(`${error.path}: ${error.message}`)
    }
    return from + used
  }

  #takeCut(frame: Uint8Array): void {
    const { message } = this.passing
    message.bytes = frame
    message.isAlone = frame.length * 2 > frame.buffer.byteLength
    this.#take(0, frame.length)
    this.passing.flush()
  }

  #fail(reason: string): void {
    this.end(reason)
    this.socket.destroy()
  }
}

export interface DialOptions {
  /** For messages that are not finished; without it they are bounded one by one only. */
  readonly room?: MessageRoom
  /** How long the agent may take to accept, and then for the TLS handshake, in ms. */
  readonly timeout?: number
  /** Undefined: the connection is clear text. */
  readonly tls?: AgentTls | undefined
}

/** Cuts the connection if the handshake takes too long: an agent that speaks clear text waits for us. */
const handshake = (socket: net.Socket, tls: AgentTls, timeout: number, { failed, secured }: Handshake): void => {
  const timer = setTimeout(
    () => failed(`no TLS handshake within ${timeout} ms: it speaks clear text, or hangs`),
    timeout
  )
  socket.once("close", () => clearTimeout(timer))
  // TLS reports the errors below it.
  socket.on("error", () => undefined)
  secureAgent(socket, tls, {
    secured: (secure) => {
      clearTimeout(timer)
      secured(secure)
    },
    failed
  })
}

/**
 * Dials an agent. The connection is the agent's client from its first moment: an agent whose only client leaves exits
 * soon, so never dial one to see whether it is there (agent.md §3.5). With `tls` nothing is ever sent in clear text.
 */
export const dialAgent = (
  host: string,
  port: number,
  { room, timeout = dialTimeout, tls }: DialOptions = {}
): Effect.Effect<FrameChannel, AgentUnreachable> =>
  Effect.callback<FrameChannel, AgentUnreachable>((resume) => {
    const socket = net.connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveAfter
    })
    socket.pause()
    const failed = (reason: string, isRefused = false): void => {
      socket.destroy()
      resume(Effect.fail(new AgentUnreachable({ agent: `${host}:${port}`, detail: reason, isRefused })))
    }
    const onError = (error: NodeJS.ErrnoException): void => failed(error.message, error.code === "ECONNREFUSED")
    socket.once("error", onError)
    const opened = (connection: Duplex): void => {
      socket.off("error", onError)
      resume(Effect.succeed(new AgentChannel(connection, room)))
    }
    const onTimeout = (): void => failed(`no connection within ${timeout} ms`)
    socket.setTimeout(timeout, onTimeout)
    socket.once("connect", () => {
      // With its listener: that would hold the dialling fiber as long as the socket lives.
      socket.setTimeout(0, onTimeout)
      if (tls === undefined) opened(socket)
      else handshake(socket, tls, timeout, { secured: opened, failed })
    })
    return Effect.sync(() => socket.destroy())
  })
