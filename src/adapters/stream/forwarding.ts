/**
 * Forwards whole messages of one reader: by its first bytes each goes to another channel, or to the handler. A message
 * that begins like the one before it, and is as long, passes as the earlier message did (bulk-row.ts). Messages in a
 * row that pass to one channel in the form in which they came leave as one piece.
 *
 * Not here: finding messages in a stream (frame-reader.ts, agent-channel.ts), and writing (outlet.ts).
 */

import { BulkRow } from "../../domain/protocol/bulk-row.ts"
import { headLength } from "../../domain/protocol/bulk.ts"
import { maxFrame } from "../../domain/websocket/frame-header.ts"
import { mask } from "../../domain/websocket/mask.ts"
import {
  addTo,
  type FrameChannel,
  type FrameHandlers,
  type FrameRoute,
  type Tally,
  withRouteId
} from "../../ports/frame-channel.ts"
import { MessageInPlace, noPieces } from "./message-in-place.ts"
import type { Format, Outlet } from "./outlet.ts"

/** Messages from this length on are given away in the buffer in which they were collected. */
const aloneFrom = 16 * 1024

/** The outlet of a channel that carries messages in place. */
export type OutletOf = (channel: FrameChannel) => Outlet | undefined

export class Passing {
  /** The message that {@link whole} is about. */
  readonly message = new MessageInPlace()
  readonly #format: Format
  readonly #outletOf: OutletOf
  readonly #head = new Uint8Array(headLength)
  #handlers: FrameHandlers | undefined
  #tally: Tally | undefined
  /** The messages that pass as the last one did: nothing was delivered since. */
  readonly #row = new BulkRow()
  #route: FrameRoute | undefined
  #outlet: Outlet | undefined
  /** Messages `#from` to `#until` of `#bytes`, headers and all, go to `#run`. */
  #run: Outlet | undefined
  #bytes: Uint8Array = this.#head
  #from = 0
  #until = 0
  #hasPassed = false
  #lastTo: FrameChannel | undefined
  #lastOutlet: Outlet | undefined

  /** `format`: the form in which messages are read. */
  constructor(format: Format, outletOf: OutletOf) {
    this.#format = format
    this.#outletOf = outletOf
  }

  /** Sets the handlers that route and get the messages; with `undefined` none is routed or delivered any more. */
  handle(handlers: FrameHandlers | undefined): void {
    this.#handlers = handlers
    this.#tally = handlers?.tally
    this.#row.end()
  }

  /** The message is whole; its header begins at `start`. */
  whole(start: number): void {
    const { at, bytes, key, length } = this.message
    if (this.#row.goesOn(bytes, at, length, key) || this.#routeOf()) this.#pass(start)
  }

  /**
   * Passes on a message that is as long as the last one and lies in the same bytes, if it goes on with the row. Its
   * header begins at `start`, the message itself at `at`.
   */
  repeat(start: number, at: number, key: number): boolean {
    const { message } = this
    if (!this.#row.goesOn(message.bytes, at, message.length, key)) return false
    message.at = at
    message.key = key
    this.#pass(start)
    return true
  }

  /** Asks for the message's way. `false`: it does not pass where it lies, and is handed over. */
  #routeOf(): boolean {
    const { message } = this
    const handlers = this.#handlers
    this.#row.end()
    if (handlers === undefined) return false
    const head = this.#headOf(message)
    // A message that needs more than one frame does not pass where it lies. Another id may be longer by 8 bytes.
    const route = message.length > maxFrame - 8 ? undefined : handlers.routeOf?.(head, message.length)
    if (route === undefined) {
      this.#deliver(handlers)
      return false
    }
    this.#hasPassed = true
    const outlet = route.to === this.#lastTo ? this.#lastOutlet : this.#find(route.to)
    if (outlet === undefined) {
      this.#send(route)
      return false
    }
    this.#route = route
    this.#outlet = outlet
    this.#row.begin(head, message.length, route.idAt + route.idLength)
    return true
  }

  /** Passes the message as the row does. */
  #pass(start: number): void {
    const { message } = this
    const route = this.#route
    const outlet = this.#outlet
    if (route === undefined || outlet === undefined) return
    addTo(this.#tally, message.length)
    this.#renumber(message, route)
    if (message.id !== undefined || outlet.format !== this.#format) {
      this.#flushRun()
      outlet.take(message)
    } else if (message.pieces.length > 0) this.#passPieces(outlet, start)
    else this.#extend(outlet, start)
  }

  /** Adds the message to those that pass together. */
  #extend(outlet: Outlet, start: number): void {
    const { message } = this
    if (outlet !== this.#run || start !== this.#until || message.bytes !== this.#bytes) {
      this.#flushRun()
      this.#run = outlet
      this.#bytes = message.bytes
      this.#from = start
    }
    this.#until = message.at + message.length
  }

  #passPieces(outlet: Outlet, start: number): void {
    const { bytes, pieces } = this.message
    this.#flushRun()
    outlet.run(bytes, start, bytes.length)
    for (const piece of pieces) outlet.run(piece, 0, piece.length)
  }

  /** Hands over what passed so far: what comes next must not overtake it, and may change how messages pass. */
  flush(): void {
    this.#row.end()
    this.#flushRun()
  }

  #flushRun(): void {
    const run = this.#run
    if (run === undefined) return
    this.#run = undefined
    run.run(this.#bytes, this.#from, this.#until)
    this.#bytes = this.#head
  }

  /** The messages of a read are handled. */
  finish(): void {
    this.flush()
    // A buffer that was read must not be kept alive by a quiet connection.
    this.message.bytes = this.#head
    this.message.pieces = noPieces
    if (!this.#hasPassed) return
    this.#hasPassed = false
    this.#handlers?.passed?.()
  }

  #find(to: FrameChannel): Outlet | undefined {
    this.#lastTo = to
    this.#lastOutlet = this.#outletOf(to)
    return this.#lastOutlet
  }

  #headOf({ at, bytes, key, length }: MessageInPlace): Uint8Array {
    const head = this.#head
    const count = length < headLength ? length : headLength
    const k0 = key & 255
    const k1 = (key >>> 8) & 255
    const k2 = (key >>> 16) & 255
    const k3 = key >>> 24
    // A few bytes behind a short message are of no meaning, and the head has room for them.
    for (let i = 0; i < count; i += 4) {
      head[i] = (bytes[at + i] ?? 0) ^ k0
      head[i + 1] = (bytes[at + i + 1] ?? 0) ^ k1
      head[i + 2] = (bytes[at + i + 2] ?? 0) ^ k2
      head[i + 3] = (bytes[at + i + 3] ?? 0) ^ k3
    }
    return head
  }

  /** Writes an id of the same length where the old one is; another one is written by the outlet. */
  #renumber(message: MessageInPlace, { id, idAt, idLength }: FrameRoute): void {
    message.id = undefined
    if (id === undefined) return
    if (id.length === idLength) {
      const { bytes, key } = message
      const at = message.at + idAt
      for (let i = 0; i < idLength; i++) bytes[at + i] = (id[i] ?? 0) ^ ((key >>> (((idAt + i) & 3) * 8)) & 255)
      return
    }
    message.id = id
    message.idAt = idAt
    message.idLength = idLength
  }

  #deliver(handlers: FrameHandlers): void {
    this.flush()
    handlers.message(this.#own())
  }

  /** To a channel of another technique. */
  #send(route: FrameRoute): void {
    this.flush()
    addTo(this.#tally, this.message.length)
    route.to.send(withRouteId(this.#own(), route))
  }

  /** The message's bytes, unmasked, in a buffer that the receiver may keep. */
  #own(): Uint8Array {
    const { at, bytes, isAlone, key, length, pieces, until } = this.message
    if (isAlone && length >= aloneFrom) {
      mask(bytes, at, at + length, key)
      return new Uint8Array(bytes.buffer, bytes.byteOffset + at, length)
    }
    const own = new Uint8Array(length)
    own.set(bytes.subarray(at, until))
    let filled = until - at
    for (const piece of pieces) {
      own.set(piece, filled)
      filled += piece.length
    }
    mask(own, 0, length, key)
    return own
  }
}
