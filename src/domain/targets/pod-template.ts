/**
 * The pod template in the object of a target, and the container in it that sessions use where none is named.
 *
 * Not here: the container of a pod that runs (container-choice.ts has the rule, pod-choice.ts applies it to pods).
 */

import { asObject, asObjects, asString, at, isObject, type JsonObject } from "../json.ts"
import { chooseContainer } from "./container-choice.ts"
import type { TargetKind } from "./target.ts"

const paths: Readonly<Partial<Record<TargetKind, ReadonlyArray<string>>>> = {
  deployment: ["spec", "template"],
  statefulset: ["spec", "template"],
  replicaset: ["spec", "template"],
  rollout: ["spec", "template"],
  job: ["spec", "template"],
  cronjob: ["spec", "jobTemplate", "spec", "template"],
  pod: []
}

/** Missing in a Service, and in a Rollout that has the template of another workload. */
export const podTemplate = (kind: TargetKind, object: unknown): JsonObject | undefined => {
  const path = paths[kind]
  const template = path === undefined ? undefined : at(object, ...path)
  return isObject(template) && isObject(template["spec"]) ? template : undefined
}

/** The object that holds the pod template of a target. */
export type TemplateSource =
  | { readonly _tag: "Template"; readonly template: JsonObject }
  /** An Argo Rollout whose pods have the template of another workload. */
  | { readonly _tag: "Reference"; readonly kind: "deployment" | "statefulset" | "replicaset"; readonly name: string }

const referenceKinds = { Deployment: "deployment", StatefulSet: "statefulset", ReplicaSet: "replicaset" } as const

const isReferenceKind = (kind: string | undefined): kind is keyof typeof referenceKinds =>
  kind !== undefined && Object.hasOwn(referenceKinds, kind)

/** Where the template of a target's pods is; `undefined` if it has none. */
export const templateSource = (kind: TargetKind, object: unknown): TemplateSource | undefined => {
  const template = podTemplate(kind, object)
  if (template !== undefined) return { _tag: "Template", template }
  const reference = asObject(at(object, "spec", "workloadRef"))
  const [name, referred] = [asString(reference["name"]), asString(reference["kind"])]
  return kind === "rollout" && name !== undefined && isReferenceKind(referred)
    ? { _tag: "Reference", kind: referenceKinds[referred], name }
    : undefined
}

/** The names of a template's containers in the order of a pod's status, which the kubelet sorts. */
export const templateContainers = (template: JsonObject): ReadonlyArray<string> =>
  asObjects(at(template, "spec", "containers"))
    .flatMap(({ name }) => asString(name) ?? [])
    .toSorted()

/** The container that a session gets that names none. */
export const defaultContainer = (template: JsonObject): string | undefined => {
  const annotations = Object.entries(asObject(at(template, "metadata", "annotations")))
  const texts = annotations.flatMap(([key, value]) => (typeof value === "string" ? [[key, value] as const] : []))
  const statuses = templateContainers(template).map((name) => ({ name }))
  return chooseContainer(statuses, Object.fromEntries(texts), undefined)?.status.name
}
