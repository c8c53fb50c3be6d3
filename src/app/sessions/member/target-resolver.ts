import { Effect, Result } from "effect"
import { type Pod, pods, services, type Service, type Workload } from "../../../domain/resources/core-kinds.ts"
import * as kinds from "../../../domain/resources/core-kinds.ts"
import type { MirrordClusterSession } from "../../../domain/resources/mirrord-cluster-session.ts"
import { readResource, type ResourceDescriptor } from "../../../domain/resources/resource-descriptor.ts"
import type { SessionFailure } from "../../../domain/session/session-failure.ts"
import { type AgentPlacement, choosePods, chooseSinglePod } from "../../../domain/target/pod-choice.ts"
import {
  labelSelectorText,
  type PodLabels,
  serviceSelector,
  servicePodsProblem,
  templateProblem,
  workloadSelector
} from "../../../domain/target/pod-selector.ts"
import { type TargetError, targetFailure } from "../../../domain/target/target-errors.ts"
import { formatTargetPath } from "../../../domain/target/target-path.ts"
import { fromKubeTarget, kindAddress, needsCopy, type Target } from "../../../domain/target/target.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"

/** The containers that a session's agents go to; the first is the representative one. Empty: a targetless session. */
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

type Workloads = Extract<Target, { readonly _tag: "Workload" }>

/** Finds the pods of a session's target in one cluster, by the rules of `domain/target`. */
export const resolveTarget = (
  api: KubeApi,
  session: MirrordClusterSession
): Effect.Effect<Placements, SessionFailure> => {
  const { namespace } = session.spec
  const target = fromKubeTarget(session.spec.target)
  if (target === undefined) {
    const kind = session.spec.target?.kind ?? ""
    return Effect.fail({ reason: "NoSuchTarget", message: `the kind ${JSON.stringify(kind)} cannot be a target` })
  }
  if (target._tag === "Targetless") return Effect.succeed([])
  if (target._tag === "Label")
    return Effect.fail({ reason: "Error", message: "label targets cannot be kept in a session resource" })
  const path = formatTargetPath(target)

  const refused = (error: KubeError): TargetError | SessionFailure => {
    if (error.reason === "NotFound") {
      // A kind that the cluster does not serve is a 404 without an object's name in it.
      return { _tag: "NoSuchTarget", target: path, namespace }
    }
    if (error.reason === "Forbidden") return { _tag: "Forbidden", target: path, detail: error.detail }
    return { reason: "Error", message: `looking up ${path} failed: ${error.detail}` }
  }
  const get = <T>(resource: ResourceDescriptor<T>, name: string): Effect.Effect<T, TargetError | SessionFailure> =>
    api.get(resource, name, namespace).pipe(
      Effect.mapError(refused),
      Effect.flatMap((object) => {
        const read = readResource(resource, object)
        return Result.isSuccess(read)
          ? Effect.succeed(read.success)
          : Effect.fail({ reason: "Error", message: read.failure.message } as const)
      })
    )
  const listPods = (labels: PodLabels): Effect.Effect<ReadonlyArray<Pod>, TargetError | SessionFailure> =>
    api.list(pods, { namespace, labelSelector: labelSelectorText(labels) }).pipe(
      Effect.mapError(refused),
      Effect.map(({ items }) =>
        items.flatMap((item) => {
          const pod = readResource(pods, item)
          return Result.isSuccess(pod) ? [pod.success] : []
        })
      )
    )
  const choose = (found: ReadonlyArray<Pod>, labels: PodLabels): Effect.Effect<Placements, TargetError> =>
    Effect.fromResult(
      choosePods(found, {
        target: path,
        selector: labelSelectorText(labels),
        isLabelTarget: false,
        container: target.container
      })
    )

  const ofWorkload = (workload: Workloads, descriptor: ResourceDescriptor<Workload>) =>
    Effect.gen(function* () {
      const object = yield* get(descriptor, workload.name)
      const problem = templateProblem(path, object, workload.container)
      if (problem !== undefined) return yield* Effect.fail(problem)
      const selector = yield* Effect.fromResult(workloadSelector(path, object))
      if (selector._tag === "Labels") return yield* choose(yield* listPods(selector.labels), selector.labels)
      const other = referenced[selector.kind]
      if (other === undefined) {
        return yield* Effect.fail({
          _tag: "UnknownWorkloadRef",
          target: path,
          apiVersion: "v1",
          kind: selector.kind
        } as const)
      }
      const behind = yield* Effect.fromResult(workloadSelector(path, yield* get(other, selector.name)))
      if (behind._tag === "Reference") {
        return yield* Effect.fail({
          _tag: "MissingSelector",
          target: path,
          field: "spec.selector.matchLabels"
        } as const)
      }
      return yield* choose(yield* listPods(behind.labels), behind.labels)
    })

  const ofService = Effect.gen(function* () {
    const service: Service = yield* get(services, target.name)
    const labels = yield* Effect.fromResult(serviceSelector(path, service))
    const found = yield* listPods(labels)
    const problem = servicePodsProblem(path, found, target.container)
    if (problem !== undefined) return yield* Effect.fail(problem)
    return yield* choose(found, labels)
  })

  const resolve = Effect.suspend((): Effect.Effect<Placements, TargetError | SessionFailure> => {
    if (needsCopy(target)) return Effect.fail({ _tag: "CopyTargetRequired", target: path })
    if (target.kind === "pod") {
      return get(pods, target.name).pipe(
        Effect.flatMap((pod) => Effect.fromResult(chooseSinglePod(pod, target.container))),
        Effect.map((placement) => [placement])
      )
    }
    if (target.kind === "service") return ofService
    const descriptor = descriptors[target.kind]
    return descriptor === undefined
      ? Effect.fail({ _tag: "NoSuchKind", target: path, resource: kindAddress(target.kind).plural })
      : ofWorkload(target, descriptor)
  })
  return Effect.mapError(resolve, (error) => ("_tag" in error ? targetFailure(error) : error))
}
