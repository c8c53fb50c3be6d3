import { leases } from "../../../src/domain/resources/core-kinds.ts"
import { parentName } from "../../../src/domain/session/names.ts"
import type { SessionId } from "../../../src/domain/session/session-id.ts"
import type { PortCall } from "../world/world-event.ts"
import type { Invariant } from "./invariant.ts"

/**
 * Ms between two heartbeats, and for which they go on after the last socket closed: as promised, not as the product has
 * them.
 */
const interval = 10_000
const tail = 15_000

/** A heartbeat may be late and the next one on time, ms. */
const least = interval - 500
/** The last heartbeat comes at most so long after the last socket closed, ms; with a second for closing it. */
const last = tail + interval + 1_000

export const isHeartbeat = ({ body, subresource, verb }: PortCall): boolean =>
  verb === "patch" &&
  subresource === "status" &&
  (body as { readonly status?: object } | undefined)?.status !== undefined &&
  "connectedTimestamp" in (body as { readonly status: object }).status

/**
 * N3 (failures.md §3.3, §4.11). The distance is counted per process and on its own clock; one whose clock is set
 * otherwise may write at once, and so may one that leads anew: like one that was started anew it remembers nothing of
 * its term before. Silence after a client has gone is demanded where no fault can have kept the news from the operator,
 * and of everybody in the end.
 */
export const heartbeats: Invariant = {
  id: "N3",
  sentence:
    "A session gets at most one heartbeat per interval and process or term, and none after its client has gone.",
  begin: (world) => {
    const written = new Map<string, { readonly at: number; readonly skew: number }>()
    /** By cluster: how often the Lease of its operators has changed hands. */
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
        // An object that was made anew under its name has a heartbeat of its own.
        const { metadata } = call.body as { readonly metadata?: { readonly uid?: string } }
        const key = `${process} ${terms.get(call.operator)} ${call.to} ${call.resource} ${call.name} ${metadata?.uid}`
        const before = written.get(key)
        written.set(key, { at: event.at, skew })
        newest = { at: event.at, what: `${process} for ${call.name} in ${call.to}` }
        // A stale list takes a session away for a moment, and with it what is remembered of it.
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
        // A child's name starts with its parent's, which has a fixed length.
        const ended = endedAt.get(call.name.slice(0, 19))
        // Somebody else may try the id of a session that is over.
        const isWanted = [...world().clients.values()].some(
          ({ ended: over, sessionId }) => over === undefined && call.name.startsWith(parentName(sessionId as SessionId))
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
