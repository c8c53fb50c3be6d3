/** Ids of members that number alike do not collide at the client (wire.md §8.5 to §8.9), through the strict client. */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { AgentCommand } from "./support/agent-state.ts"
import { idsNeverReused, mappingsMatch, nobodyHurt } from "./support/checks.ts"
import { choices } from "./support/deeds.ts"
import { subscribed } from "./support/subscribed.ts"
import { a, b, c, World } from "./support/world.ts"

const request = (channel: "Tcp" | "TcpSteal", pieces = 0): AgentCommand => ({
  _tag: "Request",
  channel,
  port: channel === "Tcp" ? 90 : 80,
  pieces
})
const open: AgentCommand = { _tag: "Open", channel: "TcpSteal", port: 80 }
const say: AgentCommand = { _tag: "Say", channel: "TcpSteal", which: 0 }

describe("wire.md §8.5 to §8.9: ids", () => {
  it("wire.md §8.5: the first request of every member, 0/0 each, is a request of its own", () => {
    fc.assert(
      fc.property(choices, (order) => {
        const world = subscribed()
        for (const member of [a, b, c])
          world.at(member, request("TcpSteal")).at(member, request("Tcp")).at(member, open).at(member, say)
        world.play(order).settle()
        nobodyHurt(world)
        idsNeverReused(world)
        expect(world.eventsOf("HttpRequest")).toHaveLength(6)
        expect(world.eventsOf("NewConnection")).toHaveLength(3)
        expect(new Set(world.eventsOf("HttpRequest").map(({ uri }) => uri)).size).toBe(6)
      })
    )
  })

  it("wire.md §8.6: data, responses and unsubscriptions reach their owner only", () => {
    const world = subscribed()
    for (const member of [a, b, c]) world.at(member, open)
    world.deliver()
    const mine = world.eventsOf("NewConnection")[1]?.connection.connectionId ?? -1n
    world.ask({ _tag: "CloseConnection", channel: "TcpSteal", connectionId: mine }).settle()
    expect([a, b, c].map((member) => world.agents.get(member)?.open.TcpSteal.size).toSorted()).toEqual([0, 1, 1])
    expect(
      [a, b, c]
        .map(
          (member) =>
            world
              .heardBy(member)
              .filter((message) => message._tag === "TcpSteal" && message.value._tag === "ConnectionUnsubscribe").length
        )
        .toSorted()
    ).toEqual([0, 0, 1])
    nobodyHurt(world)
  })

  it("wire.md §8.7: ids at the end of the message: bodies in pieces stay with their request, request ids 0", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(a, b, c), { minLength: 2, maxLength: 8 }), choices, (members, order) => {
        const world = subscribed()
        for (const member of members) world.at(member, request("TcpSteal", 3))
        world.play(order).settle()
        nobodyHurt(world)
        // Each piece names its request: compare with the one that it was delivered to.
        const uris = new Map(world.eventsOf("HttpRequest").map((event) => [event.connectionId, event.uri]))
        for (const { connectionId, frames } of world.eventsOf("HttpBody")) {
          for (const frame of frames)
            if (frame._tag === "Data") expect(new TextDecoder().decode(frame.value)).toBe(uris.get(connectionId))
        }
        expect(world.eventsOf("HttpBody")).toHaveLength(members.length * 3)
        for (const agent of world.agents.values()) expect(agent.open.TcpSteal.size).toBe(0)
      })
    )
  })

  it("wire.md §8.7: the ids of classes of every length are rewritten", () => {
    const world = subscribed()
    const total = 300
    for (let i = 0; i < total; i++) for (const member of [a, b]) world.at(member, request("TcpSteal", 1))
    world.settle()
    nobodyHurt(world)
    expect(world.eventsOf("HttpRequest")).toHaveLength(2 * total)
    expect(world.agents.get(a)?.open.TcpSteal.size).toBe(0)
  })

  it("wire.md §8.8: stray ids are no violation: ConnectionUnsubscribe before Data, Close twice", () => {
    fc.assert(
      fc.property(choices, (order) => {
        const world = subscribed()
        for (const member of [a, b]) world.at(member, open)
        world.deliver()
        for (const member of [a, b]) world.at(member, say)
        world.deliver()
        for (const { connection } of world.eventsOf("NewConnection")) {
          world.ask(
            { _tag: "SendData", connectionId: connection.connectionId, bytes: new Uint8Array(0) },
            { _tag: "CloseConnection", channel: "TcpSteal", connectionId: connection.connectionId }
          )
        }
        for (const member of [a, b]) world.at(member, { _tag: "End", channel: "TcpSteal", which: 0, twice: true })
        world.play(order).settle()
        expect(world.fatal).toBeUndefined()
        expect(world.disconnected).toEqual([])
        expect(world.clientDropped).toBeUndefined()
        mappingsMatch(world)
      })
    )
  })

  it.each<[string, (world: World) => World]>([
    ["the agent's Close", (world) => world.at(b, { _tag: "End", channel: "TcpSteal", which: 0, twice: false })],
    [
      "the client's ConnectionUnsubscribe",
      (world) =>
        world.ask({
          _tag: "CloseConnection",
          channel: "TcpSteal",
          connectionId: world.eventsOf("NewConnection")[0]?.connection.connectionId ?? 0n
        })
    ],
    [
      "the loss of the member",
      (world) => {
        world.lose(b)
        return world
      }
    ]
  ])("wire.md §8.9: a mapping ends with %s", (_, end) => {
    const world = subscribed().at(b, open).settle()
    expect(world.router.ids.next).toBe(1n)
    end(world).settle()
    mappingsMatch(world)
    expect(world.client.incoming.TcpSteal.size).toBe(0)
    nobodyHurt(world)
  })

  it("wire.md §8.9: a mapping ends with the client's ChunkedResponse::Error", () => {
    // Opened by a GET, which the local program answers in pieces that break off.
    const world = subscribed()
    world.at(b, request("TcpSteal"))
    for (;;) {
      const next = world.possible().find(({ name }) => !name.startsWith("client "))
      if (next === undefined) break
      next.run()
    }
    world.fromClient.clear()
    world.perform({ _tag: "Bytes", bytes: Uint8Array.of(2, 6, 2, 0, 0) })
    world.settle()
    mappingsMatch(world)
    expect(world.agents.get(b)?.open.TcpSteal.size).toBe(0)
    expect(world.violations).toEqual([])
  })
})
