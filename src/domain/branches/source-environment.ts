/**
 * Repeats in the copying container the variables by which the target's container finds its database. Values that stand
 * in Secrets and ConfigMaps are named again, and the kubelet resolves them.
 *
 * Not here: reading the sources (connection-source.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { firstFromFile } from "../file-variable.ts"
import { asObjects, asString, at, type JsonObject } from "../json.ts"
import { defaultContainer } from "../targets/pod-template.ts"
import { variableReference } from "../variable-text.ts"
import type { Connection, ValueSource } from "./connection-source.ts"

/** The fields `env` and `envFrom` of a container. */
export interface Environment {
  readonly env: ReadonlyArray<JsonObject>
  readonly envFrom: ReadonlyArray<JsonObject>
}

/** Prefix of the target's variables in the copying container, where they cannot meet those of the copy. */
const prefix = "TARGET_"

const renamed = (value: string): string =>
  value.replace(variableReference, (whole, name?: string) => (name === undefined ? whole : `$(${prefix}${name})`))

const referred = (value: string): ReadonlyArray<string> =>
  [...value.matchAll(variableReference)].flatMap(([, name]) => name ?? [])

const entryOf = (container: JsonObject, variable: string): JsonObject | undefined =>
  asObjects(container["env"]).findLast(({ name }) => name === variable)

/** The pod template of the target, and the container that the target names. */
export interface SourceTarget {
  readonly template: JsonObject
  readonly container?: string | undefined
}

/**
 * The container that a variable belongs to: the one that the source names, else one that declares it, of which the
 * target's counts first, else the target's or the usual one.
 */
const containerOf = (
  { container, template }: SourceTarget,
  source: ValueSource & { readonly _tag: "Variable" }
): JsonObject | undefined => {
  const containers = asObjects(at(template, "spec", "containers"))
  const named = (wanted: string | undefined) => containers.filter(({ name }) => name === wanted)
  if (source.container !== undefined) return named(source.container)[0]
  return (
    [...named(container), ...containers].find((one) => entryOf(one, source.variable) !== undefined) ??
    named(container ?? defaultContainer(template))[0]
  )
}

/** The entries of a container up to a variable that it refers to, each before those that need it. */
const copiedEntries = (container: JsonObject, variable: string, seen: Set<string>): ReadonlyArray<JsonObject> => {
  const entry = entryOf(container, variable)
  if (entry === undefined || seen.has(variable)) return []
  seen.add(variable)
  const name = prefix + variable
  const value = asString(entry["value"])
  if (value === undefined) return [{ ...entry, name }]
  return [
    ...referred(value).flatMap((other) => copiedEntries(container, other, seen)),
    { ...entry, name, value: renamed(value) }
  ]
}

/** Maps and Secrets whose keys are variables of the container, under the names that they get here. */
const copiedMaps = (container: JsonObject): ReadonlyArray<JsonObject> =>
  asObjects(container["envFrom"]).map((entry) => ({ ...entry, prefix: prefix + (asString(entry["prefix"]) ?? "") }))

const variableSource = (
  target: SourceTarget,
  source: ValueSource & { readonly _tag: "Variable" }
): Result.Result<Environment, string> => {
  const { variable } = source
  const container = containerOf(target, source)
  if (container === undefined) {
    const named = source.container === undefined ? "" : ` ${quoted(source.container)}`
    return Result.fail(
      `The target has no container${named}, in which the variable ${variable} would be: name a container of its pod ` +
        "template."
    )
  }
  const env = copiedEntries(container, variable, new Set())
  const fromFile = firstFromFile(env)?.slice(prefix.length)
  if (fromFile !== undefined) {
    return Result.fail(
      `The variable ${fromFile} of the target's container ${quoted(asString(container["name"]) ?? "")} comes from a ` +
        "file of its pod (fileKeyRef), which the branch's pod has not: name a variable with a value, or one from a " +
        "Secret or a ConfigMap."
    )
  }
  const envFrom = copiedMaps(container)
  if (env.length === 0 && envFrom.length === 0) {
    return Result.fail(
      `The variable ${variable} is not in the target's container ${quoted(asString(container["name"]) ?? "")}: ` +
        "name a variable that its pod template declares."
    )
  }
  return Result.succeed({ env, envFrom })
}

const unique = (entries: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => [
  ...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values()
]

/** A source that the copying container can read: it takes no part of a variable. */
type ReadableSource = Exclude<ValueSource, { readonly _tag: "Pattern" }>

/** The variable `SOURCE_…` of one part of the connection, from its first source. */
const partSource = (
  target: SourceTarget,
  name: string,
  source: ReadableSource
): Result.Result<Environment & { readonly own: JsonObject }, string> => {
  const own = `SOURCE_${name.toUpperCase()}`
  if (source._tag === "Secret") {
    const valueFrom = { secretKeyRef: { name: source.name, key: source.key } }
    return Result.succeed({ env: [], envFrom: [], own: { name: own, valueFrom } })
  }
  return Result.map(variableSource(target, source), (environment) => ({
    ...environment,
    own: { name: own, value: `$(${prefix}${source.variable})` }
  }))
}

/** The environment of the copying container for the source of the copy; the failure is a sentence for the user. */
export const sourceEnvironment = (connection: Connection, target: SourceTarget): Result.Result<Environment, string> =>
  Result.map(
    Result.all(
      [...connection].flatMap(([name, [first]]) =>
        first === undefined || first._tag === "Pattern" ? [] : [partSource(target, name, first)]
      )
    ),
    (parts) => ({
      env: [...unique(parts.flatMap(({ env }) => env)), ...parts.map(({ own }) => own)],
      envFrom: unique(parts.flatMap(({ envFrom }) => envFrom))
    })
  )
