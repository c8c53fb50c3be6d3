/**
 * N8 (failures.md §3.8, §4.5, §4.6, §4.9, §4.28). No operator lists over and over, runs into conflicts without a pause,
 * or repeats a refused call at once.
 */

import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { Invariant } from "./invariant.ts"

/** The window over which calls are counted, ms. */
const within = 10_000
/**
 * Most calls of one process about one thing within the window; the most eager intended caller waits for an agent's pod.
 */
const maxCalls = 60
const maxPodLists = 400
const callsPerSession = 6
const maxConflicts = 50

/** Counts events within a sliding window. */
class Window {
  readonly #times: Array<number> = []

  add(at: number): number {
    this.#times.push(at)
    while ((this.#times[0] ?? at) <= at - within) this.#times.shift()
    return this.#times.length
  }
}

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
      on: {
        Called: ({ at, call: { name, resource, to, verb }, process }) => {
          const what = `${verb} ${resource} ${name} in ${to}`
          const times = count(calls, `${process} ${what}`, at)
          const max = verb === "list" && resource === pods.plural ? maxPodLists : maxCalls
          // Sessions share agents: each session dials, and asks for, the same agent.
          return times > max + callsPerSession * world().clients.size
            ? `${process} called ${what.replaceAll("  ", " ")} ${times} times within ${within / 1000} s.`
            : undefined
        },
        Answered: ({ at, call: { name, operator, resource, to }, outcome }) => {
          if (outcome !== "Conflict") return undefined
          const times = count(conflicts, `${operator} ${to} ${resource} ${name}`, at)
          return times > maxConflicts
            ? `The operator of ${operator} had ${times} conflicts about ${resource} ${name} in ${to} within ` +
                `${within / 1000} s.`
            : undefined
        }
      }
    }
  }
}
