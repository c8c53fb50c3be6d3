/**
 * A parent's child in one cluster as a primary knows it, and how it is read from the child's object.
 *
 * Not here: whether the object may be believed to be there at all, which the caller knows.
 */

import { cleanText, textLimits } from "../clean-text.ts"
import { findCondition, type Condition } from "../resources/condition.ts"
import { readyCondition, type MirrordClusterSession } from "../resources/mirrord-cluster-session.ts"
import { isBeingDeleted } from "../resources/object-meta.ts"
import { isFailureReason, type SessionFailure } from "../resources/session-failure.ts"
import type { ChildMarks } from "./child-owner.ts"
import { childAnnotations, splitAnnotations } from "./names.ts"

/** A parent's child in one cluster, as a primary knows it. */
export type ChildObservation =
  /** Not known: it was not looked for yet, or the cluster does not answer. `since`: epoch ms. */
  | { readonly _tag: "Unknown"; readonly since: number }
  /**
   * There is none. `confirmed`: by the API server's own answer (404 to a GET or DELETE) after this operator's last
   * create, not by a cache; only that lets a parent forget the child (failures.md §4.1).
   */
  | { readonly _tag: "Absent"; readonly confirmed: boolean }
  /** There is none, and the API server refused to create it for good (4xx other than 409 and 429). `at`: epoch ms. */
  | { readonly _tag: "Refused"; readonly at: number; readonly failure: SessionFailure }
  | (ChildMarks & {
      readonly _tag: "Present"
      readonly uid: string
      readonly deleting: boolean
      /** The cluster's agents are usable. */
      readonly ready: boolean
      /** The member says that it does not work; it may still become ready. */
      readonly failure: SessionFailure | undefined
      /** The queues that its cluster has made for the session, as a text; `undefined` if it has made none. */
      readonly madeQueues?: string | undefined
    })

/** The reason of a child's Ready condition while its agents are on their way. */
export const startingReason = "Starting"

/** The reason of a child's Ready condition while its agent does not answer. It may yet, or it is replaced. */
export const silentReason = "AgentSilent"

/** Whether a false Ready condition with this reason says that the child gets ready by itself; others say failures. */
const isPassing = (reason: string): boolean => reason === startingReason || reason === silentReason

/** The member's verdict about its part. A condition for an older generation counts as none (failures.md §4.8). */
const currentCondition = ({ metadata: { generation = 0 }, status }: MirrordClusterSession): Condition | undefined => {
  const condition = findCondition(status?.conditions ?? undefined, readyCondition)
  return (condition?.observedGeneration ?? generation) >= generation ? condition : undefined
}

const failureOf = (condition: Condition | undefined): SessionFailure | undefined =>
  condition === undefined || condition.status !== "False" || isPassing(condition.reason)
    ? undefined
    : {
        reason: isFailureReason(condition.reason) ? condition.reason : "Error",
        message: cleanText(condition.message, textLimits.quotation)
      }

/** Reads the object of a child. */
export const observeChild = (child: MirrordClusterSession): ChildObservation => {
  const { metadata, spec } = child
  const condition = currentCondition(child)
  const deleting = isBeingDeleted(metadata)
  return {
    _tag: "Present",
    uid: metadata.uid ?? "",
    parentName: spec.multiClusterParentName ?? undefined,
    parentUid: metadata.annotations?.[childAnnotations.parentUid],
    deleting,
    ready: condition?.status === "True" && !deleting,
    failure: failureOf(condition),
    madeQueues: metadata.annotations?.[splitAnnotations.made]
  }
}
