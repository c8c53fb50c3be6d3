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
import { configurationComes, memberGrace } from "../sessions/session-start.ts"
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
  /** Whether queues of the copied workload are split, whose configuration may still be on its way to a cluster. */
  readonly splitsQueues: boolean
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

/** Milliseconds that other clusters get after the default's copy is ready. */
const graceOf = ({ splitsQueues }: ObservedFleetCopy): number => memberGrace + (splitsQueues ? configurationComes : 0)

const notInTime = (grace: number): string => `its copy was not ready ${grace / 1_000} s after the default cluster's`

/**
 * Why a session goes without a cluster; `undefined` while it is waited for, or if its copy is ready. `late`: why it is
 * not waited for any more, once its time has passed. A copy on its way has all the time that its own operator gives it
 * where no cluster may be left out.
 */
const leftOutReason = (copy: MemberCopy, late: string | undefined, sessionStart: SessionStart): string | undefined => {
  switch (copy._tag) {
    case "Unknown":
      return copy.isLost || late !== undefined ? copy.why : undefined
    case "Refused":
      return copy.why
    case "Absent":
      return late === undefined ? undefined : (copy.problem ?? late)
    case "Present":
      if (copy.state.phase === "Failed") return copy.state.message ?? "its copy has failed"
      return copy.state.phase === "InProgress" && sessionStart === "default" ? late : undefined
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
  const grace = graceOf(observed)
  const isOver = readySince !== undefined && now >= readySince + grace
  const late = isOver ? notInTime(grace) : undefined
  const leftOut = [...others].flatMap(([cluster, copy]): ReadonlyArray<LeftOut> => {
    const why = leftOutReason(copy, late, sessionStart)
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
