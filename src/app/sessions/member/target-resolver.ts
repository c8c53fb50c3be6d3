/**
 * Finds the pods of a session's target in one cluster: reads the objects that the rules of `domain/targets` need, and
 * applies those rules. Reads only.
 */

import { Effect, Result } from "effect"
import { quoted } from "../../../domain/clean-text.ts"
import { copyEnd, copyFailure } from "../../../domain/copies/copy-life.ts"
import { copyRecord, isCopy } from "../../../domain/copies/copy-record.ts"
import { type Pod, pods, services, type Workload } from "../../../domain/resources/core-kinds.ts"
import * as kinds from "../../../domain/resources/core-kinds.ts"
import type { MirrordClusterSession } from "../../../domain/resources/mirrord-cluster-session.ts"
import { readResource, type ResourceDescriptor } from "../../../domain/resources/resource-descriptor.ts"
import type { SessionFailure } from "../../../domain/resources/session-failure.ts"
import { fromKubeTarget } from "../../../domain/targets/kube-target.ts"
import { meetsAll } from "../../../domain/targets/label-requirements.ts"
import { type AgentPlacement, choosePods, chooseSinglePod } from "../../../domain/targets/pod-choice.ts"
import { type Owner, ownPods, replicaSetsOf } from "../../../domain/targets/pod-owner.ts"
import {
  labelSelectorText,
  type PodLabels,
  serviceSelector,
  servicePodsProblem,
  templateProblem,
  type WorkloadSelector,
  workloadSelector
} from "../../../domain/targets/pod-selector.ts"
import { type TargetError, targetFailure } from "../../../domain/targets/target-errors.ts"
import { formatTargetPath } from "../../../domain/targets/target-path.ts"
import { kindAddress, needsCopy, type Target } from "../../../domain/targets/target.ts"
import type { KubeApi, KubeError, Selection } from "../../../ports/kube-api.ts"

/** The containers that a session's agents attach to, the representative first; empty for a targetless session. */
export type Placements = ReadonlyArray<AgentPlacement>

const descriptors: Readonly<Record<string, ResourceDescriptor<Workload>>> = {
  deployment: kinds.deployments,
  replicaset: kinds.replicaSets,
  statefulset: kinds.statefulSets,
  job: kinds.jobs,
  rollout: kinds.rollouts
}
const referenced: Readonly<Record<string, ResourceDescriptor<Workload>>> = {
  Deployment: kinds.deployments,
  ReplicaSet: kinds.replicaSets,
  StatefulSet: kinds.statefulSets
}

/** How many replica sets are read at a time. */
const readAtOnce = 8

/** One look-up. Its failures are sentences for the user. */
interface LookUp {
  readonly api: KubeApi
  readonly namespace: string
  readonly target: Exclude<Target, { readonly _tag: "Targetless" }>
  /** The target as the user wrote it. */
  readonly path: string
  /** Whether the session has a copy of its target, whose pod no controller makes again. */
  readonly isOnCopy: boolean
  /** Called with each selection of pods before it is read. */
  readonly selecting: (selection: Selection) => void
}

interface WorkloadLookUp extends LookUp {
  readonly target: Extract<Target, { readonly _tag: "Workload" }>
}

const failWith = (error: TargetError): Effect.Effect<never, SessionFailure> => Effect.fail(targetFailure(error))

const orFail = <A>(result: Result.Result<A, TargetError>): Effect.Effect<A, SessionFailure> =>
  Effect.fromResult(Result.mapError(result, targetFailure))

/** `reference`: the workload that was asked for, if the target only refers to it. */
const refused = ({ namespace, path }: LookUp, error: KubeError, reference?: string): SessionFailure => {
  // A kind that the cluster does not serve is a 404 without an object's name in it.
  if (error.reason === "NotFound")
    return targetFailure(
      reference === undefined
        ? { _tag: "NoSuchTarget", target: path, namespace }
        : { _tag: "NoSuchReference", target: path, reference, namespace }
    )
  if (error.reason === "Forbidden") return targetFailure({ _tag: "Forbidden", target: path, detail: error.detail })
  return { reason: "Error", message: `looking up ${path} failed: ${error.detail}` }
}

const get = <T>(
  lookUp: LookUp,
  resource: ResourceDescriptor<T>,
  name: string,
  reference?: string
): Effect.Effect<T, SessionFailure> =>
  lookUp.api.get(resource, name, lookUp.namespace).pipe(
    Effect.mapError((error) => refused(lookUp, error, reference)),
    Effect.flatMap((object) =>
      Effect.fromResult(
        Result.mapError(readResource(resource, object), ({ message }): SessionFailure => ({ reason: "Error", message }))
      )
    )
  )

const listPods = (lookUp: LookUp, labels: PodLabels): Effect.Effect<ReadonlyArray<Pod>, SessionFailure> =>
  Effect.suspend(() => {
    const selection = { namespace: lookUp.namespace, labelSelector: labelSelectorText(labels) }
    lookUp.selecting(selection)
    return lookUp.api.list(pods, selection)
  }).pipe(
    Effect.mapError((error) => refused(lookUp, error)),
    Effect.map(({ items }) =>
      items.flatMap((item) => {
        const pod = readResource(pods, item)
        return Result.isSuccess(pod) && !isCopy(pod.success.metadata) ? [pod.success] : []
      })
    )
  )

const choose = (
  { path, target }: LookUp,
  found: ReadonlyArray<Pod>,
  labels: PodLabels
): Effect.Effect<Placements, SessionFailure> =>
  orFail(
    choosePods(found, {
      target: path,
      selector: labelSelectorText(labels),
      isLabelTarget: target._tag === "Label",
      container: target.container
    })
  )

const podsWithLabels = (lookUp: LookUp, labels: PodLabels): Effect.Effect<Placements, SessionFailure> =>
  Effect.flatMap(listPods(lookUp, labels), (found) => choose(lookUp, found, labels))

/** The replica sets that own any of the pods, by name; without those that are gone. Each is read once a look-up. */
const readSets = (lookUp: LookUp, found: ReadonlyArray<Pod>, owners: ReadonlyArray<Owner>) =>
  Effect.forEach(
    replicaSetsOf(found, owners),
    (name) =>
      lookUp.api.get(kinds.replicaSets, name, lookUp.namespace).pipe(
        Effect.map(({ metadata }) => [[name, metadata] as const]),
        Effect.catch((error) =>
          error.reason === "NotFound" ? Effect.succeed([]) : Effect.fail(refused(lookUp, error))
        )
      ),
    { concurrency: readAtOnce }
  ).pipe(Effect.map((sets) => new Map(sets.flat())))

/** The pods that a selector finds and that these workloads own, or that have no owner. */
const podsOfOwners = Effect.fnUntraced(function* (
  lookUp: LookUp,
  { labels, requirements }: Extract<WorkloadSelector, { readonly _tag: "Labels" }>,
  owners: ReadonlyArray<Owner>
): Effect.fn.Return<Placements, SessionFailure> {
  const listed = yield* listPods(lookUp, labels)
  const found = listed.filter(({ metadata }) => meetsAll(requirements, metadata.labels ?? {}))
  const { others, pods: own } = ownPods(found, owners, yield* readSets(lookUp, found, owners))
  const [other] = others
  return own.length === 0 && other !== undefined
    ? yield* failWith({
        _tag: "PodsOfOthers",
        target: lookUp.path,
        selector: labelSelectorText(labels),
        pod: other.metadata.name
      })
    : yield* choose(lookUp, own, labels)
})

/** The workload whose pod template an Argo Rollout has. Both may have pods while one takes over from the other. */
const referencedOwner = ({ spec }: Workload): ReadonlyArray<Owner> => {
  const { workloadRef } = spec ?? {}
  const descriptor = workloadRef && referenced[workloadRef.kind]
  return workloadRef === undefined || workloadRef === null || descriptor === undefined || descriptor === null
    ? []
    : [{ group: descriptor.group, kind: descriptor.kind, name: workloadRef.name }]
}

/** The selector of the workload that an Argo Rollout refers to. */
const referencedSelector = Effect.fnUntraced(function* (
  lookUp: LookUp,
  { kind, name }: Extract<WorkloadSelector, { readonly _tag: "Reference" }>
): Effect.fn.Return<Extract<WorkloadSelector, { readonly _tag: "Labels" }>, SessionFailure> {
  const { path } = lookUp
  const descriptor = referenced[kind]
  if (descriptor === undefined)
    return yield* failWith({ _tag: "UnknownWorkloadRef", target: path, apiVersion: "v1", kind })
  const object = yield* get(lookUp, descriptor, name, `${kind.toLowerCase()}/${name}`)
  const selector = yield* orFail(workloadSelector(path, object))
  return selector._tag === "Labels"
    ? selector
    : yield* failWith({ _tag: "MissingSelector", target: path, field: "spec.selector.matchLabels" })
})

const podsOfWorkload = Effect.fnUntraced(function* (
  lookUp: WorkloadLookUp,
  descriptor: ResourceDescriptor<Workload>
): Effect.fn.Return<Placements, SessionFailure> {
  const { path, target } = lookUp
  const object = yield* get(lookUp, descriptor, target.name)
  const problem = templateProblem(path, object, target.container)
  if (problem !== undefined) return yield* failWith(problem)
  const selector = yield* orFail(workloadSelector(path, object))
  const { group, kind } = descriptor
  const owners = [{ group, kind, name: target.name }, ...referencedOwner(object)]
  const found = selector._tag === "Labels" ? selector : yield* referencedSelector(lookUp, selector)
  return yield* podsOfOwners(lookUp, found, owners)
})

const podsOfService = Effect.fnUntraced(function* (
  lookUp: WorkloadLookUp
): Effect.fn.Return<Placements, SessionFailure> {
  const { path, target } = lookUp
  const labels = yield* orFail(serviceSelector(path, yield* get(lookUp, services, target.name)))
  const found = yield* listPods(lookUp, labels)
  const problem = servicePodsProblem(path, found, target.container)
  return problem === undefined ? yield* choose(lookUp, found, labels) : yield* failWith(problem)
})

/** Fails for the pod of a copy that has ended. A container that cannot start may yet, as when a registry is back. */
const unlessEnded = (pod: Pod, copied: string | undefined): Effect.Effect<void, SessionFailure> => {
  const why = copied === undefined ? undefined : copyEnd(pod, copied)
  return why === undefined ? Effect.void : Effect.fail(copyFailure(why))
}

const singlePod = Effect.fnUntraced(function* (lookUp: WorkloadLookUp): Effect.fn.Return<Placements, SessionFailure> {
  const { isOnCopy, namespace, target } = lookUp
  lookUp.selecting({ namespace, name: target.name })
  const pod = yield* get(lookUp, pods, target.name).pipe(
    Effect.mapError((failure) =>
      isOnCopy && failure.reason === "NoSuchTarget"
        ? copyFailure(`there is no pod ${target.name} in namespace ${namespace}`)
        : failure
    )
  )
  const copied = copyRecord(pod.metadata)?.container
  yield* unlessEnded(pod, copied)
  // A session over many clusters names no container of a copy, since each cluster has chosen its own.
  return [yield* orFail(chooseSinglePod(pod, target.container ?? copied))]
})

const lookUpWorkload = (lookUp: WorkloadLookUp): Effect.Effect<Placements, SessionFailure> => {
  const { path, target } = lookUp
  if (needsCopy(target)) return failWith({ _tag: "CopyTargetRequired", target: path })
  if (target.kind === "pod") return singlePod(lookUp)
  if (target.kind === "service") return podsOfService(lookUp)
  const descriptor = descriptors[target.kind]
  return descriptor === undefined
    ? failWith({ _tag: "NoSuchKind", target: path, resource: kindAddress(target.kind).plural })
    : podsOfWorkload(lookUp, descriptor)
}

/** The target of a session, or of a request that only asks for it. */
interface Wanted {
  readonly spec: Pick<MirrordClusterSession["spec"], "copyTarget" | "namespace" | "target">
}

/** `selecting`: called with the pods among which the target's are, before they are read. */
export const resolveTarget = (
  api: KubeApi,
  { spec }: Wanted,
  selecting: (selection: Selection) => void = () => undefined
): Effect.Effect<Placements, SessionFailure> => {
  const target = fromKubeTarget(spec.target)
  if (target === undefined) {
    const { kind = "", name = "" } = spec.target ?? {}
    return Effect.fail({ reason: "NoSuchTarget", message: `${quoted(kind)} ${quoted(name)} cannot be a target` })
  }
  const isOnCopy = (spec.copyTarget ?? undefined) !== undefined
  const lookUp = { api, namespace: spec.namespace, path: formatTargetPath(target), isOnCopy, selecting }
  switch (target._tag) {
    case "Targetless":
      return Effect.succeed([])
    case "Label":
      return Effect.suspend(() => podsWithLabels({ ...lookUp, target }, target.labels))
    case "Workload":
      return Effect.suspend(() => lookUpWorkload({ ...lookUp, target }))
  }
}
