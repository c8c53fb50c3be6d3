/**
 * S5 (failures.md §1.5). Otherwise a crash could orphan a child (failures.md §4.2), or a neighbour's child could be
 * taken for one's own (failures.md §4.14).
 */

import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import { childName } from "../../../src/domain/sessions/names.ts"
import type { Invariant } from "./invariant.ts"
import { isChild, isParent, parentUidOf, recordedChildren } from "./session-objects.ts"

export const childAfterParent: Invariant = {
  id: "S5",
  sentence: "A child is created only after its parent's status names it, and its name follows from parent and cluster.",
  begin: () => {
    /** Everything that a parent's status ever named, by the parent's uid, cluster and child. */
    const recorded = new Set<string>()
    return {
      on: {
        Committed: ({ cluster, commit }) => {
          const { after, before } = commit
          if (after === undefined) return undefined
          if (isParent(commit))
            for (const [child, { sessionName }] of recordedChildren(after))
              recorded.add(`${after.metadata.uid} ${child} ${sessionName}`)
          const parent = isChild(commit) && before === undefined ? parentNameOf(after) : undefined
          if (parent === undefined) return undefined
          const { name } = after.metadata
          const wanted = childName(parent, clusterName(cluster), sha256Hex)
          if (name !== wanted) return `In ${cluster} the child of ${parent} is called ${name}, not ${wanted}.`
          const uid = parentUidOf(after)
          if (uid === undefined) return `The child ${name} in ${cluster} does not say which parent made it.`
          if (recorded.has(`${uid} ${cluster} ${name}`)) return undefined
          return `The child ${name} was created in ${cluster}, but no status of ${parent} (${uid}) ever named it.`
        }
      }
    }
  }
}
