/**
 * S7 (failures.md §1.7). An operator may delete only sessions that are not in use; branches and their sync are not
 * built. A session is in use while its client hears its operator, because no time-out can have passed then.
 */

import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentName } from "../../../src/domain/sessions/names.ts"
import type { SessionId } from "../../../src/domain/sessions/session-id.ts"
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
    return {
      on: (event) => {
        switch (event._tag) {
          case "ClientHeard": {
            const use = byClient.get(event.client)
            if (use !== undefined) use.heardAt = event.at
            return undefined
          }
          case "ClientConnected": {
            const use: Use = { client: event.client, connected: true, heardAt: event.at }
            uses.set(parentName(event.sessionId as SessionId), use)
            byClient.set(event.client, use)
            return undefined
          }
          case "ClientLost":
          case "ClientEnded": {
            const use = byClient.get(event.client)
            if (use !== undefined) {
              use.connected = false
              // The operator closed the connection, or the client leaves: the session was ended for the client. The
              // message that says so may be lost with the connection.
              if (event._tag === "ClientEnded" || event.reason === "connection reset") suspicions.delete(use)
            }
            return undefined
          }
          case "Step": {
            const asked = /^delete session (\S+)/.exec(event.text)?.[1]
            if (asked !== undefined) unwanted.add(asked)
            const session = asked === undefined ? undefined : world().clients.get(asked)?.sessionId
            for (const client of world().clients.values()) if (client.sessionId === session) unwanted.add(client.name)
            return undefined
          }
          case "Called": {
            if (suspicions.size > 0) {
              const text = overdue(event.at)
              if (text !== undefined) return text
            }
            const { call, process } = event
            if (call.verb !== "delete" || call.resource !== mirrordMultiClusterSessions.plural) return undefined
            const use = uses.get(call.name)
            const parent = world().primary.server.objects.peek(mirrordMultiClusterSessions, call.name)
            if (use === undefined || !use.connected || unwanted.has(use.client) || parent === undefined)
              return undefined
            if (isLeaving(parent) || parentStatus(parent).phase === "Failed") return undefined
            // The server refuses a delete that was meant for the parent's predecessor.
            const uid = (call.body as { readonly preconditions?: { readonly uid?: string } } | undefined)?.preconditions
              ?.uid
            if (uid !== undefined && uid !== parent.metadata.uid) return undefined
            // The TTL runs from a heartbeat, which is older than the operator's last word by up to its interval.
            if (event.at - use.heardAt >= world().plan.sessionTtlSecs * 800) return undefined
            // The operator's word cannot reach the client now, or not soon.
            const { clients, network, plan } = world()
            if (!network.isPrompt(plan.primary, clients.get(use.client)?.place ?? plan.primary)) return undefined
            const text =
              `${process} deletes ${call.name} while ${use.client} is connected and heard it ` +
              `${event.at - use.heardAt} ms ago.`
            suspicions.set(use, { text, due: event.at + farewell })
            return undefined
          }
          default:
            return undefined
        }
      },
      atRest: () => {
        const text = overdue(world().now)
        return text === undefined ? [] : [text]
      }
    }
  }
}
