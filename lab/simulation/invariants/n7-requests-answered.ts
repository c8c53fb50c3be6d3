import type { Invariant } from "./invariant.ts"

/** Ms within which a request is answered once all is well. */
const patience = 60_000
/** The same, for a request that entered while nothing was wrong. */
const usualPatience = 10_000
/** Ms for which nothing may have been wrong before: until then who has gone is still believed to be there. */
const calm = 1_000
/** Ms between two looks at whether something is wrong. */
const lookEvery = 1_000

/**
 * An answer of the wrong cluster, of the wrong request, or none: what a user of the workload would see. A client's
 * program answers `from <client>: <path>`, a workload `hello from <cluster>: GET <path>`. An agent's 502 in the place
 * of a client, or a connection that is closed without a word, is an answer only if something was wrong, or somebody
 * left.
 */
export const requestsAnswered: Invariant = {
  id: "N7",
  sentence: "Each request that enters a workload gets the answer to that very request.",
  begin: (world) => {
    const entered = new Map<number, string>()
    /** Requests that entered while nothing was wrong, if nothing has been since: when they entered. */
    const hopeful = new Map<number, number>()
    let wellSince: number | undefined
    /** The world is still being made when the first events are told. */
    let lookAt: number | undefined
    const disturbed = (): void => {
      hopeful.clear()
      wellSince = undefined
    }
    const look = (now: number): string | undefined => {
      lookAt = now + lookEvery
      if (!world().isWell) wellSince = undefined
      else wellSince ??= now
      for (const [id, since] of hopeful) {
        if (now - since > usualPatience)
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
            // A person ends what was there to answer.
            if (/^(delete|unsubscribe) /.test(event.text)) disturbed()
            return undefined
          case "Operator":
            if (event.change !== "started") disturbed()
            return undefined
          case "RequestEntered": {
            const { at, id, path } = event
            entered.set(id, path)
            const late = look(at)
            if (wellSince !== undefined && at - wellSince >= calm) hopeful.set(id, at)
            return late
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
            // 502 is the agent's own word in the place of a client that has gone.
            if (by === "nobody" || status === 502) {
              const isExplained = !isHopeful || world().cluster(cluster).kubelet.podsOf("myapp").length === 0
              return isExplained
                ? undefined
                : `Request ${id} to ${path} at ${cluster} is answered by ${by === "nobody" ? "nobody" : status} ` +
                    "although nothing was wrong."
            }
            const who = /^from (\S+): (.*)$/.exec(body)
            const client = who?.[1] === undefined ? undefined : world().clients.get(who[1])
            return client !== undefined && who?.[2] === path
              ? undefined
              : `Request ${id} to ${path} at ${cluster} gets ${JSON.stringify(body)} from a client.`
          }
          default:
            lookAt ??= event.at + lookEvery
            return event.at < lookAt ? undefined : look(event.at)
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
