/**
 * The incoming traffic of one client: ids of stolen and mirrored connections, and what each id stands for (wire.md
 * §7.3). Which client gets what is decided by its agent.
 */

import type { BodyFrame } from "../../../src/domain/protocol/http-messages.ts"
import type { DaemonTcp } from "../../../src/domain/protocol/incoming-messages.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"
import type { AgentOutput } from "../agent-output.ts"

/** A part of a client's answer to a stolen request. */
export type ResponsePart =
  | {
      readonly _tag: "Start"
      readonly status: number
      readonly headers: Headers
      readonly frames: ReadonlyArray<BodyFrame>
      /** Whether nothing follows. */
      readonly isLast: boolean
    }
  | { readonly _tag: "Body"; readonly frames: ReadonlyArray<BodyFrame>; readonly isLast: boolean }
  /** The client could not read the rest of its application's answer. */
  | { readonly _tag: "Error" }

/** A stolen connection or request; the client's messages about it arrive here. */
export interface StolenSink {
  readonly data: (bytes: Uint8Array) => void
  readonly response: (part: ResponsePart) => void
  /** The client gave the connection up, or is gone. Called at most once, after the id was forgotten here. */
  readonly abandoned: (why: "unsubscribed" | "gone") => void
}

/** Two number spaces of ids, each from 0. */
export class IncomingClient {
  readonly id: number
  readonly output: AgentOutput
  readonly #stolen = new Map<bigint, StolenSink>()
  readonly #mirrored = new Map<bigint, () => void>()
  #nextStolen = 0n
  #nextMirrored = 0n

  constructor(id: number, output: AgentOutput) {
    this.id = id
    this.output = output
  }

  sendStolen(message: DaemonTcp): boolean {
    return this.output.send({ _tag: "TcpSteal", value: message })
  }

  sendMirrored(message: DaemonTcp): boolean {
    return this.output.send({ _tag: "Tcp", value: message })
  }

  openStolen(sink: StolenSink): bigint {
    this.#stolen.set(this.#nextStolen, sink)
    return this.#nextStolen++
  }

  /** The traffic is over: the client is told, unless it gave the connection up before. */
  closeStolen(connectionId: bigint): void {
    if (this.#stolen.delete(connectionId)) this.sendStolen({ _tag: "Close", value: { connectionId } })
  }

  isStolen(connectionId: bigint): boolean {
    return this.#stolen.has(connectionId)
  }

  /** @param stop ends the copying */
  openMirrored(stop: () => void): bigint {
    this.#mirrored.set(this.#nextMirrored, stop)
    return this.#nextMirrored++
  }

  closeMirrored(connectionId: bigint): void {
    if (this.#mirrored.delete(connectionId)) this.sendMirrored({ _tag: "Close", value: { connectionId } })
  }

  /** Messages with an unknown id are ignored, because they may be under way when a connection ends. */
  data(connectionId: bigint, bytes: Uint8Array): void {
    this.#stolen.get(connectionId)?.data(bytes)
  }

  response(connectionId: bigint, part: ResponsePart): void {
    this.#stolen.get(connectionId)?.response(part)
  }

  unsubscribeStolen(connectionId: bigint): void {
    const sink = this.#stolen.get(connectionId)
    this.#stolen.delete(connectionId)
    sink?.abandoned("unsubscribed")
  }

  unsubscribeMirrored(connectionId: bigint): void {
    const stop = this.#mirrored.get(connectionId)
    this.#mirrored.delete(connectionId)
    stop?.()
  }

  /** The client is gone with everything it held. */
  leave(): void {
    const stolen = [...this.#stolen.values()]
    const mirrored = [...this.#mirrored.values()]
    this.#stolen.clear()
    this.#mirrored.clear()
    for (const stop of mirrored) stop()
    for (const sink of stolen) sink.abandoned("gone")
  }
}
