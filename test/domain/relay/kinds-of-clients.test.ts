/** Each kind of client, whatever members do (wire.md §8.1, §8.4, §8.16 and §8.23), through the strict client. */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { choices, mirror } from "./support/deeds.ts"
import { three } from "./support/subscribed.ts"
import { b, c, World } from "./support/world.ts"

const connection = {
  connectionId: 0n,
  remoteAddress: "10.0.0.9",
  destinationPort: 80,
  sourcePort: 1,
  localAddress: "10.0.0.5"
}

/** Messages for which no client has asked, or which are another member's to say. */
const noise = fc.constantFrom<DaemonMessage>(
  { _tag: "LogMessage", value: { message: "early", level: { _tag: "Info" } } },
  { _tag: "LogMessage", value: { message: "early", level: { _tag: "Warn" } } },
  { _tag: "OperatorPing", value: 5n },
  { _tag: "Pong" },
  { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" },
  { _tag: "Vpn", value: { _tag: "Packet", value: new Uint8Array(0) } },
  { _tag: "PauseTarget", value: { _tag: "PauseResponse", changed: true, containerPaused: true } },
  { _tag: "ReverseDnsLookup", value: { _tag: "Err", error: { _tag: "NotImplemented" } } },
  { _tag: "File", value: { _tag: "Access", value: { _tag: "Ok", value: {} } } },
  { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map() } },
  { _tag: "GetAddrInfoResponse", value: { _tag: "Ok", value: [] } },
  { _tag: "TcpOutgoing", value: { _tag: "Close", value: 0n } },
  { _tag: "UdpOutgoing", value: { _tag: "Close", value: 0n } },
  { _tag: "SeqpacketOutgoing", value: { _tag: "Close", value: 0n } },
  { _tag: "Close", value: "bye" },
  { _tag: "Tcp", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } } },
  { _tag: "TcpSteal", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } } },
  { _tag: "TcpSteal", value: { _tag: "Close", value: { connectionId: 0n } } },
  { _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId: 0n, bytes: new Uint8Array(0) } } },
  { _tag: "TcpSteal", value: { _tag: "NewConnectionV1", value: connection } }
)
const others = fc.constantFrom(b, c)
const script = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.tuple(others, noise).map(([member, message]) => [member, message] as const) },
    others.map((member) => [member, "Lose"] as const),
    others.map((member) => [member, "Return"] as const)
  ),
  { maxLength: 10 }
)
const branchEnv = { filter: new Set<string>(), select: new Set(["*"]) }

describe("a client of any kind", () => {
  it.each(["cli", "intproxy", "portForward", "reversePortForward", "dump", "extproxy"] as const)(
    "%s: members that are lost, return and make noise do not disturb it",
    (kind) => {
      fc.assert(
        fc.property(script, choices, (all, order) => {
          const world = new World({
            ...three,
            client: { kind, reconnect: false, ...(kind === "intproxy" ? { branchEnv } : {}) }
          })
          world.deeds = all.map(([member, what]) =>
            typeof what === "string"
              ? { _tag: what, member }
              : { _tag: "At", member, command: { _tag: "Raw", source: "inline", message: what } }
          )
          world.play(order).settle()
          expect(world.fatal ?? world.clientDropped ?? world.ended).toBeUndefined()
          expect(world.eventsOf("Ignored")).toEqual([])
          expect(["main", "finished"]).toContain(world.client.phase)
          const switches = world.sent.filter(({ _tag }) => _tag === "SwitchProtocolVersion")
          const answers = world.received.flat().filter(({ _tag }) => _tag === "SwitchProtocolVersionResponse")
          expect(answers).toHaveLength(switches.length)
        })
      )
    }
  )

  it("dump survives three members' results", () => {
    fc.assert(
      fc.property(choices, (order) => {
        const world = new World({ ...three, client: { kind: "dump", reconnect: false } }).deliver()
        world.ask(mirror(80), mirror(81)).play(order).settle()
        expect(world.fatal).toBeUndefined()
        expect(world.eventsOf("Subscribed")).toHaveLength(2)
      })
    )
  })
})
