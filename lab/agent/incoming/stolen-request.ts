/** Sends one stolen HTTP request to its client and writes the client's answer back to the peer. */

import { STATUS_CODES } from "node:http"
import type { Readable } from "node:stream"
import type { BodyFrame } from "../../../src/domain/protocol/http-messages.ts"
import { headerList, textPairs } from "./http-answer.ts"
import type { HttpMessage } from "./http-message.ts"
import { writeUpgrade } from "./http1-answer.ts"
import type { IncomingClient, ResponsePart } from "./incoming-client.ts"
import { type IncomingRequest, type RequestForm, requestBody, requestStart, wholeRequest } from "./incoming-messages.ts"
import { exchange, writeHolding } from "./raw-traffic.ts"
import type { ServedRequest } from "./served-request.ts"

/** The text of a 502 answer, in the words of the real agent. */
export const dropped = (agentVersion: string): string => `mirrord-agent v${agentVersion}: the request was dropped`

/** The trailers of a message that has been read to its end. */
export const trailerFrames = ({ rawTrailers }: HttpMessage): ReadonlyArray<BodyFrame> => {
  const raw = rawTrailers()
  return raw.length === 0 ? [] : [{ _tag: "Trailers", value: headerList(raw) }]
}

/** Reads a body piece by piece. `last` comes with its final frames; not at all if the peer breaks off. */
const readBody = (
  message: HttpMessage,
  body: Readable,
  each: (frame: BodyFrame) => void,
  last: (trailers: ReadonlyArray<BodyFrame>) => void
): void => {
  body.on("data", (value: Uint8Array) => each({ _tag: "Data", value }))
  body.once("end", () => {
    if (message.complete()) last(trailerFrames(message))
  })
}

/**
 * Steals one request. Each request has a connection id of its own; `Close` follows when the answer is written (wire.md
 * §7.5).
 */
export const stealRequest = (
  options: ServedRequest & {
    readonly client: IncomingClient
    readonly form: RequestForm
    readonly request: IncomingRequest
    readonly agentVersion: string
  }
): void => {
  const { client, form, request, message, body, answer, agentVersion } = options
  let raw: ReturnType<typeof exchange> | undefined

  const writeFrames = (frames: ReadonlyArray<BodyFrame>, isLast: boolean): void => {
    for (const frame of frames) {
      if (frame._tag === "Trailers") answer.trailers(textPairs(frame.value))
      else if (frame.value.length > 0 && !answer.stream.writableEnded)
        writeHolding(answer.stream, frame.value, client.output)
    }
    if (isLast) answer.end()
  }

  const respond = (part: ResponsePart): void => {
    if (raw !== undefined) return
    switch (part._tag) {
      case "Start": {
        if (answer.started) return
        const headers = textPairs(part.headers)
        if (part.status === 101 && answer.upgradable !== undefined) {
          const { socket, head } = answer.upgradable
          writeUpgrade(socket, 101, STATUS_CODES[101] ?? "", headers)
          if (head.length > 0) socket.unshift(head)
          raw = exchange(client, connectionId, socket)
          return
        }
        answer.start(part.status, undefined, headers, part.isLast ? part.frames : undefined)
        return writeFrames(part.frames, part.isLast)
      }
      case "Body":
        return answer.started ? writeFrames(part.frames, part.isLast) : undefined
      case "Error":
        client.unsubscribeStolen(connectionId)
    }
  }

  const connectionId: bigint = client.openStolen({
    data: (bytes) => raw?.data(bytes),
    response: respond,
    abandoned: () => {
      if (raw !== undefined) raw.abandoned()
      // As the real agent does: the peer takes what has come for the whole answer.
      else if (answer.started) answer.end()
      else answer.fail(dropped(agentVersion))
    }
  })

  answer.onClose(() => {
    if (raw === undefined) client.closeStolen(connectionId)
  })

  const send = (...messages: Parameters<IncomingClient["sendStolen"]>): void => {
    if (!client.isStolen(connectionId)) return
    if (client.sendStolen(...messages)) return
    body.pause()
    client.output.drained(() => body.resume())
  }

  if (form === "ChunkedV1" || form === "ChunkedV2") {
    const complete = !message.hasBody
    for (const start of requestStart(form, connectionId, request, [], complete)) send(start)
    if (complete) return
    readBody(
      message,
      body,
      (frame) => send(requestBody(connectionId, [frame], false)),
      (trailers) => send(requestBody(connectionId, trailers, true))
    )
    return
  }
  const frames: Array<BodyFrame> = []
  const whole = (trailers: ReadonlyArray<BodyFrame>): void =>
    send(wholeRequest(form, connectionId, request, [...frames, ...trailers]))
  if (message.hasBody) readBody(message, body, (frame) => frames.push(frame), whole)
  else whole([])
}
