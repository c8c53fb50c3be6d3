/** Messages of the client that no member is sent (wire.md §8.15), through the strict client. */

import { describe, expect, it } from "vitest"
import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { closes, nobodyHurt } from "./support/checks.ts"
import { subscribed } from "./support/subscribed.ts"

const say = (message: ClientMessage): { readonly _tag: "Bytes"; readonly bytes: Uint8Array } => ({
  _tag: "Bytes",
  bytes: clientMessage.encode(message)
})

describe("wire.md §8.15: Vpn and PauseTargetRequest", () => {
  it("reach no member", () => {
    const world = subscribed()
    world.perform(say({ _tag: "PauseTargetRequest", value: true }))
    world.settle()
    nobodyHurt(world)
    world.perform(say({ _tag: "Vpn", value: { _tag: "OpenSocket" } }))
    world.settle()
    for (const agent of [...world.agents.values(), ...world.formerAgents]) {
      expect(agent.heard.filter(({ _tag }) => _tag === "Vpn" || _tag === "PauseTargetRequest")).toEqual([])
    }
    expect(closes(world)).toBeLessThanOrEqual(1)
  })

  it("nor do a client's ReverseDnsLookup and ShareLink", () => {
    const world = subscribed()
    world.perform(say({ _tag: "ReverseDnsLookup", value: { ipAddress: "10.0.0.1" } }))
    world.perform(say({ _tag: "ShareLink", value: { _tag: "RegisterKey", value: "k" } }))
    world.settle()
    expect(world.dropped).toEqual(["rejected", "rejected"])
    for (const agent of world.agents.values()) {
      expect(agent.heard.filter(({ _tag }) => _tag === "ReverseDnsLookup" || _tag === "ShareLink")).toEqual([])
    }
    nobodyHurt(world)
  })
})
