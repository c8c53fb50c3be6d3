/**
 * A tunnel between two simulated processes, as TCP with TLS and HTTP/2 carries it: both directions in order, lanes that
 * end with it, ends that may not hear of each other. Dials are in `tunnels.ts`.
 */

import { Duplex } from "node:stream"
import { Deferred, Effect } from "effect"
import type { Tunnel } from "../../../src/ports/tunnel.ts"
import type { Cancel, Kernel } from "../kernel/kernel.ts"
import { type SimProcess, whenRunning } from "../kernel/sim-process.ts"
import { Flow, type Network, type NetworkConnection, type Place } from "./network.ts"
import type { OneWay, Road } from "./road.ts"

/** Time between an outpost and the API server of its cluster, one way, ms. */
const toApiServer = 1

/** The end of a lane. Closed or broken, it sends and gets nothing any more. */
class LaneEnd {
  readonly end: TunnelEnd
  other: LaneEnd | undefined
  isOver = false
  /** Whether what comes on it is looked at: at once where it began, and where it ends when it is served. */
  isServed = false
  readonly #mourners = new Set<(why: string) => void>()

  constructor(end: TunnelEnd) {
    this.end = end
  }

  /** Sends a packet, or passes it on from an API server, which a process that is stopped does when it goes on. */
  send(bytes: number, run: () => void): void {
    whenRunning(this.end.process, () => {
      if (this.isOver) return
      this.end.post(bytes, () => {
        if (this.other?.isOver === false && this.other.isServed) run()
      })
    })
  }

  /** Ends the lane on this side, and then on the other. */
  close(): void {
    if (this.isOver) return
    this.end.post(0, () => this.other?.broken("the other side has closed the lane"))
    this.forget()
  }

  /** The lane is over, and whoever uses it hears why. */
  broken(why: string): void {
    if (this.isOver) return
    this.forget()
    for (const mourner of [...this.#mourners]) mourner(why)
  }

  forget(): void {
    this.isOver = true
    this.end.openLanes.delete(this)
    this.end.endIfDrained()
  }

  whenBroken(run: (why: string) => void): Cancel {
    this.#mourners.add(run)
    return () => void this.#mourners.delete(run)
  }
}

/** A lane as the ports hand it on. No byte goes through the stream itself. */
export class PlayedLane extends Duplex {
  readonly lane: LaneEnd

  constructor(lane: LaneEnd) {
    super()
    this.lane = lane
  }
}

/** Serves a lane that the cell has opened, as an outpost with an API server behind it does. */
export const serveLane = (lane: Duplex): void => {
  if (lane instanceof PlayedLane) lane.lane.isServed = true
}

const oneWay = (from: LaneEnd): OneWay => {
  let isStopped = false
  return {
    send: (bytes, run) => {
      if (!isStopped) from.send(bytes, () => isStopped || run())
    },
    stop: () => {
      isStopped = true
    }
  }
}

/** The way over a lane that the cell has opened, to the API server behind its outpost. */
export const laneRoad = (kernel: Kernel, { lane: near }: PlayedLane): Road => {
  const { other: far } = near
  if (far === undefined) throw new Error("the lane has no other end")
  return {
    isOpen: () => !near.isOver && !far.isOver && near.end.carries,
    isDialled: false,
    go: (run) => near.send(1, () => kernel.after(toApiServer, run)),
    back: (run) => void kernel.after(toApiServer, () => far.send(1, run)),
    flowThere: () => oneWay(near),
    flowBack: () => oneWay(far),
    whenBroken: (atNear, atFar = () => {}) => {
      const cancels = [near.whenBroken(atNear), far.whenBroken(atFar)]
      return () => cancels.forEach((cancel) => cancel())
    },
    close: () => near.close()
  }
}

export class TunnelEnd implements Tunnel {
  readonly binding: string
  readonly process: SimProcess
  readonly wire: Wire
  readonly openLanes = new Set<LaneEnd>()
  readonly lanes = (): number => this.openLanes.size
  readonly #over = Deferred.makeUnsafe<string>()
  readonly ended = Deferred.await(this.#over)
  readonly #early: Array<string> = []
  #onLine: ((line: string) => void) | undefined
  #received = 0
  isOver = false
  isDraining = false
  /** The certificate that the outpost has shown, PEM. */
  shownPem = ""
  /** Takes a lane of the other side. */
  serve: (lane: Duplex) => void = () => {}
  /** Hears of the end of this end, whatever its reason. */
  onOver: (why: string) => void = () => {}
  /** Hears of each line of the control lane, when it is sent and when it comes. */
  onLineOf: (line: string, is: "sent" | "come") => void = () => {}

  constructor(wire: Wire, process: SimProcess) {
    this.wire = wire
    this.process = process
    this.binding = wire.binding
  }

  get #other(): TunnelEnd | undefined {
    return this.wire.otherOf(this)
  }

  /** Whether what this end sends gets through, and the other way round. */
  get carries(): boolean {
    return this.wire.carries
  }

  /** Sends a packet of so many bytes. */
  post(bytes: number, run: () => void): void {
    if (this.isOver || this.process.state === "dead") return
    this.wire.flowOf(this).send(bytes, () => {
      const other = this.#other
      if (other === undefined || other.isOver) return
      other.#received += Math.max(1, bytes)
      run()
    })
  }

  readonly send = (line: string): void => {
    if (this.isOver) return
    this.onLineOf(line, "sent")
    this.post(line.length, () => this.#other?.takeLine(line))
  }

  readonly listen = (onLine: (line: string) => void): void => {
    this.#onLine = onLine
    for (const line of this.#early.splice(0)) onLine(line)
  }

  takeLine(line: string): void {
    this.onLineOf(line, "come")
    if (this.#onLine === undefined) this.#early.push(line)
    else this.#onLine(line)
  }

  readonly received = (): number => this.#received

  readonly destroy = (why: string): void => {
    if (this.isOver) return
    this.post(0, () => this.#other?.end(why))
    this.end(why)
  }

  /** This end is over: its lanes break, and its process hears of it. */
  end(why: string): void {
    if (this.isOver) return
    this.isOver = true
    this.wire.over(this)
    this.onOver(why)
    for (const lane of [...this.openLanes]) lane.broken(`its tunnel has ended: ${why}`)
    Deferred.doneUnsafe(this.#over, Effect.succeed(why))
  }

  /** The process of this end is dead, and its machine ends the connection. */
  abandon(): void {
    if (this.isOver) return
    this.wire.flowOf(this).send(0, () => this.#other?.end("connection reset"))
    this.isOver = true
    this.wire.over(this)
    this.onOver("its process has died")
    for (const lane of [...this.openLanes]) lane.forget()
  }

  readonly openLane = (): PlayedLane => {
    const near = new LaneEnd(this)
    const other = this.#other
    if (this.isOver || other === undefined) throw new Error("the tunnel has ended")
    const far = new LaneEnd(other)
    near.other = far
    far.other = near
    near.isServed = true
    this.openLanes.add(near)
    this.post(1, () => {
      other.openLanes.add(far)
      other.serve(new PlayedLane(far))
    })
    return new PlayedLane(near)
  }

  /** A lane that is never opened, for a look at which tunnel would have it. */
  readonly probe = (): PlayedLane => new PlayedLane(new LaneEnd(this))

  readonly drain = (): void => {
    this.isDraining = true
    this.endIfDrained()
  }

  endIfDrained(): void {
    if (this.isDraining && this.openLanes.size === 0) this.destroy("its last lane has ended")
  }
}

interface Side {
  readonly place: Place
  readonly process: SimProcess
}

/** The connection under a tunnel, with both of its ends. */
export class Wire implements NetworkConnection {
  readonly what: string
  readonly number: number
  readonly binding: string
  readonly places: readonly [Place, Place]
  readonly outpost: TunnelEnd
  readonly cell: TunnelEnd
  readonly #network: Network
  readonly #kernel: Kernel
  readonly #up: Flow
  readonly #down: Flow
  readonly #forget: () => void
  #lost = { up: false, down: false }
  /** Whether the cell has taken the tunnel. */
  isStanding = false
  /** When something was sent last, epoch ms. */
  usedAt: number

  constructor(
    { kernel, network }: { readonly kernel: Kernel; readonly network: Network },
    { binding, number, what }: { readonly what: string; readonly number: number; readonly binding: string },
    outpost: Side,
    cell: Side
  ) {
    this.what = what
    this.number = number
    this.binding = binding
    this.places = [outpost.place, cell.place]
    this.#network = network
    this.#kernel = kernel
    this.usedAt = kernel.now
    this.outpost = new TunnelEnd(this, outpost.process)
    this.cell = new TunnelEnd(this, cell.process)
    this.#up = new Flow({ kernel, network }, outpost.place, cell.place, cell.process)
    this.#down = new Flow({ kernel, network }, cell.place, outpost.place, outpost.process)
    const cancels = [
      network.register(this),
      outpost.process.whenDead(() => this.outpost.abandon()),
      cell.process.whenDead(() => this.cell.abandon())
    ]
    this.#forget = () => cancels.forEach((cancel) => cancel())
  }

  otherOf(end: TunnelEnd): TunnelEnd {
    return end === this.cell ? this.outpost : this.cell
  }

  flowOf(end: TunnelEnd): OneWay {
    this.usedAt = this.#kernel.now
    return end === this.cell ? this.#down : this.#up
  }

  over(_end: TunnelEnd): void {
    if (this.cell.isOver && this.outpost.isOver) this.#forget()
  }

  get isOpenAtBothEnds(): boolean {
    return !this.cell.isOver && !this.outpost.isOver
  }

  get carries(): boolean {
    return this.carriesTo(this.cell) && this.carriesTo(this.outpost)
  }

  /** Whether what is sent to this end gets through. */
  carriesTo(end: TunnelEnd): boolean {
    const [outpost, cell] = this.places
    const { down, up } = this.#lost
    return end === this.cell ? !up && this.#network.isOpen(outpost, cell) : !down && this.#network.isOpen(cell, outpost)
  }

  readonly reset = (): void => {
    this.#up.stop()
    this.#down.stop()
    for (const end of [this.outpost, this.cell]) end.process.after(0, () => end.end("connection reset"))
  }

  readonly goSilent = (): void => this.lose("up", "down")

  /** From now on all that is sent in these directions is lost: `up` leads to the cell. */
  lose(...ways: ReadonlyArray<"up" | "down">): void {
    for (const way of ways) {
      this.#lost[way] = true
      if (way === "up") this.#up.stop()
      else this.#down.stop()
    }
  }

  readonly isKept = (): boolean => !this.outpost.isOver
  readonly isSilent = (): boolean => this.#lost.up || this.#lost.down
}
