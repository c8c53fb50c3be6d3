/** Tunnels without a network, by both of their ports. Certificates are real ones, and are verified. */

import { X509Certificate } from "node:crypto"
import { PassThrough } from "node:stream"
import { Deferred, Effect, Redacted, Result } from "effect"
import { pinOf, readMemberCertificate } from "../../src/adapters/x509/tunnel-certificates.ts"
import { pemBlocks } from "../../src/domain/fleet/credentials/pem.ts"
import {
  type CellOptions,
  type CellTunnel,
  DialFailed,
  type LaneKind,
  type Tunnel,
  type TunnelDialler,
  type TunnelListener
} from "../../src/ports/tunnel.ts"

/** One side of a tunnel; what it sends arrives at the other at once, unless the path is silent. */
class Side implements Tunnel {
  readonly #over = Deferred.makeUnsafe<string>()
  readonly #early: Array<string> = []
  readonly #carries: () => boolean
  #onLine: ((line: string) => void) | undefined
  #received = 0
  #isOver = false
  other: Side | undefined
  readonly binding: string
  onDestroy: (why: string) => void = () => {}
  readonly ended = Deferred.await(this.#over)

  constructor(carries: () => boolean, number: number) {
    this.#carries = carries
    this.binding = String(number).padStart(64, "0")
  }

  readonly send = (line: string): void => {
    if (!this.#isOver && this.#carries()) this.other?.take(line)
  }

  readonly listen = (onLine: (line: string) => void): void => {
    this.#onLine = onLine
    for (const line of this.#early.splice(0)) onLine(line)
  }

  readonly received = (): number => this.#received

  readonly destroy = (why: string): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.onDestroy(why)
    Deferred.doneUnsafe(this.#over, Effect.succeed(why))
    if (this.#carries()) this.other?.destroy(why)
  }

  take(line: string): void {
    this.#received += line.length
    if (this.#onLine === undefined) this.#early.push(line)
    else this.#onLine(line)
  }
}

const certificatesOf = (pem: string): ReadonlyArray<X509Certificate> =>
  pemBlocks(pem).map(({ text }) => new X509Certificate(text))

/** Whether no way leads from a certificate, and those shown behind it, to one of these authorities. */
const foreign = (shownPem: string, authoritiesPem: string): boolean => {
  const [leaf, ...shown] = certificatesOf(shownPem)
  const trusted = certificatesOf(authoritiesPem)
  const leads = (from: X509Certificate, depth: number): boolean => {
    const isIssuer = (above: X509Certificate): boolean => from.checkIssued(above) && from.verify(above.publicKey)
    return trusted.some(isIssuer) || (depth > 0 && shown.some((above) => isIssuer(above) && leads(above, depth - 1)))
  }
  return leaf === undefined || !leads(leaf, 2)
}

export class MemoryTunnels {
  /** The cell that listens; `undefined` while there is none. */
  #cell: CellOptions | undefined
  readonly #accepted: Array<Side> = []
  /** Whether there is a way from outposts to the cell. */
  isReachable = true
  /** Whether tunnels that stand carry anything. A tunnel that carries nothing does not end by itself. */
  carries = true
  /** Lines that were sent and not carried so far. */
  lost = 0
  /** How long a dial takes, ms. */
  dialTime = 0
  /** Dials so far. */
  dials = 0
  /** Redemptions of tokens that were refused so far. */
  refused = 0

  readonly listener: TunnelListener["Service"] = {
    listen: (options) =>
      Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => void (this.#cell = options)),
          () =>
            Effect.sync(() => {
              this.#cell = undefined
              for (const tunnel of this.#accepted.splice(0)) tunnel.destroy("the cell ended")
            })
        ),
        { port: options.port, bootstrapPort: options.bootstrapPort }
      )
  }

  /** `from`: the address of the outpost. */
  dialler(from: string): TunnelDialler["Service"] {
    const reached = Effect.suspend(() =>
      this.#cell === undefined || !this.isReachable
        ? Effect.fail(new DialFailed({ reason: "Unreachable", message: "connection refused" }))
        : Effect.succeed(this.#cell)
    )
    return {
      dial: ({ identity, serve }) =>
        Effect.sleep(this.dialTime).pipe(
          Effect.andThen(
            Effect.acquireRelease(
              Effect.flatMap(reached, (cell) => {
                this.dials++
                const refuse = (message: string) => Effect.fail(new DialFailed({ reason: "Refused", message }))
                const member = Result.getOrThrow(readMemberCertificate(identity.certificatePem))
                const own = cell.identity()
                if (foreign(identity.certificatePem, own.authoritiesPem)) return refuse("another authority")
                if (foreign(own.certificatePem, identity.authoritiesPem)) return refuse("another cell")
                const why = cell.refusal(member)
                if (why !== undefined) return refuse(why)
                const carries = (): boolean => {
                  if (!this.carries) this.lost++
                  return this.carries
                }
                const [near, far] = [new Side(carries, this.dials), new Side(carries, this.dials)]
                near.other = far
                far.other = near
                this.#accepted.push(far)
                const lanes = new Set<PassThrough>()
                let isDraining = false
                const endIfDrained = (): void => {
                  if (isDraining && lanes.size === 0) near.destroy("drained")
                }
                const openLane = (kind: LaneKind = "api") => {
                  const lane = new PassThrough().on("error", () => {})
                  lanes.add(lane)
                  lane.once("close", () => {
                    lanes.delete(lane)
                    endIfDrained()
                  })
                  serve(lane, kind)
                  return lane
                }
                far.onDestroy = (why) => lanes.forEach((lane) => lane.destroy(new Error(why)))
                cell.accepted(
                  Object.assign(far, {
                    member,
                    from,
                    openLane,
                    lanes: () => lanes.size,
                    drain: () => {
                      isDraining = true
                      endIfDrained()
                    }
                  }) as CellTunnel
                )
                return Effect.succeed(near)
              }),
              (tunnel) => Effect.sync(() => tunnel.destroy("its outpost ended"))
            )
          )
        ),
      redeem: ({ pin, requestPem, token }) =>
        Effect.flatMap(reached, (cell) => {
          const outside = cell.outside(from)
          if (outside !== undefined) {
            this.refused++
            return Effect.fail(new DialFailed({ reason: "Refused", message: outside }))
          }
          return certificatesOf(cell.identity().certificatePem).some(
            (shown) => shown.ca && pinOf(shown.toString()) === pin
          )
            ? Effect.mapError(
                cell.redeem({ from, requestPem, token: Redacted.make(Redacted.value(token)) }),
                ({ mayPass = false, message }) => {
                  this.refused++
                  return new DialFailed({ reason: mayPass ? "Unreachable" : "Refused", message })
                }
              )
            : Effect.fail(new DialFailed({ reason: "Untrusted", message: "another authority" }))
        })
    }
  }
}
