import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import {
  connectionName,
  lockFromClient,
  lockToClient,
  noLocks,
  releaseConnection
} from "../../../src/domain/routing/port-locks.ts"
import type { AgentCommand } from "./support/agent-state.ts"
import { everythingAnswered, fifoOf, isStateful, isSubsequence, marker, nobodyHurt } from "./support/checks.ts"
import { choices, deeds, mirror, open, read, steal } from "./support/deeds.ts"
import { a, b, c, World, type WorldOptions } from "./support/world.ts"

/** wire.md §8.20 to §8.25, through the strict client. */

const three: WorldOptions = { members: [a, b, c] }
const subscribed = (options: WorldOptions = three): World =>
  new World(options).deliver().ask(steal(80), mirror(90)).settle()
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

describe("wire.md §8.21: pinging members is the router's choice", () => {
  it("its own pings reach every member in its rhythm, their answers nobody", () => {
    const world = subscribed({ ...three, router: { pingMembersEvery: 20_000 }, client: { pingInterval: 1e9 } })
    const pings = (member: typeof a): number => world.heardBy(member).filter(({ _tag }) => _tag === "Ping").length
    const before = [a, b, c].map(pings)
    const pongs = world.received.flat().filter(({ _tag }) => _tag === "Pong").length
    for (let round = 0; round < 3; round++) world.pass(20_000).deliver()
    expect([a, b, c].map(pings)).toEqual(before.map((count) => count + 3))
    expect(world.received.flat().filter(({ _tag }) => _tag === "Pong")).toHaveLength(pongs)
    nobodyHurt(world)
  })

  it("its own and the client's pings together: one Pong for each of the client's", () => {
    const script = fc.array(fc.constantFrom(7000, 13_000, 20_000, 30_000), { maxLength: 10 })
    fc.assert(
      fc.property(script, choices, (waits, order) => {
        const world = subscribed({ ...three, router: { pingMembersEvery: 20_000 } })
        for (const ms of waits) world.pass(ms).play(order.splice(0, 40)).settle()
        nobodyHurt(world)
        if (world.eventsOf("Lost").length === 0) everythingAnswered(world)
      }),
      { numRuns: 50 }
    )
  })

  it("a default that is dead is not hidden: no Pong without it", () => {
    const world = subscribed().pass(30_000)
    for (;;) {
      const next = world.possible().find(({ name }) => name !== `to ${a}` && !name.startsWith(`from ${a}`))
      if (next === undefined) break
      next.run()
    }
    world.pass(29_999)
    expect(world.toClient).toEqual([])
  })
})

describe("wire.md §8.22: two client connections of one session", () => {
  it("ports are arbitrated before an agent is asked, and each connection's answers are its own", () => {
    const [one, two] = [connectionName("one"), connectionName("two")]
    const worlds = { one: new World(three).settle(), two: new World(three).settle() }
    const bytes = clientMessage.encode({
      _tag: "TcpSteal",
      value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } }
    })
    const first = lockFromClient(noLocks, one, bytes)
    expect(first.answer).toBeUndefined()
    worlds.one.ask(steal(80)).settle()
    expect(worlds.one.eventsOf("Subscribed")).toMatchObject([{ result: { _tag: "Ok" } }])
    // The second connection's client waits, and gets the answer that the lock has for it.
    worlds.two.ask(steal(80))
    worlds.two.fromClient.clear()
    const second = lockFromClient(first.locks, two, bytes)
    expect(second.holder).toBe(one)
    worlds.two.toClient.push(second.answer ?? new Uint8Array(0))
    worlds.two.settle()
    expect(worlds.two.eventsOf("Subscribed")).toMatchObject([
      { port: 80, result: { _tag: "Err", error: { _tag: "PortAlreadyStolen" } } }
    ])
    nobodyHurt(worlds.two)
    const after = lockToClient(second.locks, two, second.answer ?? new Uint8Array(0))
    expect(lockFromClient(after, two, bytes).answer).toBeDefined()
    expect(lockFromClient(releaseConnection(after, one), two, bytes).answer).toBeUndefined()
  })

  it("two routers share nothing: interleaved connections do not disturb each other", () => {
    fc.assert(
      fc.property(
        deeds({ members: [a, b], stateful: true }, 15),
        deeds({ members: [a, b], stateful: true }, 15),
        choices,
        (x, y, order) => {
          const worlds = [new World(), new World({ client: { kind: "cli", reconnect: false } })] as const
          worlds[0].deeds = [...x]
          worlds[1].deeds = [...y].filter(({ _tag }) => _tag !== "Do")
          for (const [at, choice] of order.entries()) worlds[at % 2 === 0 ? 0 : 1].play([choice])
          nobodyHurt(worlds[0].settle())
          everythingAnswered(worlds[0])
          expect(worlds[1].settle().client.phase).toBe("finished")
        }
      ),
      { numRuns: 50 }
    )
  })
})

describe("wire.md §8.23: port-forward and dump are protocol clients too", () => {
  it.each(["portForward", "reversePortForward", "dump", "extproxy"] as const)(
    "%s survives whatever other members do",
    (kind) => {
      const noise = fc.constantFrom<DaemonMessage>(
        { _tag: "File", value: { _tag: "Access", value: { _tag: "Ok", value: {} } } },
        { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map() } },
        { _tag: "GetAddrInfoResponse", value: { _tag: "Ok", value: [] } },
        { _tag: "TcpOutgoing", value: { _tag: "Close", value: 0n } },
        { _tag: "UdpOutgoing", value: { _tag: "Close", value: 0n } },
        { _tag: "SeqpacketOutgoing", value: { _tag: "Close", value: 0n } },
        { _tag: "Pong" },
        { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" },
        { _tag: "OperatorPing", value: 1n },
        { _tag: "LogMessage", value: { message: "m", level: { _tag: "Warn" } } },
        { _tag: "Close", value: "bye" },
        { _tag: "TcpSteal", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } } },
        { _tag: "TcpSteal", value: { _tag: "Close", value: { connectionId: 0n } } },
        { _tag: "Tcp", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } } },
        {
          _tag: "TcpSteal",
          value: {
            _tag: "NewConnectionV1",
            value: {
              connectionId: 0n,
              remoteAddress: "10.0.0.9",
              destinationPort: 80,
              sourcePort: 1,
              localAddress: "10.0.0.5"
            }
          }
        }
      )
      const script = fc.array(
        fc
          .tuple(fc.constantFrom(b, c), noise)
          .map(
            ([member, message]) =>
              ({ _tag: "At", member, command: { _tag: "Raw", source: "inline", message } }) as const
          ),
        { maxLength: 10 }
      )
      fc.assert(
        fc.property(script, choices, (all, order) => {
          const world = new World({ ...three, client: { kind, reconnect: false } })
          world.deeds = [...all]
          world.play(order).settle()
          expect(world.fatal).toBeUndefined()
          expect(world.clientDropped ?? world.ended).toBeUndefined()
        })
      )
    }
  )
})

describe("wire.md §8.24: affinity of HTTP", () => {
  it("start, body, response and the data after an upgrade all stay with one member, until its Close", () => {
    const world = subscribed()
    // Its ids start at 1 at the client, where the local program answers at once with 200; so upgrade by hand.
    world.at(b, openSteal).at(b, { _tag: "Say", channel: "TcpSteal", which: 0 }).settle()
    const start: DaemonMessage = {
      _tag: "TcpSteal",
      value: {
        _tag: "HttpRequestChunked",
        value: {
          _tag: "StartV2",
          value: {
            connectionId: 0n,
            requestId: 0,
            request: {
              method: "GET",
              uri: "/up",
              headers: [],
              version: "HTTP/1.1",
              body: { frames: [], isLast: true }
            },
            metadata: { _tag: "V1", source: { ip: "10.0.0.9", port: 1 }, destination: { ip: "10.0.0.5", port: 80 } },
            transport: { _tag: "Tcp" }
          }
        }
      }
    }
    world.at(c, { _tag: "Raw", source: "steal", message: start })
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
