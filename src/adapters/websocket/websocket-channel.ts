/**
 * A frame channel over one WebSocket whose handshake is done: binary messages in and out, control frames answered, the
 * closing handshake (RFC 6455 §7), and one end with a reason.
 *
 * Not here: opening the socket (member-link.ts, accept-websocket.ts) and what the messages mean.
 */

import { EventEmitter } from "node:events"
import type { Duplex } from "node:stream"
import { maxMessage } from "../../domain/protocol/frame-cutter.ts"
import { closePayload, closingText, readClosing } from "../../domain/websocket/close-payload.ts"
import { opcode } from "../../domain/websocket/frame-header.ts"
import type { Violation } from "../../domain/websocket/violation.ts"
import type { MessageRoom } from "../stream/message-room.ts"
import { SocketChannel } from "../stream/socket-channel.ts"
import { FrameReader } from "./frame-reader.ts"
import { awaitPings } from "./pings-awaited.ts"

/**
 * Bytes of pongs that wait for a peer that does not read. Beyond them only the latest ping is answered, and later, as
 * RFC 6455 §5.5.3 allows.
 */
const maxPongs = 16 * 1024

/** Close codes (RFC 6455 §7.4.1). */
const normal = 1000
const goingAway = 1001
const policy = 1008
const tryLater = 1013

/** The end of a connection without a close frame. */
const abnormal = "code 1006"

export interface WebSocketOptions {
  /** Whether this process is the WebSocket's server: then the peer masks, and this side does not. */
  readonly isServer: boolean
  /**
   * Silence after which the other side counts as gone, in ms. It does not count while the other side has sent no
   * WebSocket ping. `undefined` if silence has no limit.
   */
  readonly pingsWithin?: number | undefined
  /** The most bytes of a message; {@link maxMessage} by default. */
  readonly largest?: number
  /** For unfinished messages, shared by all channels; without it they are bounded one by one only. */
  readonly room?: MessageRoom | undefined
}

/**
 * Only binary messages count, and nothing else is sent: the real client takes any other frame for an error
 * (operator-api.md §8.4).
 */
export class WebSocketChannel extends SocketChannel {
  protected readonly absent = abnormal
  readonly #reader: FrameReader
  readonly #signals = new EventEmitter()
  /** A close frame was sent. */
  #isClosing = false
  #pongBytes = 0
  #unansweredPing: Uint8Array | undefined

  constructor(socket: Duplex, options: WebSocketOptions) {
    const { isServer, largest = maxMessage, pingsWithin, room } = options
    const formats = isServer
      ? ({ reads: "masked", writes: "plain" } as const)
      : ({ reads: "plain", writes: "masked" } as const)
    super(socket, { ...formats, room })
    this.#reader = new FrameReader(
      this.passing,
      {
        message: (bytes) => {
          if (!this.isOver) this.handlers?.message(bytes)
        },
        text: () => {
          if (!this.isOver) this.handlers?.ignored("text frame")
        },
        control: (code, payload) => this.#control(code, payload),
        violated: (violation) => this.#violated(violation)
      },
      { isMasked: isServer, largest }
    )
    if (pingsWithin !== undefined) {
      awaitPings(this, pingsWithin, () => {
        this.end(`no ping and no message for ${Math.round(pingsWithin / 1_000)} s`)
        this.terminate()
      })
    }
  }

  get isUnfinished(): boolean {
    return this.#reader.isUnfinished
  }

  get finished(): number {
    return this.#reader.finished
  }

  /** Reports pings, pongs, anything that came (`message`), and the socket's end. */
  readonly on = (event: "ping" | "pong" | "message" | "close", listener: () => void): void => {
    this.#signals.on(event, listener)
  }

  /** Sends a ping. The real client must never get one. */
  ping(): void {
    this.outlet.control(opcode.ping, new Uint8Array(0))
  }

  /** Closes the channel as {@link close} does, and tells the peer that this process ends. */
  goAway(): void {
    if (!this.isOver) this.#sendClose(goingAway)
    this.close()
  }

  protected after(more: number): number {
    return this.#reader.after(more)
  }

  protected get most(): number {
    return this.#reader.most
  }

  protected forget(): void {
    this.#reader.drop()
  }

  protected read(chunk: Buffer): void {
    this.#reader.read(chunk)
    this.settle()
    this.#signals.emit("message")
  }

  protected left(): void {
    this.end(abnormal)
    this.#endSocket()
  }

  protected unfinished(why: string, isForRoom: boolean): void {
    this.#violated({ code: isForRoom ? tryLater : policy, text: why })
  }

  protected sayGoodbye(): void {
    this.#sendClose(normal)
  }

  protected override emptied(wasFull: boolean): void {
    this.#pongBytes = 0
    const ping = this.#unansweredPing
    this.#unansweredPing = undefined
    if (ping !== undefined) this.#pong(ping)
    super.emptied(wasFull)
  }

  protected override gone(reason: string): void {
    this.#reader.stop()
    super.gone(reason)
    this.#signals.emit("close")
  }

  #control(code: number, payload: Uint8Array): void {
    if (code === opcode.close) return this.#closed(payload)
    if (code === opcode.pong) return void this.#signals.emit("pong")
    this.#pong(payload)
    this.#signals.emit("ping")
  }

  #pong(payload: Uint8Array): void {
    if (this.#pongBytes > maxPongs) {
      this.#unansweredPing = payload
      return
    }
    this.#pongBytes += payload.length + 2
    this.outlet.control(opcode.pong, payload)
  }

  /** The peer has sent a close frame, which is its last. */
  #closed(payload: Uint8Array): void {
    const closing = readClosing(payload)
    if ("text" in closing) return this.#violated(closing)
    this.#reader.stop()
    this.#sendClose(closing.code)
    this.#endSocket()
    this.end(closingText(closing))
  }

  #violated({ code, text }: Violation): void {
    this.#reader.stop()
    this.#sendClose(code)
    this.#endSocket()
    this.end(text)
  }

  /** Sends a close frame, once. Nothing is sent behind it. */
  #sendClose(code: number): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.outlet.control(opcode.close, closePayload(code))
    this.outlet.shut()
  }

  /** Ends this side. The rest of the peer's bytes is read and dropped, because its end comes behind them. */
  #endSocket(): void {
    this.outlet.end()
    this.socket.resume()
    this.cutLater()
  }
}
