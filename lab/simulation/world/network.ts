/**
 * The network between the places of a world: delays, cuts in one or both directions, slow links. Data over a connection
 * is in `pipe.ts` (processes) and `sim-api-server.ts` (requests).
 */

import type { Cancel, Kernel, Owner } from "../kernel/kernel.ts"
import type { RandomStream } from "../kernel/random-stream.ts"

/** A site of the network: a cluster's name, or a client's machine. Nothing inside a place is ever cut. */
export type Place = string

/** The state of one direction between two places. */
interface Route {
  readonly from: Place
  readonly to: Place
  open: boolean
  /** Least and most one-way delay, ms; each packet draws again. */
  latency: readonly [number, number]
  /** The latency after {@link Network.healAll}. */
  usual: readonly [number, number]
  /** Bytes per ms; infinite unless the link is slow. */
  bandwidth: number
  readonly waiting: Set<() => void>
}

/** One-way delay inside a place, ms. */
const localLatency = 1
/** One-way delay between places unless a story says otherwise, ms. */
const defaultLatency: readonly [number, number] = [5, 25]

const isUsual = ({ bandwidth, latency: [, most], open }: Route): boolean =>
  open && bandwidth === Infinity && most <= defaultLatency[1]

/** All routes between places, and the connections over them. */
export class Network {
  readonly #kernel: Kernel
  readonly #random: RandomStream
  /** By sender, then by receiver. */
  readonly #routes = new Map<Place, Map<Place, Route>>()
  /** The same routes in the order in which they were first used. None is ever replaced. */
  readonly #allRoutes: Array<Route> = []
  readonly #connections = new Set<NetworkConnection>()
  /** When the last packet arrives that takes longer than usual, epoch ms. */
  #lateUntil = -Infinity

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.#random = kernel.random.split("network")
  }

  #route(from: Place, to: Place): Route {
    const known = this.#routes.get(from)?.get(to)
    if (known !== undefined) return known
    const made: Route = {
      from,
      to,
      open: true,
      latency: defaultLatency,
      usual: defaultLatency,
      bandwidth: Infinity,
      waiting: new Set()
    }
    const ofSender = this.#routes.get(from) ?? new Map<Place, Route>()
    this.#routes.set(from, ofSender.set(to, made))
    this.#allRoutes.push(made)
    return made
  }

  isOpen(from: Place, to: Place): boolean {
    return from === to || this.#route(from, to).open
  }

  /** Whether a packet sent now arrives within the usual time. */
  isPrompt(from: Place, to: Place): boolean {
    return from === to || (isUsual(this.#route(from, to)) && this.#kernel.now > this.#lateUntil)
  }

  /** Whether every route is as at the beginning, and all packets have arrived that were delayed before. */
  get isWell(): boolean {
    return (
      this.#kernel.now > this.#lateUntil &&
      this.#allRoutes.every(isUsual) &&
      this.connections.every(({ isSilent }) => !isSilent())
    )
  }

  /** Notes that a packet is under way which arrives at `arrival`, epoch ms. */
  underWay(arrival: number): void {
    if (arrival > this.#kernel.now + defaultLatency[1]) this.#lateUntil = Math.max(this.#lateUntil, arrival)
  }

  /** Lets nothing pass from here to there any more; packets under way still arrive. */
  cut(from: Place, to: Place): void {
    this.#route(from, to).open = false
  }

  heal(from: Place, to: Place): void {
    const route = this.#route(from, to)
    route.open = true
    const waiting = [...route.waiting]
    route.waiting.clear()
    for (const go of waiting) go()
  }

  /** Heals all cuts and makes every link as fast as at the beginning. */
  healAll(): void {
    for (const route of this.#allRoutes) {
      route.latency = route.usual
      route.bandwidth = Infinity
      this.heal(route.from, route.to)
    }
  }

  /** Puts two places next to each other: for good, a packet takes as long as inside a place. */
  setNeighbours(a: Place, b: Place): void {
    for (const route of [this.#route(a, b), this.#route(b, a)]) {
      route.usual = [localLatency, localLatency]
      route.latency = route.usual
    }
  }

  setLatency(from: Place, to: Place, least: number, most: number): void {
    this.#route(from, to).latency = [least, most]
  }

  setBandwidth(from: Place, to: Place, bytesPerMs: number): void {
    this.#route(from, to).bandwidth = bytesPerMs
  }

  delay(from: Place, to: Place, bytes = 0): number {
    if (from === to) return localLatency
    const {
      bandwidth,
      latency: [least, most]
    } = this.#route(from, to)
    return (
      (least === most ? least : this.#random.int(least, most)) +
      (bandwidth === Infinity ? 0 : Math.ceil(bytes / bandwidth))
    )
  }

  /** Calls `go` as soon as the route is open. */
  whenOpen(from: Place, to: Place, go: () => void): Cancel {
    if (this.isOpen(from, to)) {
      go()
      return () => {}
    }
    const { waiting } = this.#route(from, to)
    waiting.add(go)
    return () => void waiting.delete(go)
  }

  /** Sends a single packet, which waits while the route is cut. */
  send(from: Place, to: Place, run: () => void, owner?: Owner): void {
    const go = (): void => {
      const delay = this.delay(from, to)
      this.underWay(this.#kernel.now + delay)
      this.#kernel.after(delay, run, owner)
    }
    if (this.isOpen(from, to)) go()
    else this.#route(from, to).waiting.add(go)
  }

  register(connection: NetworkConnection): Cancel {
    this.#connections.add(connection)
    return () => void this.#connections.delete(connection)
  }

  /** Connections between two places, in either direction. */
  between(a: Place, b: Place): ReadonlyArray<NetworkConnection> {
    return [...this.#connections].filter(
      ({ places: [one, other] }) => (one === a && other === b) || (one === b && other === a)
    )
  }

  get connections(): ReadonlyArray<NetworkConnection> {
    return [...this.#connections]
  }
}

/** A lasting connection that the network can break. */
export interface NetworkConnection {
  readonly what: string
  readonly places: readonly [Place, Place]
  /** Breaks the connection and tells both ends. */
  readonly reset: () => void
  /** From now on all that is sent is lost, and neither end hears of it. */
  readonly goSilent: () => void
  /** Whether the end that began it still takes it for open. */
  readonly isKept: () => boolean
  /** Whether the connection went silent and one of its ends has not noticed yet. */
  readonly isSilent: () => boolean
}

/**
 * One direction of a connection. Messages arrive in order, wait while the route is cut, and never arrive after
 * {@link Flow.stop}.
 */
export class Flow {
  readonly #kernel: Kernel
  readonly #network: Network
  readonly #from: Place
  readonly #to: Place
  readonly #receiver: Owner | undefined
  readonly #stalled: Array<{ readonly bytes: number; readonly run: () => void }> = []
  #lastArrival = 0
  #cancelWait: Cancel = () => {}
  #stopped = false

  constructor(
    { kernel, network }: { readonly kernel: Kernel; readonly network: Network },
    from: Place,
    to: Place,
    receiver: Owner | undefined
  ) {
    this.#kernel = kernel
    this.#network = network
    this.#from = from
    this.#to = to
    this.#receiver = receiver
  }

  send(bytes: number, run: () => void): void {
    if (this.#stopped) return
    if (this.#stalled.length === 0 && this.#network.isOpen(this.#from, this.#to)) return this.#schedule(bytes, run)
    this.#stalled.push({ bytes, run })
    if (this.#stalled.length > 1) return
    this.#cancelWait = this.#network.whenOpen(this.#from, this.#to, () => {
      for (const { bytes: size, run: go } of this.#stalled.splice(0)) this.#schedule(size, go)
    })
  }

  stop(): void {
    this.#stopped = true
    this.#stalled.length = 0
    this.#cancelWait()
  }

  #schedule(bytes: number, run: () => void): void {
    const { now } = this.#kernel
    this.#lastArrival = Math.max(this.#lastArrival, now + this.#network.delay(this.#from, this.#to, bytes))
    this.#network.underWay(this.#lastArrival)
    this.#kernel.after(
      this.#lastArrival - now,
      () => {
        if (!this.#stopped) run()
      },
      this.#receiver
    )
  }
}
