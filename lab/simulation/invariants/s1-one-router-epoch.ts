import type { Invariant } from "./invariant.ts"
import { statefulTraffic } from "./stateful-traffic.ts"

/** Ms that frames of an old connection may be on their way after the first of the next one arrived. */
const onTheWay = 5_000

/**
 * S1 (failures.md §1.1). An epoch is one client connection and the router that serves it; a client has one at a time.
 * Which epoch a frame at an agent is of is known where the session's stateful traffic differs from all other.
 */
export const oneRouterEpoch: Invariant = {
  id: "S1",
  sentence: "At most one router epoch of a session passes bytes.",
  begin: (world) => {
    const traffic = statefulTraffic(world)
    /** By session: the newest epoch that an agent heard of, and since when. */
    const newest = new Map<bigint, { readonly epoch: number; readonly since: number }>()
    return {
      on: (event) => {
        const passed = traffic.take(event)
        if (passed?._tag !== "AgentHeard") return undefined
        const served = traffic.servedBy(passed.agent)
        if (served === undefined) return undefined
        const { client, connection, epoch, sessionId } = served
        const known = newest.get(sessionId)
        if (known === undefined || known.epoch < epoch) newest.set(sessionId, { epoch, since: event.at })
        if (known === undefined || known.epoch <= epoch || event.at - known.since <= onTheWay) return undefined
        const late = ((event.at - known.since) / 1000).toFixed(1)
        return (
          `Connection ${connection} of ${client} still passes bytes to ${passed.agent.agent} in ` +
          `${passed.agent.cluster}, ${late} s after a later one did.`
        )
      }
    }
  }
}
