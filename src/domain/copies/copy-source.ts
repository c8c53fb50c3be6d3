/**
 * Where the pod of a copy comes from: the pod template of a workload, or the pod that is the target itself; and which
 * workload a copy replaces.
 *
 * Not here: reading the objects (app/copies), and the copied pod (copied-pod.ts).
 */

import * as Result from "effect/Result"
import { asObjects, asString, at } from "../json.ts"
import { templateSource, type TemplateSource } from "../targets/pod-template.ts"
import type { TargetKind } from "../targets/target.ts"
import type { CopiedTarget } from "./copy-request.ts"

/** A workload whose number of pods can be set. */
export interface ScalableWorkload {
  readonly kind: "deployment" | "statefulset" | "rollout"
  readonly name: string
}

/** The owner that decides how many pods a replica set has. */
const ownerOf = (replicaSet: unknown): ScalableWorkload | undefined => {
  const owner = asObjects(at(replicaSet, "metadata", "ownerReferences")).find(({ controller }) => controller === true)
  const name = asString(owner?.["name"])
  if (owner === undefined || name === undefined) return undefined
  if (owner["kind"] === "Deployment") return { kind: "deployment", name }
  return owner["kind"] === "Rollout" ? { kind: "rollout", name } : undefined
}

const problemOf = (path: string, kind: TargetKind, object: unknown): string | undefined => {
  if (kind === "statefulset" && asObjects(at(object, "spec", "volumeClaimTemplates")).length > 0)
    return (
      `${path} cannot be copied: each of its pods has volumes of its own (spec.volumeClaimTemplates), and a copy has ` +
      "none of them. Target one of its pods to copy that pod with its volumes, or take feature.copy_target out."
    )
  if (kind === "replicaset" && ownerOf(object) === undefined)
    return (
      `${path} cannot be copied: it belongs to no deployment and no rollout, and it would take the copy for one of ` +
      "its own pods. Take feature.copy_target out."
    )
  return undefined
}

/** The pod template in the object of a target; fails with a sentence. */
export const copySource = (path: string, kind: TargetKind, object: unknown): Result.Result<TemplateSource, string> => {
  const problem = problemOf(path, kind, object)
  if (problem !== undefined) return Result.fail(problem)
  const source = templateSource(kind, object)
  return source === undefined
    ? Result.fail(`${path} cannot be copied: it has no pod template. Take feature.copy_target out.`)
    : Result.succeed(source)
}

/** The workload that a copy of the target replaces. The owner of a replica set would give it its pods back at once. */
export const replacedWorkload = ({ kind, name }: CopiedTarget, object: unknown): ScalableWorkload | undefined => {
  if (kind === "deployment" || kind === "statefulset" || kind === "rollout") return { kind, name }
  return kind === "replicaset" ? ownerOf(object) : undefined
}
