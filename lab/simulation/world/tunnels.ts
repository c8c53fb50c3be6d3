/**
 * The tunnels of a world's outbound members, by the ports of both sides: dials with the certificates that they show,
 * trades tokens for certificates, and carries lanes. Above these ports the product's own cell and outpost run.
 *
 * Not here: the connection under a tunnel (tunnel.ts), the people who join members (outbound-people.ts), and which
 * tunnel is used (src/app/outbound).
 */

import type { Duplex } from "node:stream"
import { Effect, Exit, Result, type Scope } from "effect"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import type { AccessByLanes } from "../../../src/app/outbound/outbound-members.ts"
import { tokenId } from "../../../src/app/outbound/outpost-identity.ts"
import { CurrentTunnelCertificates } from "../../../src/app/outbound/tunnel-certificates.ts"
import type { ClusterAccess } from "../../../src/ports/cluster-connector.ts"
import {
  type CellOptions,
  type CellTunnel,
  DialFailed,
  type DialOptions,
  type MemberCertificate,
  type RedeemOptions,
  type Tunnel,
  type TunnelDialler,
  type TunnelListener
} from "../../../src/ports/tunnel.ts"
import type { Kernel } from "../kernel/kernel.ts"
import { type SimProcess, whenRunning } from "../kernel/sim-process.ts"
import type { Network, Place } from "./network.ts"
import { distrust, hasPin, playedCertificates, readPlayed } from "./played-certificates.ts"
import type { Road } from "./road.ts"
import { laneRoad, PlayedLane, type TunnelEnd, Wire } from "./tunnel.ts"
import type { WorldEvent } from "./world-event.ts"

export interface SimTunnelsOptions {
  readonly kernel: Kernel
  readonly network: Network
  readonly emit: (event: WorldEvent) => void
  /** The process that the Service of the cell leads to; `undefined` if none. */
  readonly cell: () => SimProcess | undefined
  /** The primary's place. */
  readonly primary: Place
}

/** The answer to a try to open a lane. */
type Opened = { readonly lane: PlayedLane } | { readonly why: string }

/** A dialling member. */
export interface Dialler {
  readonly process: SimProcess
  readonly place: Place
  /** Name for the network: the tunnel of this cluster. */
  readonly cluster: string
}

/** How long the other side may take to prove itself, ms. */
const handshakeTime = 10_000

/** A cell that listens, and the process that it is in. */
interface Listening {
  readonly process: SimProcess
  readonly options: CellOptions
}

type Refusal = Pick<Extract<WorldEvent, { readonly _tag: "TunnelRefused" }>, "by" | "why">

/** The two ways in which a dial ends. */
interface Outcome {
  readonly fail: (error: DialFailed) => void
  readonly stands: (end: TunnelEnd) => void
}

const unreachable = (message: string): DialFailed => new DialFailed({ reason: "Unreachable", message })

export class SimTunnels {
  readonly certificates
  readonly #options: SimTunnelsOptions
  /** The cells that listen. */
  readonly #cells = new Map<SimProcess, CellOptions>()
  /** By process of a primary: how its fleet opens lanes to a member. */
  readonly #openers = new Map<SimProcess, Map<string, () => Duplex>>()
  readonly #wires = new Set<Wire>()
  /** Members whose connections a proxy cuts that are idle for so long, ms. */
  readonly idleCuts = new Map<string, number>()
  #made = 0
  #isProbing = false

  constructor(options: SimTunnelsOptions) {
    this.#options = options
    const seed = options.kernel.random.split("tunnels").int(0, 0x7fffffff).toString(36)
    const { authority, service } = playedCertificates(seed)
    this.certificates = service
    this.authority = authority
  }

  /** An authority as it is before the world begins. */
  readonly authority

  /** The connections that are not over at both ends. */
  get wires(): ReadonlyArray<Wire> {
    for (const wire of this.#wires) if (wire.cell.isOver && wire.outpost.isOver) this.#wires.delete(wire)
    return [...this.#wires]
  }

  /** The tunnels that a cluster has dialled. */
  wiresOf(cluster: string): ReadonlyArray<Wire> {
    return this.wires.filter(({ places: [from] }) => from === cluster)
  }

  /** Ends the faults of tunnels; a connection that was silenced stays so. */
  heal(): void {
    this.idleCuts.clear()
  }

  // The cell's side

  listener(process: SimProcess): TunnelListener["Service"] {
    return {
      listen: (options) =>
        Effect.as(
          Effect.acquireRelease(
            Effect.sync(() => {
              this.#cells.set(process, options)
              process.whenDead(() => this.#cells.delete(process))
            }),
            () =>
              Effect.sync(() => {
                this.#cells.delete(process)
                for (const { cell } of this.wires)
                  if (cell.process === process) cell.destroy("the primary's operator ends here, or leads no more")
              })
          ),
          { port: options.port, bootstrapPort: options.bootstrapPort }
        )
    }
  }

  /** Makes the access of a primary's process to a member: `over` gives it a road for each call. */
  access(process: SimProcess, over: (cluster: string, road: () => Road | string) => ClusterAccess): AccessByLanes {
    return (name, openLane): Effect.Effect<ClusterAccess, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const openers = this.#openers.get(process) ?? new Map<string, () => Duplex>()
          this.#openers.set(process, openers.set(name, openLane))
          return over(name, () => this.#road(name, openLane))
        }),
        () => Effect.sync(() => void this.#openers.get(process)?.delete(name))
      )
  }

  #open(openLane: () => Duplex): Opened {
    try {
      const lane = openLane()
      return lane instanceof PlayedLane ? { lane } : { why: "the lane is none of this world" }
    } catch (error) {
      return { why: error instanceof Error ? error.message : String(error) }
    }
  }

  #road(cluster: string, openLane: () => Duplex): Road | string {
    const opened = this.#open(openLane)
    if ("why" in opened) return opened.why
    const { cell, number } = opened.lane.lane.end.wire
    const [shown] = readPlayed(cell.shownPem)
    this.#options.emit({
      _tag: "LaneOpened",
      cluster,
      tunnel: number,
      certificate: { name: shown?.name ?? "", keyId: shown?.keyId ?? "", until: shown?.until ?? 0 },
      process: cell.process.name
    })
    return laneRoad(this.#options.kernel, opened.lane)
  }

  /** The tunnel on which the primary would reach a member now; `undefined` if there is none. Changes nothing. */
  current(cluster: string): Wire | undefined {
    const process = this.#options.cell()
    const openLane = process && this.#openers.get(process)?.get(cluster)
    if (openLane === undefined) return undefined
    this.#isProbing = true
    const opened = this.#open(openLane)
    this.#isProbing = false
    return "lane" in opened ? opened.lane.lane.end.wire : undefined
  }

  // The outpost's side

  dialler(from: Dialler): TunnelDialler["Service"] {
    return {
      dial: (options) =>
        Effect.gen({ self: this }, function* () {
          let end = (): void => {}
          yield* Effect.addFinalizer(() => Effect.sync(() => end()))
          return yield* Effect.callback<Tunnel, DialFailed>((resume) => {
            const give = (result: Effect.Effect<Tunnel, DialFailed>): void => resume(result)
            end = this.#dial(from, options, give)
          })
        }),
      redeem: (options) => this.#redeem(from, options)
    }
  }

  /** The result ends the dial, or the tunnel. */
  #dial(from: Dialler, options: DialOptions, give: (result: Effect.Effect<Tunnel, DialFailed>) => void): () => void {
    const { network, primary } = this.#options
    const { place, process } = from
    let wire: Wire | undefined
    let isOver = false
    const fail = (error: DialFailed): void => {
      if (isOver) return
      isOver = true
      wire?.outpost.destroy(error.message)
      give(Effect.fail(error))
    }
    network.send(place, primary, () => {
      if (isOver || process.state === "dead") return
      const cell = this.#options.cell()
      if (cell === undefined)
        return network.send(primary, place, () => fail(unreachable("connection refused")), process)
      whenRunning(cell, () => {
        const listening = this.#cells.get(cell)
        if (isOver || process.state === "dead") return
        if (listening === undefined)
          return network.send(primary, place, () => fail(unreachable("connection refused")), process)
        const stands = (end: TunnelEnd): void => {
          if (isOver) return
          isOver = true
          give(Effect.succeed(end))
        }
        wire = this.#handshake(from, options, { process: cell, options: listening }, { fail, stands })
      })
    })
    return () => {
      isOver = true
      wire?.outpost.destroy("the member's operator has ended the tunnel")
    }
  }

  /** Both sides show their certificates, the cell first, as in TLS 1.3. */
  #handshake(from: Dialler, { identity, serve }: DialOptions, listening: Listening, { fail, stands }: Outcome): Wire {
    const { primary } = this.#options
    const { cluster, place, process } = from
    const number = ++this.#made
    const what = { what: `tunnel ${cluster}`, number, binding: sha256Hex(`tunnel ${number}`) }
    const wire = new Wire(this.#options, what, { place, process }, { place: primary, process: listening.process })
    this.#wires.add(wire)
    const { cell, outpost } = wire
    outpost.onOver = (why) => fail(unreachable(why))
    // No person of a story sends requests through tunnels.
    outpost.serve = (lane) => serve(lane, "api")
    cell.shownPem = identity.certificatePem
    this.#options.kernel.after(handshakeTime, () => {
      if (!wire.isStanding) cell.end("the other side did not prove itself in time")
    })
    const own = listening.options.identity()
    cell.post(1, () => {
      const flaw = distrust(own.certificatePem, identity.authoritiesPem, process.now())
      if (flaw !== undefined) return fail(new DialFailed({ reason: "Untrusted", message: flaw }))
      outpost.post(1, () => {
        const member = this.#judge(identity.certificatePem, listening)
        if (Result.isSuccess(member)) {
          this.#accept(from, listening, wire, member.success)
          outpost.onOver = (reason) => {
            this.#ended(wire, cluster, "outpost", reason)
            fail(unreachable(reason))
          }
          return cell.post(1, () => stands(outpost))
        }
        this.#options.emit({ _tag: "TunnelRefused", cluster, tunnel: number, from: place, ...member.failure })
        cell.post(1, () => fail(new DialFailed({ reason: "Refused", message: member.failure.why })))
        return cell.end("refused")
      })
    })
    return wire
  }

  /** The member that has shown a certificate, or why it gets no tunnel. */
  #judge(certificatePem: string, { options, process }: Listening): Result.Result<MemberCertificate, Refusal> {
    const flaw = distrust(certificatePem, options.identity().authoritiesPem, process.now())
    if (flaw !== undefined) return Result.fail({ by: "tls", why: flaw })
    const read = this.certificates.readMember(certificatePem)
    if (Result.isFailure(read)) return Result.fail({ by: "tls", why: read.failure })
    const why = options.refusal(read.success)
    return why === undefined ? Result.succeed(read.success) : Result.fail({ by: "cell", why })
  }

  #ended({ number: tunnel }: Wire, cluster: string, side: "cell" | "outpost", why: string): void {
    this.#options.emit({ _tag: "TunnelEnded", cluster, tunnel, side, why })
  }

  /** A tunnel stands, and the cell takes it. */
  #accept({ cluster, place }: Dialler, { options, process }: Listening, wire: Wire, member: MemberCertificate): void {
    const { emit } = this.#options
    const { cell, number: tunnel, outpost } = wire
    cell.onOver = (why) => this.#ended(wire, cluster, "cell", why)
    cell.onLineOf = (line, is) => emit({ _tag: "ControlLine", cluster, tunnel, side: "cell", is, line })
    outpost.onLineOf = (line, is) => emit({ _tag: "ControlLine", cluster, tunnel, side: "outpost", is, line })
    emit({ _tag: "TunnelStands", cluster, tunnel, process: process.name, from: place })
    wire.isStanding = true
    this.#watchIdle(cluster, wire)
    const { openLane } = cell
    options.accepted(
      Object.assign(cell, {
        member,
        from: place,
        openLane: () => (this.#isProbing ? cell.probe() : openLane())
      }) satisfies CellTunnel
    )
  }

  /** A proxy on the way cuts what is idle for too long, and tells both sides. */
  #watchIdle(cluster: string, wire: Wire): void {
    const { kernel } = this.#options
    const look = (): void => {
      const idle = this.idleCuts.get(cluster)
      if (!wire.isOpenAtBothEnds) return
      if (idle !== undefined && kernel.now - wire.usedAt >= idle) return wire.reset()
      kernel.after(1_000, look)
    }
    kernel.after(1_000, look)
  }

  #redeem({ cluster, place, process }: Dialler, { pin, requestPem, token }: RedeemOptions) {
    const { emit, network, primary } = this.#options
    return Effect.callback<Effect.Success<ReturnType<TunnelDialler["Service"]["redeem"]>>, DialFailed>((resume) => {
      let isGivenUp = false
      const back = (result: Parameters<typeof resume>[0]): void =>
        network.send(primary, place, () => resume(result), process)
      const fail = (reason: DialFailed["reason"], message: string): void =>
        back(Effect.fail(new DialFailed({ reason, message })))
      network.send(place, primary, () => {
        if (process.state === "dead" || isGivenUp) return
        const cell = this.#options.cell()
        if (cell === undefined) return fail("Unreachable", "connection refused")
        whenRunning(cell, () => {
          const options = this.#cells.get(cell)
          if (options === undefined) return fail("Unreachable", "connection refused")
          if (!hasPin(options.identity().certificatePem, pin)) return fail("Untrusted", "another authority")
          const outside = options.outside(place)
          if (outside !== undefined) return fail("Refused", outside)
          const mourning = cell.whenDead(() => fail("Unreachable", "connection reset"))
          const redeeming = options.redeem({ token, requestPem, from: place })
          cell.run(Effect.provideService(redeeming, CurrentTunnelCertificates, this.certificates), (exit) => {
            mourning()
            if (Exit.isSuccess(exit)) {
              emit({ _tag: "TokenTraded", cluster, token: tokenId(token) ?? "" })
              return back(Effect.succeed(exit.value))
            }
            const [reason] = exit.cause.reasons
            if (reason?._tag === "Fail")
              return fail(reason.error.mayPass === true ? "Unreachable" : "Refused", reason.error.message)
            return fail("Unreachable", String(exit.cause))
          })
        })
      })
      // Without a connection to the cell nothing of a request is sent, and later nothing more.
      return Effect.sync(() => {
        isGivenUp = true
      })
    }).pipe(
      Effect.timeoutOrElse({
        duration: 30_000,
        orElse: () => Effect.fail(unreachable("no answer within 30 s"))
      })
    )
  }
}
