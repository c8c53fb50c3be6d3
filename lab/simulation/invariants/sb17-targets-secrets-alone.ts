/** S-B17 (failures.md §1.28). Kubelets are not played that far: a Secret that a pod names counts as read. */

import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { isBranchPod } from "../world/sim-branch-pods.ts"
import { branchEngineWords, sourceSecret } from "../world/source-databases.ts"
import type { Invariant } from "./invariant.ts"

export const targetsSecretsAlone: Invariant = {
  id: "S-B17",
  ofBranches: true,
  sentence: "No pod of a branch reads a Secret but its own password and the keys that the target reads.",
  begin: () => ({
    on: (event) => {
      if (event._tag !== "Committed" || event.commit.ref.plural !== pods.plural) return undefined
      const { after, before } = event.commit
      if (after === undefined || before !== undefined || !isBranchPod(after)) return undefined
      const allowed = [`${after.metadata.name}/password`, ...branchEngineWords.map((key) => `${sourceSecret}/${key}`)]
      const containers = ["initContainers", "containers"].flatMap((field) => asObjects(at(after, "spec", field)))
      const named = containers.flatMap(({ env, envFrom }) => [
        ...asObjects(env).flatMap((entry) => at(entry, "valueFrom", "secretKeyRef") ?? []),
        ...asObjects(envFrom).flatMap((entry) => at(entry, "secretRef") ?? [])
      ])
      const wrong = named
        .map((found) => `${asString(at(found, "name"))}/${asString(at(found, "key")) ?? "*"}`)
        .find((found) => !allowed.includes(found))
      return wrong === undefined ? undefined : `The pod ${after.metadata.name} in ${event.cluster} reads ${wrong}.`
    }
  })
}
