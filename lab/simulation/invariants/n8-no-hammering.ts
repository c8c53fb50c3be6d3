import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { Invariant } from "./invariant.ts"

/** Ms over which calls are counted. */
const within = 10_000
/**
 * Calls of one process about one thing within that time; waiting for an agent's pod is the most eager that is meant to
 * be.
 */
const mostCalls = 60
const mostPodLists = 400
const callsPerSession = 6
const mostConflicts = 50

/** Counts events within a sliding window. */
class Window {
  readonly #times: Array<number> = []

  add(at: number): number {
    this.#times.push(at)
    while ((this.#times[0] ?? at) <= at - within) this.#times.shift()
    return this.#times.length
  }
}

/**
 * N8 (failures.md §3.8, §4.5, §4.6, §4.9, §4.28): lists over and over, conflicts without a pause, refusals that are
 * repeated at once.
 */
export const noHammering: Invariant = {
  id: "N8",
  sentence: "No operator makes the same call over and over without a pause.",
  begin: (world) => {
    const calls = new Map<string, Window>()
    const conflicts = new Map<string, Window>()
    const count = (windows: Map<string, Window>, key: string, at: number): number => {
      const window = windows.get(key) ?? new Window()
      windows.set(key, window)
      return window.add(at)
    }
    return {
      on: (event) => {
        if (event._tag === "Called") {
          const { name, resource, to, verb } = event.call
          const what = `${verb} ${resource} ${name} in ${to}`.replaceAll("  ", " ")
          const isPods = verb === "list" && resource === pods.plural
          const times = count(calls, `${event.process} ${what}`, event.at)
          // Sessions share agents: each dials, and asks for, the same one.
          return times > (isPods ? mostPodLists : mostCalls) + callsPerSession * world().clients.size
            ? `${event.process} called ${what} ${times} times within ${within / 1000} s.`
            : undefined
        }
        if (event._tag !== "Answered" || event.outcome !== "Conflict") return undefined
        const { name, operator, resource, to } = event.call
        const times = count(conflicts, `${operator} ${to} ${resource} ${name}`, event.at)
        return times > mostConflicts
          ? `The operator of ${operator} had ${times} conflicts about ${resource} ${name} in ${to} within ` +
              `${within / 1000} s.`
          : undefined
      }
    }
  }
}
