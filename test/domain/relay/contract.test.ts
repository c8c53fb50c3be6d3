import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import {
  everythingAnswered,
  fifoOf,
  idsNeverReused,
  isStateful,
  isSubsequence,
  mappingsMatch,
  marker,
  newIds,
  nobodyHurt
} from "./support/checks.ts"
import { access, choices, deeds, mirror, resolve, steal } from "./support/deeds.ts"
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

  it("wire.md §10.3: the default's Pong counts, the others are waited for 2 s and no longer", () => {
    for (const silent of [b, c]) {
      const world = subscribed()
      world.pass(30_000)
      world.play(Array.from({ length: 1 }, () => 0))
      for (const next of world.possible()) if (next.name.startsWith("to cluster")) next.run()
      for (const next of world.possible())
        if (next.name.startsWith("from cluster") && !next.name.includes(silent)) next.run()
      expect(world.toClient).toEqual([])
      world.pass(1999)
      expect(world.toClient).toEqual([])
      world.pass(1)
      expect(world.toClient).toEqual([daemonMessage.encode({ _tag: "Pong" })])
      nobodyHurt(world.settle())
    }
  })

  it.each([
    ["1.29.0", "1.29.0", "1.29.0"],
    ["1.29.0", "1.14.0", "1.14.0"],
    ["1.20.0", "1.29.0", "1.20.0"],
    ["1.29.0", "1.31.0", "1.29.0"]
  ])(
    "wire.md §10.3: a client of %s and a default of %s agree on %s, and every agent hears the client's true version",
    (client, agent, agreed) => {
      const world = new World({
        ...three,
        client: { version: client },
        versions: { [a]: agent, [b]: "1.9.0" }
      }).settle()
      expect(world.eventsOf("Versioned")).toEqual([{ _tag: "Versioned", version: agreed }])
      for (const member of [a, b, c]) expect(world.agents.get(member)?.announced).toBe(client)
    }
  )

  it.each([
    ["1.35.0", "1.29.0"],
    ["1.29.0-rc.1", "1.29.0"]
  ])("wire.md §10.3: a default that answers %s is passed on as %s", (answered, agreed) => {
    const world = new World({ ...three, client: { kind: "dump", reconnect: false } })
    const next = (name: string): void =>
      world
        .possible()
        .find((one) => one.name === name)
        ?.run()
    for (let switches = 0; switches < 2; switches++) {
      next("client main")
      next(`to ${a}`)
    }
    // In place of what the scripted agent would have said to the client's switch.
    world.fromMember.get(a)?.get("inline")?.pop()
    world
      .at(a, { _tag: "Raw", source: "inline", message: { _tag: "SwitchProtocolVersionResponse", value: answered } })
      .settle()
    expect(world.eventsOf("Versioned")).toEqual([{ _tag: "Versioned", version: agreed }])
    nobodyHurt(world)
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

  it("wire.md §10.4: every stolen request of every member is answered with its own response", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(a, b, c), fc.nat({ max: 2 })), { minLength: 1, maxLength: 12 }),
        choices,
        (requests, order) => {
          const world = withDeeds(
            subscribed(),
            requests.map(([member, pieces]) => ({
              _tag: "At",
              member,
              command: { _tag: "Request", channel: "TcpSteal", port: 80, pieces }
            }))
          )
            .play(order)
            .settle()
          nobodyHurt(world)
          expect(world.eventsOf("HttpRequest")).toHaveLength(requests.length)
          // An agent closes a request when it has passed its response on.
          for (const agent of world.agents.values()) expect([...agent.open.TcpSteal]).toEqual([])
        }
      )
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

  it("wire.md §10.6: a member that returns has the client's subscriptions and none that were given up", () => {
    const world = subscribed()
    world.lose(b)
    world.ask({ _tag: "Unsubscribe", port: 81 }).settle()
    world.comeBack(b)
    world.settle()
    expect(world.agents.get(b)?.ports).toEqual({ Tcp: new Set([90, 91]), TcpSteal: new Set([80]) })
    nobodyHurt(world)
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

  it(
    "wire.md §10.7: an unknown tag is never broadcast: it goes to a newer default, else nowhere, counted and " +
      "logged once",
    () => {
      const unknown = Uint8Array.of(40, 1, 2, 3)
      const old = subscribed()
      old.perform({ _tag: "Bytes", bytes: unknown })
      old.perform({ _tag: "Bytes", bytes: unknown })
      old.settle()
      expect(old.dropped.filter((what) => what === "unknownClientTag")).toHaveLength(2)
      expect(old.warnings.filter((text) => text.includes("newer"))).toHaveLength(1)
      const newer = new World({
        ...three,
        client: { version: "1.31.0" },
        versions: { [a]: "1.31.0", [b]: "1.31.0" }
      }).settle()
      newer.perform({ _tag: "Bytes", bytes: unknown })
      const last = newer.possible().find(({ name }) => name === "client raw")
      last?.run()
      expect(newer.toMember.get(a)).toEqual([unknown])
      expect([newer.toMember.get(b), newer.toMember.get(c)]).toEqual([[], []])
    }
  )

  it("wire.md §10.8: no id is reused, mappings end with connection, client's interest or member", () => {
    fc.assert(
      fc.property(deeds({ members: [a, b, c], unsteady: [b, c], traffic: true }, 60), choices, (script, order) => {
        const world = withDeeds(subscribed(), script).play(order).settle()
        nobodyHurt(world)
        idsNeverReused(world)
        mappingsMatch(world)
        const ids = newIds(world.received.flat())
        expect(ids).toEqual(ids.toSorted((x, y) => Number(x - y)))
      }),
      { numRuns: 200 }
    )
  })

  it("wire.md §10.8: stray ids of the client are dropped silently", () => {
    const world = subscribed()
    for (const connectionId of [0n, 7n, 1n << 40n]) {
      world.perform({
        _tag: "Bytes",
        bytes: clientMessage.encode({
          _tag: "TcpSteal",
          value: { _tag: "Data", value: { connectionId, bytes: Uint8Array.of(1) } }
        })
      })
      world.perform({
        _tag: "Bytes",
        bytes: clientMessage.encode({ _tag: "Tcp", value: { _tag: "ConnectionUnsubscribe", value: connectionId } })
      })
    }
    const before = world.warnings.length
    world.settle()
    expect(world.dropped).toEqual(Array.from({ length: 6 }, () => "strayId"))
    expect(world.warnings).toHaveLength(before)
    nobodyHurt(world)
  })
})
