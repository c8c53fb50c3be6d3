/**
 * N6 (failures.md §3.6, §4.9, §4.10). A status does not oscillate. A person's edit may set a phase back; an operator's
 * write never does.
 */

import { asString, at } from "../../../src/domain/json.ts"
import type { SessionPhase } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { EventOf, Invariant } from "./invariant.ts"
import { isChild, isParent, parentStatus } from "./session-objects.ts"

/** So many returns to an earlier value within so many ms are an oscillation. */
const maxReturns = 12
const within = 30_000

const order: Readonly<Record<SessionPhase, number>> = {
  Initializing: 0,
  Pending: 1,
  Ready: 2,
  Failed: 3,
  Terminating: 4
}

const fieldsOf = (object: KubeObject): Readonly<Record<string, unknown>> =>
  (object["status"] ?? {}) as Readonly<Record<string, unknown>>

/**
 * Names of status fields that differ. A write keeps the unchanged parts of an object identical, so comparing references
 * is enough.
 */
const changedFields = (before: KubeObject, after: KubeObject): ReadonlyArray<string> => {
  const old = fieldsOf(before)
  const now = fieldsOf(after)
  if (old === now) return []
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((key) => old[key] !== now[key])
}

interface History {
  /** When each value was last seen, virtual ms. */
  readonly values: Map<string, number>
  readonly returns: Array<number>
}

const timeless = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && "lastTransitionTime" in value
    ? { ...value, lastTransitionTime: undefined }
    : value

export const noFlipFlop: Invariant = {
  id: "N6",
  sentence: "No status goes back and forth, and a session's phase never goes back.",
  begin: () => {
    const histories = new Map<string, History>()
    /** By parent: the phase that an operator last asked to write. */
    const plannedPhases = new Map<string, string>()
    /** The sentence about a field that has returned to an earlier value too often. */
    const oscillates = (
      event: EventOf<"Committed">,
      [before, after]: readonly [KubeObject, KubeObject],
      field: string
    ) => {
      const { name, uid } = after.metadata
      const key = `${uid} ${field}`
      const history = histories.get(key) ?? { values: new Map<string, number>(), returns: [] }
      histories.set(key, history)
      const valueOf = (object: KubeObject): string => JSON.stringify(fieldsOf(object)[field], timeless) ?? ""
      history.values.set(valueOf(before), event.at)
      const seen = history.values.get(valueOf(after))
      if (seen === undefined || event.at - seen > within) return undefined
      history.returns.push(event.at)
      while ((history.returns[0] ?? event.at) < event.at - within) history.returns.shift()
      const times = history.returns.length
      return times > maxReturns
        ? `${field} of ${name} in ${event.cluster} returned to an earlier value ${times} times within ` +
            `${within / 1000} s.`
        : undefined
    }
    return {
      on: {
        // A new process finds out everything again, and may write earlier values.
        Operator: () => histories.clear(),
        Called: ({ call: { body, name, subresource } }) => {
          const phase = subresource === "status" ? asString(at(body, "status", "phase")) : undefined
          if (phase !== undefined) plannedPhases.set(name, phase)
        },
        Committed: (event) => {
          const { after, before } = event.commit
          if (after === undefined || before === undefined) return undefined
          if (!isParent(event.commit) && !isChild(event.commit)) return undefined
          const fields = changedFields(before, after).filter((field) => field !== "connectedTimestamp")
          if (fields.length === 0) return undefined
          const { name } = after.metadata
          const [from, to] = [parentStatus(before).phase, parentStatus(after).phase]
          if (from !== undefined && to !== undefined && order[to] < order[from] && plannedPhases.get(name) === to)
            return `The phase of ${name} goes back from ${from} to ${to}.`
          for (const field of fields) {
            const found = oscillates(event, [before, after], field)
            if (found !== undefined) return found
          }
        }
      }
    }
  }
}
