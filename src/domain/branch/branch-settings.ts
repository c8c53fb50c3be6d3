/**
 * How branches of an engine are made in this cluster: its file `…-branch-config.yaml`, as the published chart writes it
 * (published-chart.md §2.5). A file that cannot be used refuses the branches of its engine, and nothing else.
 *
 * Not here: which engines are switched on (settings.ts), and the pod (branch-pod.ts).
 */

import * as Result from "effect/Result"
import type { Shape } from "../agent/agent-fields.ts"
import { checkField } from "../agent/check-field.ts"
import { MistakeList } from "../fleet/mistakes.ts"
import { type ConfigurationDocument, documentValue } from "../fleet/parse-configuration.ts"
import { asObject, asObjects, asString, at, isObject, type JsonObject } from "../json.ts"
import type { BranchEngine } from "../resources/chart-switches.ts"
import type { BranchPodSettings } from "./branch-pod.ts"
import type { MigrationSettings } from "./migrations/migration-job.ts"

/** How branches of one engine are made. */
export interface EngineSettings {
  readonly pod: BranchPodSettings
  readonly migrations: MigrationSettings
  /** Images that users may name, as patterns in which `*` is any text; nothing: all. */
  readonly allowedImages: ReadonlyArray<string> | undefined
  /** Fields of the file that have no effect here, for the log. */
  readonly unserved: ReadonlyArray<string>
}

/** The engines that are switched on. The failure says why no branch of the engine can be made. */
export type BranchSettings = Readonly<Partial<Record<BranchEngine, Result.Result<EngineSettings, string>>>>

/** Size limits of a branch's volumes where the engine's file has none, as quantities. */
export interface VolumeLimits {
  readonly data?: string | undefined
  readonly staging?: string | undefined
}

const usualLimit = "1Gi"

const text: Shape = { kind: "text" }
const texts: Shape = { kind: "map", of: text }
const quantities: Shape = { kind: "map", of: { kind: "quantity" } }

const objects: Shape = { kind: "list", of: { kind: "map", of: { kind: "any" } } }

/** The fields of `dbPod` that have an effect. */
const served = {
  allowedImages: { kind: "list", of: text },
  annotations: texts,
  image: { kind: "map", of: text },
  imagePullPolicy: { kind: "words", words: ["Always", "IfNotPresent", "Never"] },
  imagePullSecrets: { kind: "references" },
  labels: texts,
  migrationEnv: { kind: "fields", fields: { inherit: { kind: "truth" }, env: objects, envFrom: objects } },
  migrationImages: { kind: "map", of: { kind: "map", of: text } },
  resources: { kind: "fields", fields: { limits: quantities, requests: quantities } },
  volume: { kind: "map", of: { kind: "map", of: { kind: "quantity" } } }
} as const satisfies Readonly<Record<string, Shape>>

/** Fields that have an effect below `dbPod`, where only some of a map have one. */
const servedParts: Readonly<Record<string, ReadonlyArray<string>>> = {
  image: ["registry"],
  migrationImages: ["flyway"],
  volume: ["emptyDir"]
}

const isServed = (name: string): name is keyof typeof served => Object.hasOwn(served, name)

/** The values that are set. */
const given = (value: unknown): JsonObject =>
  Object.fromEntries(Object.entries(asObject(value)).filter(([, found]) => found !== null && found !== undefined))

const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(given(value)).map(([name, found]) => [name, String(found)]))

/** Names of Secrets, which the published chart takes as they are. */
const references = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((one: unknown) => (typeof one === "string" ? { name: one } : one)) : value

/** `dbPod` without the parts that have no effect, and their names. */
const servedPod = (pod: JsonObject): { readonly pod: JsonObject; readonly unserved: ReadonlyArray<string> } => {
  const unserved: Array<string> = []
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(pod)) {
    if (!isServed(name)) {
      unserved.push(`dbPod.${name}`)
      continue
    }
    const parts = servedParts[name]
    if (parts === undefined || !isObject(value)) {
      kept[name] = name === "imagePullSecrets" ? references(value) : value
      continue
    }
    const { known, others } = Object.groupBy(Object.keys(value), (part) => (parts.includes(part) ? "known" : "others"))
    unserved.push(...(others ?? []).map((part) => `dbPod.${name}.${part}`))
    kept[name] = Object.fromEntries((known ?? []).map((part) => [part, value[part]]))
  }
  return { pod: kept, unserved }
}

const quantityAt = (pod: JsonObject, ...path: ReadonlyArray<string>): string | undefined => {
  const value = at(pod, ...path)
  return value === undefined || value === null || value === "" ? undefined : String(value)
}

const podSettings = (pod: JsonObject, limits: VolumeLimits): BranchPodSettings => {
  const resources = given(pod["resources"])
  const secrets = pod["imagePullSecrets"]
  return {
    repository: asString(at(pod, "image", "registry")) || undefined,
    imagePullPolicy: asString(pod["imagePullPolicy"]),
    imagePullSecrets: Array.isArray(secrets) ? secrets.map((secret: unknown) => String(at(secret, "name"))) : [],
    labels: textsOf(pod["labels"]),
    annotations: textsOf(pod["annotations"]),
    resources: Object.keys(resources).length === 0 ? undefined : resources,
    dataLimit: quantityAt(pod, "volume", "emptyDir", "sizeLimit") ?? limits.data ?? usualLimit,
    stagingLimit: limits.staging ?? usualLimit
  }
}

const migrationSettings = (pod: JsonObject): MigrationSettings => ({
  repository: asString(at(pod, "migrationImages", "flyway", "registry")) || undefined,
  environment: {
    inherits: at(pod, "migrationEnv", "inherit") !== false,
    env: asObjects(at(pod, "migrationEnv", "env")),
    envFrom: asObjects(at(pod, "migrationEnv", "envFrom"))
  }
})

/** Reads the file of an engine; the failure is a sentence for the users of its branches. */
export const readEngineSettings = (
  engine: BranchEngine,
  document: ConfigurationDocument,
  limits: VolumeLimits
): Result.Result<EngineSettings, string> => {
  const mistakes = new MistakeList(`${engine}-branch-config.yaml`)
  const value = documentValue(document, mistakes)
  if (value !== undefined && value !== null && !isObject(value))
    mistakes.add("", value, "the file must hold a map", "write dbPod at its top level")
  const { dbPod, ...others } = given(value)
  if (dbPod !== undefined && !isObject(dbPod)) mistakes.add("dbPod", dbPod, "it must be a map", "write keys below it")
  const { pod, unserved } = servedPod(given(dbPod))
  for (const [name, found] of Object.entries(pod))
    if (isServed(name)) checkField(served[name], found, `dbPod.${name}`, mistakes)
  const [first] = mistakes.mistakes
  if (first !== undefined) return Result.fail(first.message)
  const allowed = pod["allowedImages"]
  return Result.succeed({
    pod: podSettings(pod, limits),
    migrations: migrationSettings(pod),
    allowedImages: Array.isArray(allowed) ? allowed.map(String) : undefined,
    unserved: [...Object.keys(others), ...unserved]
  })
}
