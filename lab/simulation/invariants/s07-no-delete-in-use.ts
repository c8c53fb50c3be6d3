/**
 * S7 (failures.md §1.7). An operator may delete only sessions that are not in use; branches and their sync are not
 * built. A session is in use while its client hears its operator, because no time-out can have passed then.
 */

import { at } from "../../../src/domain/json.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentName } from "../../../src/domain/sessions/names.ts"
import type { SessionId } from "../../../src/domain/sessions/session-id.ts"
import type { PortCall } from "../world/world-event.ts"
import type { Invariant } from "./invariant.ts"
import { isLeaving, parentStatus } from "./session-objects.ts"

/** How long a client may wait to hear that its session was ended on purpose, ms. */
const farewell = 5_000

interface Use {
  readonly client: string
  connected: boolean
  /** When the client last heard anything from its operator, virtual ms. */
  heardAt: number
}

export const noDeleteInUse: Invariant = {
  id: "S7",
  sentence: "Nothing that is in use is deleted.",
  begin: (world) => {
    /** By parent's name. */
    const uses = new Map<string, Use>()
    const byClient = new Map<string, Use>()
    /** Clients whose sessions a person asked the operator to end. */
    const unwanted = new Set<string>()
    const suspicions = new Map<Use, { readonly text: string; readonly due: number }>()
    const overdue = (now: number): string | undefined => {
      for (const { due, text } of suspicions.values()) if (now > due) return text
      return undefined
    }
    /** The use of the parent that a delete is about; `undefined` if it is not used. */
    const inUse = (call: PortCall): Use | undefined => {
      const use = uses.get(call.name)
      const parent = world().primary.server.objects.peek(mirrordMultiClusterSessions, call.name)
      if (use === undefined || !use.connected || unwanted.has(use.client) || parent === undefined) return undefined
      if (isLeaving(parent) || parentStatus(parent).phase === "Failed") return undefined
      // The server refuses a delete that was meant for the parent's predecessor.
      const uid = at(call.body, "preconditions", "uid")
      return uid === undefined || uid === parent.metadata.uid ? use : undefined
    }
    const lose = (client: string, isForGood: boolean): void => {
      const use = byClient.get(client)
      if (use === undefined) return
      use.connected = false
      if (isForGood) suspicions.delete(use)
    }
    return {
      on: {
        ClientHeard: ({ at: now, client }) => {
          const use = byClient.get(client)
          if (use !== undefined) use.heardAt = now
        },
        ClientConnected: ({ at: now, client, sessionId }) => {
          const use: Use = { client, connected: true, heardAt: now }
          uses.set(parentName(sessionId as SessionId), use)
          byClient.set(client, use)
        },
        // The operator closed the connection, or the client leaves: the session was ended for the client. The message
        // that says so may be lost with the connection.
        ClientLost: ({ client, reason }) => lose(client, reason === "connection reset"),
        ClientEnded: ({ client }) => lose(client, true),
        Step: ({ text }) => {
          const asked = /^delete session (\S+)/.exec(text)?.[1]
          if (asked === undefined) return
          unwanted.add(asked)
          const session = world().clients.get(asked)?.sessionId
          for (const client of world().clients.values()) if (client.sessionId === session) unwanted.add(client.name)
        },
        Called: ({ at: now, call, process }) => {
          const late = overdue(now)
          if (late !== undefined) return late
          if (call.verb !== "delete" || call.resource !== mirrordMultiClusterSessions.plural) return undefined
          const use = inUse(call)
          const { clients, network, plan } = world()
          // The TTL runs from a heartbeat, which is older than the operator's last word by up to its interval.
          if (use === undefined || now - use.heardAt >= plan.sessionTtlSecs * 800) return undefined
          // The operator's word cannot reach the client now, or not soon.
          if (!network.isPrompt(plan.primary, clients.get(use.client)?.place ?? plan.primary)) return undefined
          const heard = `${use.client} is connected and heard it ${now - use.heardAt} ms ago`
          suspicions.set(use, { text: `${process} deletes ${call.name} while ${heard}.`, due: now + farewell })
        }
      },
      atRest: () => {
        const text = overdue(world().now)
        return text === undefined ? [] : [text]
      }
    }
  }
}
