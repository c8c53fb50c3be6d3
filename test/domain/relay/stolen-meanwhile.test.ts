/** Connections that agents steal around the result of a subscription, which a client of many clusters gets later. */

import * as fc from "fast-check"
import { expect, it } from "vitest"
import type { AgentCommand } from "./support/agent-state.ts"
import { idsNeverReused, mappingsMatch, nobodyHurt } from "./support/checks.ts"
import { choices, steal } from "./support/deeds.ts"
import { three } from "./support/subscribed.ts"
import { a, b, c, World } from "./support/world.ts"

const open: AgentCommand = { _tag: "Open", channel: "TcpSteal", port: 80 }
const say: AgentCommand = { _tag: "Say", channel: "TcpSteal", which: 0 }

it("reach the client, each once, before the result, at once after it, and beyond its bound", () => {
  let stolen = 0
  fc.assert(
    fc.property(choices, fc.constantFrom(0, 700, 2_100), choices, (before, wait, after) => {
      const world = new World(three).deliver().ask(steal(80))
      for (const member of [a, b, c]) world.at(member, open).at(member, say)
      world.play(before).pass(wait)
      for (const member of [a, b, c]) world.at(member, open).at(member, say)
      world.play(after).settle()
      nobodyHurt(world)
      idsNeverReused(world)
      mappingsMatch(world)
      const opened = world.fed.filter(
        ({ message }) => message._tag === "TcpSteal" && message.value._tag.startsWith("NewConnection")
      ).length
      expect(world.eventsOf("NewConnection")).toHaveLength(opened)
      stolen += opened
    })
  )
  expect(stolen).toBeGreaterThan(0)
})
