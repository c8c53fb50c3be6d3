/** S-B4 (failures.md §1.16). A second pod would be another database under the same name. */

import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { branchHistory } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

export const onePodPerBranch: Invariant = {
  id: "S-B4",
  ofBranches: true,
  sentence: "A branch has at most one pod, and never another one after it was ready.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Committed" || event.commit.ref.plural !== pods.plural) return undefined
        const { after, before } = event.commit
        if (after === undefined || before !== undefined) return undefined
        const isOwner = ({ kind }: { readonly kind: string }): boolean => kind === branchDatabases.kind
        const owner = after.metadata.ownerReferences?.find(isOwner)
        if (owner === undefined) return undefined
        const all = world().cluster(event.cluster).server.objects.peekAll(pods)
        const count = all.filter(({ metadata }) =>
          metadata.ownerReferences?.some(({ uid }) => uid === owner.uid)
        ).length
        if (count > 1) return `The branch ${owner.name} in ${event.cluster} has ${count} pods.`
        return history.records.get(owner.uid)?.wasReady === true
          ? `The branch ${owner.name} in ${event.cluster} was ready, and gets another pod.`
          : undefined
      }
    }
  }
}
