/**
 * Assesses one cluster's part of a session, and the need of its child.
 *
 * Not here: the consequences for the whole session, such as whether it goes on without the cluster (session-start.ts).
 */

import { cleanText, textLimits } from "../clean-text.ts"
import type { ClusterName } from "../fleet/cluster-name.ts"
import type { ClusterSessionStatus } from "../resources/mirrord-multi-cluster-session.ts"
import { type MirrorNeed, mirrorNeed } from "../resources/mirrored-object.ts"
import type { SessionFailure } from "../resources/session-failure.ts"
import type { ChildObservation } from "./child-observation.ts"
import { childOwner } from "./child-owner.ts"
import type { ClusterReach } from "./observed-session.ts"

/**
 * Milliseconds of a cluster's silence that are not yet taken for its loss: a busy server may ask to wait for five
 * seconds.
 */
export const lossGrace = 8_000

/** Milliseconds until a refused create is tried again. */
export const refusedRetry = 15_000

/** The reason for a cluster that answers, but whose sessions could not be read for that long. */
export const unreadable = "its sessions cannot be read"

/** The reason for a cluster that is not in the fleet any more. */
export const notConfigured = "it is no longer configured"

/** How one cluster's part of a session stands. */
export type ClusterVerdict =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Starting" }
  /** `askedAt`: as in {@link ClusterReach}. */
  | { readonly _tag: "Lost"; readonly failure: SessionFailure; readonly askedAt?: number }
  | { readonly _tag: "Failed"; readonly failure: SessionFailure }

export interface ClusterAssessment {
  readonly cluster: ClusterName
  readonly childName: string
  readonly verdict: ClusterVerdict
  readonly need: MirrorNeed | "Create"
  /** UID of the child that is there. */
  readonly uid: string | undefined
  /** When time alone may change this assessment, epoch ms. */
  readonly changesAt: number | undefined
}

/** One cluster of a session as observed. `reach` is missing when the cluster is no longer configured. */
export interface ClusterInput {
  readonly cluster: ClusterName
  readonly reach: ClusterReach | undefined
  readonly recorded: ClusterSessionStatus
  readonly child: ChildObservation
  readonly parent: { readonly name: string; readonly uid: string }
}

const lost = (message: string, askedAt?: number): ClusterVerdict => ({
  _tag: "Lost",
  failure: { reason: "ClusterLost", message },
  ...(askedAt === undefined ? {} : { askedAt })
})

const starting: ClusterVerdict = { _tag: "Starting" }

/** Assesses a child that is there. */
const assessPresent = (
  { parent, recorded }: ClusterInput,
  child: Extract<ChildObservation, { readonly _tag: "Present" }>
): Pick<ClusterAssessment, "need" | "verdict"> => {
  const owner = childOwner(child, parent)
  // Members know their sessions by the parent's name: an edited child of ours is as useless as an earlier parent's.
  const isUseless = owner === "This" && child.parentName !== parent.name
  const need = mirrorNeed(isUseless ? "Earlier" : owner, child.deleting)
  if (need === "Yield") {
    const message = `another object there already has the name ${recorded.sessionName}`
    return { need, verdict: { _tag: "Failed", failure: { reason: "Error", message } } }
  }
  if (need !== "Keep") return { need, verdict: starting }
  if (child.ready) return { need, verdict: { _tag: "Ready" } }
  return { need, verdict: child.failure === undefined ? starting : { _tag: "Failed", failure: child.failure } }
}

/** The verdict with a short reason: it goes into the parent's status, and words of the member may be in it. */
const bounded = (verdict: ClusterVerdict): ClusterVerdict =>
  verdict._tag === "Lost" || verdict._tag === "Failed"
    ? {
        ...verdict,
        failure: { ...verdict.failure, message: cleanText(verdict.failure.message, textLimits.quotation) }
      }
    : verdict

/** Assesses one cluster's part of a session. */
export const assessCluster = (input: ClusterInput, now: number): ClusterAssessment => {
  const assessed = assess(input, now)
  return { ...assessed, verdict: bounded(assessed.verdict) }
}

const assess = (input: ClusterInput, now: number): ClusterAssessment => {
  const { cluster, reach, recorded, child } = input
  const base = {
    cluster,
    childName: recorded.sessionName,
    need: "Wait",
    uid: undefined,
    changesAt: undefined
  } as const

  if (reach === undefined) return { ...base, verdict: lost(notConfigured) }
  if (!reach.reachable) return { ...base, verdict: lost(reach.error ?? "it cannot be reached", reach.askedAt) }
  switch (child._tag) {
    case "Unknown": {
      const knownLostAt = child.since + lossGrace
      if (now >= knownLostAt) return { ...base, verdict: lost(unreadable) }
      return { ...base, verdict: recorded.ready ? { _tag: "Ready" } : starting, changesAt: knownLostAt }
    }
    case "Absent":
      return { ...base, verdict: starting, need: "Create" }
    case "Refused": {
      const verdict: ClusterVerdict = { _tag: "Failed", failure: child.failure }
      const retryAt = child.at + refusedRetry
      return now >= retryAt ? { ...base, verdict, need: "Create" } : { ...base, verdict, changesAt: retryAt }
    }
    case "Present":
      return { ...base, uid: child.uid, ...assessPresent(input, child) }
  }
}
