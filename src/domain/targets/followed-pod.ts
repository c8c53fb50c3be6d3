/**
 * The part of a target's pod that is kept while a session follows the pods: what decides whether an agent can be
 * started there. A session looks for its pods again when that has changed.
 *
 * Not here: the choice of pods (pod-choice.ts), and when a session looks (session/child-plan.ts).
 */

import { asString, at, isObject } from "../json.ts"
import { pods } from "../resources/core-kinds.ts"
import type { StoredObject } from "../resources/kept-fields.ts"
import { isBeingDeleted } from "../resources/object-meta.ts"
import type { WatchedResource } from "../resources/resource-descriptor.ts"

/** Phase, and each container with whether it is ready, as one text. A restarted container has another id. */
const usabilityOf = (pod: StoredObject): string => {
  const containers = at(pod, "status", "containerStatuses")
  const states = (Array.isArray(containers) ? containers : []).map((status: unknown) =>
    [at(status, "name"), at(status, "containerID"), at(status, "ready")].map(String).join(" ")
  )
  const phase = isBeingDeleted(pod.metadata) ? "Terminating" : (asString(at(pod, "status", "phase")) ?? "")
  return [phase, ...states.toSorted()].join("\n")
}

const keeps = (pod: StoredObject): StoredObject => {
  if (typeof pod["usability"] === "string") return pod
  const { name, namespace, resourceVersion, uid } = pod.metadata
  const known = Object.entries({ namespace, resourceVersion, uid }).filter(([, value]) => value !== undefined)
  return { metadata: { name, ...Object.fromEntries(known) }, usability: usabilityOf(pod) }
}

/** Pods as a session follows them. */
export const followedPods: Omit<WatchedResource<unknown>, "schema"> = { ...pods, keeps }

/** Whether a pod, of {@link followedPods}, can be used otherwise than before. `before`: `undefined` if it is new. */
export const isUsedOtherwise = (before: StoredObject | undefined, after: StoredObject): boolean =>
  !isObject(before) || before["usability"] !== after["usability"]
