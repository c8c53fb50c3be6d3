/**
 * The pods that are a workload's own, out of those that its selector finds. Labels do not say: the selector of a stable
 * deployment covers the pods of its canary too. Kubernetes tells pods apart by their owners, and so does this.
 *
 * Not here: reading the objects (app/sessions/member/target-resolver.ts).
 */

import { groupOfOwner, type ObjectMeta, type OwnerReference } from "../resources/object-meta.ts"

/** A workload as owner references name it; its namespace has one of each name. */
export interface Owner {
  readonly group: string
  readonly kind: string
  readonly name: string
}

type Owned = Pick<ObjectMeta, "ownerReferences">

/** The owners of an object that count: its controller, or all where no reference says that it is the controller. */
const ownersOf = ({ ownerReferences = [] }: Owned): ReadonlyArray<OwnerReference> => {
  const controller = ownerReferences.find((reference) => reference.controller === true)
  return controller === undefined ? ownerReferences : [controller]
}

const isFor = (reference: OwnerReference, { group, kind, name }: Owner): boolean =>
  reference.kind === kind && reference.name === name && groupOfOwner(reference) === group

/** Kinds whose pods are those of their replica sets. */
const ownsSets = ({ kind }: Owner): boolean => kind === "Deployment" || kind === "Rollout"

const isReplicaSet = (reference: OwnerReference): boolean =>
  reference.kind === "ReplicaSet" && groupOfOwner(reference) === "apps"

/** The replica sets whose owner must be known, each once, however many pods it has. */
export const replicaSetsOf = (
  pods: ReadonlyArray<{ readonly metadata: Owned }>,
  workloads: ReadonlyArray<Owner>
): ReadonlyArray<string> =>
  workloads.some(ownsSets)
    ? [
        ...new Set(
          pods.flatMap(({ metadata }) =>
            ownersOf(metadata).flatMap((owner) => (isReplicaSet(owner) ? [owner.name] : []))
          )
        )
      ]
    : []

/** The pods of workloads, and how many others have their labels. */
export interface OwnPods<P> {
  /** Those that the workloads own come first, and then those without any owner. */
  readonly pods: ReadonlyArray<P>
  /** Pods of other workloads. */
  readonly others: ReadonlyArray<P>
}

/**
 * The pods of any of these workloads, out of pods that their selector finds. A pod that another workload owns is none
 * of them. `sets`: the replica sets by name; one that is gone is missing, and no workload has its pods then.
 */
export const ownPods = <P extends { readonly metadata: Owned }>(
  found: ReadonlyArray<P>,
  workloads: ReadonlyArray<Owner>,
  sets: ReadonlyMap<string, Owned>
): OwnPods<P> => {
  const isOurs = (reference: OwnerReference): boolean => workloads.some((workload) => isFor(reference, workload))
  const isOfOurs = (reference: OwnerReference): boolean => {
    const set = isReplicaSet(reference) ? sets.get(reference.name) : undefined
    return isOurs(reference) || (set !== undefined && ownersOf(set).some(isOurs))
  }
  const [owned, free, others]: [Array<P>, Array<P>, Array<P>] = [[], [], []]
  for (const pod of found) {
    const owners = ownersOf(pod.metadata)
    const ofOwned = owners.some(isOfOurs) ? owned : others
    ;(owners.length === 0 ? free : ofOwned).push(pod)
  }
  return { pods: [...owned, ...free], others }
}
