/**
 * How branches of an engine are made in this cluster: its file `…-branch-config.yaml`, as the published chart writes it
 * (published-chart.md §2.5). A file that cannot be used refuses the branches of its engine, and nothing else.
 *
 * Not here: which engines are switched on (settings.ts), and the pod (branch-pod.ts).
 */

import * as Result from "effect/Result"
import type { Shape } from "../agents/agent-fields.ts"
import { checkField } from "../agents/check-field.ts"
import { MistakeList } from "../fleet/mistakes.ts"
import { type ConfigurationDocument, documentValue } from "../fleet/parse-configuration.ts"
import { asObject, asObjects, asString, at, isObject, type JsonObject } from "../json.ts"
import type { BranchEngine } from "../resources/chart-switches.ts"
import { isImagePattern } from "./branch-image.ts"
import type { BranchPodSettings } from "./branch-pod.ts"
import type { MigrationSettings } from "./migrations/migration-job.ts"

/** How branches are made that name no profile, or that name this one. */
export interface BranchProfile {
  readonly pod: BranchPodSettings
  readonly migrations: MigrationSettings
  /** Patterns of the images that users may name; `undefined` if those of the repositories that others get. */
  readonly allowedImages: ReadonlyArray<string> | undefined
}

/** How branches of one engine are made. */
export interface EngineSettings extends BranchProfile {
  /** The profiles that users may name. */
  readonly profiles: ReadonlyMap<string, BranchProfile>
  /** Fields of the file that have no effect here, for the log. */
  readonly unserved: ReadonlyArray<string>
}

/** The engines that are switched on. The failure says why no branch of the engine can be made. */
export type BranchSettings = Readonly<Partial<Record<BranchEngine, Result.Result<EngineSettings, string>>>>

/** Settings of all engines. */
export interface CommonSettings {
  /** Size limits of a branch's volumes where the engine's file has none, as quantities. */
  readonly data?: string | undefined
  readonly staging?: string | undefined
  readonly leavesUsersOut?: boolean | undefined
}

const defaultLimit = "1Gi"
const defaultClaim = "20Gi"

const text: Shape = { kind: "text" }
const texts: Shape = { kind: "map", of: text }
const quantities: Shape = { kind: "map", of: { kind: "quantity" } }

const objects: Shape = { kind: "list", of: { kind: "map", of: { kind: "any" } } }

const anything: Shape = { kind: "map", of: { kind: "any" } }
const volume: Shape = { kind: "fields", fields: { emptyDir: quantities, ephemeral: anything } }

/** The fields of `dbPod` that have an effect. */
const served = {
  affinity: anything,
  allowedImages: { kind: "list", of: text },
  annotations: texts,
  dbServerArgs: { kind: "list", of: text },
  image: { kind: "map", of: text },
  imagePullPolicy: { kind: "words", words: ["Always", "IfNotPresent", "Never"] },
  imagePullSecrets: { kind: "references" },
  initVolume: volume,
  labels: texts,
  migrationEnv: { kind: "fields", fields: { inherit: { kind: "truth" }, env: objects, envFrom: objects } },
  migrationImages: { kind: "map", of: { kind: "map", of: text } },
  nodeSelector: texts,
  resources: { kind: "fields", fields: { limits: quantities, requests: quantities } },
  storage: {
    kind: "fields",
    fields: {
      kind: { kind: "words", words: ["pvc", "emptyDir"] },
      storageClassName: text,
      dataSize: { kind: "quantity" },
      initSize: { kind: "quantity" }
    }
  },
  tolerations: objects,
  volume
} as const satisfies Readonly<Record<string, Shape>>

const volumeParts = ["emptyDir", "ephemeral"]

/** Fields that have an effect below `dbPod`, where only some of a map have one. */
const servedParts: Readonly<Record<string, ReadonlyArray<string>>> = {
  image: ["registry"],
  initVolume: volumeParts,
  migrationImages: ["flyway"],
  volume: volumeParts
}

const isServed = (name: string): name is keyof typeof served => Object.hasOwn(served, name)

/** The names of those that have an effect, which the chart's notes have too. */
export const servedFields: ReadonlyArray<string> = Object.keys(served)

/** The values that are set. */
const given = (value: unknown): JsonObject =>
  Object.fromEntries(Object.entries(asObject(value)).filter(([, found]) => found !== null && found !== undefined))

/** A value as text, where a mistake may have put anything: the mistake is reported, and the text is not used. */
const textOf = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value))

const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(given(value)).map(([name, found]) => [name, textOf(found)]))

/** Names of Secrets, which the published chart takes as they are. */
const references = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((one: unknown) => (typeof one === "string" ? { name: one } : one)) : value

/** `dbPod` without the parts that have no effect, and their names, which begin with its place in the file. */
const servedPod = (
  field: string,
  pod: JsonObject,
  fields: ReadonlyArray<string>
): { readonly pod: JsonObject; readonly unserved: ReadonlyArray<string> } => {
  const unserved: Array<string> = []
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(pod)) {
    if (!fields.includes(name) || !isServed(name)) {
      unserved.push(`${field}.${name}`)
      continue
    }
    const parts = servedParts[name]
    if (parts === undefined || !isObject(value)) {
      kept[name] = name === "imagePullSecrets" ? references(value) : value
      continue
    }
    const { known, others } = Object.groupBy(Object.keys(value), (part) => (parts.includes(part) ? "known" : "others"))
    unserved.push(...(others ?? []).map((part) => `${field}.${name}.${part}`))
    kept[name] = Object.fromEntries((known ?? []).map((part) => [part, value[part]]))
  }
  return { pod: kept, unserved }
}

const quantityAt = (pod: JsonObject, ...path: ReadonlyArray<string>): string | undefined => {
  const value = at(pod, ...path)
  return value === undefined || value === null || value === "" ? undefined : textOf(value)
}

/** A claim of the pod's own, which goes with it. */
const claim = (size: string, storageClass: string | undefined): object => ({
  ephemeral: {
    volumeClaimTemplate: {
      spec: {
        accessModes: ["ReadWriteOnce"],
        ...(storageClass === undefined ? {} : { storageClassName: storageClass }),
        resources: { requests: { storage: size } }
      }
    }
  }
})

/** A volume that is no folder of the node; `undefined` if it is one. The volume's own field counts before `storage`. */
const volumeOf = (pod: JsonObject, field: "volume" | "initVolume", size: string | undefined): object | undefined => {
  const own = given(pod[field])
  if (own["ephemeral"] !== undefined) return { ephemeral: own["ephemeral"] }
  const storage = given(pod["storage"])
  const isClaim = own["emptyDir"] === undefined && Object.keys(storage).length > 0 && storage["kind"] !== "emptyDir"
  return isClaim ? claim(size ?? defaultClaim, asString(storage["storageClassName"]) || undefined) : undefined
}

/** Fields of a pod that say where it runs; they are taken as they are. */
const placementOf = (pod: JsonObject): JsonObject =>
  Object.fromEntries(
    ["affinity", "nodeSelector", "tolerations"].flatMap((name) => (name in given(pod) ? [[name, pod[name]]] : []))
  )

const podSettings = (pod: JsonObject, common: CommonSettings): BranchPodSettings => {
  const resources = given(pod["resources"])
  const secrets = pod["imagePullSecrets"]
  const serverArguments = pod["dbServerArgs"]
  return {
    repository: asString(at(pod, "image", "registry")) || undefined,
    imagePullPolicy: asString(pod["imagePullPolicy"]),
    imagePullSecrets: Array.isArray(secrets) ? secrets.map((secret: unknown) => textOf(at(secret, "name"))) : [],
    labels: textsOf(pod["labels"]),
    annotations: textsOf(pod["annotations"]),
    resources: Object.keys(resources).length === 0 ? undefined : resources,
    placement: placementOf(pod),
    leavesUsersOut: common.leavesUsersOut,
    serverArguments: Array.isArray(serverArguments) ? serverArguments.map(textOf) : [],
    dataVolume: volumeOf(pod, "volume", quantityAt(pod, "storage", "dataSize") ?? common.data),
    stagingVolume: volumeOf(pod, "initVolume", quantityAt(pod, "storage", "initSize") ?? common.staging),
    dataLimit: quantityAt(pod, "volume", "emptyDir", "sizeLimit") ?? common.data ?? defaultLimit,
    stagingLimit: quantityAt(pod, "initVolume", "emptyDir", "sizeLimit") ?? common.staging ?? defaultLimit
  }
}

/**
 * A program of the user's has the variables of the target only in an image that administrators have named: any user can
 * have an engine's own image print its variables.
 */
const inheritsUnlessSaid = (allowedImages: BranchProfile["allowedImages"]): boolean => allowedImages !== undefined

const migrationSettings = (pod: JsonObject, allowedImages: BranchProfile["allowedImages"]): MigrationSettings => {
  const inherit = at(pod, "migrationEnv", "inherit")
  return {
    repository: asString(at(pod, "migrationImages", "flyway", "registry")) || undefined,
    environment: {
      inherits: typeof inherit === "boolean" ? inherit : inheritsUnlessSaid(allowedImages),
      env: asObjects(at(pod, "migrationEnv", "env")),
      envFrom: asObjects(at(pod, "migrationEnv", "envFrom"))
    }
  }
}

/** The list of patterns in a `dbPod`; `undefined` if it has none. */
const readAllowedImages = (
  field: string,
  { allowedImages: value }: JsonObject,
  mistakes: MistakeList
): BranchProfile["allowedImages"] => {
  if (!Array.isArray(value)) return undefined
  const patterns = value.map(textOf)
  for (const [index, pattern] of patterns.entries()) {
    if (isImagePattern(pattern)) continue
    const cure = "write for example docker.io/library/postgres:*, or * alone for all images"
    mistakes.add(`${field}.allowedImages[${index}]`, pattern, "it must begin with a registry without * and ?", cure)
  }
  return patterns
}

/** A profile with the fields of it that have no effect. */
interface ReadProfile {
  readonly profile: BranchProfile
  readonly unserved: ReadonlyArray<string>
}

/** The file that is read. */
interface Reading {
  readonly common: CommonSettings
  readonly mistakes: MistakeList
}

/** Reads one `dbPod`. `field`: its place in the file. `usual`: the images that are allowed where it says nothing. */
const readPod = (
  field: string,
  value: unknown,
  { common, mistakes }: Reading,
  usual?: BranchProfile["allowedImages"]
): ReadProfile => {
  if (value !== undefined && value !== null && !isObject(value))
    mistakes.add(field, value, "it must be a map", "write keys below it")
  const { pod, unserved } = servedPod(field, given(value), servedFields)
  for (const [name, found] of Object.entries(pod))
    if (isServed(name)) checkField(served[name], found, `${field}.${name}`, mistakes)
  const allowedImages = readAllowedImages(field, pod, mistakes) ?? usual
  const migrations = migrationSettings(pod, allowedImages)
  return { profile: { pod: podSettings(pod, common), migrations, allowedImages }, unserved }
}

/** Reads the profiles. Each is a whole `dbPod`; one that says nothing about images must not allow more of them. */
const readProfiles = (
  value: unknown,
  usual: BranchProfile,
  reading: Reading
): ReadonlyArray<readonly [name: string, read: ReadProfile]> => {
  if (value !== undefined && !isObject(value))
    reading.mistakes.add("profiles", value, "it must be a map", "write the names of profiles below it")
  return Object.entries(given(value)).map(([name, found]) => {
    const field = `profiles.${name}`
    if (!isObject(found)) reading.mistakes.add(field, found, "it must be a map", "write dbPod below it")
    const { dbPod, ...others } = given(found)
    const { profile, unserved } = readPod(`${field}.dbPod`, dbPod, reading, usual.allowedImages)
    const without = [...Object.keys(others).map((other) => `${field}.${other}`), ...unserved]
    return [name, { profile, unserved: without }]
  })
}

/** Reads the file of an engine; the failure is a sentence for the users of its branches. */
export const readEngineSettings = (
  engine: BranchEngine,
  document: ConfigurationDocument,
  common: CommonSettings
): Result.Result<EngineSettings, string> => {
  const mistakes = new MistakeList(`${engine}-branch-config.yaml`)
  const value = documentValue(document, mistakes)
  if (value !== undefined && value !== null && !isObject(value))
    mistakes.add("", value, "the file must hold a map", "write dbPod at its top level")
  const { dbPod, profiles, ...others } = given(value)
  const reading = { common, mistakes }
  const usual = readPod("dbPod", dbPod, reading)
  const read = readProfiles(profiles, usual.profile, reading)
  const [first] = mistakes.mistakes
  if (first !== undefined) return Result.fail(first.message)
  return Result.succeed({
    ...usual.profile,
    profiles: new Map(read.map(([name, { profile }]) => [name, profile])),
    unserved: [...Object.keys(others), ...usual.unserved, ...read.flatMap(([, { unserved }]) => unserved)]
  })
}
