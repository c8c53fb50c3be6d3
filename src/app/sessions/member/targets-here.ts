/**
 * The targets of this cluster as `Target` objects, for whoever asks which there are. Reads workloads and starts
 * nothing. The API server has checked that the caller may list or get targets.
 */

import { Effect, Result, Semaphore } from "effect"
import { asObject, asString, at } from "../../../domain/json.ts"
import type { Keeps } from "../../../domain/resources/kept-fields.ts"
import { cureOf, type SessionFailure } from "../../../domain/resources/session-failure.ts"
import { failureStatus } from "../../../domain/sessions/failure-status.ts"
import { ownerLabel } from "../../../domain/sessions/names.ts"
import { toKubeTarget } from "../../../domain/targets/kube-target.ts"
import { podTemplate, templateContainers, defaultContainer } from "../../../domain/targets/pod-template.ts"
import { type ProtectedNamespaces, protectedTarget } from "../../../domain/targets/protected-namespaces.ts"
import { targetFailure } from "../../../domain/targets/target-errors.ts"
import { targetObject } from "../../../domain/targets/target-object.ts"
import { formatTargetName, formatTargetPath, parseTargetName } from "../../../domain/targets/target-path.ts"
import { kindAddress, type Target, type TargetKind, targetKinds } from "../../../domain/targets/target.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { ApiError, badRequest, internalError } from "../../api/status.ts"
import type { Targets } from "../../services/targets.ts"
import { resolveTarget } from "./target-resolver.ts"

type Workload = Extract<Target, { readonly _tag: "Workload" }>

interface Place {
  readonly api: KubeApi
  readonly protectedNamespaces: ProtectedNamespaces
}

const refused = (failure: SessionFailure): ApiError => {
  const { code, reason } = failureStatus(failure)
  const sentence = `${failure.message}; ${cureOf(failure.reason)}.`
  return new ApiError({ code, reason, message: sentence.charAt(0).toUpperCase() + sentence.slice(1) })
}

const resourceOf = (kind: TargetKind) => ({ ...kindAddress(kind), scope: "Namespaced" }) as const

/** Agents and copies are none, as `mirrord ls` has it; and a Service without a selector has no pods. */
const isTarget = (kind: TargetKind, { metadata, ...object }: KubeObject): boolean => {
  const labels = asObject(metadata.labels)
  if (labels["app"] === "mirrord" || Object.keys(ownerLabel).some((key) => key in labels)) return false
  return kind !== "service" || Object.keys(asObject(at(object, "spec", "selector"))).length > 0
}

/** Without a container where the object does not name it: of a Service, and of a Rollout that refers to a workload. */
const listedTarget = (kind: TargetKind, object: KubeObject): Workload => {
  const template = podTemplate(kind, object)
  return {
    _tag: "Workload",
    kind,
    name: object.metadata.name,
    container: template === undefined ? undefined : defaultContainer(template)
  }
}

/** Of thousands of workloads, which may have megabytes each, a list needs the names alone. Others count as gone. */
const keepsTarget =
  (kind: TargetKind): Keeps =>
  (object) => {
    // A workload has a spec; without it an object is the kept part of one.
    if (object["spec"] === undefined) return object
    if (!isTarget(kind, object)) return undefined
    const { name, namespace } = object.metadata
    const { container } = listedTarget(kind, object)
    return { metadata: { name, ...(namespace === undefined ? {} : { namespace }) }, container }
  }

const listKind = (
  { api, protectedNamespaces }: Place,
  kind: TargetKind,
  namespace: string | undefined
): Effect.Effect<ReadonlyArray<object>, ApiError> =>
  api.list({ ...resourceOf(kind), keeps: keepsTarget(kind) }, namespace === undefined ? {} : { namespace }).pipe(
    // A cluster need not know Rollouts.
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed({ items: [] }) : Effect.fail(error))),
    Effect.mapError(({ detail }) => internalError(`The targets of kind ${kind} cannot be listed: ${detail}.`)),
    Effect.map(({ items }) =>
      items.flatMap((object) => {
        const { name, namespace: its = "" } = object.metadata
        const container = asString(object["container"])
        return protectedNamespaces.has(its)
          ? []
          : [targetObject(its, `${kind}.${name}`, { _tag: "Workload", kind, name, container })]
      })
    )
  )

const lookedUp = ({ api }: Place, namespace: string, target: Workload): Effect.Effect<KubeObject, ApiError> =>
  Effect.mapError(api.get(resourceOf(target.kind), target.name, namespace), ({ detail, reason }: KubeError) => {
    const path = formatTargetPath(target)
    if (reason === "NotFound") return refused(targetFailure({ _tag: "NoSuchTarget", target: path, namespace }))
    if (reason === "Forbidden") return refused(targetFailure({ _tag: "Forbidden", target: path, detail }))
    return internalError(`Looking up ${path} failed: ${detail}. Try again in a moment.`)
  })

/** The container that a session with the target would get: of its template, or of the pods that it has now. */
const containerOf = Effect.fnUntraced(function* (
  place: Place,
  namespace: string,
  target: Workload
): Effect.fn.Return<string | undefined, ApiError> {
  const object = target.kind === "service" ? undefined : yield* lookedUp(place, namespace, target)
  const template = podTemplate(target.kind, object)
  if (template === undefined) {
    const spec = { namespace, target: toKubeTarget(target) ?? null }
    const [placement] = yield* Effect.mapError(resolveTarget(place.api, { spec }), refused)
    return placement?.containerName
  }
  const { container = defaultContainer(template) } = target
  if (container === undefined || templateContainers(template).includes(container)) return container
  const path = formatTargetPath({ ...target, container: undefined })
  return yield* Effect.fail(refused(targetFailure({ _tag: "NoSuchContainer", target: path, container })))
})

const getTarget = Effect.fnUntraced(function* (
  place: Place,
  namespace: string,
  name: string
): Effect.fn.Return<object, ApiError> {
  const target = yield* Effect.fromResult(Result.mapError(parseTargetName(name), ({ message }) => badRequest(message)))
  const failure = protectedTarget(place.protectedNamespaces, namespace, target._tag === "Targetless")
  if (failure !== undefined) return yield* refused(failure)
  if (target._tag !== "Workload") return targetObject(namespace, formatTargetName(target), target)
  return targetObject(namespace, name, { ...target, container: yield* containerOf(place, namespace, target) })
})

export const targetsHere = (place: Place): Targets["Service"] => {
  // The pods of a large cluster take room; so there is one list at a time.
  const turn = Semaphore.makeUnsafe(1)
  return {
    list: (namespace) =>
      Effect.map(
        Effect.forEach(targetKinds, (kind) => turn.withPermit(listKind(place, kind, namespace))),
        (found) => found.flat()
      ),
    get: (namespace, name) => getTarget(place, namespace, name)
  }
}
