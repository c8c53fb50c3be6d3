/** Tunnels without a network, by both of their ports. Certificates are real ones, and are verified. */

import { X509Certificate } from "node:crypto"
import { PassThrough } from "node:stream"
import { Deferred, Effect, Redacted, Result } from "effect"
import { pinOf, readMemberCertificate } from "../../src/adapters/x509/tunnel-certificates.ts"
import {
  type CellOptions,
  type CellTunnel,
  DialFailed,
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
  readonly ended = Deferred.await(this.#over)

  constructor(carries: () => boolean) {
    this.#carries = carries
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
    Deferred.doneUnsafe(this.#over, Effect.succeed(why))
    if (this.#carries()) this.other?.destroy(why)
  }

  take(line: string): void {
    this.#received += line.length
    if (this.#onLine === undefined) this.#early.push(line)
    else this.#onLine(line)
  }
}

/** The reason why a certificate is not one of these authorities'; `undefined` if it is. */
const foreign = (certificatePem: string, authoritiesPem: string): boolean => {
  const [shown, authority] = [new X509Certificate(certificatePem), new X509Certificate(authoritiesPem)]
  return !shown.checkIssued(authority) || !shown.verify(authority.publicKey)
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
                if (foreign(identity.certificatePem, cell.identity().authoritiesPem)) return refuse("another authority")
                const why = cell.refusal(member)
                if (why !== undefined) return refuse(why)
                const carries = (): boolean => {
                  if (!this.carries) this.lost++
                  return this.carries
                }
                const [near, far] = [new Side(carries), new Side(carries)]
                near.other = far
                far.other = near
                this.#accepted.push(far)
                const openLane = () => {
                  const lane = new PassThrough()
                  serve(lane)
                  return lane
                }
                cell.accepted(
                  Object.assign(far, {
                    member,
                    from,
                    openLane,
                    lanes: () => 0,
                    drain: () => near.destroy("drained")
                  }) as CellTunnel
                )
                return Effect.succeed(near)
              }),
              (tunnel) => Effect.sync(() => tunnel.destroy("its outpost ended"))
            )
          )
        ),
      redeem: ({ pin, requestPem, token }) =>
        Effect.flatMap(reached, (cell) =>
          pinOf(cell.identity().authoritiesPem) === pin
            ? Effect.mapError(
                cell.redeem({ from, requestPem, token: Redacted.make(Redacted.value(token)) }),
                ({ message }) => {
                  this.refused++
                  return new DialFailed({ reason: "Refused", message })
                }
              )
            : Effect.fail(new DialFailed({ reason: "Untrusted", message: "another authority" }))
        )
    }
  }
}
