/** S-B1 (failures.md §1.13). A pod with a database, or a password, that belongs to nothing would stay for ever. */

import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { Invariant } from "./invariant.ts"

export const branchPartsAreOwned: Invariant = {
  id: "S-B1",
  ofBranches: true,
  sentence: "At rest each pod and each Secret of a branch belongs to a branch that is there.",
  begin: (world) => ({
    atRest: () =>
      [...world().clusters.values()].flatMap(({ name, server: { objects } }) =>
        [pods, secrets].flatMap((ref) =>
          objects.peekAll(ref).flatMap(({ metadata }) => {
            const owner = metadata.ownerReferences?.find(({ kind }) => kind === branchDatabases.kind)
            return owner === undefined || objects.has(owner.uid)
              ? []
              : [`${ref.plural} ${metadata.name} in ${name} is of the branch ${owner.name}, which is gone.`]
          })
        )
      )
  })
}
