/**
 * To which targets a policy applies: by namespace, path and labels (the published rules of operators from 3.200).
 *
 * Not here: finding the objects that own a target (app/policies).
 */

import type { LabelSelector } from "../resources/policies/label-selector.ts"
import { labelOf, meetsAll } from "../targets/label-requirements.ts"
import { formatTargetPath } from "../targets/target-path.ts"
import type { Target } from "../targets/target.ts"
import { matchesGlob } from "./glob.ts"

/** An object by which a policy may be inherited: the target itself, a pod of it, or an owner of either. */
export interface Resource {
  /** The kind in the spelling of target paths, such as `deployment`; `targetless` and `label` are kinds too. */
  readonly kind: string
  /** Name of the object; the labels for kind `label`, empty for `targetless`. */
  readonly name: string
  /** `undefined` if they are not known here. */
  readonly labels: Readonly<Record<string, string>> | undefined
}

/** A target as policies see it. */
export interface PolicySubject {
  readonly namespace: string
  /** The target, and what owns it; for a copy the copied target. `undefined` if not known, so it may be any. */
  readonly lineage: ReadonlyArray<Resource> | undefined
  /** The containers that are used; `undefined` if not known, so it may be any. */
  readonly containers: ReadonlyArray<string> | undefined
  /** Set for a copy of the target, and for a session on one. `scaledown`: it has the workload's pods taken away. */
  readonly copy?: { readonly scaledown: boolean } | undefined
}

/** `resource` and `container` are patterns; `undefined` for all. */
interface PathPattern {
  readonly resource: string
  readonly container: string | undefined
}

/** The targets of a policy. */
export interface TargetPattern {
  /** `undefined` for all namespaces. */
  readonly namespace: string | undefined
  /** Any of these; `undefined` for every path. */
  readonly paths: ReadonlyArray<PathPattern> | undefined
  readonly selector: LabelSelector | undefined
}

const splitAt = (path: string, separator: string): ReadonlyArray<PathPattern> => {
  const at = path.indexOf(separator)
  return at === -1 ? [] : [{ resource: path.slice(0, at), container: path.slice(at + separator.length) }]
}

/**
 * Reads a pattern such as `deploy/boats*` or `pod/boats/container/app`. A pattern without a container is for all of
 * them. The dotted form of connect URLs is taken as well.
 */
export const readPathPattern = (path: string): ReadonlyArray<PathPattern> => {
  if (path.includes("/")) {
    const split = splitAt(path, "/container/")
    return split.length > 0 ? split : [{ resource: path, container: undefined }]
  }
  return [{ resource: path, container: undefined }, ...splitAt(path, ".container.")]
}

/** Every way to write a resource: administrators know a deployment as `deploy` and as `deployment`. */
const pathsOf = ({ kind, name }: Resource): ReadonlyArray<string> => {
  if (kind === "targetless") return [kind]
  const kinds = kind === "deployment" ? ["deploy", kind] : [kind]
  return kinds.flatMap((one) => [`${one}/${name}`, `${one}.${name}`])
}

/** The rules of mirrord's own selectors, which are those of Kubernetes. Unknown labels count as matching ones. */
const selects = (selector: LabelSelector, labels: Resource["labels"]): boolean =>
  labels === undefined ||
  (Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labelOf(labels, key) === value) &&
    meetsAll(selector.matchExpressions ?? [], labels))

const isContainer = (pattern: string | undefined, containers: PolicySubject["containers"]): boolean =>
  pattern === undefined || containers === undefined || containers.some((name) => matchesGlob(pattern, name))

/** Whether a policy applies: one of the target's resources matches both its path and its labels. */
export const appliesTo = (
  { namespace, paths, selector }: TargetPattern,
  { containers, lineage, namespace: actual }: PolicySubject
): boolean =>
  (namespace === undefined || namespace === actual) &&
  (lineage === undefined ||
    lineage.some(
      (resource) =>
        (selector === undefined || selects(selector, resource.labels)) &&
        (paths === undefined ||
          paths.some(
            (path) =>
              isContainer(path.container, containers) &&
              pathsOf(resource).some((text) => matchesGlob(path.resource, text))
          ))
    ))

/** Whether the owners and the labels of a target matter to the policy. */
export const needsLineage = ({ paths, selector }: TargetPattern): boolean =>
  paths !== undefined || selector !== undefined

/** The resource of a target that is known by its name alone. */
export const targetResource = (target: Target): Resource => {
  switch (target._tag) {
    case "Targetless":
      return { kind: "targetless", name: "", labels: {} }
    case "Label": {
      const path = formatTargetPath({ ...target, container: undefined })
      return { kind: "label", name: path.slice("label/".length), labels: target.labels }
    }
    case "Workload":
      return { kind: target.kind, name: target.name, labels: undefined }
  }
}
