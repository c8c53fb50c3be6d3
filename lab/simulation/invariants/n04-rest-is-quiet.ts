/**
 * N4 (failures.md §3.4, §4.9, §4.10). At rest an operator writes nothing but heartbeats. It catches a controller that
 * wakes itself by its own status write, and lists whose order changes. A failed parent may still be deleted after its
 * retention.
 */

import { events } from "../../../src/domain/events/event-object.ts"
import { leases } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { heartbeatInterval } from "../../../src/domain/sessions/heartbeat.ts"
import { isOfKind } from "../story/call-kind.ts"
import type { PortCall } from "../world/world-event.ts"
import { isAway } from "./debts.ts"
import type { Invariant } from "./invariant.ts"
import { isHeartbeat } from "./n03-heartbeats.ts"
import { isLeaving, isLeftOut, parentStatus, sessionObjectOf } from "./session-objects.ts"

/** Length of the rest before the check, ms. */
const rest = 60_000
/** The same for heartbeats, which end some time after the client left: in so long a time an endless one comes again. */
const restOfHeartbeats = heartbeatInterval + 5_000

/** The session that a call is about; for an Event, the session that it reports on. */
const aboutOf = ({ name, resource }: PortCall): string =>
  resource === events.plural ? (name.split(".")[0] ?? name) : name

/** Whether a call writes, but for what a leader and a primary renew: Leases, and the tokens of members. */
const isWrite = (call: PortCall): boolean =>
  ["create", "patch", "delete"].includes(call.verb) &&
  call.resource !== "subjectaccessreviews" &&
  call.resource !== leases.plural &&
  !isOfKind(call, "tokens") &&
  !isOfKind(call, "secrets")

export const restIsQuiet: Invariant = {
  id: "N4",
  sentence: "At rest nothing is written but heartbeats of connected sessions.",
  begin: (world) => {
    const writes = new Map<
      string,
      { readonly at: number; readonly name: string; readonly to: string; readonly heartbeat: boolean }
    >()
    return {
      on: {
        Called: ({ at, call, process }) => {
          if (!isWrite(call)) return
          const { resource, to, verb } = call
          const name = aboutOf(call)
          // The end of credentials that others renew is told each time that they are new.
          if (resource === events.plural && name === "operator" && world().authors.areEndsTold) return
          // A member ends a child that never served; a session that left it out tries again with a new child.
          const isOfChild = resource === mirrordClusterSessions.plural || resource === events.plural
          if (isOfChild && isLeftOut(world(), name)) return
          const heartbeat = isHeartbeat(call)
          const what = `${heartbeat ? "heartbeat of" : verb} ${resource} ${name} in ${to}`
          writes.set(`${process}: ${what}`, { at, name, to, heartbeat })
        }
      },
      atRest: (moment) => {
        const { clients, clusters, now, primary } = world()
        const connected = new Set(
          [...clients.values()].flatMap((client) =>
            moment === "healed" && client.isServing ? [sessionObjectOf(client)] : []
          )
        )
        const isEnding = (name: string): boolean => {
          const parent = primary.server.objects.peek(mirrordMultiClusterSessions, name)
          return parent !== undefined && isLeaving(parent) && parentStatus(parent).phase !== "Ready"
        }
        const isThere = (to: string, name: string): boolean => {
          const objects = clusters.get(to)?.server.objects
          return [mirrordMultiClusterSessions, mirrordClusterSessions].some(
            (ref) => objects?.peek(ref, name) !== undefined
          )
        }
        return [...writes].flatMap(([write, { at, heartbeat, name, to }]) => {
          if (now - at >= (heartbeat ? restOfHeartbeats : rest) || isAway(world(), to) || isEnding(name)) return []
          const isConnected = connected.has(name.slice(0, 19)) || connected.has(name)
          if (heartbeat ? isConnected : !isThere(to, name) && moment === "healed") return []
          return [`${write}, ${Math.round((now - at) / 1000)} s ago.`]
        })
      }
    }
  }
}
