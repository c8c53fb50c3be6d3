/**
 * N24 (failures.md §3.25). Each member is watched by one replica that runs, and no replica watches what it does not
 * own.
 */

import type { Invariant } from "./invariant.ts"
import { isSharded, membersOf, ownedClusters, runningOwner } from "./shards.ts"

export const eachMemberIsOwned: Invariant = {
  id: "N24",
  sentence: "Once all is well, each member that is shared among replicas has one owner, which runs.",
  begin: (world) => ({
    atRest: () => {
      const { primary } = world()
      if (!isSharded(world()) || primary.host.isGone) return []
      const members = membersOf(world()).filter((member) => world().isInFleet(member))
      const ownerless = members
        .filter((member) => runningOwner(world(), member) === undefined)
        .map((member) => `Nobody owns ${member}.`)
      const watched = primary.host.replicas.reduce((sum, { holdings }) => sum + (holdings.get(ownedClusters) ?? 0), 0)
      return watched === members.length
        ? ownerless
        : [...ownerless, `The replicas watch ${watched} members together, and there are ${members.length}.`]
    }
  })
}
