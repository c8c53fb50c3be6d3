/**
 * The part that is common to all frame channels over a socket: writing, the brake, and one end with a reason. The
 * socket is not read before the channel is opened, so nothing has to be kept until then.
 *
 * Not here: what the bytes of the socket mean (adapters/websocket, adapters/agents).
 */

import type { Duplex } from "node:stream"
import type { FrameChannel, FrameHandlers } from "../../ports/frame-channel.ts"
import { Passing } from "./forwarding.ts"
import type { MessageRoom, Share } from "./message-room.ts"
import { type Format, Outlet } from "./outlet.ts"
import { timeRead } from "./timed-read.ts"
import { maxMessageTime, UnfinishedWatch } from "./unfinished-watch.ts"

/** How long a peer that takes nothing may take to finish closing before its socket is cut, in ms. */
const closeGrace = 5_000

/** How often a closing peer that goes on taking what is queued gets that time again: five minutes in all. */
const maxGraces = 60

/** The most bytes that come with one read. */
const maxRead = 64 * 1024

/** Bytes up to which an unfinished message takes no share of the room: a message like most. */
const smallUntil = 2 * maxRead

/** How a channel reads and writes. */
export interface ChannelOptions {
  readonly reads: Format
  readonly writes: Format
  /** For unfinished messages, shared by all channels; without it they are bounded one by one only. */
  readonly room?: MessageRoom | undefined
}

const outletOf = (channel: FrameChannel): Outlet | undefined =>
  channel instanceof SocketChannel ? channel.outlet : undefined

export abstract class SocketChannel implements FrameChannel {
  readonly outlet: Outlet
  protected readonly socket: Duplex
  protected readonly passing: Passing
  protected readonly watch: UnfinishedWatch
  protected handlers: FrameHandlers | undefined
  /** The channel has ended, or `close` was called: nothing is delivered any more. */
  protected isOver = false
  #endedEarly: string | undefined
  #isPaused = false
  #finishedBefore = 0
  readonly #room: MessageRoom | undefined
  /** Made when the first message needs it. */
  #share: Share | undefined
  #grace: NodeJS.Timeout | undefined

  constructor(socket: Duplex, { reads, room, writes }: ChannelOptions) {
    this.socket = socket
    this.#room = room
    this.outlet = new Outlet(socket, writes, (wasFull) => this.emptied(wasFull))
    this.passing = new Passing(reads, outletOf)
    this.watch = new UnfinishedWatch(this, () => this.#giveUp())
    socket.pause()
    socket.on("data", (chunk: Buffer) => this.#came(chunk))
    socket.on("end", () => this.left())
    socket.on("error", (error: Error) => this.gone(error.message))
    socket.on("close", () => this.gone(this.absent))
  }

  /** Whether a message is begun and not finished, and how many were finished. */
  abstract get isUnfinished(): boolean
  abstract get finished(): number
  /** The memory that the unfinished message holds when `more` further bytes have come; 0 if there is none. */
  protected abstract after(more: number): number
  /** The most bytes that the unfinished message may have. */
  protected abstract get most(): number
  /** Gives up the unfinished message, and keeps no other. */
  protected abstract forget(): void
  /** The reason of an end without a word. */
  protected abstract readonly absent: string
  protected abstract read(chunk: Buffer): void
  /** The other side has ended its writing side. */
  protected abstract left(): void
  /** A message took too long. `isForRoom`: it waited for room. */
  protected abstract unfinished(why: string, isForRoom: boolean): void

  get isPaused(): boolean {
    return this.#isIdle || this.waitsForRoom()
  }

  get isExcused(): boolean {
    return this.#isIdle && !this.#isInTheWay
  }

  /** A large message that is not read on may not keep room from others for ever. */
  get #isInTheWay(): boolean {
    const room = this.#room
    return room?.isWanted === true && this.#share !== undefined && this.#share.held > room.size / 16
  }

  get #isIdle(): boolean {
    return this.#isPaused || this.handlers === undefined
  }

  readonly waitsForRoom = (): boolean => this.#share !== undefined && this.#room?.isWaiting(this.#share) === true

  readonly send = (bytes: Uint8Array): void => this.outlet.send(bytes)

  readonly acknowledge = (): void => this.outlet.begin()

  readonly queuedBytes = (): number => this.outlet.queued

  readonly pause = (): void => {
    this.#isPaused = true
    if (!this.isOver) this.socket.pause()
  }

  readonly resume = (): void => {
    this.#isPaused = false
    this.#readOn()
  }

  #readOn(): void {
    if ((!this.#isIdle || this.isOver) && !this.waitsForRoom()) this.socket.resume()
  }

  readonly close = (): void => {
    if (this.isOver) return
    this.isOver = true
    this.#stopKeeping()
    this.sayGoodbye()
    this.cutLater()
    // Unread input would hide the other side's end, so it is read on.
    this.#readOn()
  }

  readonly open = (handlers: FrameHandlers): void => {
    if (this.#endedEarly !== undefined) return handlers.ended(this.#endedEarly)
    if (this.isOver) return
    this.handlers = handlers
    this.passing.handle(handlers)
    this.#readOn()
  }

  /** Everything that was queued was taken by the network. */
  protected emptied(wasFull: boolean): void {
    if (wasFull && !this.isOver) this.handlers?.drained()
  }

  /** To be called after each read: looks after what is unfinished, and takes a share of the room or waits for it. */
  protected settle(): void {
    if (this.isOver) return
    this.watch.look()
    if (this.finished !== this.#finishedBefore) this.#finishedBefore = this.finished
    else if (this.isUnfinished) this.handlers?.part?.()
    const room = this.#room
    if (room === undefined) return
    const after = this.after(maxRead)
    if (after <= smallUntil && this.#share === undefined) return
    this.#share ??= { held: 0, wanted: 0, most: 0, granted: () => this.#readOn() }
    if (after <= smallUntil) room.leave(this.#share)
    else if (!room.take(this.#share, after, this.most)) this.socket.pause()
  }

  #came(chunk: Buffer): void {
    const taken = this.handlers?.timeRead?.()
    if (taken === undefined) this.read(chunk)
    else timeRead(this.socket, taken, () => this.read(chunk))
  }

  #giveUp(): void {
    const within = `within ${maxMessageTime / 1_000} s`
    if (!this.waitsForRoom()) return this.unfinished(`a message was begun and not finished ${within}`, false)
    const size = Math.round((this.#room?.size ?? 0) / 1024 / 1024)
    this.unfinished(
      `a large message found no room ${within}: the unfinished messages of other connections fill the ${size} MiB ` +
        "that all may have together",
      true
    )
  }

  /** Nothing is delivered any more, so nothing needs to be kept. */
  #stopKeeping(): void {
    this.passing.handle(undefined)
    this.watch.stop()
    this.forget()
    if (this.#share !== undefined) this.#room?.leave(this.#share)
  }

  /** Begins the end of this side, behind what is queued. */
  protected abstract sayGoodbye(): void

  /** Ends the channel for its user. */
  protected end(reason: string): void {
    if (this.isOver) return
    this.isOver = true
    this.#stopKeeping()
    if (this.handlers === undefined) this.#endedEarly = reason
    else this.handlers.ended(reason)
  }

  /** Cuts the socket if it does not end by itself, soon after the peer has stopped to take what is queued. */
  protected cutLater(): void {
    if (this.#grace !== undefined || this.socket.destroyed) return
    let [graces, queued] = [1, this.outlet.queued]
    const check = (): void => {
      const before = queued
      queued = this.outlet.queued
      if (queued >= before || graces++ >= maxGraces) this.socket.destroy()
    }
    this.#grace = setInterval(check, closeGrace)
    this.#grace.unref()
  }

  /** Cuts the socket. */
  terminate(): void {
    this.socket.destroy()
  }

  protected gone(reason: string): void {
    clearInterval(this.#grace)
    this.outlet.stop()
    this.socket.destroy()
    this.end(reason)
  }
}
