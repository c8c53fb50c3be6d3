/**
 * S1 (failures.md §1.1). An epoch is one client connection with the router that serves it; a client has one at a time.
 * The epoch of a frame at an agent is known only where the session's stateful traffic differs from that of all others.
 */

import type { Invariant } from "./invariant.ts"
import { statefulTraffic } from "./stateful-traffic.ts"

/** How long frames of an old connection may still arrive after the first frame of the next connection, ms. */
const onTheWay = 5_000

export const oneRouterEpoch: Invariant = {
  id: "S1",
  sentence: "At most one router epoch of a session passes bytes.",
  begin: (world) => {
    const traffic = statefulTraffic(world)
    /** By session: the newest epoch that an agent heard of, and since when. */
    const newest = new Map<bigint, { readonly epoch: number; readonly since: number }>()
    return {
      each: (event) => {
        const passed = traffic.take(event)
        const served = passed?._tag === "AgentHeard" ? traffic.servedBy(passed.agent) : undefined
        if (passed?._tag !== "AgentHeard" || served === undefined) return undefined
        const { client, connection, epoch, sessionId } = served
        const known = newest.get(sessionId)
        if (known === undefined || known.epoch < epoch) newest.set(sessionId, { epoch, since: event.at })
        if (known === undefined || known.epoch <= epoch || event.at - known.since <= onTheWay) return undefined
        const secondsLate = ((event.at - known.since) / 1000).toFixed(1)
        return (
          `Connection ${connection} of ${client} still passes bytes to ${passed.agent.agent} in ` +
          `${passed.agent.cluster}, ${secondsLate} s after a later one did.`
        )
      }
    }
  }
}
