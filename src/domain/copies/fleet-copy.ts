/**
 * A copy over many clusters as its primary sees it: one copy of one name in each cluster that has the target. It has no
 * record of its own. It is there as long as the default cluster's copy is, and nothing keeps the copies but their
 * primary's questions for them and the sessions on them: whatever ends first, each cluster's operator ends its own.
 *
 * Not here: asking the clusters (app/copies/fleet-copies.ts), and the life of each copy (copy-life.ts).
 */

import { quotation } from "../clean-text.ts"
import type { ClusterName } from "../fleet/cluster-name.ts"
import type { SessionStart } from "../fleet/configuration.ts"
import { memberGrace } from "../sessions/session-start.ts"
import type { CopyState } from "./copy-life.ts"

/** The copy in one cluster, as its operator answered. */
export type MemberCopy =
  /** The cluster has not answered. `isLost`: it will not for a while. `why`: a sentence without its full stop. */
  | { readonly _tag: "Unknown"; readonly why: string; readonly isLost: boolean }
  /** There is none. `problem`: why the last order failed, if it may succeed later. */
  | { readonly _tag: "Absent"; readonly problem?: string }
  /** There is none, and the cluster would refuse another order in the same words. */
  | { readonly _tag: "Refused"; readonly why: string }
  | { readonly _tag: "Present"; readonly state: CopyState }

/** Everything from which the state of a copy over many clusters is decided. Times are epoch ms. */
export interface ObservedFleetCopy {
  readonly defaultCluster: ClusterName
  /** The default's copy, which is there. */
  readonly atDefault: CopyState
  readonly others: ReadonlyMap<ClusterName, MemberCopy>
  /** Since when the default's copy is ready, as this process saw it. */
  readonly readySince: number | undefined
  readonly sessionStart: SessionStart
}

/** A cluster that has no copy, and so takes no part in the sessions on it. */
export interface LeftOut {
  readonly cluster: ClusterName
  readonly why: string
}

export interface FleetCopyPlan {
  readonly state: CopyState
  readonly leftOut: ReadonlyArray<LeftOut>
  /** The clusters that a copy is to be ordered from now. An order that has come already changes nothing there. */
  readonly order: ReadonlyArray<ClusterName>
}

const notInTime = `its copy was not ready ${memberGrace / 1_000} s after the default cluster's`

/**
 * Why a session goes without a cluster; `undefined` while it is waited for, or if its copy is ready. `isOver`: its time
 * has passed. A copy on its way has all the time that its own operator gives it where no cluster may be left out.
 */
const leftOutReason = (copy: MemberCopy, isOver: boolean, sessionStart: SessionStart): string | undefined => {
  switch (copy._tag) {
    case "Unknown":
      return copy.isLost || isOver ? copy.why : undefined
    case "Refused":
      return copy.why
    case "Absent":
      return isOver ? (copy.problem ?? notInTime) : undefined
    case "Present":
      if (copy.state.phase === "Failed") return copy.state.message ?? "its copy has failed"
      return copy.state.phase === "InProgress" && isOver && sessionStart === "default" ? notInTime : undefined
  }
}

const isReady = (copy: MemberCopy): boolean => copy._tag === "Present" && copy.state.phase === "Ready"

/** How far the copy is, which clusters go without, and which are still to be asked for one. */
export const fleetCopyPlan = (observed: ObservedFleetCopy, now: number): FleetCopyPlan => {
  const { atDefault, defaultCluster, others, readySince, sessionStart } = observed
  if (atDefault.phase === "Failed") {
    const message = `in cluster ${defaultCluster}: ${quotation(atDefault.message ?? "the copy has failed")}`
    return { state: { phase: "Failed", message }, leftOut: [], order: [] }
  }
  const isOver = readySince !== undefined && now >= readySince + memberGrace
  const leftOut = [...others].flatMap(([cluster, copy]): ReadonlyArray<LeftOut> => {
    const why = leftOutReason(copy, isOver, sessionStart)
    return why === undefined ? [] : [{ cluster, why }]
  })
  // Sessions go without a late cluster: a copy there would take its workload's pods for no session.
  const order = isOver ? [] : [...others].flatMap(([cluster, { _tag }]) => (_tag === "Absent" ? [cluster] : []))
  const [first] = leftOut
  // A session that starts with all clusters or not at all would fail for the same reason.
  if (sessionStart === "all" && first !== undefined)
    return {
      state: { phase: "Failed", message: `in cluster ${first.cluster}: ${noCopyText(first.why)}` },
      leftOut,
      order: []
    }
  const settled = [...others.values()].filter(isReady).length + leftOut.length === others.size
  const isComplete = atDefault.phase === "Ready" && settled
  return { state: { phase: isComplete ? "Ready" : "InProgress" }, leftOut, order }
}

/** Why a cluster goes without, as the end of a sentence about it. */
export const noCopyText = (why: string): string => `it has no copy of the target: ${quotation(why)}`
