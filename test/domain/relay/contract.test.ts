import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import {
  everythingAnswered,
  fifoOf,
  idsNeverReused,
  isStateful,
  isSubsequence,
  mappingsMatch,
  marker,
  nobodyHurt
} from "./support/checks.ts"
import { access, choices, connect, deeds, mirror, resolve, steal } from "./support/deeds.ts"
import { a, b, c, World, type WorldOptions } from "./support/world.ts"

/** The contract of wire.md §10, line by line, as a real client and real agents would feel it. */

const three: WorldOptions = { members: [a, b, c] }
/** Served and subscribed to two stolen and two mirrored ports. */
const subscribed = (options: WorldOptions = three): World => {
  const world = new World(options).deliver()
  return world.ask(steal(80), steal(81), mirror(90), mirror(91)).settle()
}
const withDeeds = (world: World, script: World["deeds"]): World => {
  world.deeds = [...script]
  return world
}
const asText = (value: unknown): string =>
  JSON.stringify(value, (_, v: unknown) => (typeof v === "bigint" ? `${v}n` : v))

describe("wire.md §10: the contract of the router", () => {
  it("wire.md §10.1: a stateful message reaches the default alone, exactly once, in the order of its FIFO", () => {
    fc.assert(
      fc.property(deeds({ members: [a, b, c], stateful: true, traffic: true }), choices, (script, order) => {
        const world = withDeeds(subscribed(), script).play(order).settle()
        const sent = world.sent.filter(isStateful)
        const heard = world.heardBy(a).filter(isStateful)
        for (const fifo of ["files", "simple", "outgoing"] as const) {
          expect(heard.filter((message) => fifoOf(message) === fifo)).toEqual(
            sent.filter((message) => fifoOf(message) === fifo)
          )
        }
        expect([...world.heardBy(b), ...world.heardBy(c)].filter(isStateful)).toEqual([])
        nobodyHurt(world)
        everythingAnswered(world)
      })
    )
  })

  it("wire.md §10.1: everything that the client learns of files, DNS and env is the default's", () => {
    const world = subscribed()
      .ask(access, resolve, { _tag: "FetchEnv", selection: { filter: new Set(), select: new Set() } })
      .settle()
    expect(world.eventsOf("Resolved")[0]?.result).toMatchObject({ value: [{ name: "db.cluster-a." }] })
    expect(world.eventsOf("Env")[0]?.result).toMatchObject({ value: new Map([["FROM", "cluster-a"]]) })
  })

  it("wire.md §10.2: a broadcast message reaches every live member exactly once", () => {
    const broadcast = new Set(["Ping", "SwitchProtocolVersion", "ReadyForLogs"])
    fc.assert(
      fc.property(
        deeds({ members: [a, b, c], subscriptions: true, pings: true, traffic: true }),
        choices,
        (script, order) => {
          const world = withDeeds(new World(three), script).play(order).settle()
          // Time may pass without a Pong until the client gives up its socket; what then happens is wire.md §10.6.
          fc.pre(world.eventsOf("Lost").length === 0)
          const isBroadcast = (message: (typeof world.sent)[number]): boolean =>
            broadcast.has(message._tag) ||
            ((message._tag === "Tcp" || message._tag === "TcpSteal") &&
              ["PortSubscribe", "PortUnsubscribe", "PortSubscribeFilteredHttp"].includes(message.value._tag))
          const expected = world.sent.filter(isBroadcast).map(asText).toSorted()
          for (const member of [a, b, c]) {
            // The router's own introduction is the first thing on each connection, before anything of the client.
            const [introduction, ...heard] = world.heardBy(member)
            expect(introduction).toEqual({ _tag: "SwitchProtocolVersion", value: "1.29.0" })
            expect(heard.filter(isBroadcast).map(asText).toSorted()).toEqual(expected)
          }
          nobodyHurt(world)
        }
      )
    )
  })

  it("wire.md §10.3: one answer per request in any interleaving: the strict client neither dies nor waits", () => {
    fc.assert(
      fc.property(
        deeds({ members: [a, b, c], stateful: true, subscriptions: true, traffic: true, pings: true }, 40),
        choices,
        (script, order) => {
          const world = withDeeds(new World(three), script).play(order).settle()
          nobodyHurt(world)
          everythingAnswered(world)
          expect(world.eventsOf("Ignored").filter(({ what }) => what === "surplusLookup")).toEqual([])
        }
      ),
      { numRuns: 200 }
    )
  })

  it("wire.md §10.4: colliding ids never collide at the client, and an id reaches only its owner", () => {
    fc.assert(
      fc.property(deeds({ members: [a, b, c], traffic: true }, 40), choices, (script, order) => {
        const world = withDeeds(subscribed(), script).play(order).settle()
        // Agents notice what is another's: ids they never gave out, bytes and responses that do not repeat what they
        // said.
        nobodyHurt(world)
        idsNeverReused(world)
      }),
      { numRuns: 200 }
    )
  })

  it("wire.md §10.5: each member's messages keep their order", () => {
    fc.assert(
      fc.property(deeds({ members: [a, b, c], traffic: true, stateful: true }, 40), choices, (script, order) => {
        const world = withDeeds(subscribed(), script).play(order).settle()
        const marks = (messages: ReadonlyArray<Parameters<typeof marker>[0]>): ReadonlyArray<string> =>
          messages.flatMap((message) => marker(message) ?? [])
        const seen = marks(world.received.flat())
        for (const member of [a, b, c]) {
          const fed = marks(world.fed.filter((one) => one.member === member).map((one) => one.message))
          const own = seen.filter((one) => one.includes(member))
          expect(isSubsequence(own, fed)).toBe(true)
        }
      })
    )
  })

  it("wire.md §10.6: losing and regaining others keeps the session, warns once per loss, closes what was open", () => {
    fc.assert(
      fc.property(
        deeds(
          { members: [a, b, c], unsteady: [b, c], traffic: true, subscriptions: true, stateful: true, pings: true },
          40
        ),
        choices,
        (script, order) => {
          const world = withDeeds(subscribed(), script).play(order).settle()
          nobodyHurt(world)
          everythingAnswered(world)
          expect(world.clientDropped ?? world.ended).toBeUndefined()
          const lost = world
            .eventsOf("Log")
            .filter(({ message }) => /goes on without cluster cluster-[bc]/.test(message))
          // A warning may go down with a socket that the client itself gave up, as no Pong came while time passed.
          if (world.eventsOf("Lost").length === 0) expect(lost).toHaveLength(world.losses.length)
          mappingsMatch(world)
          for (const channel of ["Tcp", "TcpSteal"] as const) {
            const open = [...world.agents.values()].reduce((sum, agent) => sum + agent.open[channel].size, 0)
            expect(world.client.incoming[channel].size).toBeLessThanOrEqual(open)
          }
        }
      ),
      { numRuns: 200 }
    )
  })

  it("wire.md §10.6: losing the default ends the socket without Close; the client reconnects and starts clean", () => {
    fc.assert(
      fc.property(
        deeds({ members: [a, b, c], unsteady: [a, b, c], traffic: true, subscriptions: true, stateful: true }, 40),
        choices,
        (script, order) => {
          const world = withDeeds(subscribed(), script).play(order).deliver()
          for (const member of [a, b, c]) world.comeBack(member)
          world.settle()
          nobodyHurt(world)
          everythingAnswered(world)
          expect(world.ended).toBeUndefined()
          expect(world.received.flat().filter((message) => message._tag === "Close")).toEqual([])
          idsNeverReused(world)
        }
      ),
      { numRuns: 200 }
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

  it("wire.md §10.7: bytes of any content neither throw nor hang, nor reach anybody who cannot read them", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 12 }),
      // Almost a message: a known tag with anything after it.
      fc
        .tuple(fc.nat({ max: 18 }), fc.uint8Array({ maxLength: 8 }))
        .map(([tag, rest]) => Uint8Array.from([tag, ...rest]))
    )
    const hostile = fc.array(
      fc.oneof(
        bytes.map((some) => ({ _tag: "Bytes", bytes: some }) as const),
        fc
          .tuple(fc.constantFrom(b, c), bytes)
          .map(([member, some]) => ({ _tag: "BytesFrom", member, bytes: some }) as const)
      ),
      { maxLength: 12 }
    )
    fc.assert(
      fc.property(hostile, choices, (script, order) => {
        // `World` throws if the router sends bytes that are no message, to whichever side.
        const world = withDeeds(subscribed(), script).play(order).settle()
        expect(world.received.flat().every((message) => daemonMessage.encode(message).length > 0)).toBe(true)
        expect(world.agents.get(a)?.choked).toBeUndefined()
      }),
      { numRuns: 300 }
    )
  })
})
