/** Members of any version get only what they can read (wire.md §8.18 and §8.19), through the strict client. */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ClientRequest } from "../../../lab/client/client-input.ts"
import type { HttpFilter } from "../../../src/domain/protocol/http-filter-messages.ts"
import type { AgentCommand } from "./support/agent-state.ts"
import { everythingAnswered, nobodyHurt } from "./support/checks.ts"
import { choices, connect, deeds, stealHeader } from "./support/deeds.ts"
import { subscribed, three } from "./support/subscribed.ts"
import { a, b, c, World } from "./support/world.ts"

const request = (pieces: number): AgentCommand => ({ _tag: "Request", channel: "TcpSteal", port: 80, pieces })

describe("wire.md §8.18: members are told the client's true version", () => {
  it.each([a, b, c])("an old agent in %s does not stop unfiltered stealing of HTTP in the others", (old) => {
    const world = subscribed({ ...three, versions: { [old]: "1.19.0" } })
    for (const member of [a, b, c]) {
      expect(world.agents.get(member)?.announced).toBe("1.29.0")
      if (member !== old) world.at(member, request(1))
    }
    world.settle()
    expect(world.eventsOf("HttpRequest")).toHaveLength(2)
    nobodyHurt(world)
  })

  it("also a member that returns, and a client that is older than the router", () => {
    const world = subscribed({ ...three, client: { version: "1.21.0" } })
    world.lose(b)
    world.comeBack(b)
    world.settle()
    expect(world.heardBy(b)[0]).toEqual({ _tag: "SwitchProtocolVersion", value: "1.21.0" })
  })
})

describe("wire.md §8.19: what is broadcast is gated by each member's version", () => {
  const filters: ReadonlyArray<readonly [string, HttpFilter]> = [
    ["1.11.0", { _tag: "Composite", all: true, filters: [{ _tag: "Path", value: "/" }] }],
    ["1.20.0", { _tag: "Method", value: { _tag: "Get" } }],
    ["1.23.0", { _tag: "Body", value: { _tag: "Json", query: "$", matches: "x" } }],
    ["1.26.0", { _tag: "HeaderJq", value: "." }],
    [
      "1.26.0",
      {
        _tag: "Composite",
        all: false,
        filters: [{ _tag: "Composite", all: true, filters: [{ _tag: "HeaderJq", value: "." }] }]
      }
    ]
  ]
  const before = (version: string): string => `1.${Number(version.split(".")[1]) - 1}.9`

  it.each(filters)(
    "a filter of %s never reaches an older agent: it neither drops nor comes and goes",
    (since, filter) => {
      const world = new World({ ...three, versions: { [b]: before(since), [c]: since } }).settle()
      const ask: ClientRequest = { _tag: "Steal", type: { _tag: "FilteredHttpEx", port: 80, filter } }
      world.ask(ask).settle()
      expect(world.violations).toEqual([])
      expect([a, b, c].map((member) => world.agents.get(member)?.ports.TcpSteal.has(80))).toEqual([true, false, true])
      expect(world.eventsOf("Subscribed")).toMatchObject([{ result: { _tag: "Ok" } }])
      expect(world.eventsOf("Log").filter(({ message }) => message.includes("cluster-b"))).toHaveLength(1)
      // Nor on its return.
      world.lose(b)
      world.comeBack(b)
      world.settle()
      expect(world.violations).toEqual([])
      nobodyHurt(world)
    }
  )

  it("mirroring with a filter (1.21.1) likewise", () => {
    const world = new World({ ...three, versions: { [b]: "1.21.0" } }).settle()
    world.ask({ _tag: "Mirror", port: 80, filter: { _tag: "Path", value: "/" } }).settle()
    expect([a, b, c].map((member) => world.agents.get(member)?.ports.Tcp.has(80))).toEqual([true, false, true])
    nobodyHurt(world)
  })

  it.each(["1.8.0", "1.5.0", "1.2.2"])("responses in pieces reach an agent of %s whole", (version) => {
    const world = new World({ ...three, versions: { [b]: version } }).settle().ask(stealHeader(80, "a: b")).settle()
    for (let i = 0; i < 7; i++) world.at(b, request(2))
    world.settle()
    expect(world.eventsOf("HttpRequest")).toHaveLength(7)
    nobodyHurt(world)
    expect(world.agents.get(b)?.open.TcpSteal.size).toBe(0)
  })

  it("a connect of port-forward is answered by a Close that says why, if the default is older", () => {
    const client = { kind: "portForward" } as const
    const world = new World({ ...three, versions: { [a]: "1.21.9" }, client }).settle()
    world.ask(connect("Tcp", 7n)).settle()
    expect(world.violations).toEqual([])
    expect(world.received.flat()).toContainEqual({
      _tag: "Close",
      value:
        "mirrord port-forward -L needs protocol 1.22.0, and the agent of cluster cluster-a speaks 1.21.9; " +
        "upgrade the operator there"
    })
  })

  it("a connect of port-forward reaches a default that can read it, whatever the others are", () => {
    const client = { kind: "portForward" } as const
    const world = new World({ ...three, versions: { [a]: "1.22.0", [b]: "1.21.9" }, client }).settle()
    world.ask(connect("Tcp", 7n)).settle()
    expect(world.eventsOf("Connected")).toMatchObject([{ uid: 7n, result: { _tag: "Ok" } }])
    nobodyHurt(world)
  })

  it.each([
    ["steal", [a], { [a]: "1.19.4" }],
    ["mirror", [a, b], { [a]: "1.22.0", [b]: "1.21.1" }]
  ] as const)("a filter that no agent can read is refused with the reason: %s", (what, members, versions) => {
    const world = new World({ members, versions }).settle()
    const filter: HttpFilter = { _tag: "Body", value: { _tag: "Json", query: "$", matches: "x" } }
    world
      .ask(
        what === "mirror"
          ? { _tag: "Mirror", port: 80, filter }
          : { _tag: "Steal", type: { _tag: "FilteredHttpEx", port: 80, filter } }
      )
      .settle()
    const reason = `it is no policy: the target's agent speaks protocol ${Object.values(versions).join(", ")}, and the `
    expect(world.eventsOf("Subscribed")).toMatchObject([
      { result: { _tag: "Err", error: { _tag: "ForbiddenWithReason", reason: expect.stringContaining(reason) } } }
    ])
    expect(world.violations).toEqual([])
  })

  it("no agent of any version is ever sent what it cannot decode", () => {
    const versions = fc.constantFrom(
      "1.2.2",
      "1.3.0",
      "1.3.1",
      "1.5.0",
      "1.7.0",
      "1.8.1",
      "1.12.0",
      "1.19.0",
      "1.19.4",
      "1.21.0",
      "1.24.0",
      "1.28.0",
      "1.29.0"
    )
    fc.assert(
      fc.property(
        fc.tuple(versions, versions, versions),
        deeds(
          { members: [a, b, c], stateful: true, subscriptions: true, traffic: true, unsteady: [b, c], pings: true },
          40
        ),
        choices,
        ([va, vb, vc], script, order) => {
          const world = new World({ ...three, versions: { [a]: va, [b]: vb, [c]: vc } })
          world.deeds = [...script]
          world.play(order).settle()
          nobodyHurt(world)
          everythingAnswered(world)
        }
      ),
      { numRuns: 200 }
    )
  })
})
