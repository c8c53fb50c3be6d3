/** Several connections of one session, and clients other than the layer (wire.md §8.22 and §8.23). */

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
} from "../../../src/domain/relay/port-locks.ts"
import { everythingAnswered, nobodyHurt } from "./support/checks.ts"
import { choices, deeds, steal } from "./support/deeds.ts"
import { three } from "./support/subscribed.ts"
import { a, b, c, World } from "./support/world.ts"

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
