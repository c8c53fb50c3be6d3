/**
 * N1 (failures.md §3.1, §4.22 to §4.25). The strict client finds no surplus Pong, unknown id, swapped answer or
 * malformed frame. The client itself is in lab/client.
 */

import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentName } from "../../../src/domain/sessions/names.ts"
import type { SessionId } from "../../../src/domain/sessions/session-id.ts"
import type { TimedEvent } from "../world/world-event.ts"
import type { World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { isLeaving, parentStatus } from "./session-objects.ts"

/**
 * Ends caused by the network, by a cluster that is away or by an operator's word; every other end is a fault in what
 * the client heard.
 */
const legitimateEnds: ReadonlySet<string> = new Set([
  // The first connect was refused.
  "operator-api.md §7.5",
  // A branch failed, or took too long.
  "the order of a branch",
  // The connection was lost and this kind of client has no second one, or never got one.
  "wire.md §6.14",
  "operator-api.md §8.7",
  "operator-api.md §8.8",
  // No Pong, or no version answer, for so long.
  "operator-api.md §8.6",
  "wire.md §5.4"
])

/**
 * Events that the real client survives, although no message of the client's that was under way explains them. A stray
 * close has such an explanation.
 */
const neverCrossing: ReadonlySet<string> = new Set(["surplusLookup", "wrongAction", "branchEnvMissed"])

/** How a client words the loss of a connection that it drops because of a frame. */
const badFrame = /(^|: )a (message (of \d+ bytes|that)|text frame|ping frame|pong frame|close frame)/

const fault = (event: TimedEvent): string | undefined => {
  switch (event._tag) {
    case "ClientEnded": {
      const { message, rule } = event
      if (rule === undefined) return undefined
      if (badFrame.test(message)) return message
      // Some kinds of clients refuse agents below a version.
      if (/^the version [\d.]+ is below [\d.]+$/.test(message)) return undefined
      // An agent without a target has no traffic to give, and some clients end then.
      if (message.startsWith("a subscription failed with ")) return undefined
      if (legitimateEnds.has(rule) || message.startsWith("the session was closed: ")) return undefined
      return `${rule}: ${message}`
    }
    case "ClientEvent": {
      const { event: what } = event
      if (what._tag === "Lost" && badFrame.test(what.reason)) return what.reason
      if (what._tag !== "Ignored") return undefined
      return neverCrossing.has(what.what) ? `${what.what} in ${what.message}` : undefined
    }
    default:
      return undefined
  }
}

const isOver = ({ primary }: World, sessionId: bigint): boolean => {
  const parent = primary.server.objects.peek(mirrordMultiClusterSessions, parentName(sessionId as SessionId))
  return parent === undefined || isLeaving(parent) || parentStatus(parent).phase === "Failed"
}

export const strictClient: Invariant = {
  id: "N1",
  sentence: "The strict client never finds fault with what it hears.",
  begin: (world) => ({
    each: (event) => {
      const found = fault(event)
      if (found === undefined || !("client" in event)) return undefined
      // A session that ends during its client's handshake may be ended by a Close alone.
      const client = world().clients.get(event.client)
      if (/: Close where /.test(found) && client !== undefined && isOver(world(), client.sessionId)) return undefined
      return `${event.client}: ${found}.`
    }
  })
}
