/**
 * The environment of a container: `env`, `envFrom`, the downward API, `$(NAME)`, and the entries of ConfigMaps and
 * Secrets, which volumes read too. Failures are a real kubelet's sentences. Writing files is `container-volumes.ts`'s
 * part.
 */

import { Result } from "effect"
import { isObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectReader } from "../store/object-reader.ts"
import { configMaps, secrets } from "../store/resource-refs.ts"
import { find, nameOf } from "../store/store-access.ts"
import type { ContainerSpec } from "./pod-spec.ts"

/** The sources of values for environment and volumes. */
export interface PodSources {
  readonly store: ObjectReader
  readonly pod: KubeObject
  readonly namespace: string
  readonly podIp: string
  readonly nodeName: string
  readonly serviceAccountName: string
}

/** The decoded entries of a ConfigMap or Secret, or `undefined` if there is no such object. */
export const readEntries = (
  store: ObjectReader,
  kind: "ConfigMap" | "Secret",
  namespace: string,
  name: string
): ReadonlyMap<string, Buffer> | undefined => {
  const object = find(store, kind === "ConfigMap" ? configMaps : secrets, namespace, name)
  if (object === undefined) return undefined
  const entries = new Map<string, Buffer>()
  const add = (field: unknown, encoding: "utf8" | "base64"): void => {
    if (!isObject(field)) return
    for (const [key, value] of Object.entries(field)) {
      if (typeof value === "string") entries.set(key, Buffer.from(value, encoding))
    }
  }
  add(object["data"], kind === "ConfigMap" ? "utf8" : "base64")
  if (kind === "ConfigMap") add(object["binaryData"], "base64")
  return entries
}

const lines = (map: Record<string, string> | undefined): string =>
  Object.entries(map ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, v]) => `${k}=${JSON.stringify(v)}`)
    .join("\n")

/** The fields of the downward API by their paths. */
const fields = new Map<string, (sources: PodSources) => string>([
  ["metadata.name", ({ pod }) => nameOf(pod)],
  ["metadata.namespace", ({ namespace }) => namespace],
  ["metadata.uid", ({ pod }) => pod.metadata.uid ?? ""],
  ["metadata.labels", ({ pod }) => lines(pod.metadata.labels)],
  ["metadata.annotations", ({ pod }) => lines(pod.metadata.annotations)],
  ["spec.nodeName", ({ nodeName }) => nodeName],
  ["spec.serviceAccountName", ({ serviceAccountName }) => serviceAccountName],
  ["status.podIP", ({ podIp }) => podIp],
  ["status.podIPs", ({ podIp }) => podIp],
  ["status.hostIP", () => "127.0.0.1"],
  ["status.hostIPs", () => "127.0.0.1"]
])

/** The value of a downward API field path, or `undefined` if there is no such field. */
export const fieldValue = (sources: PodSources, fieldPath: string): string | undefined => {
  const { annotations, labels } = sources.pod.metadata
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/u.exec(fieldPath)
  if (keyed?.[2] !== undefined) return (keyed[1] === "labels" ? labels : annotations)?.[keyed[2]] ?? ""
  return fields.get(fieldPath)?.(sources)
}

/** Kubernetes' rule for env and arguments: `$(NAME)` → value; `$$(NAME)` → `$(NAME)`; unknown names stay as written. */
export const expandVariables = (text: string, env: ReadonlyMap<string, string>): string =>
  text.replaceAll(/\$\$|\$\(([^()]+)\)/gu, (found, name: string | undefined) =>
    name === undefined ? "$" : (env.get(name) ?? found)
  )

type EnvVarSpec = NonNullable<ContainerSpec["env"]>[number]

const entryValue = (
  sources: PodSources,
  kind: "ConfigMap" | "Secret",
  ref: { readonly name: string; readonly key: string; readonly optional?: boolean | undefined }
): Result.Result<string | undefined, string> => {
  const entries = readEntries(sources.store, kind, sources.namespace, ref.name)
  const value = entries?.get(ref.key)
  if (value !== undefined) return Result.succeed(value.toString("utf8"))
  if (ref.optional === true) return Result.succeed(undefined)
  return Result.fail(
    entries === undefined
      ? `${kind.toLowerCase()} "${ref.name}" not found`
      : `couldn't find key ${ref.key} in ${kind} ${sources.namespace}/${ref.name}`
  )
}

const variableValue = (
  sources: PodSources,
  variable: EnvVarSpec,
  env: ReadonlyMap<string, string>
): Result.Result<string | undefined, string> => {
  const from = variable.valueFrom
  if (from === undefined) return Result.succeed(expandVariables(variable.value ?? "", env))
  if (from.configMapKeyRef !== undefined) return entryValue(sources, "ConfigMap", from.configMapKeyRef)
  if (from.secretKeyRef !== undefined) return entryValue(sources, "Secret", from.secretKeyRef)
  if (from.fieldRef !== undefined) {
    const value = fieldValue(sources, from.fieldRef.fieldPath)
    return value === undefined
      ? Result.fail(`env ${variable.name}: field path "${from.fieldRef.fieldPath}" is not supported`)
      : Result.succeed(value)
  }
  return Result.fail(`env ${variable.name}: valueFrom must be fieldRef, configMapKeyRef or secretKeyRef`)
}

/**
 * Later variables win: `base` (the kubelet's own), then `envFrom`, then `env`. A failure is the sentence that a kubelet
 * shows under `CreateContainerConfigError`.
 */
export const containerEnv = (
  sources: PodSources,
  container: ContainerSpec,
  base: ReadonlyMap<string, string>
): Result.Result<ReadonlyMap<string, string>, string> => {
  const env = new Map(base)
  for (const from of container.envFrom ?? []) {
    for (const [kind, ref] of [
      ["ConfigMap", from.configMapRef],
      ["Secret", from.secretRef]
    ] as const) {
      if (ref === undefined) continue
      const entries = readEntries(sources.store, kind, sources.namespace, ref.name)
      if (entries === undefined && ref.optional !== true)
        return Result.fail(`${kind.toLowerCase()} "${ref.name}" not found`)
      for (const [key, value] of entries ?? []) env.set(`${from.prefix ?? ""}${key}`, value.toString("utf8"))
    }
  }
  for (const variable of container.env ?? []) {
    const value = variableValue(sources, variable, env)
    if (Result.isFailure(value)) return Result.fail(value.failure)
    if (value.success !== undefined) env.set(variable.name, value.success)
  }
  return Result.succeed(env)
}
