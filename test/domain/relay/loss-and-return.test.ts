/**
 * Members and the default cluster are lost, return, or close by themselves (wire.md §8.10 to §8.14), through the strict
 * client.
 */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { AgentCommand } from "./support/agent-state.ts"
import { closes, everythingAnswered, logsAbout, mappingsMatch, nobodyHurt } from "./support/checks.ts"
import { access, choices, connect, fetchEnv, resolve, steal, stealHeader } from "./support/deeds.ts"
import { subscribed, three } from "./support/subscribed.ts"
import { a, b, c, World } from "./support/world.ts"

const raw = (message: DaemonMessage): AgentCommand => ({ _tag: "Raw", source: "inline", message })

describe("wire.md §8.10: a lost member's connections are closed towards the client", () => {
  it("one Close per open id in its channel, none for the others'", () => {
    const world = subscribed()
    for (const member of [a, b]) {
      world
        .at(member, { _tag: "Open", channel: "TcpSteal", port: 80 })
        .at(member, { _tag: "Open", channel: "Tcp", port: 90 })
      world.at(member, { _tag: "Request", channel: "Tcp", port: 90, pieces: 2 })
    }
    world.settle()
    world.lose(b)
    world.settle()
    const closed = world.eventsOf("ConnectionClosed")
    expect(closed.map(({ channel }) => channel).toSorted()).toEqual(["Tcp", "Tcp", "TcpSteal"])
    expect(world.client.incoming.Tcp.size + world.client.incoming.TcpSteal.size).toBe(3)
    expect(logsAbout(world, b)).toBe(1)
    mappingsMatch(world)
    nobodyHurt(world)
    expect(world.eventsOf("Ignored")).toEqual([])
  })
})

describe("wire.md §8.11: what a returning member is told, and that its answers are swallowed", () => {
  it("version, ReadyForLogs and subscriptions, each once; the client hears nothing of it", () => {
    fc.assert(
      fc.property(choices, (order) => {
        const world = subscribed()
        world.lose(b)
        world.deliver()
        const before = world.received.flat().length
        world.comeBack(b)
        world.play(order).settle()
        expect(world.received.flat()).toHaveLength(before)
        const [version, ...rest] = world.heardBy(b)
        expect(version).toEqual({ _tag: "SwitchProtocolVersion", value: "1.29.0" })
        expect(rest).toHaveLength(3)
        expect(rest).toContainEqual({ _tag: "ReadyForLogs" })
        expect(rest.filter(({ _tag }) => _tag !== "ReadyForLogs")).toEqual([
          { _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } },
          { _tag: "Tcp", value: { _tag: "PortSubscribe", value: 90 } }
        ])
        nobodyHurt(world)
      }),
      { numRuns: 30 }
    )
  })

  it("its traffic flows again under ids that were never used", () => {
    const world = subscribed().at(b, { _tag: "Open", channel: "TcpSteal", port: 80 }).settle()
    for (let round = 0; round < 3; round++) {
      world.lose(b)
      world.comeBack(b)
      world
        .settle()
        .at(b, { _tag: "Open", channel: "TcpSteal", port: 80 })
        .at(b, { _tag: "Say", channel: "TcpSteal", which: 0 })
        .settle()
    }
    expect(world.eventsOf("NewConnection").map(({ connection }) => connection.connectionId)).toEqual([0n, 1n, 2n, 3n])
    nobodyHurt(world)
  })

  it("a member that joins for the first time is treated alike", () => {
    const world = subscribed({ ...three, away: [c] })
    expect(world.eventsOf("Subscribed")).toHaveLength(2)
    world.comeBack(c)
    world.settle()
    expect(world.agents.get(c)?.ports.TcpSteal).toEqual(new Set([80]))
    nobodyHurt(world)
  })
})

describe("wire.md §8.12 and §8.13: loss of the default, and the next socket", () => {
  const busy = [access, resolve, fetchEnv, connect("Tcp", 1n)] as const

  it("wire.md §8.12: the socket ends without Close, pending requests fail locally, the client comes back", () => {
    const world = subscribed().ask(...busy)
    world.play(Array.from({ length: 4 }, () => 0))
    world.lose(a)
    world.deliver()
    expect(world.clientDropped).toContain("cluster-a")
    expect(world.ended).toBeUndefined()
    expect(closes(world)).toBe(0)
    expect(world.eventsOf("Lost")).toHaveLength(1)
    world.comeBack(a)
    world.settle()
    expect(world.eventsOf("Resumed")).toHaveLength(1)
    nobodyHurt(world)
    everythingAnswered(world)
    for (const agent of world.agents.values()) expect(agent.ports.TcpSteal).toEqual(new Set([80]))
  })

  it.each(["cli", "intproxy", "dump"] as const)(
    "wire.md §8.12: what a %s says before the default is there is held and served in order",
    (kind) => {
      fc.assert(
        fc.property(fc.nat({ max: 10 }), choices, (steps, order) => {
          const world = new World({ ...three, client: { kind, reconnect: false }, away: [a] })
          if (kind === "intproxy") world.ask(...busy, steal(80))
          world.play(order.slice(0, steps)).deliver()
          expect(world.received.flat()).toEqual([])
          world.comeBack(a)
          world.play(order).settle()
          nobodyHurt(world)
          everythingAnswered(world)
          expect(["main", "finished"]).toContain(world.client.phase)
        }),
        { numRuns: 30 }
      )
    }
  )

  it("wire.md §8.13: no answer to a request of an earlier socket, whatever was under way", () => {
    fc.assert(
      fc.property(fc.nat({ max: 20 }), choices, (steps, order) => {
        const world = subscribed().ask(...busy)
        world.pass(30_000)
        world.play(order.slice(0, steps))
        world.lose(a)
        world.comeBack(a)
        world.ask(access, resolve).play(order).settle()
        nobodyHurt(world)
        everythingAnswered(world)
      })
    )
  })

  it("legacy requests that overtake the version switch of the new socket are served", () => {
    fc.assert(
      fc.property(choices, (order) => {
        const world = subscribed()
        world.lose(a)
        world.deliver()
        world.ask(resolve, connect("Tcp", 5n), connect("Udp", 6n), connect("Tcp", 7n), access)
        world.comeBack(a)
        world.play(order).settle()
        nobodyHurt(world)
        everythingAnswered(world)
        expect(
          world
            .eventsOf("Connected")
            .map(({ uid }) => uid)
            .toSorted()
        ).toEqual([5n, 6n, 7n])
        expect(
          world.heardBy(a).some((message) => message._tag === "TcpOutgoing" && message.value._tag === "Connect")
        ).toBe(true)
      }),
      { numRuns: 50 }
    )
  })
})

describe("wire.md §8.14: Close", () => {
  it("of another member is not forwarded: that member is lost, one warning says so", () => {
    const world = subscribed()
      .at(b, raw({ _tag: "Close", value: "out of ids" }))
      .settle()
    expect(closes(world)).toBe(0)
    expect(world.disconnected).toEqual([b])
    expect(
      world.eventsOf("Log").filter(({ message }) => message.includes("cluster-b") && message.includes("out of ids"))
    ).toHaveLength(1)
    nobodyHurt(world)
  })

  it("of the default is the end, with its text", () => {
    const world = subscribed()
      .at(a, raw({ _tag: "Close", value: "the target is gone" }))
      .settle()
    expect(world.fatal).toBe("wire.md §6.2 E: the session was closed: the target is gone")
    expect(world.ended).toBe("the target is gone")
  })

  it("as the answer to a filter that does not compile: the subscription fails, the session lives", () => {
    fc.assert(
      fc.property(choices, (order) => {
        const world = subscribed().ask(stealHeader(82, "x: (")).play(order).settle()
        expect(world.eventsOf("Subscribed").at(-1)).toMatchObject({
          port: 82,
          result: { _tag: "Err", error: { _tag: "PortAlreadyStolen" } }
        })
        expect(closes(world)).toBe(0)
        nobodyHurt(world)
        everythingAnswered(world)
        for (const member of [a, b, c]) expect(world.agents.get(member)?.ports.TcpSteal).toEqual(new Set([80]))
      })
    )
  })
})
