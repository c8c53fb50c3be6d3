/**
 * S11. A cluster's name stands for the cluster whose identity is pinned to it. A session that is made in another one
 * would show a developer the wrong pods, and its leftovers would be looked for where they are not.
 */

import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { identityNamespace, pinsName } from "../../../src/domain/fleet/cluster-identity.ts"
import { clusterName, clusterSlug } from "../../../src/domain/fleet/cluster-name.ts"
import { asObject } from "../../../src/domain/json.ts"
import { configMaps, namespaces } from "../../../src/domain/resources/core-kinds.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import type { Invariant } from "./invariant.ts"
import { isChild } from "./session-objects.ts"

export const rightCluster: Invariant = {
  id: "S11",
  sentence:
    "A primary makes children only in the cluster whose identity is pinned for its name, and in no cluster under two " +
    "names.",
  begin: () => {
    const uids = new Map<string, string | undefined>()
    let pins: Readonly<Record<string, unknown>> = {}
    return {
      on: {
        Committed: ({ cluster, commit }) => {
          const { after, before, ref } = commit
          if (after === undefined) return undefined
          const { name, uid } = after.metadata
          if (ref.plural === namespaces.plural && name === identityNamespace) uids.set(cluster, uid)
          if (ref.plural === configMaps.plural && name === pinsName) pins = asObject(after["data"])
          if (!isChild(commit) || before !== undefined || parentNameOf(after) === undefined) return undefined
          const found = uids.get(cluster)
          const pinned = pins[clusterSlug(clusterName(cluster), sha256Hex)] ?? found
          if (found !== pinned)
            return `A child is made in ${found}, although ${String(pinned)} is pinned for ${cluster}.`
          const twin = [...uids].find(([other, known]) => other !== cluster && known === found && found !== undefined)
          return twin === undefined ? undefined : `A child is made in ${cluster}, which is ${twin[0]} as well.`
        }
      }
    }
  }
}
