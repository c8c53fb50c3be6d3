/**
 * Sends the local program's responses to stolen requests, in the form that the negotiated version allows (wire.md
 * §3.6).
 */

import type { HttpResponseFramed } from "../../src/domain/protocol/http-messages.ts"
import { gate } from "../../src/domain/protocol/version.ts"
import type { ClientRequest } from "./client-input.ts"
import { type Incoming, type IncomingRequest, mapWith, notDone, send, speaks, type Turn } from "./client-state.ts"
import { badGateway, incomingOf, putIncoming } from "./incoming-traffic.ts"

type Answering = Extract<ClientRequest, { readonly _tag: "Respond" | "RespondBody" | "FailResponse" }>

interface Open {
  readonly connection: Incoming
  readonly request: IncomingRequest
}

const open = (turn: Turn, { connectionId, requestId }: Answering): Open | undefined => {
  const connection = incomingOf(turn, "TcpSteal", connectionId)
  const request = connection?.requests.get(requestId)
  return connection === undefined || request === undefined || request.responded ? undefined : { connection, request }
}

const put = (
  turn: Turn,
  { connectionId, requestId }: Answering,
  { connection }: Open,
  request: IncomingRequest
): void =>
  putIncoming(turn, "TcpSteal", connectionId, {
    ...connection,
    requests: mapWith(connection.requests, requestId, request)
  })

const finish = (turn: Turn, ids: Answering, opened: Open, status: number): void => {
  put(turn, ids, opened, { ...opened.request, responded: true, response: undefined })
  const connection = incomingOf(turn, "TcpSteal", ids.connectionId)
  // From here on the connection carries bytes both ways.
  if (status === 101 && connection !== undefined)
    putIncoming(turn, "TcpSteal", ids.connectionId, { ...connection, raw: true })
}

const joined = (response: HttpResponseFramed): Uint8Array => {
  const parts = response.internalResponse.body.flatMap((frame) => (frame._tag === "Data" ? [frame.value] : []))
  const bytes = new Uint8Array(parts.reduce((total, part) => total + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

const sendWhole = (turn: Turn, ids: Answering, response: HttpResponseFramed): void => {
  const queue = `request ${ids.connectionId} ${ids.requestId}` as const
  if (speaks(turn.state, gate.httpFramed)) {
    return send(turn, queue, { _tag: "TcpSteal", value: { _tag: "HttpResponseFramed", value: response } })
  }
  const { internalResponse } = response
  send(turn, queue, {
    _tag: "TcpSteal",
    value: {
      _tag: "HttpResponse",
      value: { ...response, internalResponse: { ...internalResponse, body: joined(response) } }
    }
  })
}

const gone = "the request is not waiting for this"

export const respond = (turn: Turn, answer: Extract<Answering, { readonly _tag: "Respond" }>): void => {
  const opened = open(turn, answer)
  if (opened === undefined || opened.request.response !== undefined) return notDone(turn, answer, gone)
  const { connectionId, requestId, status, headers, frames, isLast } = answer
  const response: HttpResponseFramed = {
    port: opened.connection.port,
    connectionId,
    requestId,
    internalResponse: { status, version: "HTTP/1.1", headers, body: frames }
  }
  if (isLast) {
    sendWhole(turn, answer, response)
    return finish(turn, answer, opened, status)
  }
  put(turn, answer, opened, { ...opened.request, response })
  if (!speaks(turn.state, gate.httpChunkedResponse)) return
  send(turn, `request ${connectionId} ${requestId}`, {
    _tag: "TcpSteal",
    value: { _tag: "HttpResponseChunked", value: { _tag: "Start", value: response } }
  })
}

export const respondBody = (turn: Turn, answer: Extract<Answering, { readonly _tag: "RespondBody" }>): void => {
  const opened = open(turn, answer)
  const response = opened?.request.response
  if (opened === undefined || response === undefined) return notDone(turn, answer, gone)
  const { connectionId, requestId, frames, isLast } = answer
  const { internalResponse } = response
  if (speaks(turn.state, gate.httpChunkedResponse)) {
    send(turn, `request ${connectionId} ${requestId}`, {
      _tag: "TcpSteal",
      value: {
        _tag: "HttpResponseChunked",
        value: { _tag: "Body", value: { frames, isLast, connectionId, requestId } }
      }
    })
    if (isLast) finish(turn, answer, opened, internalResponse.status)
    return
  }
  const whole = { ...response, internalResponse: { ...internalResponse, body: [...internalResponse.body, ...frames] } }
  if (!isLast) return put(turn, answer, opened, { ...opened.request, response: whole })
  sendWhole(turn, answer, whole)
  finish(turn, answer, opened, internalResponse.status)
}

export const failResponse = (turn: Turn, answer: Extract<Answering, { readonly _tag: "FailResponse" }>): void => {
  const opened = open(turn, answer)
  if (opened === undefined) return notDone(turn, answer, gone)
  const { connectionId, requestId } = answer
  if (opened.request.response !== undefined && speaks(turn.state, gate.httpChunkedResponse)) {
    send(turn, `request ${connectionId} ${requestId}`, {
      _tag: "TcpSteal",
      value: { _tag: "HttpResponseChunked", value: { _tag: "Error", value: { connectionId, requestId } } }
    })
  } else badGateway(turn, connectionId, requestId, opened.connection.port)
  finish(turn, answer, opened, 502)
}
