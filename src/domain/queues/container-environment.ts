/**
 * The variables of a container as the kubelet makes them of a pod template and ConfigMaps: `env` wins over `envFrom`,
 * the last object of `envFrom` wins over those before it, and `$(NAME)` is the value that the variable has so far.
 *
 * Not here: which variables name queues (queue-variables.ts).
 */

import { quoted } from "../clean-text.ts"
import { asObjects, asString, at, isObject, type JsonObject } from "../json.ts"
import { variableReference } from "../variable-text.ts"

/** The data of ConfigMaps of the workload's namespace by name. One that does not exist is not in it. */
export type ConfigMaps = ReadonlyMap<string, Readonly<Record<string, string>>>

/** The value of a variable, as far as the pod template and ConfigMaps say it. */
export type VariableValue =
  | { readonly _tag: "Known"; readonly text: string }
  /** `why` goes on after "The variable … ". `refers`: the variables that its own text names. */
  | { readonly _tag: "Unknown"; readonly why: string; readonly refers: ReadonlySet<string> }

/** The variables of a container. */
export interface ContainerEnvironment {
  readonly variables: ReadonlyMap<string, VariableValue>
  /** Objects of `envFrom` that are not read, for a sentence. Each may hold any variable. */
  readonly unread: ReadonlyArray<string>
}

/** The longest value that Linux gives to a program, in bytes. References to references could make longer ones. */
const maxValueLength = 131_072

const unknown = (why: string, refers: ReadonlySet<string> = new Set()): VariableValue => ({
  _tag: "Unknown",
  why,
  refers
})
const known = (text: string): VariableValue => ({ _tag: "Known", text })

/** A text of `env` with the values of its references. The kubelet leaves those that it cannot resolve as they are. */
const expanded = (source: string, variables: ReadonlyMap<string, VariableValue>): VariableValue => {
  const refers = new Set<string>()
  let why: string | undefined
  let left = maxValueLength
  const text = source.replace(variableReference, (whole, name?: string) => {
    if (name === undefined) return "$"
    const value = variables.get(name)
    if (value === undefined) {
      why ??= `refers to ${whole}, which the pod template does not define before it`
      return whole
    }
    refers.add(name)
    if (value._tag === "Unknown") {
      why ??= `refers to ${whole}, which ${value.why}`
      return whole
    }
    left -= value.text.length
    if (left >= 0) return value.text
    why ??= "is longer than a program can read"
    return ""
  })
  return why === undefined ? known(text) : unknown(why, refers)
}

const objectName = (reference: JsonObject): string => asString(reference["name"]) ?? ""

const dataOf = (maps: ConfigMaps, name: string, key: string): string | undefined => {
  const data = maps.get(name)
  return data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined
}

/** The value of an entry of `env`; `undefined` if the entry adds none. */
const entryValue = (
  { value, valueFrom }: JsonObject,
  variables: ReadonlyMap<string, VariableValue>,
  maps: ConfigMaps
): VariableValue | undefined => {
  const text = asString(value) ?? ""
  if (text !== "" || !isObject(valueFrom)) return expanded(text, variables)
  const { configMapKeyRef: map, secretKeyRef: secret } = valueFrom
  if (isObject(secret)) {
    return unknown(`comes from the Secret ${quoted(objectName(secret))}, which the operator does not read`)
  }
  if (!isObject(map)) {
    return unknown(`comes from ${Object.keys(valueFrom).join()}, which is known only when a pod starts`)
  }
  const [name, key] = [objectName(map), asString(map["key"]) ?? ""]
  const found = dataOf(maps, name, key)
  if (found !== undefined) return known(found)
  return map["optional"] === true
    ? undefined
    : unknown(`comes from the key ${quoted(key)} of the ConfigMap ${quoted(name)}, which is not there`)
}

/** The ConfigMaps that the containers of a pod template read for their variables, by name. */
export const configMapsOf = (template: JsonObject): ReadonlyArray<string> => {
  const containers = ["containers", "initContainers"].flatMap((field) => asObjects(at(template, "spec", field)))
  const references = containers.flatMap(({ env, envFrom }) => [
    ...asObjects(env).map((entry) => at(entry, "valueFrom", "configMapKeyRef")),
    ...asObjects(envFrom).map((entry) => entry["configMapRef"])
  ])
  return [...new Set(references.filter(isObject).map(objectName))]
}

/** The variables of a container. `change`: another text for one that the template sets, which others refer to. */
export const containerEnvironment = (
  container: JsonObject,
  maps: ConfigMaps,
  change: (name: string, text: string) => string = (_, text) => text
): ContainerEnvironment => {
  const variables = new Map<string, VariableValue>()
  const unread: Array<string> = []
  const define = (name: string, value: VariableValue): void => {
    variables.set(name, value._tag === "Known" ? known(change(name, value.text)) : value)
  }
  for (const { configMapRef: map, prefix, secretRef: secret } of asObjects(container["envFrom"])) {
    if (isObject(secret)) unread.push(`the Secret ${quoted(objectName(secret))}`)
    if (!isObject(map)) continue
    const data = maps.get(objectName(map))
    if (data === undefined) unread.push(`the ConfigMap ${quoted(objectName(map))}, which is not there`)
    for (const [key, text] of Object.entries(data ?? {})) define((asString(prefix) ?? "") + key, known(text))
  }
  for (const entry of asObjects(container["env"])) {
    const name = asString(entry["name"])
    const value = entryValue(entry, variables, maps)
    if (name !== undefined && value !== undefined) define(name, value)
  }
  return { variables, unread }
}
