/**
 * A connection between two simulated processes, as a pair of {@link FrameChannel}s over the network: buffers,
 * keep-alive, half-open ends. Calls of an API server do not go through pipes (`sim-api-server.ts`).
 */

import { deliver, type FrameChannel, type FrameHandlers } from "../../../src/ports/frame-channel.ts"
import type { Kernel } from "../kernel/kernel.ts"
import type { SimProcess } from "../kernel/sim-process.ts"
import type { Network, NetworkConnection, Place } from "./network.ts"
import { networkRoad, type OneWay, type Road } from "./road.ts"

/**
 * Interval of keep-alive probes, and after how long without an answer a machine gives the connection up, ms (Go's
 * server: 15 s, 9 times).
 */
const probeEvery = 15_000
const keepAlive = 150_000
/** After how long without a ping a member gives up a link that was pinged, ms (docs/concepts/member-link.md). */
const pingsAwaited = 105_000

/** Bytes that the network takes before a sender's bytes count as queued. */
const socketBuffer = 256 * 1024

export interface PipeEnd {
  readonly place: Place
  readonly process: SimProcess
}

export interface PipeOptions {
  readonly what: string
  readonly left: PipeEnd
  readonly right: PipeEnd
  /**
   * Time between two WebSocket pings from the left end, ms; two unanswered pings end the pipe for that end
   * (docs/concepts/member-link.md).
   */
  readonly pulse?: number
  /** The right end never notices by itself that the left end has vanished, as an agent does not (agent.md §3.6). */
  readonly deaf?: true
  /** From the left end to the right one; the network unless given. */
  readonly road?: Road
}

class End implements FrameChannel {
  readonly process: SimProcess
  readonly flow: OneWay
  other: End | undefined
  #handlers: FrameHandlers | undefined
  readonly #inbox: Array<Uint8Array> = []
  #paused = false
  #over = false
  #endedEarly: string | undefined
  /** Bytes sent from here that the other end has not taken yet. */
  #unread = 0
  #wasFull = false
  readonly #closed: () => void

  constructor(process: SimProcess, flow: OneWay, closed: () => void) {
    this.process = process
    this.flow = flow
    this.#closed = closed
  }

  get over(): boolean {
    return this.#over
  }

  readonly send = (bytes: Uint8Array): void => {
    const { other } = this
    if (this.#over || other === undefined || this.process.state === "dead") return
    this.#unread += bytes.length
    if (this.#unread > socketBuffer) this.#wasFull = true
    this.flow.send(bytes.length, () => other.arrived(bytes))
  }

  readonly queuedBytes = (): number => Math.max(0, this.#unread - socketBuffer)

  readonly pause = (): void => {
    this.#paused = true
  }

  readonly resume = (): void => {
    if (!this.#paused) return
    this.#paused = false
    this.#deliver()
  }

  readonly close = (): void => {
    if (this.#over || this.process.state === "dead") return
    this.#over = true
    this.flow.send(0, () => this.other?.end("closed by the other side"))
    this.#closed()
  }

  readonly open = (handlers: FrameHandlers): void => {
    this.#handlers = handlers
    this.#deliver()
    if (this.#endedEarly !== undefined && this.#inbox.length === 0) handlers.ended(this.#endedEarly)
  }

  /** This end gives the connection up. The other end learns it if anything gets through to it. */
  giveUp(reason: string): void {
    if (this.#over) return
    this.flow.send(0, () => this.other?.end("connection reset"))
    this.end(reason)
  }

  /** This end learns that the other side is gone. */
  end(reason: string): void {
    if (this.#over) return
    this.#over = true
    this.#closed()
    if (this.#handlers === undefined || this.#inbox.length > 0) this.#endedEarly = reason
    else this.#handlers.ended(reason)
  }

  /** The process of this end is dead, so nothing of it is left on this side. */
  abandon(): void {
    if (this.#over) return
    this.#over = true
    this.#closed()
  }

  arrived(bytes: Uint8Array): void {
    if (this.#over) return
    if (this.#handlers === undefined || this.#paused || this.#inbox.length > 0) this.#inbox.push(bytes)
    else {
      this.other?.taken(bytes.length)
      deliver(this.#handlers, bytes)
    }
  }

  #deliver(): void {
    while (this.#handlers !== undefined && !this.#paused) {
      const bytes = this.#inbox.shift()
      if (bytes === undefined) break
      this.other?.taken(bytes.length)
      deliver(this.#handlers, bytes)
    }
    if (this.#endedEarly === undefined || this.#inbox.length > 0 || this.#handlers === undefined) return
    const reason = this.#endedEarly
    this.#endedEarly = undefined
    this.#handlers.ended(reason)
  }

  taken(bytes: number): void {
    this.#unread -= bytes
    if (!this.#wasFull || this.#unread > socketBuffer) return
    this.#wasFull = false
    // The sender's process learns it from its own kernel, in a step of its own.
    this.process.after(0, () => {
      if (!this.#over) this.#handlers?.drained()
    })
  }
}

/** Makes a connection between two processes; the last part is the connection as the network sees it. */
export const makePipe = (
  kernel: Kernel,
  network: Network,
  options: PipeOptions
): readonly [left: FrameChannel, right: FrameChannel, connection: NetworkConnection] => {
  const { left, right } = options
  const road = options.road ?? networkRoad({ kernel, network }, left.place, right.place, left.process)
  const there = road.flowThere(right.process)
  const back = road.flowBack(left.process)
  let isSilent = false
  let open = 2
  const closed = (): void => {
    open--
    if (open === 0) forget()
  }
  const a = new End(left.process, there, closed)
  const b = new End(right.process, back, closed)
  a.other = b
  b.other = a

  const connection: NetworkConnection = {
    what: options.what,
    places: [left.place, right.place],
    reset: () => {
      there.stop()
      back.stop()
      left.process.after(0, () => a.end("connection reset"))
      right.process.after(0, () => b.end("connection reset"))
    },
    goSilent: () => {
      isSilent = true
      there.stop()
      back.stop()
    },
    isKept: () => !a.over,
    isSilent: () => isSilent
  }
  const unregister = network.register(connection)
  const unbroken = road.whenBroken(
    () => left.process.after(0, () => a.end("connection reset")),
    () => right.process.after(0, () => b.end("connection reset"))
  )
  // A machine's kernel resets the connections of a process that died.
  const mourning = [
    left.process.whenDead(() => {
      there.send(0, () => b.end("connection reset"))
      a.abandon()
    }),
    right.process.whenDead(() => {
      back.send(0, () => a.end("connection reset"))
      b.abandon()
    })
  ]
  const forget = (): void => {
    unregister()
    unbroken()
    road.close()
    for (const cancel of mourning) cancel()
  }

  const isAlive = (): boolean => !isSilent && road.isOpen()
  watchOver(a, b, options, isAlive)
  return [a, b, connection]
}

/** Gives a connection up whose other side has gone: the left end by pings, the right end by keep-alive. */
const watchOver = (a: End, b: End, { deaf, left, pulse, right }: PipeOptions, isAlive: () => boolean): void => {
  if (pulse !== undefined) {
    let unanswered = 0
    const beat = (): void => {
      if (a.over) return
      if (isAlive() && right.process.state === "running") unanswered = 0
      else if (unanswered >= 2) return a.giveUp("two pings were not answered")
      else unanswered++
      left.process.after(pulse, beat)
    }
    left.process.after(pulse, beat)
  }
  // The right end came through an API server, whose keep-alive notices in the end that its peer is gone.
  let deadFor = 0
  const probe = (): void => {
    if (b.over) return
    deadFor = isAlive() ? 0 : deadFor + probeEvery
    if (deadFor >= (pulse === undefined ? keepAlive : pingsAwaited)) return b.giveUp("connection timed out")
    right.process.after(probeEvery, probe)
  }
  if (left.place !== right.place && deaf !== true) right.process.after(probeEvery, probe)
}
