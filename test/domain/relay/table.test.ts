import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { routingDocument } from "../../../scripts/routing-document.ts"
import { ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { peekClient, peekDaemon } from "../../../src/domain/protocol/peek.ts"
import { clientTable, daemonTable } from "../../../src/domain/relay/table.ts"
import { sample, variantPaths } from "./sample.ts"
import { a, b, ready, request, Scenario, stealPort } from "./scenario.ts"

const clientEnums = new Set([
  "LayerTcp",
  "LayerTcpSteal",
  "ChunkedResponse",
  "LayerTcpOutgoing",
  "LayerUdpOutgoing",
  "LayerSeqpacket",
  "FileRequest"
])
const daemonEnums = new Set([
  "DaemonTcp",
  "ChunkedRequest",
  "DaemonTcpOutgoing",
  "DaemonUdpOutgoing",
  "DaemonSeqpacket",
  "FileResponse"
])
const clientPaths = variantPaths(ClientMessage, clientEnums)
const daemonPaths = variantPaths(DaemonMessage, daemonEnums)

describe("the routing table", () => {
  it("has exactly one row for every variant of ClientMessage", () =>
    expect(Object.keys(clientTable).toSorted()).toEqual([...clientPaths].toSorted()))

  it("has exactly one row for every variant of DaemonMessage", () =>
    expect(Object.keys(daemonTable).toSorted()).toEqual([...daemonPaths].toSorted()))

  it("gives every row a reason and its source", () => {
    for (const row of [...Object.values(clientTable), ...Object.values(daemonTable)]) {
      expect(row.reason).not.toBe("")
      expect(row.lost).not.toBe("")
      expect(row.source).toMatch(/^wire\.md §9\.[12]$/)
    }
  })

  it("is what docs/reference/routing.md says (else: node scripts/generate-routing-doc.mjs)", () =>
    expect(readFileSync(new URL("../../../docs/reference/routing.md", import.meta.url), "utf8")).toBe(
      routingDocument()
    ))
})

/** A router in which id 0 of the client belongs to member b, in both channels one after the other. */
const running = (channel: "Tcp" | "TcpSteal"): Scenario => {
  const s = Scenario.connected()
  s.client(ready)
    .client(stealPort(80))
    .client({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } })
  s.member(b, { _tag: channel, value: request(0n) })
  s.take()
  return s
}

describe("the router keeps to the table", () => {
  it.each(clientPaths)("client message %s", (path) => {
    const message = sample(ClientMessage, path.split(".")) as ClientMessage
    const key = peekClient(clientMessage.encode(message))
    if (key === undefined) throw new Error("the sample has no row")
    expect(key).toBe(path)
    const s = running(path.startsWith("TcpSteal") ? "TcpSteal" : "Tcp")
    s.client(message)
    const [toA, toB] = [s.toMember(a).length, s.toMember(b).length]
    const row = clientTable[key]
    const receivers = { default: [1, 0], all: [1, 1], owner: [0, 1], answered: [0, 0], rejected: [0, 0] }
    expect([toA, toB]).toEqual(receivers[row.to])
    expect(s.toClient().length).toBe(row.to === "answered" ? 1 : 0)
    expect(s.has("Dropped")).toEqual(row.to === "rejected" ? [{ _tag: "Dropped", what: "rejected" }] : [])
  })

  it.each(daemonPaths)("daemon message %s from a member other than the default", (path) => {
    const message = sample(DaemonMessage, path.split(".")) as DaemonMessage
    const bytes = daemonMessage.encode(message)
    const key = peekDaemon(bytes)
    if (key === undefined) throw new Error("the sample has no row")
    expect(key).toBe(path)
    const row = daemonTable[key]
    const s = running(path.startsWith("TcpSteal") ? "TcpSteal" : "Tcp")
    s.put({ _tag: "FromMember", member: b, bytes })
    const client = s.has("ToClient").map((output) => output.bytes)
    switch (row.treatment) {
      case "forward":
        return expect(client).toEqual([bytes])
      case "fromDefault":
        // Close is not delivered either, but costs the member its connection.
        if (row.action === "close") return expect(s.has("DisconnectMember").map((one) => one.member)).toEqual([b])
        expect(client).toEqual([])
        return expect(s.has("Dropped")).toEqual([{ _tag: "Dropped", what: "notDefault" }])
      case "merge":
        return expect(client).toEqual([])
      case "rewriteId":
        return expect(client.length).toBe(row.action === "open" ? 2 : 1)
      case "consume":
        expect(client).toEqual([])
        return expect(s.toMember(b)).toEqual([{ _tag: "OperatorPong", value: 0n }])
      case "drop":
        expect(client).toEqual([])
        return expect(s.has("Dropped")).toEqual([{ _tag: "Dropped", what: "notForClients" }])
    }
  })

  it.each(
    daemonPaths.filter(
      (path) => path in daemonTable && daemonTable[path as keyof typeof daemonTable].action === "forward"
    )
  )("daemon message %s from the default goes on as the very same bytes", (path) => {
    const bytes = daemonMessage.encode(sample(DaemonMessage, path.split(".")) as DaemonMessage)
    const s = running("Tcp").put({ _tag: "FromMember", member: a, bytes })
    expect(s.has("ToClient")[0]?.bytes).toBe(bytes)
  })
})
