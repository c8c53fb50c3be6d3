/**
 * S-B10 (failures.md §1.22). Engines are not played, so this is about the programs that write: the server of a branch
 * and its migrations. Tests with real engines look at what the copying container does to a source.
 */

import { migrationsLabel } from "../../../src/domain/branches/migrations/migration-job.ts"
import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { jobs, pods } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { isBranchPod } from "../world/sim-branch-pods.ts"
import { sourceDomain, sourceSecret } from "../world/source-databases.ts"
import type { Invariant } from "./invariant.ts"

/** Whether the variables of a container lead to a source, by their values or by its Secret. */
const knowsSource = ({ env, envFrom }: { readonly env?: unknown; readonly envFrom?: unknown }): boolean =>
  asObjects(env).some(
    (one) =>
      (asString(one["value"]) ?? "").includes(sourceDomain) ||
      at(one, "valueFrom", "secretKeyRef", "name") === sourceSecret
  ) || asObjects(envFrom).some((one) => at(one, "secretRef", "name") === sourceSecret)

/** The containers of a pod or Job that write into databases; `undefined` if it is none of a branch. */
const writers = (object: KubeObject, plural: string): ReadonlyArray<object> => {
  if (plural === pods.plural && isBranchPod(object)) return asObjects(at(object, "spec", "containers"))
  if (plural !== jobs.plural || object.metadata.labels?.[migrationsLabel] === undefined) return []
  const pod = at(object, "spec", "template", "spec")
  return [...asObjects(at(pod, "initContainers")), ...asObjects(at(pod, "containers"))]
}

export const sourcesAreOnlyRead: Invariant = {
  id: "S-B10",
  ofBranches: true,
  sentence:
    "Neither the server of a branch nor its migrations know the way to a source: only a program that copies does.",
  begin: () => ({
    on: (event) => {
      if (event._tag !== "Committed") return undefined
      const { after, before, ref } = event.commit
      if (after === undefined || before !== undefined || !writers(after, ref.plural).some(knowsSource)) return undefined
      return `${ref.plural} ${after.metadata.name} in ${event.cluster} writes, and knows the way to a source.`
    }
  })
}
