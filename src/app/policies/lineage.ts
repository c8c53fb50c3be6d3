/**
 * Reads what the policies of a target depend on: its labels, and the objects that own it or its pods. Which policies
 * apply is decided in `domain/policy/target-pattern.ts`. Reads only.
 */

import { Effect, Result } from "effect"
import { copyRecord } from "../../domain/copy-target/copy-record.ts"
import { type Resource, targetResource } from "../../domain/policy/target-pattern.ts"
import * as kinds from "../../domain/resources/core-kinds.ts"
import type { ObjectMeta, OwnerReference } from "../../domain/resources/object-meta.ts"
import {
  readResource,
  type ResourceDescriptor,
  type UnreadableResource
} from "../../domain/resources/resource-descriptor.ts"
import { labelSelectorText, type PodLabels } from "../../domain/target/pod-selector.ts"
import { parseTargetJson } from "../../domain/target/target-json.ts"
import type { Target } from "../../domain/target/target.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"

type Reading<A> = Effect.Effect<A, KubeError | UnreadableResource>

/** How far owners are followed; a pod of a deployment has two. */
const mostOwners = 6

interface LookUp {
  readonly api: KubeApi
  readonly namespace: string
  /** The resources that were found, by kind and name. */
  readonly found: Map<string, Resource>
}

/** The kinds that are read, in the spelling of target paths. */
const readable: Readonly<Record<string, ResourceDescriptor<{ readonly metadata: ObjectMeta }>>> = {
  pod: kinds.pods,
  service: kinds.services,
  deployment: kinds.deployments,
  replicaset: kinds.replicaSets,
  statefulset: kinds.statefulSets,
  rollout: kinds.rollouts
}

const add = ({ found }: LookUp, resource: Resource): boolean => {
  const key = `${resource.kind}/${resource.name}`
  if (found.has(key)) return false
  found.set(key, resource)
  return true
}

const read = <T>(descriptor: ResourceDescriptor<T>, object: unknown): Reading<T> =>
  Effect.fromResult(readResource(descriptor, object))

/** Adds an object and its owners. The pod of a copy has no owner, and shows what the copied target has. */
const addObject = (lookUp: LookUp, kind: string, metadata: ObjectMeta, depth = 0): Reading<void> => {
  const { labels, name, ownerReferences = [] } = metadata
  if (!add(lookUp, { kind, name, labels: labels ?? {} }) || depth >= mostOwners) return Effect.void
  const owners = Effect.forEach(ownerReferences, (owner) => addOwner(lookUp, owner, depth + 1), { discard: true })
  const copied = kind === "pod" ? copiedTarget(metadata) : undefined
  return copied === undefined
    ? owners
    : Effect.andThen(owners, () => addNamed(lookUp, copied.kind, copied.name, depth + 1))
}

const copiedTarget = (metadata: ObjectMeta): Extract<Target, { readonly _tag: "Workload" }> | undefined => {
  const record = copyRecord(metadata)
  const target = record && Result.getOrUndefined(parseTargetJson(record.spec["target"]))
  return target?._tag === "Workload" ? target : undefined
}

/** Adds an owner, unless it is of a kind that only has the name of one that is known here. */
const addOwner = (lookUp: LookUp, { apiVersion, kind, name }: OwnerReference, depth: number): Reading<void> => {
  const known = kind.toLowerCase()
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : ""
  const descriptor = readable[known]
  return descriptor !== undefined && descriptor.group !== group ? Effect.void : addNamed(lookUp, known, name, depth)
}

/** A job that a cron job made is called like it, with the time behind. The operator has no right to read either. */
const addJob = (lookUp: LookUp, name: string): void => {
  add(lookUp, { kind: "job", name, labels: undefined })
  const at = name.lastIndexOf("-")
  if (at > 0 && /^\d{6,12}$/u.test(name.slice(at + 1)))
    add(lookUp, { kind: "cronjob", name: name.slice(0, at), labels: undefined })
}

/** Adds the object of this kind and name. One that is not there is known by its name alone; so is one of a job. */
const addNamed = (lookUp: LookUp, kind: string, name: string, depth = 0): Reading<void> => {
  const descriptor = readable[kind]
  if (kind === "job") return Effect.sync(() => addJob(lookUp, name))
  if (descriptor === undefined) return Effect.void
  return lookUp.api.get(descriptor, name, lookUp.namespace).pipe(
    Effect.flatMap((object) => read(descriptor, object)),
    Effect.flatMap(({ metadata }) => addObject(lookUp, kind, metadata, depth)),
    Effect.catch((error) => {
      const isGone = error._tag === "KubeError" && error.reason === "NotFound"
      if (!isGone) return Effect.fail(error)
      return Effect.sync(() => void add(lookUp, { kind, name, labels: undefined }))
    })
  )
}

/** Adds pods, and what owns them. */
const addPods = (lookUp: LookUp, labels: PodLabels): Reading<void> =>
  lookUp.api
    .list(kinds.pods, { namespace: lookUp.namespace, labelSelector: labelSelectorText(labels) })
    .pipe(
      Effect.flatMap(({ items }) =>
        Effect.forEach(
          items,
          (item) => Effect.flatMap(read(kinds.pods, item), ({ metadata }) => addObject(lookUp, "pod", metadata)),
          { discard: true }
        )
      )
    )

/** A service owns nothing: its pods are looked at, or a policy for their deployment could be got round by it. */
const addServicePods = (lookUp: LookUp, name: string): Reading<void> =>
  lookUp.api.get(kinds.services, name, lookUp.namespace).pipe(
    Effect.flatMap((object) => read(kinds.services, object)),
    Effect.flatMap(({ spec }) => {
      const selector = spec?.selector
      return selector === undefined || selector === null || Object.keys(selector).length === 0
        ? Effect.void
        : addPods(lookUp, selector)
    }),
    Effect.catch((error) =>
      error._tag === "KubeError" && error.reason === "NotFound" ? Effect.void : Effect.fail(error)
    )
  )

/**
 * The target of the copy whose pod has this name. `NoCopy`: the pod is none of a copy; `undefined`: no such pod is
 * here.
 */
export const readCopied = (api: KubeApi, namespace: string, pod: string): Reading<Target | "NoCopy" | undefined> =>
  api.get(kinds.pods, pod, namespace).pipe(
    Effect.flatMap((object) => read(kinds.pods, object)),
    Effect.map(({ metadata }) => copiedTarget(metadata) ?? ("NoCopy" as const)),
    Effect.catch((error) =>
      error._tag === "KubeError" && error.reason === "NotFound" ? Effect.undefined : Effect.fail(error)
    )
  )

/** The target with its labels, its owners, and for a service or labels the pods and what owns them. */
export const readLineage = (api: KubeApi, namespace: string, target: Target): Reading<ReadonlyArray<Resource>> =>
  Effect.gen(function* () {
    const lookUp: LookUp = { api, namespace, found: new Map() }
    switch (target._tag) {
      case "Targetless":
        add(lookUp, targetResource(target))
        break
      case "Label":
        add(lookUp, targetResource(target))
        yield* addPods(lookUp, target.labels)
        break
      case "Workload":
        if (readable[target.kind] === undefined) add(lookUp, targetResource(target))
        else yield* addNamed(lookUp, target.kind, target.name)
        if (target.kind === "service") yield* addServicePods(lookUp, target.name)
    }
    return [...lookUp.found.values()]
  })
