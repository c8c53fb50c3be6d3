/**
 * The pod of a copy, made from the pod template of its target (operator-api.md §9.4). Its target's program does not run
 * in it: the container sleeps, with the environment and the volumes that the program would have.
 *
 * Not here: reading the template (copy-source.ts), and when the pod ends (copy-life.ts).
 */

import * as Result from "effect/Result"
import { withoutEnd } from "../clean-text.ts"
import { asObject, asObjects, asString, at, type JsonObject, omit } from "../json.ts"
import { ownerLabel } from "../sessions/names.ts"
import { chooseContainer, defaultContainerAnnotation } from "../targets/container-choice.ts"
import { copyLabel, type CopyRecord, recordAnnotation } from "./copy-record.ts"
import type { CopyRequest } from "./copy-request.ts"

/** The agent's image, whose `sleep` the copied container runs: the target's own image may have none. */
export interface CopyImage {
  readonly image: string
  readonly imagePullPolicy: string
  readonly imagePullSecrets: ReadonlyArray<string>
  /** Whether the cluster gives pods their users, and refuses others. */
  readonly leavesUsersOut?: boolean | undefined
}

/** Longest name of a pod that is a host name and a label's value too. */
const maxName = 63
/** Hex digits at the end of a copy's name. */
const suffixLength = 8
/** Seconds that the other containers of a copy get to end; a sleeping one takes all of them. */
const maxGrace = 5
/** The user of a sleeping container that must not be root; the agent's image names none. */
const nobody = 65_532

/** Labels by which controllers know their own pods, and by which a Service finds one pod of a stateful set. */
const controllersLabels: ReadonlyArray<string> = [
  "pod-template-hash",
  "rollouts-pod-template-hash",
  "controller-revision-hash",
  "statefulset.kubernetes.io/pod-name",
  "apps.kubernetes.io/pod-index",
  "controller-uid",
  "job-name",
  "batch.kubernetes.io/controller-uid",
  "batch.kubernetes.io/job-name",
  "batch.kubernetes.io/job-completion-index"
]

/** Fields that the cluster sets on a pod, or that would end the copy early. */
const podsOwnFields: ReadonlyArray<string> = [
  "nodeName",
  "hostname",
  "subdomain",
  "ephemeralContainers",
  "priority",
  "preemptionPolicy",
  "overhead",
  "schedulingGates",
  "activeDeadlineSeconds"
]

const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
const probes = ["livenessProbe", "readinessProbe", "startupProbe"] as const

/** Name of a new copy's pod. `session`: the id of its first session as an object's name. */
export const copyName = (target: string, session: string): string => {
  const suffix = session.slice(-suffixLength)
  const room = maxName - "mirrord-copy--".length - suffixLength
  return `mirrord-copy-${withoutEnd(target.replaceAll(".", "-").slice(0, room), "-")}-${suffix}`
}

/** The container that sessions on the copy use, by the same rules as in any pod. */
const chosenContainer = (
  { path, target }: CopyRequest,
  template: JsonObject,
  containers: ReadonlyArray<JsonObject>
): Result.Result<string, string> => {
  const statuses = containers.flatMap((container) => {
    const name = asString(container["name"])
    return name === undefined ? [] : [{ name }]
  })
  // Kubelets list containers by name, and the choice goes by that order.
  statuses.sort((a, b) => (a.name < b.name ? -1 : 1))
  const annotations = asObject(at(template, "metadata", "annotations")) as Readonly<Record<string, string>>
  const choice = chooseContainer(statuses, annotations, target.container)
  if (choice !== undefined) return Result.succeed(choice.status.name)
  return Result.fail(
    target.container === undefined || statuses.length === 0
      ? `${path} has no container left to copy; take one out of feature.copy_target.exclude_containers.`
      : `${path} has no container ${target.container}; name one of ${statuses.map(({ name }) => name).join(", ")}.`
  )
}

/** Whether a volume is the token that the cluster has added to a pod; it adds another to the copy. */
const isToken = ({ name }: JsonObject): boolean => asString(name)?.startsWith("kube-api-access-") === true

const withoutPortOfNode = (port: JsonObject): JsonObject => omit(port, "hostPort")

/** A container without probes, and without the port of the node, which the copied pod may hold. */
const quiet = (container: JsonObject): JsonObject => {
  const mounts = asObjects(container["volumeMounts"]).filter(
    (mount) => !(isToken(mount) && mount["mountPath"] === tokenPath)
  )
  const ports = asObjects(container["ports"]).map(withoutPortOfNode)
  return {
    ...omit(container, ...probes, "volumeMounts", "ports"),
    ...(ports.length === 0 ? {} : { ports }),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts })
  }
}

/** The container that sessions use: it sleeps. `podSecurity`: the security context of the pod. */
const sleeping = (container: JsonObject, podSecurity: JsonObject, image: CopyImage | undefined): JsonObject => {
  const security = asObject(container["securityContext"])
  const effective = { ...podSecurity, ...security }
  const needsUser =
    image !== undefined &&
    image.leavesUsersOut !== true &&
    effective["runAsNonRoot"] === true &&
    (effective["runAsUser"] ?? undefined) === undefined
  return {
    ...omit(quiet(container), "args", "lifecycle", ...(image === undefined ? [] : ["workingDir"])),
    command: ["sleep", "infinity"],
    ...(image === undefined ? {} : { image: image.image, imagePullPolicy: image.imagePullPolicy }),
    ...(needsUser ? { securityContext: { ...security, runAsUser: nobody } } : {})
  }
}

const pullSecrets = (spec: JsonObject, image: CopyImage | undefined): object => {
  const own = asObjects(spec["imagePullSecrets"])
  const names = new Set(own.map(({ name }) => name))
  const more = (image?.imagePullSecrets ?? []).filter((name) => !names.has(name)).map((name) => ({ name }))
  return own.length + more.length === 0 ? {} : { imagePullSecrets: [...own, ...more] }
}

/** The spec of a copy's pod. `container`: the container that sleeps. */
const copiedSpec = (
  template: JsonObject,
  request: CopyRequest,
  container: string,
  image: CopyImage | undefined
): JsonObject => {
  const spec = asObject(template["spec"])
  const podSecurity = asObject(spec["securityContext"])
  const without = (names: ReadonlyArray<string> | null | undefined, containers: unknown): ReadonlyArray<JsonObject> =>
    asObjects(containers).filter(({ name }) => names?.includes(asString(name) ?? "") !== true)
  const init = without(request.spec.exclude_init_containers, spec["initContainers"]).map(quiet)
  const containers = without(request.spec.exclude_containers, spec["containers"])
  const volumes = asObjects(spec["volumes"]).filter((volume) => !isToken(volume))
  const grace = spec["terminationGracePeriodSeconds"]
  return {
    ...omit(spec, ...podsOwnFields, "initContainers", "containers", "volumes", "imagePullSecrets"),
    ...(init.length === 0 ? {} : { initContainers: init }),
    containers: containers.map((one) => (one["name"] === container ? sleeping(one, podSecurity, image) : quiet(one))),
    ...(volumes.length === 0 ? {} : { volumes }),
    ...pullSecrets(spec, image),
    terminationGracePeriodSeconds: typeof grace === "number" && grace < maxGrace ? grace : maxGrace
  }
}

/** A copy that is to be made. */
export interface NewCopy {
  readonly name: string
  readonly namespace: string
  readonly request: CopyRequest
  readonly template: JsonObject
  /** Labels by which the target's controller finds its pods, if these are in its template. */
  readonly selector: ReadonlyArray<string>
  /** The record but for the container, which is chosen here. */
  readonly record: Omit<CopyRecord, "container" | "target" | "spec">
  /** Undefined: the copied container keeps its image, which must have a `sleep`. */
  readonly image: CopyImage | undefined
}

/** The pod of a new copy; fails with a sentence. */
export const copiedPod = (copy: NewCopy): Result.Result<JsonObject, string> => {
  const { image, name, namespace, record, request, selector, template } = copy
  const excluded = request.spec.exclude_containers ?? []
  const left = asObjects(at(template, "spec", "containers")).filter(
    (container) => !excluded.includes(asString(container["name"]) ?? "")
  )
  return Result.map(chosenContainer(request, template, left), (container) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: {
        ...omit(asObject(at(template, "metadata", "labels")), ...controllersLabels, ...selector),
        ...ownerLabel,
        [copyLabel]: "true"
      },
      annotations: {
        ...omit(asObject(at(template, "metadata", "annotations")), "kubectl.kubernetes.io/last-applied-configuration"),
        // Webhooks may add containers, and a primary's session names the pod only.
        [defaultContainerAnnotation]: container,
        ...recordAnnotation({ ...record, spec: request.sent, target: request.path, container })
      }
    },
    spec: copiedSpec(template, request, container, image)
  }))
}

/** The labels that a job finds its pods by: a job whose selector the user wrote would take the copy for its own pod. */
export const jobSelector = (kind: string, object: unknown): ReadonlyArray<string> =>
  kind === "job" ? Object.keys(asObject(at(object, "spec", "selector", "matchLabels"))) : []
