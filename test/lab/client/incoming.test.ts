/** Incoming connections and requests of the strict client (wire.md §6.12), and its responses. */

import { describe, expect, it } from "vitest"
import type { ClientRequest } from "../../../lab/client/client-input.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { closed, connection, data, request, requestBody } from "../../domain/relay/scenario.ts"
import { type Driver, serving, steal, subscribed } from "./driver.ts"

const stealing = (negotiated = "1.29.0"): Driver => {
  const client = serving({}, negotiated).ask(steal(80)).hear(subscribed(80))
  client.outputs = []
  return client
}
const stolen = (value: ReturnType<typeof request>): DaemonMessage => ({ _tag: "TcpSteal", value })
const text = (value: string) => ({ _tag: "Data", value: new TextEncoder().encode(value) }) as const
const respond = (isLast: boolean, status = 200): ClientRequest => ({
  _tag: "Respond",
  connectionId: 0n,
  requestId: 0,
  status,
  headers: [],
  frames: [text("a")],
  isLast
})
const more = (isLast: boolean): ClientRequest => ({
  _tag: "RespondBody",
  connectionId: 0n,
  requestId: 0,
  frames: [text("b")],
  isLast
})
const forms = (client: Driver): ReadonlyArray<string> =>
  client.takeMessages().map((message) => {
    if (message._tag !== "TcpSteal") return message._tag
    return message.value._tag === "HttpResponseChunked" ? message.value.value._tag : message.value._tag
  })

describe("wire.md §6.12: incoming connections and requests", () => {
  it("opens, carries data both ways, half-closes and closes", () => {
    const client = stealing().hear(stolen(connection(0n)), stolen(data(0n, "hi")), stolen(data(0n, "")))
    client.ask({ _tag: "SendData", connectionId: 0n, bytes: Uint8Array.of(1) }).hear(stolen(closed(0n)))
    expect(client.takeEvents().map((event) => event._tag)).toEqual([
      "NewConnection",
      "Data",
      "Data",
      "ConnectionClosed"
    ])
    expect(client.takeSent()).toMatchObject([["connection 0", { _tag: "TcpSteal", value: { _tag: "Data" } }]])
  })

  it("an id in use replaces the old connection or request, and says so", () => {
    const client = stealing().hear(
      stolen(connection(0n)),
      stolen(connection(0n)),
      stolen(request(1n)),
      stolen(request(1n))
    )
    expect(client.takeEvents()).toMatchObject([
      { replaced: false },
      { replaced: true },
      { replaced: false },
      { replaced: true }
    ])
    expect(client.fatal).toBeUndefined()
  })

  it("stray ids are ignored, each kind", () => {
    const client = stealing().hear(stolen(data(9n, "x")), stolen(closed(9n)), stolen(requestBody(9n, "x")))
    client.hear(
      stolen({ _tag: "HttpRequestChunked", value: { _tag: "ErrorV1", value: { connectionId: 9n, requestId: 0 } } })
    )
    expect(client.takeEvents()).toMatchObject([
      { what: "strayData" },
      { what: "strayClose" },
      { what: "strayBody" },
      { what: "strayError" }
    ])
    expect(client.takeMessages()).toEqual([])
    expect(client.fatal).toBeUndefined()
  })

  it("mirror and steal have ids of their own", () => {
    const client = stealing()
      .ask({ _tag: "Mirror", port: 90 })
      .hear(stolen(connection(0n)))
    const mirrored = connection(0n)
    if (mirrored._tag !== "NewConnectionV1") throw new Error("a NewConnectionV1 is needed")
    client.hear({ _tag: "Tcp", value: { ...mirrored, value: { ...mirrored.value, destinationPort: 90 } } })
    expect(client.takeEvents()).toMatchObject([
      { channel: "TcpSteal", replaced: false },
      { channel: "Tcp", replaced: false }
    ])
  })

  it("a port that is not subscribed is refused: connections by ConnectionUnsubscribe, requests by 502", () => {
    const client = serving().hear(stolen(connection(3n)), stolen(request(4n)), { _tag: "Tcp", value: request(5n) })
    expect(client.takeMessages()).toMatchObject([
      { _tag: "TcpSteal", value: { _tag: "ConnectionUnsubscribe", value: 3n } },
      {
        _tag: "TcpSteal",
        value: { _tag: "HttpResponse", value: { connectionId: 4n, internalResponse: { status: 502 } } }
      }
    ])
  })

  it("the wrong channel counts as not subscribed", () => {
    expect(
      stealing()
        .hear({ _tag: "Tcp", value: connection(0n) })
        .takeMessages()
    ).toEqual([{ _tag: "Tcp", value: { _tag: "ConnectionUnsubscribe", value: 0n } }])
  })

  it("traffic before the result is delivered", () => {
    expect(
      serving()
        .ask(steal(80))
        .hear(stolen(connection(0n)))
        .takeEvents()
    ).toMatchObject([{ _tag: "NewConnection" }])
  })

  it("a request's body ends with isLast", () => {
    const client = stealing().hear(stolen(request(0n)), stolen(requestBody(0n, "x")), stolen(requestBody(0n, "y")))
    expect(client.takeEvents()).toMatchObject([
      { _tag: "HttpRequest" },
      { _tag: "HttpBody", isLast: true },
      { what: "strayBody" }
    ])
  })

  it.each([
    ["1.29.0", ["HttpResponseFramed"], ["Start", "Body"], ["Start", "Error"]],
    ["1.8.1", ["HttpResponseFramed"], ["Start", "Body"], ["Start", "Error"]],
    ["1.8.0", ["HttpResponseFramed"], ["HttpResponseFramed"], ["HttpResponse"]],
    ["1.2.2", ["HttpResponse"], ["HttpResponse"], ["HttpResponse"]]
  ])(
    "wire.md §3.6: at %s responses are %j at once, %j in pieces, %j when they break off",
    (negotiated, whole, pieces, broken) => {
      const asked = (): Driver => stealing(negotiated).hear(stolen(request(0n)))
      expect(forms(asked().ask(respond(true)))).toEqual(whole)
      expect(forms(asked().ask(respond(false), more(true)))).toEqual(pieces)
      expect(forms(asked().ask(respond(false), { _tag: "FailResponse", connectionId: 0n, requestId: 0 }))).toEqual(
        broken
      )
    }
  )

  it("a response is given once, and none to a request that is gone", () => {
    const client = stealing()
      .hear(stolen(request(0n)))
      .ask(respond(true), respond(true))
    expect(client.takeMessages()).toHaveLength(1)
    expect(
      stealing()
        .hear(stolen(request(0n)), stolen(closed(0n)))
        .ask(respond(true))
        .takeMessages()
    ).toEqual([])
  })

  it("after 101 the connection carries bytes; before, they are ignored", () => {
    const client = stealing()
      .hear(stolen(request(0n)), stolen(data(0n, "early")))
      .ask(respond(true, 101))
      .hear(stolen(data(0n, "late")))
    expect(client.takeEvents().map((event) => event._tag)).toEqual(["HttpRequest", "Ignored", "Data"])
    client.ask(
      { _tag: "SendData", connectionId: 0n, bytes: Uint8Array.of(1) },
      { _tag: "CloseConnection", channel: "TcpSteal", connectionId: 0n }
    )
    expect(client.takeSent().map(([queue]) => queue)).toEqual(["request 0 0", "connection 0", "incoming"])
  })
})
