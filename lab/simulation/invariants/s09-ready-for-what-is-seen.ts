/**
 * S9 (failures.md §1.9, §4.8). A spec that a person edits may be ahead of the claim for a while; at rest it may not.
 */

import type { Condition } from "../../../src/domain/resources/condition.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { Invariant } from "./invariant.ts"
import { conditionsOf, isChild, isLeaving, isParent, parentStatus } from "./session-objects.ts"

const readyOf = (object: KubeObject): Condition | undefined => conditionsOf(object).find(({ type }) => type === "Ready")

/** The generation of a claim to be Ready; `undefined` without such a claim. */
const claimed = (object: KubeObject | undefined): Condition | undefined => {
  const ready = object === undefined ? undefined : readyOf(object)
  return ready?.status === "True" ? ready : undefined
}

const hasPhaseReady = (object: KubeObject | undefined): boolean =>
  object !== undefined && parentStatus(object).phase === "Ready"

/** Finds a wrong claim in an object that was just written, compared to the object before. */
const claim = (object: KubeObject, before: KubeObject | undefined, where: string): string | undefined => {
  const { generation = 1, name } = object.metadata
  const ready = claimed(object)
  if (ready === undefined)
    return hasPhaseReady(object) && before !== undefined && !hasPhaseReady(before)
      ? `${name} in ${where} has phase Ready, but its condition Ready is ${readyOf(object)?.status ?? "missing"}.`
      : undefined
  const { observedGeneration } = ready
  if (observedGeneration === undefined) return `${name} in ${where} is Ready without an observedGeneration.`
  if (observedGeneration > generation)
    return `${name} in ${where} claims Ready for generation ${observedGeneration}; it has ${generation}.`
  const isNewClaim = claimed(before)?.observedGeneration !== observedGeneration
  return isNewClaim && observedGeneration !== generation
    ? `${name} in ${where} is said to be Ready for generation ${observedGeneration}; it has ${generation}.`
    : undefined
}

export const readyForWhatIsSeen: Invariant = {
  id: "S9",
  sentence: "A status never claims Ready for a generation that was not observed.",
  begin: (world) => ({
    on: {
      Committed: ({ cluster, commit }) =>
        commit.after !== undefined && (isParent(commit) || isChild(commit))
          ? claim(commit.after, commit.before, cluster)
          : undefined
    },
    atRest: () => {
      const { clusters } = world()
      return [...clusters.values()].flatMap(({ host, name: cluster, server }) =>
        [mirrordMultiClusterSessions, mirrordClusterSessions].flatMap((ref) =>
          server.objects.peekAll(ref).flatMap((object) => {
            const ready = claimed(object)
            const { generation = 1, name } = object.metadata
            // Without an operator no change is observed.
            if (ready === undefined || isLeaving(object) || host.isGone) return []
            if ((ready.observedGeneration ?? 0) >= generation) return []
            return [
              `${name} in ${cluster} is Ready for generation ${ready.observedGeneration}, although ${generation} ` +
                "had time to be seen."
            ]
          })
        )
      )
    }
  })
}
