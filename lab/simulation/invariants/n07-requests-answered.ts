/**
 * N7 (failures.md §3.7). A request is never answered by the wrong cluster, with the answer to another request, or not
 * at all: what a user of the workload would see. A client's program answers `from <client>: <path>`, a workload `hello
 * from <cluster>: GET <path>`. An agent's 502 in place of a client, or a connection closed without a word, passes only
 * if something was wrong or a client left.
 */

import type { Invariant } from "./invariant.ts"

/** How long a request may wait for its answer once all is well, ms. */
const patience = 60_000
/** The same for a request that entered while nothing was wrong, ms. */
const defaultPatience = 10_000
/**
 * How long nothing may have been wrong before a request counts as hopeful, ms: until then, components still believe in
 * a peer that is gone.
 */
const calm = 1_000
/** Interval of checks whether something is wrong, ms. */
const checkInterval = 1_000

/** By its name alone: the pod may be gone already. */
const isCopyPod = (pod: string): boolean => pod.startsWith("mirrord-copy-")

export const requestsAnswered: Invariant = {
  id: "N7",
  sentence: "Each request that enters a workload gets the answer to that very request.",
  begin: (world) => {
    const entered = new Map<number, string>()
    /** By id: when a request entered, if nothing was wrong then or since. */
    const hopeful = new Map<number, number>()
    /** Requests that entered a copy. */
    const inCopies = new Set<number>()
    let wellSince: number | undefined
    /** When to check next; undefined at first, because the first events come while the world is being made. */
    let checkAt: number | undefined
    const disturbed = (): void => {
      hopeful.clear()
      wellSince = undefined
    }
    const findOverdue = (now: number): string | undefined => {
      checkAt = now + checkInterval
      if (!world().isWell) wellSince = undefined
      else wellSince ??= now
      for (const [id, since] of hopeful) {
        if (now - since > defaultPatience)
          return (
            `Request ${id} to ${entered.get(id)} has waited for ${Math.round((now - since) / 1000)} s although ` +
            "nothing was wrong."
          )
      }
      return undefined
    }
    return {
      on: (event) => {
        switch (event._tag) {
          case "Fault":
          case "ClientLost":
          case "ClientEnded":
            disturbed()
            return undefined
          case "Step":
            // A person ends the session or subscription that would have answered.
            if (/^(delete|unsubscribe) /.test(event.text)) disturbed()
            return undefined
          case "Operator":
            if (event.change !== "started") disturbed()
            return undefined
          case "RequestEntered": {
            const { at, id, path } = event
            entered.set(id, path)
            if (isCopyPod(event.pod)) inCopies.add(id)
            const overdue = findOverdue(at)
            if (wellSince !== undefined && at - wellSince >= calm) hopeful.set(id, at)
            return overdue
          }
          case "RequestAnswered": {
            const { body, by, cluster, id, status } = event
            const path = entered.get(id)
            if (path === undefined) return `Request ${id} at ${cluster} is answered twice.`
            entered.delete(id)
            const isHopeful = hopeful.delete(id)
            if (by === "workload")
              return body === `hello from ${cluster}: GET ${path}`
                ? undefined
                : `Request ${id} to ${path} at ${cluster} gets ${JSON.stringify(body)}.`
            // With a 502 the agent itself answers, in place of a client that has gone.
            if (by === "nobody" || status === 502) {
              const { kubelet } = world().cluster(cluster)
              // Nobody listens in a copy whose session steals nothing.
              const isOfCopy = by === "nobody" && inCopies.delete(id)
              const isExplained = !isHopeful || isOfCopy || kubelet.podsOf("myapp").length === 0
              return isExplained
                ? undefined
                : `Request ${id} to ${path} at ${cluster} is answered by ${by === "nobody" ? "nobody" : status} ` +
                    "although nothing was wrong."
            }
            const claim = /^from (\S+): (.*)$/.exec(body)
            const client = claim?.[1] === undefined ? undefined : world().clients.get(claim[1])
            return client !== undefined && claim?.[2] === path
              ? undefined
              : `Request ${id} to ${path} at ${cluster} gets ${JSON.stringify(body)} from a client.`
          }
          default:
            checkAt ??= event.at + checkInterval
            return event.at < checkAt ? undefined : findOverdue(event.at)
        }
      },
      atRest: () => {
        const { now, requests } = world()
        return requests.flatMap(({ answer, cluster, enteredAt, id, path }) =>
          answer === undefined && now - enteredAt > patience
            ? [`Request ${id} to ${path} at ${cluster} has waited for ${Math.round((now - enteredAt) / 1000)} s.`]
            : []
        )
      }
    }
  }
}
