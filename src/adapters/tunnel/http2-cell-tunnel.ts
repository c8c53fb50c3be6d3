/**
 * The cell's side of a tunnel, which opens lanes and counts them.
 *
 * Not here: TLS, and who may have a tunnel (cell-listener.ts).
 */

import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2"
import type { Duplex } from "node:stream"
import type { TLSSocket } from "node:tls"
import type { CellTunnel, LaneKind, MemberCertificate } from "../../ports/tunnel.ts"
import { asLane, failedLane, Http2Tunnel, laneError, laneNames, sessionOptions } from "./http2-tunnel.ts"

/** Most lanes at a time. The rest of the announced streams is for lanes that have ended here and not yet there. */
const maxLanes = 900

/** The session of HTTP/2 on a connection that a member has dialled. */
export const sessionOn = (socket: TLSSocket): ClientHttp2Session =>
  connect("http://outpost", { ...sessionOptions, createConnection: () => socket })

export class Http2CellTunnel extends Http2Tunnel implements CellTunnel {
  readonly member: MemberCertificate
  readonly from: string
  readonly #session: ClientHttp2Session
  #lanes = 0
  #isDraining = false

  constructor(socket: TLSSocket, member: MemberCertificate, from: string) {
    const session = sessionOn(socket)
    super(session, socket)
    this.member = member
    this.from = from
    this.#session = session
    this.control(this.#stream(laneNames.control))
  }

  readonly lanes = (): number => this.#lanes

  readonly openLane = (kind: LaneKind = "api"): Duplex => {
    const { name } = this.member
    if (this.reason !== undefined) return failedLane(laneError(this.reason))
    if (this.#isDraining) return failedLane(new Error(`the tunnel to ${name} is being replaced by another`))
    if (this.#lanes >= maxLanes) {
      const most = `${maxLanes} requests and sessions go to ${name} already, which is the most; try again later`
      return failedLane(new Error(most))
    }
    const lane = asLane(this.#stream(laneNames[kind]))
    this.#lanes++
    lane.once("close", () => {
      this.#lanes--
      this.#endIfDrained()
    })
    return lane
  }

  readonly drain = (): void => {
    this.#isDraining = true
    this.#endIfDrained()
  }

  #endIfDrained(): void {
    if (this.#isDraining && this.#lanes === 0) this.destroy("another tunnel has taken its place")
  }

  #stream(name: string): ClientHttp2Stream {
    const stream = this.#session.request({ ":method": "CONNECT", ":authority": name }, { endStream: false })
    stream.once("response", ({ ":status": status }) => {
      if (status === 200) return
      const cure = name === laneNames.people ? "; it is older than such requests: update it" : ""
      stream.destroy(new Error(`the member's operator refuses the lane ${name} (${status})${cure}`))
    })
    return stream
  }
}
