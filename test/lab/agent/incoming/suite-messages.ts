/** Messages of clients and agents in the cases of incoming traffic. */

import { expect } from "vitest"
import type { ClientMessage } from "../../../../src/domain/protocol/client-message.ts"
import type { HttpFilter } from "../../../../src/domain/protocol/http-filter-messages.ts"
import type { BodyFrame, ChunkedResponse } from "../../../../src/domain/protocol/http-messages.ts"
import type { LayerTcpSteal } from "../../../../src/domain/protocol/incoming-messages.ts"
import type { AgentClient } from "../agent-client.ts"
import { targetPort } from "../loopback-target.ts"

export const steal = (value: LayerTcpSteal): ClientMessage => ({ _tag: "TcpSteal", value })
export const stealAll = steal({ _tag: "PortSubscribe", value: { _tag: "All", value: targetPort } })
export const stealFiltered = (filter: HttpFilter) =>
  steal({ _tag: "PortSubscribe", value: { _tag: "FilteredHttpEx", port: targetPort, filter } })
export const header = (value: string): HttpFilter => ({ _tag: "Header", value })
export const mirrorFiltered = (filter: HttpFilter): ClientMessage => ({
  _tag: "Tcp",
  value: { _tag: "PortSubscribeFilteredHttp", port: targetPort, filter }
})
export const mirrorAll: ClientMessage = { _tag: "Tcp", value: { _tag: "PortSubscribe", value: targetPort } }
export const confirmed = (_tag: "Tcp" | "TcpSteal") => ({
  _tag,
  value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: targetPort } }
})
export const data = (connectionId: bigint, text: string) =>
  steal({ _tag: "Data", value: { connectionId, bytes: Buffer.from(text) } })

export const frame = (text: string): BodyFrame => ({ _tag: "Data", value: Buffer.from(text) })
export const response = (
  connectionId: bigint,
  text: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {}
) =>
  steal({
    _tag: "HttpResponseFramed",
    value: {
      port: targetPort,
      connectionId,
      requestId: 0,
      internalResponse: {
        status,
        version: "HTTP/1.1",
        headers: Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)] as const),
        body: [frame(text)]
      }
    }
  })
export const chunked = (value: ChunkedResponse) => steal({ _tag: "HttpResponseChunked", value })
export const chunkedStart = (connectionId: bigint, headers: ReadonlyArray<readonly [string, string]> = []) =>
  chunked({
    _tag: "Start",
    value: {
      port: targetPort,
      connectionId,
      requestId: 0,
      internalResponse: {
        status: 200,
        version: "HTTP/1.1",
        headers: headers.map(([name, value]) => [name, Buffer.from(value)] as const),
        body: [frame("one ")]
      }
    }
  })
export const chunkedBody = (connectionId: bigint, frames: ReadonlyArray<BodyFrame>, isLast: boolean) =>
  chunked({ _tag: "Body", value: { frames, isLast, connectionId, requestId: 0 } })

export const start = (connectionId: bigint, more: object = {}) => ({
  _tag: "TcpSteal",
  value: { _tag: "HttpRequestChunked", value: { _tag: "StartV2", value: { connectionId, requestId: 0, ...more } } }
})
export const over = (connectionId: bigint, _tag = "TcpSteal") => ({
  _tag,
  value: { _tag: "Close", value: { connectionId } }
})
export const received = (connectionId: bigint, bytes: string, _tag = "TcpSteal") => ({
  _tag,
  value: { _tag: "Data", value: { connectionId, bytes } }
})

/** Reads a stolen or mirrored request to its end: its pieces are cut as the agent likes. */
export const readRequest = async (client: AgentClient) => {
  let head: { readonly method?: string; readonly uri?: string } = {}
  let text = ""
  let trailers: unknown
  for (;;) {
    const message = await client.next()
    if (message?._tag !== "TcpSteal" && message?._tag !== "Tcp") return expect.fail(`a request, not ${message?._tag}`)
    if (message.value._tag !== "HttpRequestChunked") return expect.fail(`a request, not ${message.value._tag}`)
    const { _tag, value } = message.value.value
    if (_tag !== "StartV2" && _tag !== "Body") return expect.fail(`a piece of a request, not ${_tag}`)
    if (_tag === "StartV2") head = { method: value.request.method, uri: value.request.uri }
    const { frames, isLast } = _tag === "StartV2" ? value.request.body : value
    for (const piece of frames) {
      if (piece._tag === "Data") text += Buffer.from(piece.value).toString()
      else trailers = piece.value.map(([name, bytes]) => [name, Buffer.from(bytes).toString()])
    }
    if (isLast) return { ...head, text, trailers }
  }
}
