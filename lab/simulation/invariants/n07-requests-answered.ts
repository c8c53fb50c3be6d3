/**
 * N7 (failures.md §3.7). A request is never answered by the wrong cluster, with the answer to another request, or not
 * at all: what a user of the workload would see. A client's program answers `from <client>: <path>`, a workload `hello
 * from <cluster>: GET <path>`. An agent's 502 in place of a client, or a connection closed without a word, passes only
 * if something was wrong or a client left.
 */

import type { TimedEvent } from "../world/world-event.ts"
import type { World } from "../world/world.ts"
import type { EventOf, Invariant } from "./invariant.ts"

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

/** Follows how long nothing has been wrong, by looks at the world now and then. */
class Calm {
  readonly #world: () => World
  /** By id: when a request entered, if nothing was wrong then or since. */
  readonly hopeful = new Map<number, number>()
  #wellSince: number | undefined
  /** When to look next; undefined at first, because the first events come while the world is being made. */
  #lookAt: number | undefined

  constructor(world: () => World) {
    this.#world = world
  }

  disturb(): void {
    this.hopeful.clear()
    this.#wellSince = undefined
  }

  /** Looks, where it is time; the request that has waited for too long, and since when. */
  pass(now: number): readonly [number, number] | undefined {
    this.#lookAt ??= now + checkInterval
    return now < this.#lookAt ? undefined : this.look(now)
  }

  look(now: number): readonly [number, number] | undefined {
    this.#lookAt = now + checkInterval
    this.#wellSince = this.#world().isWell ? (this.#wellSince ?? now) : undefined
    return [...this.hopeful].find(([, since]) => now - since > defaultPatience)
  }

  enter(id: number, now: number): void {
    if (this.#wellSince !== undefined && now - this.#wellSince >= calm) this.hopeful.set(id, now)
  }
}

/** Events that only disturb, or are about requests: the world is looked at with all others. */
const withoutALook: ReadonlySet<TimedEvent["_tag"]> = new Set([
  "Fault",
  "ClientLost",
  "ClientEnded",
  "Step",
  "Operator",
  "RequestAnswered"
] as const)

export const requestsAnswered: Invariant = {
  id: "N7",
  sentence: "Each request that enters a workload gets the answer to that very request.",
  begin: (world) => {
    const entered = new Map<number, string>()
    /** Requests that entered a copy. */
    const inCopies = new Set<number>()
    const state = new Calm(world)
    const { hopeful } = state
    const disturb = (): void => state.disturb()
    /** Why an answer in place of a client, or none at all, is wrong; `undefined` if something explains it. */
    const unexplained = (
      { by, cluster, id, status }: EventOf<"RequestAnswered">,
      isHopeful: boolean
    ): string | undefined => {
      // No program listens in a copy whose session steals nothing.
      const isOfCopy = by === "nobody" && inCopies.delete(id)
      if (!isHopeful || isOfCopy || world().cluster(cluster).kubelet.podsOf("myapp").length === 0) return undefined
      return `is answered by ${by === "nobody" ? "nobody" : status} although nothing was wrong.`
    }
    /** Why the answer to a request is wrong. */
    const wrong = (event: EventOf<"RequestAnswered">, path: string): string | undefined => {
      const { body, by, cluster, id, status } = event
      const isHopeful = hopeful.delete(id)
      const said = JSON.stringify(body)
      if (by === "workload") return body === `hello from ${cluster}: GET ${path}` ? undefined : `gets ${said}.`
      // With a 502 the agent itself answers, in place of a client that has gone.
      if (by === "nobody" || status === 502) return unexplained(event, isHopeful)
      const [, client = "", asked] = /^from (\S+): (.*)$/.exec(body) ?? []
      return world().clients.has(client) && asked === path ? undefined : `gets ${said} from a client.`
    }
    const overdue = (now: number, found: readonly [number, number] | undefined): string | undefined =>
      found === undefined
        ? undefined
        : `Request ${found[0]} to ${entered.get(found[0])} has waited for ${Math.round((now - found[1]) / 1000)} s ` +
          "although nothing was wrong."
    return {
      each: ({ _tag, at }) =>
        withoutALook.has(_tag) ? undefined : overdue(at, _tag === "RequestEntered" ? state.look(at) : state.pass(at)),
      on: {
        Fault: disturb,
        ClientLost: disturb,
        ClientEnded: disturb,
        // A person ends the session or subscription that would have answered.
        Step: ({ text }) => (/^(delete|unsubscribe) /.test(text) ? disturb() : undefined),
        Operator: ({ change }) => (change === "started" ? undefined : disturb()),
        RequestEntered: ({ at, id, path, pod }) => {
          entered.set(id, path)
          if (isCopyPod(pod)) inCopies.add(id)
          state.enter(id, at)
        },
        RequestAnswered: (event) => {
          const path = entered.get(event.id)
          if (path === undefined) return `Request ${event.id} at ${event.cluster} is answered twice.`
          entered.delete(event.id)
          const why = wrong(event, path)
          return why === undefined ? undefined : `Request ${event.id} to ${path} at ${event.cluster} ${why}`
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
