import type { Invariant } from "./invariant.ts"

/** Ms within which a request is answered once all is well. */
const patience = 60_000

/**
 * An answer of the wrong cluster, of the wrong request, or none: what a user of the workload would see. A client's program answers
 * `from <client>: <path>`, a workload `hello from <cluster>: GET <path>`.
 */
export const requestsAnswered: Invariant = {
  id: "N7",
  sentence: "Each request that enters a workload gets the answer to that very request.",
  begin: (world) => {
    const entered = new Map<number, string>()
    return {
      on: (event) => {
        if (event._tag === "RequestEntered") {
          entered.set(event.id, event.path)
          return undefined
        }
        if (event._tag !== "RequestAnswered") return undefined
        const { body, by, cluster, id, status } = event
        const path = entered.get(id)
        if (path === undefined) return `Request ${id} at ${cluster} is answered twice.`
        entered.delete(id)
        if (by === "workload") return body === `hello from ${cluster}: GET ${path}` ? undefined : `Request ${id} to ${path} at ${cluster} gets ${JSON.stringify(body)}.`
        // 502 is the agent's own word in the place of a client that has gone.
        if (by === "nobody" || status === 502) return undefined
        const who = /^from (\S+): (.*)$/.exec(body)
        const client = who?.[1] === undefined ? undefined : world().clients.get(who[1])
        return client !== undefined && who?.[2] === path ? undefined : `Request ${id} to ${path} at ${cluster} gets ${JSON.stringify(body)} from a client.`
      },
      atRest: () => {
        const { now, requests } = world()
        return requests.flatMap(({ answer, cluster, enteredAt, id, path }) =>
          answer === undefined && now - enteredAt > patience ? [`Request ${id} to ${path} at ${cluster} has waited for ${Math.round((now - enteredAt) / 1000)} s.`] : []
        )
      }
    }
  }
}
