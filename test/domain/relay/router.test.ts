import { describe, expect, it } from "vitest"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage, type DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { limits } from "../../../src/domain/relay/limits.ts"
import {
  a,
  announce,
  b,
  c,
  closed,
  connection,
  data,
  logOf,
  ok,
  ready,
  request,
  requestBody,
  respond,
  responseBody,
  responseError,
  responseStart,
  Scenario,
  stealPort,
  unsubscribeId,
  version
} from "./scenario.ts"

/** Port 80 stolen and 90 mirrored by a client that takes log lines. */
const stealing = (...args: Parameters<typeof Scenario.connected>): Scenario => {
  const s = Scenario.connected(...args)
    .client(announce("1.29.0"))
    .member(a, version("1.29.0"))
    .client(ready)
  s.client(stealPort(80)).client({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 90 } })
  for (const member of s.state.options.members) s.steal(member, ok(80)).member(member, { _tag: "Tcp", value: ok(90) })
  s.take()
  return s
}
const toSteal = (value: ReturnType<typeof request>): DaemonMessage => ({ _tag: "TcpSteal", value })
const dataToMember = (connectionId: bigint, text: string) =>
  ({ _tag: "TcpSteal", value: data(connectionId, text) }) as const

/** Words of a peer in a message that cannot be read. */
const unprintable = `${"\u001b[2J\u202e".repeat(50_000)}`

describe("a message beyond what the codec takes (wire.md §2.6)", () => {
  it("of the client is dropped, and the connection goes on", () => {
    const s = stealing()
    s.put({ _tag: "FromClient", bytes: Uint8Array.of(6, 0xfc, 1, 0, 4, 0) })
    const outputs = s.take()
    expect(outputs).toContainEqual({ _tag: "Dropped", what: "malformedClientMessage" })
    expect(outputs.flatMap((output) => (output._tag === "Warn" ? [output.message] : []))).toEqual([
      expect.stringContaining("a message of at least 262145 items; at most 262144 are taken")
    ])
    expect(outputs.filter(({ _tag }) => _tag === "ToMember" || _tag === "DropClient")).toEqual([])
    expect(s.state.ended).toBe(false)
  })

  it("of a member costs that member its connection, and nobody else's", () => {
    const s = stealing()
    s.put({ _tag: "FromMember", member: b, bytes: Uint8Array.of(8, 0, 0xfc, 1, 0, 4, 0) })
    const outputs = s.take()
    expect(outputs).toContainEqual({
      _tag: "DisconnectMember",
      member: b,
      reason: expect.stringContaining("at most 262144 are taken")
    })
    expect(s.state.ended).toBe(false)
  })

  it("is told in short and clean words", () => {
    const s = stealing()
    const text = new TextEncoder().encode(unprintable)
    const length = new Uint8Array(Uint32Array.of(text.length).buffer)
    s.put({ _tag: "FromClient", bytes: Uint8Array.from([10, 0xfc, ...length, ...text]) })
    s.member(b, { _tag: "Close", value: unprintable })
    const texts = s.take().flatMap((output) => {
      if (output._tag === "Warn") return [output.message]
      return output._tag === "DisconnectMember" ? [output.reason] : []
    })
    expect(texts).toHaveLength(3)
    for (const told of texts) {
      expect(told.length).toBeLessThanOrEqual(1_024)
      expect(told).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
    }
  })
})

describe("incoming traffic", () => {
  it("wire.md §8.6: what carries an id goes to the member that allocated it, and only there", () => {
    const s = stealing().steal(a, connection(0n)).steal(b, connection(0n))
    s.client(dataToMember(1n, "for b")).client(respond(0n, "for a")).client(unsubscribeId(1n))
    expect(s.toMember(a)).toEqual([respond(0n, "for a")])
    expect(s.toMember(b)).toEqual([dataToMember(0n, "for b"), unsubscribeId(0n)])
  })

  it("wire.md §8.7: ids at the end of the message are rewritten too, the request id is kept", () => {
    const s = stealing()
      .steal(a, request(0n))
      .steal(b, request(0n, 3))
      .steal(b, requestBody(0n, "abc", 3))
    expect(s.toClient()).toEqual([toSteal(request(0n)), toSteal(request(1n, 3)), toSteal(requestBody(1n, "abc", 3))])
    const part = new TextEncoder().encode("x")
    s.client(responseStart(1n, 3)).client(responseBody(1n, part, true, 3))
    expect(s.toMember(b)).toEqual([responseStart(0n, 3), responseBody(0n, part, true, 3)])
    expect(s.toMember(a)).toEqual([])
  })

  it("wire.md §8.7: several requests of one connection share its client-facing id", () => {
    const s = stealing().steal(a, connection(9n)).steal(b, request(0n, 0)).steal(b, request(0n, 1))
    expect(s.toClient().slice(1)).toEqual([toSteal(request(1n, 0)), toSteal(request(1n, 1))])
  })

  it("wire.md §8.7: ids of every length are rewritten", () => {
    const s = stealing()
    for (let id = 0n; id < 300n; id++) s.steal(a, connection(id)).steal(b, connection(id))
    s.toClient()
    for (const id of [0n, 125n, 299n]) s.steal(b, data(id, "up")).client(dataToMember(2n * id + 1n, "down"))
    expect(s.toClient()).toEqual([1n, 251n, 599n].map((id) => toSteal(data(id, "up"))))
    expect(s.toMember(b)).toEqual([0n, 125n, 299n].map((id) => dataToMember(id, "down")))
  })

  it("wire.md §8.8: stray ids are dropped silently: late data, a second Close, an id of the other channel", () => {
    const s = stealing().steal(b, connection(5n))
    s.toClient()
    s.client(unsubscribeId(0n)).client(dataToMember(0n, "late")).client(unsubscribeId(0n)).client(unsubscribeId(77n))
    expect(s.toMember(b)).toEqual([unsubscribeId(5n)])
    s.steal(b, data(5n, "late")).steal(b, closed(5n)).steal(b, closed(5n))
    s.steal(b, connection(6n))
    s.toClient()
    s.client({ _tag: "Tcp", value: { _tag: "ConnectionUnsubscribe", value: 1n } })
    expect(s.toClient()).toEqual([])
    expect(s.toMember(b)).toEqual([])
    expect(s.has("Dropped").every((output) => output.what === "strayId")).toBe(true)
    expect([s.has("DisconnectMember"), s.has("DropClient")]).toEqual([[], []])
  })

  it.each<[string, (s: Scenario) => Scenario]>([
    ["the agent's Close", (s) => s.steal(b, closed(0n))],
    ["the client's ConnectionUnsubscribe", (s) => s.client(unsubscribeId(0n))],
    ["the client's ChunkedResponse.Error", (s) => s.client(responseError(0n))],
    ["the member's loss", (s) => s.lose(b)]
  ])("wire.md §8.9: %s frees the mapping in both directions", (_, ending) => {
    const s = ending(stealing().steal(b, request(0n)))
    s.take()
    s.client(dataToMember(0n, "x"))
    expect([s.toMember(a), s.toMember(b)]).toEqual([[], []])
    expect([...s.state.ids.routes, ...s.state.ids.byMember]).toEqual([])
  })

  it("wire.md §8.10: a lost member's connections are closed, each once in its channel; one warning names it", () => {
    const s = stealing()
      .steal(a, connection(0n))
      .steal(b, connection(0n))
      .member(b, { _tag: "Tcp", value: connection(0n) })
      .steal(b, request(1n))
    s.toClient()
    s.lose(b).lose(b)
    const said = s.toClient()
    expect(said.slice(0, 3)).toEqual([toSteal(closed(1n)), { _tag: "Tcp", value: closed(2n) }, toSteal(closed(3n))])
    expect(said.slice(3).map(logOf)).toEqual([
      "the session goes on without cluster cluster-b: socket closed; its traffic is missing until it returns"
    ])
    expect([s.has("DropClient"), s.has("EndSession")]).toEqual([[], []])
  })

  it("wire.md §8.24: the mapping outlives the response, until Close: data after an upgrade", () => {
    const s = stealing().steal(b, request(0n)).client(respond(0n, ""))
    s.steal(b, data(0n, "up")).client(dataToMember(0n, "down"))
    expect(s.toClient().at(-1)).toEqual(toSteal(data(0n, "up")))
    expect(s.toMember(b).at(-1)).toEqual(dataToMember(0n, "down"))
  })

  it("wire.md §8.25: empty data is a half-close and goes on, both ways", () => {
    const s = stealing().steal(a, connection(9n)).steal(b, connection(0n)).steal(b, data(0n, ""))
    expect(s.toClient().at(-1)).toEqual(toSteal(data(1n, "")))
    s.client(dataToMember(1n, ""))
    expect(s.toMember(b)).toEqual([dataToMember(0n, "")])
  })

  it("an agent that opens an id twice: the client's old connection is closed first", () => {
    const s = stealing().steal(b, connection(0n)).steal(b, connection(0n))
    expect(s.toClient()).toEqual([toSteal(connection(0n)), toSteal(closed(0n)), toSteal(connection(1n))])
  })

  it("open connections are bounded: one too many is refused at its member", () => {
    const s = stealing()
    for (let id = 0n; id < limits.openIds; id++) s.steal(b, connection(id))
    s.take()
    s.steal(a, connection(0n))
    expect(s.toClient().map(logOf)).toEqual([expect.stringContaining("incoming connections are open")])
    expect(s.toMember(a)).toEqual([unsubscribeId(0n)])
    s.steal(b, closed(7n))
    s.toClient()
    expect(s.steal(a, connection(1n)).toClient()).toHaveLength(1)
  })

  it("data do not copy the state: it is the same object before and after", () => {
    const s = stealing().steal(b, connection(0n))
    const before = s.state
    s.steal(b, data(0n, "x")).client(dataToMember(0n, "x"))
    expect(s.state).toBe(before)
  })
})

describe("responses for a member that is older than the client believes (wire.md §8.19)", () => {
  const part = (text: string): Uint8Array => new TextEncoder().encode(text)
  const framed = (connectionId: bigint, ...texts: ReadonlyArray<string>) => ({
    _tag: "TcpSteal",
    value: {
      _tag: "HttpResponseFramed",
      value: {
        port: 80,
        connectionId,
        requestId: 0,
        internalResponse: {
          status: 200,
          version: "HTTP/1.1",
          headers: [],
          body: texts.map((text) => ({ _tag: "Data", value: part(text) }))
        }
      }
    }
  })

  it("below 1.8.1 the pieces are collected and sent as one", () => {
    const s = stealing({ [b]: "1.8.0" })
      .steal(a, connection(0n))
      .steal(b, request(0n))
    s.client(responseStart(1n)).client(responseBody(1n, part("ab"), false))
    expect(s.toMember(b)).toEqual([])
    s.client(responseBody(1n, part("cd"), true))
    expect(s.toMember(b)).toEqual([framed(0n, "ab", "cd")])
    expect(s.state.collected.bytes).toBe(0)
  })

  it("below 1.3.0 as a plain body", () => {
    const s = stealing({ [b]: "1.2.2" }).steal(b, request(0n))
    s.client(responseStart(0n))
      .client(responseBody(0n, part("ab"), false))
      .client(responseBody(0n, part("cd"), true))
    expect(s.toMember(b)).toEqual([respond(0n, "abcd")])
  })

  it("an error becomes status 502 and frees the mapping", () => {
    const s = stealing({ [b]: "1.8.0" })
      .steal(b, request(0n))
      .client(responseStart(0n))
      .client(responseError(0n))
    expect(s.toMember(b)).toMatchObject([
      { value: { _tag: "HttpResponse", value: { internalResponse: { status: 502 } } } }
    ])
    expect([...s.state.ids.routes]).toEqual([])
    expect(s.state.collected.bytes).toBe(0)
  })

  it("what is collected is bounded: one 502, the rest is thrown away", () => {
    const s = stealing({ [b]: "1.8.0" })
      .steal(b, request(0n))
      .client(responseStart(0n))
    const large = new Uint8Array(limits.collectedBytes / 2)
    for (let i = 0; i < 3; i++) s.client(responseBody(0n, large, i === 2))
    expect(s.toMember(b)).toMatchObject([
      { value: { _tag: "HttpResponse", value: { internalResponse: { status: 502 } } } }
    ])
    expect(s.state.collected.bytes).toBe(0)
    expect(s.has("Dropped")).toEqual([{ _tag: "Dropped", what: "collectedTooMuch" }])
  })

  it("what was collected goes with its connection", () => {
    const s = stealing({ [b]: "1.8.0" })
      .steal(b, request(0n))
      .client(responseStart(0n))
      .steal(b, closed(0n))
    expect(s.state.collected.bytes).toBe(0)
  })
})

describe("the default", () => {
  it("wire.md §8.12: its loss closes the client's socket without Close, and ends this connection's machine", () => {
    const s = stealing().steal(b, connection(0n))
    s.take()
    s.lose(a)
    expect(s.take()).toEqual([
      { _tag: "DropClient", reason: "the session lost the default cluster cluster-a: socket closed" }
    ])
    expect(
      s.put({ _tag: "MemberConnected", member: a }).client(ready).steal(b, connection(1n)).later(5000).take()
    ).toEqual([])
  })

  it("wire.md §8.13: a new connection is a new machine: answers of the old one's members are nobody's", () => {
    const s = new Scenario().member(a, { _tag: "Pong" })
    expect(s.take()).toEqual([{ _tag: "Dropped", what: "notLive" }])
  })

  it("wire.md §8.15: Vpn is refused once for good, PauseTargetRequest dropped; no member sees either", () => {
    const s = stealing()
      .client({ _tag: "PauseTargetRequest", value: true })
      .client({ _tag: "Vpn", value: { _tag: "OpenSocket" } })
    expect([s.toMember(a), s.toMember(b)]).toEqual([[], []])
    expect(s.toClient()).toMatchObject([{ _tag: "Close", value: expect.stringContaining("VPN is not supported") }])
    expect(s.has("EndSession")).toHaveLength(1)
  })

  it("wire.md §8.15: a client's ReverseDnsLookup and ShareLink reach no member", () => {
    const s = stealing()
      .client({ _tag: "ReverseDnsLookup", value: { ipAddress: "10.0.0.1" } })
      .client({ _tag: "ShareLink", value: { _tag: "RegisterKey", value: "k" } })
    expect([s.toMember(a), s.toMember(b)]).toEqual([[], []])
    expect(s.has("Dropped")).toEqual([1, 2].map(() => ({ _tag: "Dropped", what: "rejected" })))
  })

  it("wire.md §8.23: a client that only forwards ports sees nothing unasked but log lines", () => {
    const s = Scenario.connected().client(announce("1.29.0")).member(a, version("1.29.0")).client(ready)
    s.toClient()
    s.steal(b, connection(0n))
      .steal(a, ok(80))
      .member(a, { _tag: "Pong" })
      .member(b, { _tag: "OperatorPing", value: 1n })
    s.member(b, { _tag: "PauseTarget", value: { _tag: "PauseResponse", changed: true, containerPaused: true } })
    s.put({ _tag: "MemberLost", member: b, reason: "x" }).put({ _tag: "MemberConnected", member: b })
    expect(s.toClient().map((message) => message._tag)).toEqual(["LogMessage"])
  })

  it("a client's Close stops every member", () => {
    const s = stealing().client({ _tag: "Close" })
    expect([s.toMember(a), s.toMember(b)]).toEqual([[{ _tag: "Close" }], [{ _tag: "Close" }]])
    expect(s.has("DropClient")).toHaveLength(1)
  })
})

describe("what cannot be read", () => {
  const unknown = Uint8Array.of(77, 1, 2)

  it("an unknown tag of the client goes to the default if that is newer, else nowhere, counted, reported once", () => {
    const s = stealing().put({ _tag: "FromClient", bytes: unknown }).put({ _tag: "FromClient", bytes: unknown })
    expect(s.has("ToMember")).toEqual([])
    expect(s.has("Dropped")).toEqual([1, 2].map(() => ({ _tag: "Dropped", what: "unknownClientTag" })))
    expect(s.has("Warn")).toHaveLength(1)
    const newer = Scenario.connected()
      .client(announce("1.31.0"))
      .member(a, version("1.30.0"))
      .member(b, version("1.31.0"))
    newer.take()
    newer.put({ _tag: "FromClient", bytes: unknown }).put({ _tag: "FromClient", bytes: Uint8Array.of(2, 0, 9) })
    expect(newer.has("ToMember")).toEqual([{ _tag: "ToMember", member: a, bytes: unknown }])
    expect(newer.has("ToMember")[0]?.bytes).toBe(unknown)
  })

  it("malformed and oversize messages of the client are dropped, counted, and reported once each", () => {
    const s = stealing()
    for (const bytes of [
      Uint8Array.of(0xff),
      Uint8Array.of(5),
      new Uint8Array(0),
      new Uint8Array(64 * 1024 * 1024 + 1)
    ]) {
      s.put({ _tag: "FromClient", bytes })
    }
    expect(s.has("Dropped").map((output) => output.what)).toEqual([
      "malformedClientMessage",
      "malformedClientMessage",
      "malformedClientMessage",
      "oversizeClientMessage"
    ])
    expect(s.has("Warn")).toHaveLength(2)
    expect(s.toClient()).toHaveLength(2)
    expect([s.has("DropClient"), s.has("ToMember")]).toEqual([[], []])
  })

  it("of another member: that member is disconnected; of the default: the client's socket is closed", () => {
    const s = stealing({}, { members: [a, b, c] }).steal(b, connection(0n))
    s.take()
    s.put({ _tag: "FromMember", member: b, bytes: Uint8Array.of(0xff) }).put({
      _tag: "FromMember",
      member: c,
      bytes: unknown
    })
    expect(s.has("DisconnectMember").map((output) => output.member)).toEqual([b, c])
    expect(s.toClient()[0]).toEqual(toSteal(closed(0n)))
    expect(s.has("DropClient")).toEqual([])
    s.put({ _tag: "FromMember", member: a, bytes: Uint8Array.of(0xff) })
    expect(s.has("DropClient")).toHaveLength(1)
  })

  it("an unknown tag of the default goes to a client newer than the router, else is dropped (wire.md §9.2)", () => {
    const s = stealing().put({ _tag: "FromMember", member: a, bytes: unknown })
    expect(s.has("Dropped")).toEqual([{ _tag: "Dropped", what: "unknownDaemonTag" }])
    expect(s.has("DropClient")).toEqual([])
    const newer = Scenario.connected().client(announce("1.30.0")).put({ _tag: "FromMember", member: a, bytes: unknown })
    expect(newer.has("ToClient").map((output) => output.bytes)).toEqual([unknown])
  })

  it("what passes unchanged keeps its very bytes, both ways", () => {
    const bytes = clientMessage.encode({
      _tag: "GetEnvVarsRequest",
      value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) }
    })
    const s = stealing().put({ _tag: "FromClient", bytes })
    expect(s.has("ToMember").map((output) => output.bytes)).toEqual([bytes])
    expect(s.has("ToMember")[0]?.bytes).toBe(bytes)
    const answer = daemonMessage.encode({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map() } })
    s.put({ _tag: "FromMember", member: a, bytes: answer })
    expect(s.has("ToClient").at(-1)?.bytes).toBe(answer)
  })

  it("bytes after a message do not travel", () => {
    const s = stealing().put({
      _tag: "FromClient",
      bytes: Uint8Array.of(...clientMessage.encode({ _tag: "Ping" }), 7, 7)
    })
    expect(s.has("ToMember").map((output) => output.bytes)).toEqual([Uint8Array.of(7), Uint8Array.of(7)])
    const file = daemonMessage.encode({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map() } })
    s.put({ _tag: "FromMember", member: a, bytes: Uint8Array.of(...file, 1) })
    expect(s.has("ToClient").at(-1)?.bytes).toEqual(file)
  })

  it("a member that joins gets the client's version and subscriptions; one that leaves is forgotten", () => {
    const s = Scenario.connected({}, { memberKind: "agent" })
    s.client({ _tag: "SwitchProtocolVersion", value: "1.29.0" })
    for (const member of [a, b]) s.member(member, { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" })
    s.client({ _tag: "ReadyForLogs" })
    s.client({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } })
    for (const member of [a, b])
      s.member(member, { _tag: "TcpSteal", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } } })
    s.take()
    s.put({ _tag: "MemberConnected", member: c }).member(c, {
      _tag: "SwitchProtocolVersionResponse",
      value: "1.29.0"
    })
    expect(s.toMember(c).map(({ _tag }) => _tag)).toEqual(["SwitchProtocolVersion", "TcpSteal", "ReadyForLogs"])
    s.take()
    s.put({ _tag: "MemberLeft", member: c, reason: "its pod is gone" })
    expect(s.state.options.members).toEqual([a, b])
    expect(s.take().filter((output) => output._tag === "ToClient")).toHaveLength(1)
    s.put({ _tag: "MemberLeft", member: c, reason: "again" }).put({
      _tag: "MemberLeft",
      member: a,
      reason: "the default cannot"
    })
    expect(s.state.options.members).toContain(a)
  })

  it("what somebody says who is no member is dropped", () => {
    expect(
      new Scenario()
        .member(c, { _tag: "Pong" })
        .take()
        .map((output) => output._tag)
    ).toEqual(["Dropped"])
  })
})
