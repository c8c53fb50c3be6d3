/**
 * Messages keep their order, and a connection's messages its member (wire.md §8.20, §8.24 and §8.25), through the
 * strict client.
 */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { stolenRequest } from "../../support/stolen-request.ts"
import type { AgentCommand } from "./support/agent-state.ts"
import { fifoOf, isStateful, isSubsequence, marker, nobodyHurt } from "./support/checks.ts"
import { choices, deeds, open, read } from "./support/deeds.ts"
import { subscribed } from "./support/subscribed.ts"
import { a, b, c } from "./support/world.ts"

const openSteal: AgentCommand = { _tag: "Open", channel: "TcpSteal", port: 80 }

describe("wire.md §8.20: order per member and FIFO per kind", () => {
  it("the default's answers go through in arrival order among everybody's traffic", () => {
    fc.assert(
      fc.property(
        deeds({ members: [a, b, c], stateful: true, traffic: true, unsteady: [b, c] }, 40),
        choices,
        (script, order) => {
          const world = subscribed().ask(open, read)
          world.deeds = [...script]
          world.play(order).settle()
          nobodyHurt(world)
          const answers = (messages: ReadonlyArray<DaemonMessage>): ReadonlyArray<DaemonMessage> =>
            messages.filter(({ _tag }) =>
              [
                "File",
                "GetEnvVarsResponse",
                "GetAddrInfoResponse",
                "TcpOutgoing",
                "UdpOutgoing",
                "SeqpacketOutgoing"
              ].includes(_tag)
            )
          expect(answers(world.received.flat())).toEqual(
            answers(world.fed.filter(({ member }) => member === a).map(({ message }) => message))
          )
          const sent = world.sent.filter(isStateful)
          const heard = world.heardBy(a).filter(isStateful)
          for (const fifo of ["files", "simple", "outgoing"] as const) {
            expect(heard.filter((one) => fifoOf(one) === fifo)).toEqual(sent.filter((one) => fifoOf(one) === fifo))
          }
        }
      )
    )
  })

  it("what passes unchanged keeps its very bytes", () => {
    const world = subscribed()
    world.buffers.length = 0
    world.ask(open, read).settle()
    const went = world.buffers.filter(({ direction }) => direction === "in").map(({ bytes }) => bytes)
    const came = world.buffers.filter(({ direction }) => direction === "out").map(({ bytes }) => bytes)
    expect(came).toHaveLength(4)
    for (const [at, bytes] of came.entries()) expect(bytes).toBe(went[at])
  })
})

describe("wire.md §8.24: affinity of HTTP", () => {
  it("start, body, response and the data after an upgrade all stay with one member, until its Close", () => {
    const world = subscribed()
    // Its ids start at 1 at the client, where the local program answers at once with 200; so upgrade by hand.
    world.at(b, openSteal).at(b, { _tag: "Say", channel: "TcpSteal", which: 0 }).settle()
    world.at(c, { _tag: "Raw", source: "steal", message: stolenRequest("/up") })
    for (;;) {
      const next = world.possible().find(({ name }) => !name.startsWith("client "))
      if (next === undefined) break
      next.run()
    }
    const { connectionId } = world.eventsOf("HttpRequest").at(-1) ?? { connectionId: -1n }
    world.fromClient.clear()
    const respond = {
      port: 80,
      connectionId,
      requestId: 0,
      internalResponse: { status: 101, version: "HTTP/1.1", headers: [], body: [] }
    }
    world.perform({
      _tag: "Bytes",
      bytes: clientMessage.encode({ _tag: "TcpSteal", value: { _tag: "HttpResponseFramed", value: respond } })
    })
    const bytes = new TextEncoder().encode("after the upgrade")
    world.perform({
      _tag: "Bytes",
      bytes: clientMessage.encode({ _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId, bytes } } })
    })
    world.deliver()
    const steals = (member: typeof a): ReadonlyArray<unknown> =>
      world.heardBy(member).filter((message) => message._tag === "TcpSteal" && message.value._tag !== "PortSubscribe")
    expect(steals(c)).toEqual([
      { _tag: "TcpSteal", value: { _tag: "HttpResponseFramed", value: { ...respond, connectionId: 0n } } },
      { _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId: 0n, bytes } } }
    ])
    expect(steals(a)).toEqual([])
    expect(steals(b)).toHaveLength(1)
  })
})

describe("wire.md §8.25: empty data is a half-close", () => {
  it("goes both ways", () => {
    const world = subscribed().at(b, openSteal).settle()
    const half: DaemonMessage = {
      _tag: "TcpSteal",
      value: { _tag: "Data", value: { connectionId: 0n, bytes: new Uint8Array(0) } }
    }
    world.at(b, { _tag: "Raw", source: "steal", message: half }).settle()
    expect(world.eventsOf("Data").map(({ bytes }) => bytes.length)).toEqual([0])
    // The local program repeats it.
    expect(world.heardBy(b).at(-1)).toEqual({
      _tag: "TcpSteal",
      value: { _tag: "Data", value: { connectionId: 0n, bytes: new Uint8Array(0) } }
    })
    expect(world.fatal).toBeUndefined()
  })

  it("keeps its place among the data", () => {
    const world = subscribed().at(b, openSteal).at(b, { _tag: "Say", channel: "TcpSteal", which: 0 })
    world.at(b, {
      _tag: "Raw",
      source: "steal",
      message: { _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId: 0n, bytes: new Uint8Array(0) } } }
    })
    world.at(b, { _tag: "End", channel: "TcpSteal", which: 0, twice: false }).settle()
    const seen = world.received
      .flat()
      .flatMap((message) => (marker(message) === undefined ? [] : [marker(message) ?? ""]))
    expect(isSubsequence(["cluster-b/TcpSteal/0/0", ""], seen)).toBe(true)
    expect(world.eventsOf("ConnectionClosed")).toHaveLength(1)
  })
})
