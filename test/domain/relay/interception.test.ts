import { describe, expect, it } from "vitest"
import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { peekClient, peekDaemon } from "../../../src/domain/protocol/peek.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"
import {
  requestRows,
  responseRows,
  stolenRequest,
  stolenResponse,
  watchEventText
} from "../../../src/domain/relay/interception.ts"
import { stolenRequest as announced } from "../../support/stolen-request.ts"

const headers: Headers = [
  ["accept", new TextEncoder().encode("a")],
  ["accept", new TextEncoder().encode("b")],
  ["x-odd", new Uint8Array([0xff])]
]
const shown = { accept: "a, b", "x-odd": "\ufffd" }
const request = (message: DaemonMessage) => {
  const bytes = daemonMessage.encode(message)
  return requestRows.has(peekDaemon(bytes)) ? stolenRequest(bytes) : undefined
}
const response = (message: ClientMessage) => {
  const bytes = clientMessage.encode(message)
  return responseRows.has(peekClient(bytes)) ? stolenResponse(bytes) : undefined
}

const body = { method: "GET", uri: "/a?b=c", headers, version: "HTTP/1.1" }
const answer = { status: 204, version: "HTTP/1.1", headers }
const ids = { connectionId: 1n, requestId: 0, port: 80 }
const steal = (value: Extract<DaemonMessage, { _tag: "TcpSteal" }>["value"]): DaemonMessage => ({
  _tag: "TcpSteal",
  value
})
const reply = (value: Extract<ClientMessage, { _tag: "TcpSteal" }>["value"]): ClientMessage => ({
  _tag: "TcpSteal",
  value
})

describe("what is told of a session", () => {
  it.each<[string, DaemonMessage]>([
    [
      "HttpRequest",
      steal({ _tag: "HttpRequest", value: { internalRequest: { ...body, body: new Uint8Array() }, ...ids } })
    ],
    [
      "HttpRequestFramed",
      steal({ _tag: "HttpRequestFramed", value: { internalRequest: { ...body, body: [] }, ...ids } })
    ],
    [
      "StartV1",
      steal({
        _tag: "HttpRequestChunked",
        value: { _tag: "StartV1", value: { internalRequest: { ...body, body: [] }, ...ids } }
      })
    ],
    ["StartV2", announced("/a?b=c", headers)]
  ])("is a stolen request, announced by %s", (_name, message) => {
    expect(request(message)).toEqual({
      http_request: { method: "GET", uri: "/a?b=c", version: "HTTP/1.1", headers: shown }
    })
  })

  it.each<[string, ClientMessage]>([
    [
      "HttpResponse",
      reply({ _tag: "HttpResponse", value: { ...ids, internalResponse: { ...answer, body: new Uint8Array() } } })
    ],
    [
      "HttpResponseFramed",
      reply({ _tag: "HttpResponseFramed", value: { ...ids, internalResponse: { ...answer, body: [] } } })
    ],
    [
      "Start",
      reply({
        _tag: "HttpResponseChunked",
        value: { _tag: "Start", value: { ...ids, internalResponse: { ...answer, body: [] } } }
      })
    ]
  ])("is a response, given by %s", (_name, message) =>
    expect(response(message)).toEqual({ http_response: { status: 204, version: "HTTP/1.1", headers: shown } })
  )

  it("is no mirrored request, no body, no error, and nothing that cannot be read", () => {
    const stolen = announced("/")
    if (stolen._tag !== "TcpSteal") throw new Error("it is stolen")
    expect(request({ _tag: "Tcp", value: stolen.value })).toBeUndefined()
    expect(request({ _tag: "Pong" })).toBeUndefined()
    expect(response({ _tag: "Ping" })).toBeUndefined()
    const ended = { _tag: "ErrorV1", value: { connectionId: 1n, requestId: 0 } } as const
    expect(request(steal({ _tag: "HttpRequestChunked", value: ended }))).toBeUndefined()
    const failed = { _tag: "Error", value: { connectionId: 1n, requestId: 0 } } as const
    expect(response(reply({ _tag: "HttpResponseChunked", value: failed }))).toBeUndefined()
    expect(stolenRequest(daemonMessage.encode(stolen).subarray(0, 9))).toBeUndefined()
    expect(stolenResponse(new Uint8Array())).toBeUndefined()
  })

  it("has the published envelope, in one line, and the key of its session", () => {
    const data = { http_response: { status: 200, version: "HTTP/1.1", headers: {} } }
    const at = Date.UTC(2026, 5, 17, 12, 0, 0, 5)
    expect(JSON.parse(watchEventText(data, { key: "k", service: "my-app" }, at))).toEqual({
      service_name: "my-app",
      timestamp: "2026-06-17T12:00:00Z",
      session_key: "k",
      data
    })
    const odd = watchEventText(data, { key: "a\nb", service: "" }, at)
    expect(odd).not.toContain("\n")
    expect(watchEventText(data, { key: undefined, service: "" }, at)).not.toContain("session_key")
  })
})
