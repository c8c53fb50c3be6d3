/**
 * One answer for the client, however many members answer: versions, Pongs, connects, subscriptions (wire.md §8.1 to
 * §8.4 and §8.21), through the strict client.
 */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { AgentCommand } from "./support/agent-state.ts"
import { everythingAnswered, nobodyHurt } from "./support/checks.ts"
import { choices, connect, mirror, steal, unsubscribe } from "./support/deeds.ts"
import { subscribed, three } from "./support/subscribed.ts"
import { a, b, c, World } from "./support/world.ts"

const count = (world: World, tag: DaemonMessage["_tag"]): number =>
  world.received.flat().filter((message) => message._tag === tag).length
const heard = (world: World, member: typeof a, tag: ClientMessage["_tag"]): number =>
  world.heardBy(member).filter((message) => message._tag === tag).length

const raw = (value: Extract<DaemonMessage, { _tag: "TcpSteal" }>["value"]): AgentCommand => ({
  _tag: "Raw",
  source: "steal",
  message: { _tag: "TcpSteal", value }
})
const refusal = (port: number): AgentCommand =>
  raw({ _tag: "SubscribeResult", value: { _tag: "Err", error: { _tag: "PortAlreadyStolen", value: port } } })
/** Delivers what waits for this member, and nothing that it answers. */
const deliverTo = (world: World, member: typeof a): void => {
  for (;;) {
    const next = world.possible().find(({ name }) => name === `to ${member}`)
    if (next === undefined) return
    next.run()
  }
}
const fromClient = (world: World): void => {
  for (;;) {
    const next = world.possible().find(({ name }) => name.startsWith("client "))
    if (next === undefined) return
    next.run()
  }
}

describe("wire.md §8.1: one SwitchProtocolVersionResponse per switch", () => {
  it.each(["cli", "intproxy", "portForward", "reversePortForward", "dump"] as const)(
    "%s, whatever the interleaving",
    (kind) => {
      fc.assert(
        fc.property(choices, (order) => {
          const world = new World({ ...three, client: { kind, reconnect: false } }).play(order).settle()
          expect(world.fatal).toBeUndefined()
          expect(count(world, "SwitchProtocolVersionResponse")).toBe(1)
          if (kind === "cli") expect(world.client.phase).toBe("finished")
        }),
        { numRuns: 50 }
      )
    }
  )

  it("a client that switches again gets one more", () => {
    const world = subscribed()
    world.perform({ _tag: "Bytes", bytes: Uint8Array.of(0x0a, 6, ...new TextEncoder().encode("1.20.0")) })
    world.settle()
    expect(count(world, "SwitchProtocolVersionResponse")).toBe(2)
    expect(world.client.version).toBe("1.20.0")
    for (const member of [a, b, c]) expect(world.agents.get(member)?.announced).toBe("1.20.0")
  })
})

describe("wire.md §8.2: one Pong per Ping", () => {
  it("also when several are under way, in any order of the members, with members lost and late", () => {
    const script = fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.constant({ _tag: "Wait", ms: 30_000 } as const) },
        { weight: 1, arbitrary: fc.constantFrom(b, c).map((member) => ({ _tag: "Lose", member }) as const) },
        { weight: 1, arbitrary: fc.constantFrom(b, c).map((member) => ({ _tag: "Return", member }) as const) },
        // Other traffic keeps the client from taking the silence for a loss.
        {
          weight: 3,
          arbitrary: fc.constant({ _tag: "At", member: a, command: { _tag: "Log", level: "Warn" } } as const)
        }
      ),
      { maxLength: 20 }
    )
    fc.assert(
      fc.property(script, choices, (all, order) => {
        const world = subscribed()
        world.deeds = [...all]
        world.play(order).settle()
        nobodyHurt(world)
        // A reconnect starts a new count (wire.md §6.14); without one every Ping has its Pong.
        if (world.eventsOf("Lost").length > 0) return
        expect(count(world, "Pong")).toBe(world.sent.filter((message) => message._tag === "Ping").length)
        everythingAnswered(world)
      }),
      { numRuns: 150 }
    )
  })

  it("a lost member stops being waited for at once, and Pongs from before a reconnect do not pass", () => {
    const world = subscribed()
    world.pass(30_000)
    fromClient(world)
    deliverTo(world, a)
    world
      .possible()
      .find(({ name }) => name.startsWith(`from ${a}`))
      ?.run()
    expect(world.toClient).toEqual([])
    world.lose(b)
    world.lose(c)
    expect(world.toClient.length).toBeGreaterThan(0)
    world.deliver()
    const pongs = count(world, "Pong")
    world.pass(30_000)
    fromClient(world)
    world.lose(a)
    world.comeBack(a)
    world.settle()
    nobodyHurt(world)
    expect(count(world, "Pong")).toBe(pongs)
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

describe("wire.md §8.3: seqpacket belongs to the default", () => {
  it("one connect, one answer, one agent that was asked", () => {
    const world = subscribed().ask(connect("Seqpacket", 7n)).settle()
    expect(world.eventsOf("Connected")).toMatchObject([{ transport: "Seqpacket", uid: 7n }])
    expect([
      heard(world, a, "SeqpacketOutgoing"),
      heard(world, b, "SeqpacketOutgoing"),
      heard(world, c, "SeqpacketOutgoing")
    ]).toEqual([1, 0, 0])
    nobodyHurt(world)
  })

  it("what is not known is not broadcast", () => {
    const world = subscribed()
    const before = [b, c].map((member) => world.heardBy(member).length)
    world.perform({ _tag: "Bytes", bytes: Uint8Array.of(25, 0) })
    world.settle()
    expect([b, c].map((member) => world.heardBy(member).length)).toEqual(before)
    nobodyHurt(world)
  })
})

describe("wire.md §8.4: subscription results are one", () => {
  const dump = (): World => new World({ ...three, client: { kind: "dump", reconnect: false } }).deliver()

  it("dump survives three members' results", () => {
    fc.assert(
      fc.property(choices, (order) => {
        const world = dump().ask(mirror(80), mirror(81)).play(order).settle()
        expect(world.fatal).toBeUndefined()
        expect(world.eventsOf("Subscribed")).toHaveLength(2)
      })
    )
  })

  it.each([a, b, c])("a refusal by %s is the one result, and the members that accepted are unsubscribed", (culprit) => {
    const world = new World(three).settle().ask(steal(80))
    fromClient(world)
    // The culprit's answer is a refusal in place of what it would have said.
    world.toMember.get(culprit)?.splice(0)
    world.at(culprit, refusal(80))
    world.settle()
    expect(world.eventsOf("Subscribed")).toMatchObject([
      { port: 80, result: { _tag: "Err", error: { _tag: "PortAlreadyStolen" } } }
    ])
    for (const agent of world.agents.values()) expect([...agent.ports.TcpSteal]).toEqual([])
    nobodyHurt(world)
  })

  it("a member lost while pending counts as answered; a silent one is waited for 2 s after the default", () => {
    const world = new World(three).settle().ask(steal(80))
    fromClient(world)
    deliverTo(world, a)
    world
      .possible()
      .find(({ name }) => name.startsWith(`from ${a}`))
      ?.run()
    world.lose(b)
    world.pass(1999)
    world
      .possible()
      .find(({ name }) => name === "to client")
      ?.run()
    expect(world.eventsOf("Subscribed")).toEqual([])
    world.pass(1)
    for (let next = world.toClient.length; next > 0; next--)
      world
        .possible()
        .find(({ name }) => name === "to client")
        ?.run()
    expect(world.eventsOf("Subscribed")).toMatchObject([{ port: 80, calls: 1, result: { _tag: "Ok" } }])
    // The late result of the third is nobody's.
    nobodyHurt(world.settle())
    expect(world.eventsOf("Ignored")).toEqual([])
  })

  it("subscribe, unsubscribe, subscribe of one port yields two results, in every interleaving", () => {
    fc.assert(
      fc.property(choices, (order) => {
        const world = new World(three).settle().ask(steal(80), unsubscribe(80), steal(80)).play(order).settle()
        const results = world.received
          .flat()
          .filter((message) => message._tag === "TcpSteal" && message.value._tag === "SubscribeResult")
        expect(results).toHaveLength(2)
        for (const agent of world.agents.values()) expect([...agent.ports.TcpSteal]).toEqual([80])
        nobodyHurt(world)
        everythingAnswered(world)
      })
    )
  })

  it("never Ok and then an error: a refusal after the bound leaves that member out and is not the client's", () => {
    const world = new World(three).settle().ask(steal(80))
    fromClient(world)
    world.toMember.get(c)?.splice(0)
    deliverTo(world, a)
    deliverTo(world, b)
    world.settle()
    world.at(c, refusal(80))
    world.settle()
    expect(world.eventsOf("Subscribed")).toMatchObject([{ result: { _tag: "Ok" } }])
    expect(world.eventsOf("Log").filter(({ message }) => message.includes("cluster-c"))).toHaveLength(1)
    nobodyHurt(world)
    expect(world.eventsOf("Ignored")).toEqual([])
  })
})
