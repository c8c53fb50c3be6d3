/**
 * S9 (failures.md §1.9, §4.8). A spec that a person edits may be ahead of the claim for a while; at rest it may not.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { Invariant } from "./invariant.ts"
import { conditionsOf, isChild, isLeaving, isParent, parentStatus } from "./session-objects.ts"

const readyOf = (object: KubeObject) => conditionsOf(object).find(({ type }) => type === "Ready")

/** Finds a wrong claim in an object that was just written, compared to the object before. */
const claim = (object: KubeObject, before: KubeObject | undefined, where: string): string | undefined => {
  const { generation = 1, name } = object.metadata
  const ready = readyOf(object)
  const old = before === undefined ? undefined : readyOf(before)
  const { phase } = parentStatus(object)
  const becameReady = phase === "Ready" && before !== undefined && parentStatus(before).phase !== "Ready"
  if (becameReady && ready?.status !== "True")
    return `${name} in ${where} has phase Ready, but its condition Ready is ${ready?.status ?? "missing"}.`
  if (ready?.status !== "True") return undefined
  if (ready.observedGeneration === undefined) return `${name} in ${where} is Ready without an observedGeneration.`
  if (ready.observedGeneration > generation)
    return `${name} in ${where} claims Ready for generation ${ready.observedGeneration}; it has ${generation}.`
  const isNewClaim = old?.status !== "True" || old.observedGeneration !== ready.observedGeneration
  if (!isNewClaim || ready.observedGeneration === generation) return undefined
  return `${name} in ${where} is said to be Ready for generation ${ready.observedGeneration}; it has ${generation}.`
}

export const readyForWhatIsSeen: Invariant = {
  id: "S9",
  sentence: "A status never claims Ready for a generation that was not observed.",
  begin: (world) => ({
    on: (event) => {
      if (event._tag !== "Committed" || event.commit.after === undefined) return undefined
      const { commit } = event
      return isParent(commit) || isChild(commit) ? claim(event.commit.after, commit.before, event.cluster) : undefined
    },
    atRest: () => {
      const { clusters } = world()
      return [...clusters.values()].flatMap(({ host, name: cluster, server }) =>
        [mirrordMultiClusterSessions, mirrordClusterSessions].flatMap((ref) =>
          server.objects.peekAll(ref).flatMap((object) => {
            const ready = readyOf(object)
            const { generation = 1, name } = object.metadata
            const isOld = ready?.status === "True" && (ready.observedGeneration ?? 0) < generation
            // Without an operator nobody observes anything.
            if (!isOld || isLeaving(object) || host.isGone) return []
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
