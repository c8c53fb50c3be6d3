/**
 * N27 (failures.md §3.28). Lists are left out that operators also ask for by themselves: of pods and of copies, whose
 * failure is told to the user who waits, and of the sessions of the own cluster, which says whether that cluster
 * answers.
 */

import { clusterApiClusters, clusterApiVersions } from "../../../src/domain/fleet/cluster-api.ts"
import { clusterProfiles } from "../../../src/domain/fleet/cluster-profile.ts"
import { copyTargets } from "../../../src/domain/resources/copy-target.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { PortCall } from "../world/world-event.ts"
import type { Invariant } from "./invariant.ts"

/** The longest time from the first list that failed to the line in the log, ms. */
const toldWithin = 30_000
/** Max pause between two tries, ms. After a longer one the operator had stopped, and begins again. */
const maxPause = 6_000

const isAskedOnce = ({ operator, resource, to }: PortCall): boolean =>
  resource === pods.plural ||
  resource === copyTargets.plural ||
  (resource === mirrordClusterSessions.plural && operator === to)

/** Kinds by which clusters are found. Until such a kind has answered, a line of its own says that (when-served.ts). */
const foundBy = [clusterProfiles, ...clusterApiVersions.map(clusterApiClusters)].map(
  ({ group, plural }) => ` ${plural}.${group}`
)
const areNotKnown = /^clusters of .+ are not known$/u

/** Faults after which a cluster is listed no more, or from the beginning. */
const changesOfTheFleet: ReadonlySet<string> = new Set([
  "cluster removed",
  "cluster added",
  "cluster joined",
  "cluster moved"
])

/** A collection whose lists fail. Times are ms. */
interface Failing {
  since: number
  answeredAt: number
  isTold: boolean
  /** Whether a list has failed when it should have been told. */
  isDue: boolean
}

export const unreadIsTold: Invariant = {
  id: "N27",
  sentence: "A collection that an operator cannot list is told in its log.",
  begin: () => {
    /** The processes of the calls that are not answered. */
    const callers = new Map<string, string>()
    const failing = new Map<string, Failing>()
    const begin = (known: Failing, at: number): void => {
      known.since = at
      known.isDue = false
    }
    const tell = (isMeant: (key: string) => boolean): void => {
      for (const [key, known] of failing) if (isMeant(key)) known.isTold = true
    }
    const isFollowed = (call: PortCall): boolean => call.verb === "list" && call.index >= 0 && !isAskedOnce(call)
    const nameOf = ({ group, resource }: PortCall): string => (group === "" ? resource : `${resource}.${group}`)
    const keyOf = (call: PortCall, process: string): string => `${process} ${call.to} ${nameOf(call)}`
    return {
      on: {
        // A cluster that leaves the fleet is not listed any more, and its lists begin again when it comes back.
        Fault: ({ at, kind }) => {
          if (!changesOfTheFleet.has(kind)) return
          for (const known of failing.values()) begin(known, at)
        },
        Log: ({ line: { details, message }, process }) => {
          if (message === "a collection cannot be read")
            tell((key) => key === `${process} ${String(details["cluster"])} ${String(details["resource"])}`)
          if (areNotKnown.test(message))
            tell((key) => key.startsWith(`${process} `) && foundBy.some((kind) => key.endsWith(kind)))
        },
        Called: ({ at, call, process }) => {
          if (!isFollowed(call)) return
          callers.set(`${call.operator} ${call.index}`, process)
          const known = failing.get(keyOf(call, process))
          if (known !== undefined && at - known.answeredAt > maxPause) begin(known, at)
        },
        Answered: ({ at, call, outcome }) => {
          if (!isFollowed(call)) return undefined
          const { index, operator, to } = call
          const process = callers.get(`${operator} ${index}`) ?? ""
          callers.delete(`${operator} ${index}`)
          const key = keyOf(call, process)
          if (outcome === "ok") return void failing.delete(key)
          const known = failing.get(key) ?? { since: at, answeredAt: at, isTold: false, isDue: false }
          failing.set(key, known)
          const wasDue = known.isDue
          known.answeredAt = at
          known.isDue = at - known.since >= toldWithin
          const seconds = Math.round((at - known.since) / 1_000)
          return wasDue && !known.isTold
            ? `${process} cannot list ${nameOf(call)} of ${to} for ${seconds} s, and its log does not say so.`
            : undefined
        }
      }
    }
  }
}
