/**
 * A copy as clients see it: the CopyTarget object, and its row in the operator's status.
 *
 * Not here: how far the copy is (copy-life.ts).
 */

import { cleanText, textLimits } from "../clean-text.ts"
import type { CopyTarget } from "../resources/copy-target.ts"
import { type ObjectMeta, timeOf } from "../resources/object-meta.ts"
import { operatorGroupVersion } from "../resources/operator-api.ts"
import { ownerText } from "../sessions/session-info.ts"
import type { CopyState } from "./copy-life.ts"
import { orderAnnotation } from "./copy-order.ts"
import type { CopyRecord } from "./copy-record.ts"

/** The CopyTarget of a copy (operator-api.md §9.2). */
export const copyTarget = (
  metadata: ObjectMeta,
  { container, owner, primary, session, spec, target }: CopyRecord,
  { message, phase }: CopyState,
  now: number
): CopyTarget => {
  const namespace = metadata.namespace ?? ""
  return {
    apiVersion: operatorGroupVersion,
    kind: "CopyTarget",
    metadata: {
      name: metadata.name,
      namespace,
      ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
      ...(primary === undefined ? {} : { annotations: orderAnnotation({ primary, session, owner, container }) }),
      creationTimestamp: metadata.creationTimestamp ?? null
    },
    spec,
    status: {
      creator_session: {
        id: session,
        duration_secs: Math.max(0, Math.floor((now - (timeOf(metadata.creationTimestamp) ?? now)) / 1_000)),
        user: ownerText(owner),
        target: cleanText(target, textLimits.targetName),
        namespace,
        user_id: owner.userId
      },
      phase,
      ...(message === undefined ? {} : { failure_message: cleanText(message, textLimits.message) })
    }
  }
}

/** The CopyTarget for another process of the user than the one that it was made for, which gets an id of its own. */
export const sharedCopyTarget = (copy: CopyTarget): CopyTarget => {
  const { id: _, ...creator } = copy.status.creator_session
  return { ...copy, status: { ...copy.status, creator_session: creator } }
}

/** A copy over many clusters as its user sees it. `atDefault`: the default cluster's copy, which has its name. */
export const fleetCopyTarget = (atDefault: CopyTarget, { message, phase }: CopyState): CopyTarget => {
  const { annotations: _, ...metadata } = atDefault.metadata
  const { creator_session: creator } = atDefault.status
  return {
    ...atDefault,
    metadata,
    status: {
      creator_session: creator,
      phase,
      ...(message === undefined ? {} : { failure_message: cleanText(message, textLimits.message) })
    }
  }
}
