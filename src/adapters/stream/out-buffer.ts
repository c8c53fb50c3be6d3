/**
 * Bytes on their way into a socket. Small pieces are collected in a slab of memory and leave together, at the end of
 * the event loop's turn; large ones are written where they are. While the socket does not take what it has, pieces go
 * on being collected, so that a queue costs what its bytes cost. A socket that has taken everything holds no slab.
 *
 * A socket is given little at a time: it would encrypt all that it has at once, and says only of whole writes that they
 * were taken.
 *
 * Not here: frames (outlet.ts).
 */

import type { Duplex } from "node:stream"
import { mask, turned } from "../../domain/websocket/mask.ts"
import { takeTimedRead } from "./timed-read.ts"

const slabSize = 64 * 1024

/** Slabs that are kept for the next use, by all sockets. */
const maxFree = 32

/** Writes under way beyond which pieces are collected instead of being written. */
const maxWrites = 4

/** Bytes that a socket may have to write before the next piece waits, and the longest piece that it gets. */
const window = 128 * 1024

/** Bytes that a socket may have to write before it counts as behind. */
const behindFrom = 256 * 1024

/** Pieces that are shorter are copied byte by byte, because a call of `set` costs more. */
const byBytes = 32

interface Slab {
  readonly bytes: Buffer
  /** The same memory. */
  readonly view: DataView
  /** Writes of parts of the slab that are under way. */
  writes: number
}

/** A part of a slab, or a piece of its own. */
interface Part {
  readonly bytes: Uint8Array
  readonly slab: Slab | undefined
  /** The part behind it. */
  next: Part | undefined
}

const none = Buffer.alloc(0)
const nothing = new DataView(none.buffer, 0, 0)
const free: Array<Slab> = []

const newSlab = (): Slab => {
  const bytes = Buffer.allocUnsafeSlow(slabSize)
  return { bytes, view: new DataView(bytes.buffer), writes: 0 }
}

export class OutBuffer {
  readonly #socket: Duplex
  readonly #emptied: (wasFull: boolean) => void
  #slab: Slab | undefined
  /** The part of the slab that is collected and not written. */
  #from = 0
  #to = 0
  #writes = 0
  /** Parts that the socket is not given yet, and their bytes. */
  #first: Part | undefined
  #last: Part | undefined
  #waitingBytes = 0
  /** All bytes that the socket was given, and those that it has written. */
  #given = 0
  #written = 0
  /** The time of the read whose bytes come in this turn, if it is timed. */
  #timing: (() => void) | undefined
  /** Called when the bytes up to a place among all are written, the first place first. */
  readonly #timed: Array<{ readonly until: number; readonly taken: () => void }> = []
  #isEnding = false
  #isCorked = false
  #isTurnAwaited = false
  /** Whether the socket has asked to wait since the queue was empty. */
  #wasFull = false
  #isOver = false

  /** `emptied`: the network has taken everything; `wasFull`: the socket had asked to wait before. */
  constructor(socket: Duplex, emptied: (wasFull: boolean) => void) {
    this.#socket = socket
    this.#emptied = emptied
  }

  /** Bytes that the network has not taken. */
  get queued(): number {
    return this.#socket.writableLength + this.#waitingBytes + this.#to - this.#from
  }

  /** All bytes that were ever collected. */
  get total(): number {
    return this.#given + this.#waitingBytes + this.#to - this.#from
  }

  /** Whether the socket has so much to write that it matters what the memory of more would cost. */
  get isBehind(): boolean {
    return this.#socket.writableLength + this.#waitingBytes > behindFrom
  }

  /** Gives a slab with room for `length` bytes from {@link at} on. Call {@link filled} when they are there. */
  room(length: number): Uint8Array {
    if (this.#slab === undefined || this.#to + length > slabSize) this.#nextSlab()
    return this.#slab?.bytes ?? none
  }

  get at(): number {
    return this.#to
  }

  /** The room is filled up to `to`. */
  filled(to: number): void {
    this.#to = to
    if (!this.#isTurnAwaited) this.#awaitTurn()
  }

  /** Collects a copy of `bytes[from..until)`, masked. `key`: as of the byte at `from`. */
  append(bytes: Uint8Array, from: number, until: number, key: number): void {
    const length = until - from
    if (length > slabSize - this.#to) return this.#appendParts(bytes, from, until, key)
    if (this.#slab === undefined) this.#nextSlab()
    const into = this.#slab?.bytes ?? none
    const to = this.#to
    if (length < byBytes) for (let at = 0; at < length; at++) into[to + at] = bytes[from + at] ?? 0
    else into.set(bytes.subarray(from, until), to)
    mask(into, to, to + length, key)
    this.filled(to + length)
  }

  /** As {@link append}, of the `length` bytes at `from`, word by word: for so few of them, calls would cost more. */
  appendShort(bytes: DataView, from: number, length: number, key: number): void {
    if (this.#slab === undefined || length > slabSize - this.#to) this.#nextSlab()
    const into = this.#slab?.view ?? nothing
    const to = this.#to
    let at = 0
    for (; at + 3 < length; at += 4) into.setInt32(to + at, bytes.getInt32(from + at, true) ^ key, true)
    for (let bits = 0; at < length; at++, bits += 8) into.setUint8(to + at, bytes.getUint8(from + at) ^ (key >>> bits))
    this.filled(to + length)
  }

  #appendParts(bytes: Uint8Array, from: number, until: number, key: number): void {
    for (let at = from; at < until;) {
      this.room(1)
      const length = Math.min(until - at, slabSize - this.#to)
      this.append(bytes, at, at + length, turned(key, at - from))
      at += length
    }
  }

  /** Writes bytes where they are, behind what was collected. They must not be written to any more. */
  write(bytes: Uint8Array): void {
    this.#flush()
    for (let at = 0; at < bytes.length; at += window) this.#send(bytes.subarray(at, at + window), undefined)
    if (!this.#isTurnAwaited) this.#awaitTurn()
  }

  /** Writes everything that was collected, and ends the socket's writing side. */
  end(): void {
    if (this.#isOver) return
    this.#flush()
    this.#isEnding = true
    if (this.#first === undefined) this.#endNow()
    else this.#uncork()
  }

  #endNow(): void {
    this.#uncork()
    this.stop()
    this.#socket.end()
  }

  /** Nothing is written any more. */
  stop(): void {
    this.#isOver = true
    this.#slab = undefined
    this.#from = this.#to = 0
    this.#first = this.#last = undefined
    this.#waitingBytes = 0
    this.#timing = undefined
    this.#timed.length = 0
  }

  #awaitTurn(): void {
    this.#isTurnAwaited = true
    this.#timing = takeTimedRead(this.#socket)
    process.nextTick(this.#turned)
  }

  readonly #turned = (): void => {
    this.#isTurnAwaited = false
    if (this.#timing !== undefined) this.#noteTime(this.#timing)
    if (this.#writes < maxWrites || this.#socket.writableLength === 0) this.#flush()
    this.#uncork()
  }

  #uncork(): void {
    if (!this.#isCorked) return
    this.#isCorked = false
    this.#socket.uncork()
  }

  #flush(): void {
    const slab = this.#slab
    if (slab === undefined || this.#to === this.#from) return
    const part = slab.bytes.subarray(this.#from, this.#to)
    this.#from = this.#to
    this.#send(part, slab)
  }

  #send(bytes: Uint8Array, slab: Slab | undefined): void {
    if (this.#isOver) return
    this.#writes++
    if (slab !== undefined) slab.writes++
    if (this.#first === undefined && this.#socket.writableLength < window) return this.#give(bytes, slab)
    const part: Part = { bytes, slab, next: undefined }
    if (this.#last === undefined) this.#first = part
    else this.#last.next = part
    this.#last = part
    this.#waitingBytes += bytes.length
    this.#wasFull = true
  }

  #give(bytes: Uint8Array, slab: Slab | undefined): void {
    if (!this.#isCorked) {
      this.#isCorked = true
      this.#socket.cork()
    }
    this.#given += bytes.length
    const mayGoOn = this.#socket.write(bytes, (error) => this.#wrote(bytes.length, slab, error))
    if (!mayGoOn) this.#wasFull = true
  }

  #giveMore(): void {
    let part = this.#first
    while (part !== undefined && this.#socket.writableLength < window) {
      this.#waitingBytes -= part.bytes.length
      this.#give(part.bytes, part.slab)
      part = part.next
    }
    this.#first = part
    if (part === undefined) this.#last = undefined
    if (part === undefined && this.#isEnding) this.#endNow()
    else if (!this.#isTurnAwaited) this.#uncork()
  }

  #wrote(length: number, slab: Slab | undefined, error: Error | null | undefined): void {
    this.#writes--
    const isTaken = error === undefined || error === null
    this.#written += length
    if (isTaken && this.#timed.length > 0) this.#endTimes()
    if (slab !== undefined) {
      slab.writes--
      // After a failed write the socket may still read the slab, so it is left to the garbage collector.
      if (isTaken) this.#reuse(slab)
    }
    if (this.#isOver) return
    if (this.#first !== undefined) this.#giveMore()
    if (this.#to > this.#from && !this.#isTurnAwaited) this.#turned()
    if (this.queued === 0) this.#beEmpty()
  }

  /** The bytes of the timed read are all here: its time ends with theirs. */
  #noteTime(taken: () => void): void {
    this.#timing = undefined
    this.#timed.push({ until: this.total, taken })
  }

  #endTimes(): void {
    while (this.#timed[0] !== undefined && this.#timed[0].until <= this.#written) this.#timed.shift()?.taken()
  }

  #reuse(slab: Slab): void {
    if (slab.writes > 0) return
    if (slab !== this.#slab) release(slab)
    else if (this.#from === this.#to) this.#from = this.#to = 0
  }

  #beEmpty(): void {
    const slab = this.#slab
    if (slab !== undefined && slab.writes === 0) {
      this.#slab = undefined
      this.#from = this.#to = 0
      release(slab)
    }
    const wasFull = this.#wasFull
    this.#wasFull = false
    this.#emptied(wasFull)
  }

  #nextSlab(): void {
    this.#flush()
    const last = this.#slab
    this.#slab = free.pop() ?? newSlab()
    this.#from = this.#to = 0
    if (last !== undefined && last.writes === 0) release(last)
  }
}

const release = (slab: Slab): void => {
  if (free.length < maxFree) free.push(slab)
}
