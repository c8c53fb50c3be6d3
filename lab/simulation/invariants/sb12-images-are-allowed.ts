/** S-B12 (failures.md §1.23). */

import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { isBranchPod } from "../world/sim-branch-pods.ts"
import { forbiddenImage } from "../world/source-databases.ts"
import type { Invariant } from "./invariant.ts"

export const imagesAreAllowed: Invariant = {
  id: "S-B12",
  ofBranches: true,
  sentence: "No pod of a branch has an image that the rules forbid.",
  begin: () => ({
    on: (event) => {
      if (event._tag !== "Committed" || event.commit.ref.plural !== pods.plural) return undefined
      const { after, before } = event.commit
      if (after === undefined || before !== undefined || !isBranchPod(after)) return undefined
      const containers = ["initContainers", "containers"].flatMap((field) => asObjects(at(after, "spec", field)))
      return containers.some(({ image }) => asString(image) === forbiddenImage)
        ? `The pod ${after.metadata.name} in ${event.cluster} has the image ${forbiddenImage}.`
        : undefined
    }
  })
}
