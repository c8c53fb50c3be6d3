/**
 * N3 (failures.md §3.3, §4.11). Heartbeats of a session keep their distance and end soon after its client has gone.
 * Distance counts per process and term, on the process's own clock: after a clock change, a restart or a new election
 * the next heartbeat may come at once. Silence is demanded in time where no fault kept the departure from the operator,
 * and of every operator in the end.
 */

import { asNumber, asString, at } from "../../../src/domain/json.ts"
import { leases } from "../../../src/domain/resources/core-kinds.ts"
import { parentName } from "../../../src/domain/sessions/names.ts"
import type { SessionId } from "../../../src/domain/sessions/session-id.ts"
import type { PortCall } from "../world/world-event.ts"
import type { Invariant } from "./invariant.ts"

/**
 * The promised interval between heartbeats, and how long they may go on after the last socket closed, ms. Written here
 * again, so that a wrong constant of the operator is noticed.
 */
const interval = 10_000
const tail = 15_000

/** Least distance of two heartbeats, ms: one may be late and the next in time. */
const least = interval - 500
/** Latest moment of the last heartbeat after the last socket closed, ms; one second is for closing. */
const last = tail + interval + 1_000

export const isHeartbeat = ({ body, subresource, verb }: PortCall): boolean =>
  verb === "patch" &&
  subresource === "status" &&
  (body as { readonly status?: object } | undefined)?.status !== undefined &&
  "connectedTimestamp" in (body as { readonly status: object }).status

export const heartbeats: Invariant = {
  id: "N3",
  sentence:
    "A session gets at most one heartbeat per interval and process or term, and none after its client has gone.",
  begin: (world) => {
    const written = new Map<string, { readonly at: number; readonly skew: number }>()
    /** By cluster: how often the Lease has changed hands. */
    const terms = new Map<string, number>()
    const endedAt = new Map<string, number>()
    let isFaulty = false
    let newest: { readonly at: number; readonly what: string } | undefined
    /** When the world was well and the last clients were about to leave, virtual ms. */
    let allLeft = Infinity
    /** A heartbeat after the last client of its session has gone, if nothing explains it. */
    const isLate = (name: string, now: number): boolean => {
      // A child's name begins with its parent's, which has a fixed length.
      const since = now - (endedAt.get(name.slice(0, 19)) ?? now)
      if (isFaulty || world().faultPlans.length > 0 || since <= last) return false
      // Another client may still use the id of a session that is over.
      return [...world().clients.values()].every(
        ({ ended, sessionId }) => ended !== undefined || !name.startsWith(parentName(sessionId as SessionId))
      )
    }
    return {
      on: {
        Fault: () => {
          isFaulty = true
        },
        Operator: ({ change }) => {
          isFaulty ||= change !== "started"
        },
        ClientConnected: ({ sessionId }) => void endedAt.delete(parentName(sessionId as SessionId)),
        ClientEnded: (event) => {
          const { sessionId } = world().client(event.client)
          const isLast = [...world().clients.values()].every(
            ({ ended, name, sessionId: id }) => id !== sessionId || name === event.client || ended !== undefined
          )
          if (isLast) endedAt.set(parentName(sessionId as SessionId), event.at)
        },
        Committed: ({ cluster, commit: { after, ref } }) => {
          if (ref.plural === leases.plural) terms.set(cluster, asNumber(at(after, "spec", "leaseTransitions")) ?? 0)
        },
        Called: ({ at: now, call, process }) => {
          if (!isHeartbeat(call)) return undefined
          const { body, name, operator, resource, to } = call
          const skew = world().cluster(operator).host.skewOf(process)
          // A new object under the same name has its own heartbeat.
          const uid = asString(at(body, "metadata", "uid"))
          const key = [process, terms.get(operator), to, resource, name, uid].join(" ")
          const before = written.get(key)
          const since = before?.skew === skew ? now - before.at : Infinity
          written.set(key, { at: now, skew })
          newest = { at: now, what: `${process} for ${name} in ${to}` }
          const what = `${process} writes a heartbeat of ${name} in ${to}`
          // A stale list makes a session vanish for a moment, and the operator forgets when it last wrote.
          if (since < least && world().faultPlans.length === 0) return `${what} ${since} ms after the one before.`
          return isLate(name, now)
            ? `${what} ${now - (endedAt.get(name.slice(0, 19)) ?? now)} ms after its client has gone.`
            : undefined
        }
      },
      atRest: (moment) => {
        if (moment === "healed") allLeft = world().now
        if (moment === "healed" || newest === undefined) return []
        return newest.at > allLeft + last
          ? [`A heartbeat came ${newest.at - allLeft} ms after the last client had gone: from ${newest.what}.`]
          : []
      }
    }
  }
}
