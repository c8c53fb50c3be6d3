/** Handshakes of clients while members make noise or are slow (wire.md §8.16 and §8.17), through the strict client. */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { AgentCommand } from "./support/agent-state.ts"
import { logsAbout, nobodyHurt } from "./support/checks.ts"
import { choices } from "./support/deeds.ts"
import { three } from "./support/subscribed.ts"
import { b, c, World } from "./support/world.ts"

const raw = (message: DaemonMessage): AgentCommand => ({ _tag: "Raw", source: "inline", message })

describe("wire.md §8.16: nothing unsolicited during the handshake", () => {
  const noise = fc.constantFrom<DaemonMessage>(
    { _tag: "LogMessage", value: { message: "early", level: { _tag: "Info" } } },
    { _tag: "LogMessage", value: { message: "early", level: { _tag: "Warn" } } },
    { _tag: "OperatorPing", value: 5n },
    { _tag: "Pong" },
    { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" },
    { _tag: "Vpn", value: { _tag: "Packet", value: new Uint8Array(0) } },
    { _tag: "PauseTarget", value: { _tag: "PauseResponse", changed: true, containerPaused: true } },
    { _tag: "ReverseDnsLookup", value: { _tag: "Err", error: { _tag: "NotImplemented" } } },
    { _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId: 0n, bytes: new Uint8Array(0) } } },
    { _tag: "TcpSteal", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } } }
  )
  const branchEnv = { filter: new Set<string>(), select: new Set(["*"]) }

  it.each(["cli", "intproxy", "portForward", "reversePortForward", "dump", "extproxy"] as const)(
    "%s: members that are lost, return and make noise do not disturb it",
    (kind) => {
      const script = fc.array(
        fc.oneof(
          fc
            .tuple(fc.constantFrom(b, c), noise)
            .map(([member, message]) => ({ _tag: "At", member, command: raw(message) }) as const),
          fc.constantFrom(b, c).map((member) => ({ _tag: "Lose", member }) as const),
          fc.constantFrom(b, c).map((member) => ({ _tag: "Return", member }) as const)
        ),
        { maxLength: 8 }
      )
      fc.assert(
        fc.property(script, choices, (all, order) => {
          const world = new World({
            ...three,
            client: { kind, reconnect: false, ...(kind === "intproxy" ? { branchEnv } : {}) }
          })
          world.deeds = [...all]
          world.play(order).settle()
          expect(world.fatal).toBeUndefined()
          expect(world.eventsOf("Ignored")).toEqual([])
          expect(["main", "finished"]).toContain(world.client.phase)
        })
      )
    }
  )

  it("a warning from the handshake reaches the client as soon as it says ReadyForLogs", () => {
    const world = new World(three)
    world.lose(b)
    world.settle()
    expect(logsAbout(world, b)).toBe(1)
    nobodyHurt(world)
  })
})

describe("wire.md §8.17: the version answer does not wait for the slowest", () => {
  it.each(["cli", "intproxy"] as const)("%s gets it at once when the default has answered", (kind) => {
    const world = new World({ ...three, client: { kind, reconnect: false } })
    for (;;) {
      const next = world.possible().find(({ name }) => !name.includes(b) && !name.includes(c))
      if (next === undefined) break
      next.run()
      // Pings wait for the others, 2 s at most.
      if (world.possible().every(({ name }) => name.includes(b) || name.includes(c))) world.pass(2000)
    }
    expect(world.eventsOf("Versioned")).toEqual([{ _tag: "Versioned", version: "1.29.0" }])
    expect(world.fatal).toBeUndefined()
  })
})
