/**
 * Rules about what branches of databases are made of (S-B1, S-B4, S-B10, S-B12, S-B17; failures.md §1.13, §1.16, §1.22,
 * §1.23, §1.28): pods, Secrets, and the Jobs of migrations. Engines and kubelets are not played that far, so a Secret
 * that a pod names counts as read; tests with real engines look at what the copying container does to a source.
 */

import { migrationsLabel } from "../../../src/domain/branches/migrations/migration-job.ts"
import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { jobs, pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { isBranchPod } from "../world/sim-branch-pods.ts"
import { branchEngineWords, forbiddenImage, sourceDomain, sourceSecret } from "../world/source-databases.ts"
import type { World } from "../world/world.ts"
import { type BranchHistory, branchRule } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

/** A pod or Job that is made, in a cluster. */
interface Made {
  readonly cluster: string
  readonly object: KubeObject
  readonly plural: string
}

/** `judge` gives the sentence about a pod or Job that breaks the rule. */
const aboutMade = (
  id: string,
  sentence: string,
  judge: (made: Made, history: BranchHistory, world: () => World) => string | undefined
): Invariant =>
  branchRule({
    id,
    sentence,
    begin: (world, history) => ({
      on: {
        Committed: ({ cluster, commit: { after, before, ref } }) =>
          after !== undefined && before === undefined && (ref.plural === pods.plural || ref.plural === jobs.plural)
            ? judge({ cluster, object: after, plural: ref.plural }, history, world)
            : undefined
      }
    })
  })

/** The branch that an object belongs to. */
const ownerOf = ({ metadata }: KubeObject) =>
  metadata.ownerReferences?.find(({ kind }) => kind === branchDatabases.kind)

/** A pod with a database, or a password, that belongs to nothing would stay for ever. */
export const branchPartsAreOwned = branchRule({
  id: "S-B1",
  sentence: "At rest each pod and each Secret of a branch belongs to a branch that is there.",
  begin: (world) => ({
    atRest: () =>
      [...world().clusters.values()].flatMap(({ name, server: { objects } }) =>
        [pods, secrets].flatMap((ref) =>
          objects.peekAll(ref).flatMap((object) => {
            const owner = ownerOf(object)
            return owner === undefined || objects.has(owner.uid)
              ? []
              : [`${ref.plural} ${object.metadata.name} in ${name} is of the branch ${owner.name}, which is gone.`]
          })
        )
      )
  })
})

/** A second pod would be another database under the same name. */
export const onePodPerBranch = aboutMade(
  "S-B4",
  "A branch has at most one pod, and never another one after it was ready.",
  ({ cluster, object, plural }, history, world) => {
    const owner = plural === pods.plural ? ownerOf(object) : undefined
    if (owner === undefined) return undefined
    const isIts = ({ metadata }: KubeObject): boolean =>
      metadata.ownerReferences?.some(({ uid }) => uid === owner.uid) === true
    const count = world().cluster(cluster).server.objects.peekAll(pods).filter(isIts).length
    if (count > 1) return `The branch ${owner.name} in ${cluster} has ${count} pods.`
    return history.records.get(owner.uid)?.wasReady === true
      ? `The branch ${owner.name} in ${cluster} was ready, and gets another pod.`
      : undefined
  }
)

/** Whether the variables of a container lead to a source, by their values or by its Secret. */
const knowsSource = ({ env, envFrom }: { readonly env?: unknown; readonly envFrom?: unknown }): boolean =>
  asObjects(env).some(
    (one) =>
      (asString(one["value"]) ?? "").includes(sourceDomain) ||
      at(one, "valueFrom", "secretKeyRef", "name") === sourceSecret
  ) || asObjects(envFrom).some((one) => at(one, "secretRef", "name") === sourceSecret)

const containersOf = (pod: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  ["initContainers", "containers"].flatMap((field) => asObjects(at(pod, field)))

/** The containers of a pod or Job of a branch that write into databases. */
const writers = ({ object, plural }: Made): ReadonlyArray<object> => {
  if (plural === pods.plural) return isBranchPod(object) ? asObjects(at(object, "spec", "containers")) : []
  return object.metadata.labels?.[migrationsLabel] === undefined
    ? []
    : containersOf(at(object, "spec", "template", "spec"))
}

export const sourcesAreOnlyRead = aboutMade(
  "S-B10",
  "Neither the server of a branch nor its migrations know the way to a source: only a program that copies does.",
  (made) =>
    writers(made).some(knowsSource)
      ? `${made.plural} ${made.object.metadata.name} in ${made.cluster} writes, and knows the way to a source.`
      : undefined
)

/** All containers of a branch's pod; empty for other objects. */
const podContainers = ({ object, plural }: Made) =>
  plural === pods.plural && isBranchPod(object) ? containersOf(object["spec"]) : []

export const imagesAreAllowed = aboutMade("S-B12", "No pod of a branch has an image that the rules forbid.", (made) =>
  podContainers(made).some(({ image }) => asString(image) === forbiddenImage)
    ? `The pod ${made.object.metadata.name} in ${made.cluster} has the image ${forbiddenImage}.`
    : undefined
)

export const targetsSecretsAlone = aboutMade(
  "S-B17",
  "No pod of a branch reads a Secret but its own password and the keys that the target reads.",
  (made) => {
    const { name } = made.object.metadata
    const allowed = [`${name}/password`, ...branchEngineWords.map((key) => `${sourceSecret}/${key}`)]
    const named = podContainers(made).flatMap(({ env, envFrom }) => [
      ...asObjects(env).flatMap((entry) => at(entry, "valueFrom", "secretKeyRef") ?? []),
      ...asObjects(envFrom).flatMap((entry) => at(entry, "secretRef") ?? [])
    ])
    const wrong = named
      .map((found) => `${asString(at(found, "name"))}/${asString(at(found, "key")) ?? "*"}`)
      .find((found) => !allowed.includes(found))
    return wrong === undefined ? undefined : `The pod ${name} in ${made.cluster} reads ${wrong}.`
  }
)
