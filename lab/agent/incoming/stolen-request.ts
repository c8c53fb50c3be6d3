/** Sends one stolen HTTP request to its client and writes the client's answer back to the peer. */

import { STATUS_CODES } from "node:http"
import type { BodyFrame } from "../../../src/domain/protocol/http-messages.ts"
import { headerList, type ServedRequest, textPairs } from "./http-answer.ts"
import type { HttpMessage } from "./http-message.ts"
import { writeUpgrade } from "./http1-answer.ts"
import type { IncomingClient, ResponsePart } from "./incoming-client.ts"
import { type IncomingRequest, type RequestForm, requestBody, requestStart, wholeRequest } from "./incoming-messages.ts"
import { exchange, writeHolding } from "./raw-traffic.ts"

/** The text of a 502 answer, in the words of the real agent. */
export const dropped = (agentVersion: string): string => `mirrord-agent v${agentVersion}: the request was dropped`

/** The trailers of a message that has been read to its end. */
export const trailerFrames = ({ rawTrailers }: HttpMessage): ReadonlyArray<BodyFrame> => {
  const raw = rawTrailers()
  return raw.length === 0 ? [] : [{ _tag: "Trailers", value: headerList(raw) }]
}

/** The parts of one stolen request. */
interface Theft extends ServedRequest {
  readonly client: IncomingClient
  readonly form: RequestForm
  readonly request: IncomingRequest
  readonly agentVersion: string
}

/**
 * Steals one request. Each request has a connection id of its own; `Close` follows when the answer is written (wire.md
 * §7.5).
 */
export const stealRequest = (theft: Theft): void => new StolenRequest(theft).send()

class StolenRequest {
  readonly #theft: Theft
  readonly #id: bigint
  /** The raw connection after an upgrade. */
  #raw: ReturnType<typeof exchange> | undefined

  constructor(theft: Theft) {
    const { agentVersion, answer, client } = theft
    this.#theft = theft
    this.#id = client.openStolen({
      data: (bytes) => this.#raw?.data(bytes),
      response: (part) => this.#respond(part),
      abandoned: () => {
        if (this.#raw !== undefined) this.#raw.abandoned()
        // As the real agent does: the peer takes what has come for the whole answer.
        else if (answer.started) answer.end()
        else answer.fail(dropped(agentVersion))
      }
    })
    answer.onClose(() => {
      if (this.#raw === undefined) client.closeStolen(this.#id)
    })
  }

  /** Sends the request to its client: in pieces, or whole to clients that know no pieces. */
  send(): void {
    const { form, message, request } = this.#theft
    if (form === "ChunkedV1" || form === "ChunkedV2") {
      for (const start of requestStart(form, this.#id, request, !message.hasBody)) this.#tell(start)
      const piece = (frames: ReadonlyArray<BodyFrame>, isLast: boolean): void =>
        this.#tell(requestBody(this.#id, frames, isLast))
      if (message.hasBody)
        this.#readBody(
          (frame) => piece([frame], false),
          (trailers) => piece(trailers, true)
        )
      return
    }
    const frames: Array<BodyFrame> = []
    const whole = (trailers: ReadonlyArray<BodyFrame>): void =>
      this.#tell(wholeRequest(form, this.#id, request, [...frames, ...trailers]))
    if (message.hasBody) this.#readBody((frame) => frames.push(frame), whole)
    else whole([])
  }

  /** Reads the body piece by piece. `last` comes with its final frames; not at all if the peer breaks off. */
  #readBody(each: (frame: BodyFrame) => void, last: (trailers: ReadonlyArray<BodyFrame>) => void): void {
    const { message } = this.#theft
    message.body.on("data", (value: Uint8Array) => each({ _tag: "Data", value }))
    message.body.once("end", () => {
      if (message.complete()) last(trailerFrames(message))
    })
  }

  #tell(piece: Parameters<IncomingClient["sendStolen"]>[0]): void {
    const { client, message } = this.#theft
    if (!client.isStolen(this.#id) || client.sendStolen(piece)) return
    message.body.pause()
    client.output.drained(() => message.body.resume())
  }

  #respond(part: ResponsePart): void {
    const { answer, client } = this.#theft
    if (this.#raw !== undefined) return
    switch (part._tag) {
      case "Start":
        return answer.started ? undefined : this.#start(part)
      case "Body":
        return answer.started ? this.#write(part.frames, part.isLast) : undefined
      case "Error":
        client.unsubscribeStolen(this.#id)
    }
  }

  #start({ frames, headers: given, isLast, status }: Extract<ResponsePart, { readonly _tag: "Start" }>): void {
    const { answer, client } = this.#theft
    const headers = textPairs(given)
    if (status !== 101 || answer.upgradable === undefined) {
      answer.start(status, undefined, headers, isLast ? frames : undefined)
      return this.#write(frames, isLast)
    }
    const { socket, head } = answer.upgradable
    writeUpgrade(socket, 101, STATUS_CODES[101] ?? "", headers)
    if (head.length > 0) socket.unshift(head)
    this.#raw = exchange(client, this.#id, socket)
  }

  #write(frames: ReadonlyArray<BodyFrame>, isLast: boolean): void {
    const { answer, client } = this.#theft
    for (const frame of frames) {
      if (frame._tag === "Trailers") answer.trailers(textPairs(frame.value))
      else if (frame.value.length > 0 && !answer.stream.writableEnded)
        writeHolding(answer.stream, frame.value, client.output)
    }
    if (isLast) answer.end()
  }
}
