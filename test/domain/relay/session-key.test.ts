import { describe, expect, it } from "vitest"
import type { DaemonTcp } from "../../../src/domain/protocol/incoming-messages.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"
import { sessionKeyHeader } from "../../../src/domain/relay/session-key.ts"
import { a, b, data, ok, request, requestBody, Scenario, stealPort } from "./scenario.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const others: Headers = [
  ["host", bytes("shop")],
  ["mirrord-key", bytes("of an earlier hop")],
  ["mirrord-key", bytes("and another")]
]
const head = { method: "GET", uri: "/", headers: others, version: "HTTP/1.1" }
const ids = { connectionId: 7n, requestId: 0, port: 80 }
const body = [{ _tag: "Data", value: bytes("body") }] as const
const chunked = request(7n)
if (chunked._tag !== "HttpRequestChunked" || chunked.value._tag !== "StartV2") throw new Error("no second form")

const beginnings: ReadonlyArray<DaemonTcp> = [
  { _tag: "HttpRequest", value: { internalRequest: { ...head, body: bytes("body") }, ...ids } },
  { _tag: "HttpRequestFramed", value: { internalRequest: { ...head, body }, ...ids } },
  { _tag: "HttpRequestChunked", value: { _tag: "StartV1", value: { internalRequest: { ...head, body }, ...ids } } },
  {
    _tag: "HttpRequestChunked",
    value: {
      _tag: "StartV2",
      value: { ...chunked.value.value, request: { ...head, body: { frames: body, isLast: false } } }
    }
  }
]

/** A session that steals and mirrors, with what came to its client taken away. */
const session = (key: string | undefined): Scenario => {
  const s = Scenario.connected({}, { keyHeader: sessionKeyHeader(key) })
  s.client(stealPort(80)).steal(a, ok(80)).steal(b, ok(80))
  s.client({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 81 } })
  for (const member of [a, b]) s.member(member, { _tag: "Tcp", value: ok(81) })
  s.take()
  return s
}

/** The message with other headers in place of {@link others}, and any id. */
const withHeaders = (message: DaemonTcp, headers: Headers): unknown =>
  JSON.parse(
    JSON.stringify(message, (name, value: unknown) => {
      if (name === "headers") return headers
      return name === "connectionId" ? "any" : value
    })
  )

describe("the key of a session in its requests", () => {
  for (const [index, message] of beginnings.entries())
    it(`is the one header of its name, beside all else, in form ${index} of a stolen request`, () => {
      const s = session("ann/feature #1 ü")
      const [got] = s.steal(b, message).toClient()
      if (got?._tag !== "TcpSteal") throw new Error("no request")
      const marked: Headers = [
        ["host", bytes("shop")],
        ["mirrord-key", bytes("ann/feature #1 ü")]
      ]
      expect(withHeaders(got.value, marked)).toEqual(withHeaders(message, marked))
      expect(JSON.stringify(got, (_, value: unknown) => (typeof value === "bigint" ? "" : value))).toContain(
        JSON.stringify(marked)
      )
    })

  it("leaves mirrored requests, bodies and connections as they are", () => {
    const s = session("key")
    const [first] = beginnings
    if (first === undefined) throw new Error("no request")
    const values = [
      ...s.member(a, { _tag: "Tcp", value: first }).toClient(),
      ...s.steal(a, request(8n)).toClient().slice(1),
      ...s.steal(a, requestBody(8n, "mirrord-key")).toClient(),
      ...s.steal(a, data(8n, "bytes")).toClient()
    ].map((message) => (message._tag === "Tcp" || message._tag === "TcpSteal" ? message.value : message))
    expect(values.map((value) => withHeaders(value as DaemonTcp, []))).toEqual(
      [first, requestBody(8n, "mirrord-key"), data(8n, "bytes")].map((value) => withHeaders(value, []))
    )
    expect(JSON.stringify(values[0], (_, value: unknown) => (typeof value === "bigint" ? "" : value))).toContain(
      JSON.stringify(others)
    )
  })

  it.each([undefined, "", "two\nlines"])("is not added where there is none that a header can hold: %j", (key) => {
    const s = session(key)
    // The first id towards the client is 0.
    expect(s.steal(a, request(5n)).toClient()).toEqual([{ _tag: "TcpSteal", value: request(0n) }])
  })
})
