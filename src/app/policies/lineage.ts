/**
 * Reads what the policies of a target depend on: its labels, and the objects that own it or its pods. Which policies
 * apply is decided in `domain/policies/target-pattern.ts`. Reads only.
 */

import { Effect, Result } from "effect"
import { copyRecord } from "../../domain/copies/copy-record.ts"
import { type Resource, targetResource } from "../../domain/policies/target-pattern.ts"
import * as kinds from "../../domain/resources/core-kinds.ts"
import { groupOfOwner, type ObjectMeta, type OwnerReference } from "../../domain/resources/object-meta.ts"
import {
  readResource,
  type ResourceDescriptor,
  type UnreadableResource
} from "../../domain/resources/resource-descriptor.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import { labelSelectorText, type PodLabels } from "../../domain/targets/pod-selector.ts"
import { parseTargetJson } from "../../domain/targets/target-json.ts"
import type { Target } from "../../domain/targets/target.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"

type Reading<A> = Effect.Effect<A, KubeError | UnreadableResource>

/** How far owners are followed; a pod of a deployment has two. */
const maxOwners = 6

/** The name of an object that may be an owner. */
interface Named {
  /** In the spelling of target paths. */
  readonly kind: string
  readonly name: string
}

/** An object, and what owns it. */
interface Found extends Resource {
  readonly owners: ReadonlyArray<Named>
}

/** A pod whose owners are asked for. */
export type OwnedPod = Pick<AgentPlacement, "podName" | "podLabels" | "podOwners">

/** The objects by which targets and pods of a namespace inherit policies. Each owner is read once. */
export interface Lineages {
  /** The target with its labels, its owners, and for a service or labels the pods and what owns them. */
  readonly ofTarget: (target: Target) => Reading<ReadonlyArray<Resource>>
  /** Pods of a target, and what owns them. */
  readonly ofPods: (pods: ReadonlyArray<OwnedPod>) => Reading<ReadonlyArray<Resource>>
}

interface LookUp {
  readonly api: KubeApi
  readonly namespace: string
  /** The owners that were read, by kind and name. */
  readonly known: Map<string, Found>
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

const keyOf = ({ kind, name }: Named): string => `${kind}/${name}`

const read = <T>(descriptor: ResourceDescriptor<T>, object: unknown): Reading<T> =>
  Effect.fromResult(readResource(descriptor, object))

/** Owners of the kinds that are known here; not those of a kind that only has the name of one. */
const ownersOf = (references: ReadonlyArray<OwnerReference> = []): ReadonlyArray<Named> =>
  references.flatMap((reference) => {
    const kind = reference.kind.toLowerCase()
    const descriptor = readable[kind]
    const isKnown = descriptor === undefined ? kind === "job" : descriptor.group === groupOfOwner(reference)
    return isKnown ? [{ kind, name: reference.name }] : []
  })

/** An object as it was read. The pod of a copy has no owner, and shows what the copied target has. */
const foundObject = (kind: string, metadata: ObjectMeta): Found => {
  const { labels, name, ownerReferences } = metadata
  const copied = kind === "pod" ? copiedTarget(metadata) : undefined
  const owners = ownersOf(ownerReferences)
  return { kind, name, labels: labels ?? {}, owners: copied === undefined ? owners : [...owners, copied] }
}

const copiedTarget = (metadata: ObjectMeta): Extract<Target, { readonly _tag: "Workload" }> | undefined => {
  const record = copyRecord(metadata)
  const target = record && Result.getOrUndefined(parseTargetJson(record.spec["target"]))
  return target?._tag === "Workload" ? target : undefined
}

const foundByName = (kind: string, name: string, owners: Found["owners"] = []): Found => ({
  kind,
  name,
  labels: undefined,
  owners
})

/** A job that a cron job made is called like it, with the time behind. The operator has no right to read either. */
const foundJob = (name: string): Found => {
  const at = name.lastIndexOf("-")
  const isTimed = at > 0 && /^\d{6,12}$/u.test(name.slice(at + 1))
  return foundByName("job", name, isTimed ? [{ kind: "cronjob", name: name.slice(0, at) }] : [])
}

const isGone = (error: KubeError | UnreadableResource): boolean =>
  error._tag === "KubeError" && error.reason === "NotFound"

/** The object of a name. One that is not there is known by its name alone; so is one of a kind that is not read. */
const findObject = ({ api, known, namespace }: LookUp, { kind, name }: Named): Reading<Found> => {
  const before = known.get(keyOf({ kind, name }))
  if (before !== undefined) return Effect.succeed(before)
  const descriptor = readable[kind]
  if (kind === "job") return Effect.succeed(foundJob(name))
  if (descriptor === undefined) return Effect.succeed(foundByName(kind, name))
  return api.get(descriptor, name, namespace).pipe(
    Effect.flatMap((object) => read(descriptor, object)),
    Effect.map(({ metadata }) => foundObject(kind, metadata)),
    Effect.catch((error) => (isGone(error) ? Effect.succeed(foundByName(kind, name)) : Effect.fail(error))),
    Effect.tap((found) => Effect.sync(() => known.set(keyOf(found), found)))
  )
}

/** Objects with their owners, and the owners of these, each once. */
const withOwners = (lookUp: LookUp, objects: ReadonlyArray<Found>): Reading<ReadonlyArray<Resource>> =>
  Effect.gen(function* () {
    const found = new Map<string, Resource>()
    let level = objects
    for (let depth = 0; level.length > 0; depth++) {
      for (const object of level) found.set(keyOf(object), object)
      const owners = depth < maxOwners ? level.flatMap((object) => object.owners) : []
      const missing = new Map(owners.map((owner) => [keyOf(owner), owner]))
      for (const key of found.keys()) missing.delete(key)
      level = yield* Effect.forEach([...missing.values()], (owner) => findObject(lookUp, owner))
    }
    return [...found.values()]
  })

const podsWith = ({ api, namespace }: LookUp, labels: PodLabels): Reading<ReadonlyArray<Found>> =>
  api
    .list(kinds.pods, { namespace, labelSelector: labelSelectorText(labels) })
    .pipe(
      Effect.flatMap(({ items }) =>
        Effect.forEach(items, (item) =>
          Effect.map(read(kinds.pods, item), ({ metadata }) => foundObject("pod", metadata))
        )
      )
    )

/** A service owns nothing: its pods are looked at, or a policy for their deployment could be got round by it. */
const servicePods = (lookUp: LookUp, name: string): Reading<ReadonlyArray<Found>> =>
  lookUp.api.get(kinds.services, name, lookUp.namespace).pipe(
    Effect.flatMap((object) => read(kinds.services, object)),
    Effect.flatMap(({ spec }) => {
      const selector = spec?.selector
      return selector === undefined || selector === null || Object.keys(selector).length === 0
        ? Effect.succeed([])
        : podsWith(lookUp, selector)
    }),
    Effect.catch((error) => (isGone(error) ? Effect.succeed([]) : Effect.fail(error)))
  )

/**
 * The target of the copy whose pod has this name; `NoCopy` if the pod is no copy, `undefined` if there is no such pod.
 */
export const readCopied = (api: KubeApi, namespace: string, pod: string): Reading<Target | "NoCopy" | undefined> =>
  api.get(kinds.pods, pod, namespace).pipe(
    Effect.flatMap((object) => read(kinds.pods, object)),
    Effect.map(({ metadata }) => copiedTarget(metadata) ?? ("NoCopy" as const)),
    Effect.catch((error) => (isGone(error) ? Effect.undefined : Effect.fail(error)))
  )

const foundTarget = (lookUp: LookUp, target: Target): Reading<ReadonlyArray<Found>> => {
  const known: Found = { ...targetResource(target), owners: [] }
  switch (target._tag) {
    case "Targetless":
      return Effect.succeed([known])
    case "Label":
      return Effect.map(podsWith(lookUp, target.labels), (pods) => [known, ...pods])
    case "Workload": {
      if (readable[target.kind] === undefined) return Effect.succeed([known])
      const itself = Effect.map(findObject(lookUp, target), (found) => [found])
      return target.kind === "service"
        ? Effect.map(Effect.all([itself, servicePods(lookUp, target.name)]), (found) => found.flat())
        : itself
    }
  }
}

export const makeLineages = (api: KubeApi, namespace: string): Lineages => {
  const lookUp: LookUp = { api, namespace, known: new Map() }
  return {
    ofTarget: (target) => Effect.flatMap(foundTarget(lookUp, target), (found) => withOwners(lookUp, found)),
    ofPods: (pods) =>
      withOwners(
        lookUp,
        pods.map(({ podLabels, podName, podOwners }) => ({
          kind: "pod",
          name: podName,
          labels: podLabels,
          owners: ownersOf(podOwners)
        }))
      )
  }
}
