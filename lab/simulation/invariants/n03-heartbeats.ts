/**
 * N3 (failures.md §3.3, §4.11). Heartbeats of a session keep their distance and end soon after its client has gone.
 * Distance counts per process and term, on the process's own clock: after a clock change, a restart or a new election
 * the next heartbeat may come at once. Silence is demanded in time where no fault kept the departure from the operator,
 * and of every operator in the end.
 */

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
    return {
      on: (event) => {
        if (event._tag === "Fault" || (event._tag === "Operator" && event.change !== "started")) isFaulty = true
        if (event._tag === "ClientConnected") endedAt.delete(parentName(event.sessionId as SessionId))
        if (event._tag === "ClientEnded") {
          const { clients } = world()
          const { sessionId } = world().client(event.client)
          const isLast = [...clients.values()].every(
            (client) => client.sessionId !== sessionId || client.name === event.client || client.ended !== undefined
          )
          if (isLast) endedAt.set(parentName(sessionId as SessionId), event.at)
          return undefined
        }
        if (event._tag === "Committed" && event.commit.ref.plural === leases.plural) {
          const { leaseTransitions = 0 } = (event.commit.after?.["spec"] ?? {}) as {
            readonly leaseTransitions?: number
          }
          terms.set(event.cluster, leaseTransitions)
        }
        if (event._tag !== "Called" || !isHeartbeat(event.call)) return undefined
        const { call, process } = event
        const skew = world().cluster(call.operator).host.skewOf(process)
        // A new object under the same name has its own heartbeat.
        const { metadata } = call.body as { readonly metadata?: { readonly uid?: string } }
        const key = `${process} ${terms.get(call.operator)} ${call.to} ${call.resource} ${call.name} ${metadata?.uid}`
        const before = written.get(key)
        written.set(key, { at: event.at, skew })
        newest = { at: event.at, what: `${process} for ${call.name} in ${call.to}` }
        // A stale list makes a session vanish for a moment, and the operator forgets when it last wrote.
        if (
          before !== undefined &&
          before.skew === skew &&
          event.at - before.at < least &&
          world().faultPlans.length === 0
        ) {
          return (
            `${process} writes a heartbeat of ${call.name} in ${call.to} ${event.at - before.at} ms after the one ` +
            "before."
          )
        }
        // A child's name begins with its parent's, which has a fixed length.
        const ended = endedAt.get(call.name.slice(0, 19))
        // Another client may still use the id of a session that is over.
        const isWanted = [...world().clients.values()].some(
          ({ ended: end, sessionId }) => end === undefined && call.name.startsWith(parentName(sessionId as SessionId))
        )
        const isLate =
          !isFaulty && !isWanted && world().faultPlans.length === 0 && ended !== undefined && event.at - ended > last
        return isLate
          ? `${process} writes a heartbeat of ${call.name} in ${call.to} ${event.at - ended} ms after its client ` +
              "has gone."
          : undefined
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
