/**
 * Sets of owned fields, as `metadata.managedFields[].fieldsV1` holds them (structured-merge-diff): reading, writing,
 * comparing, removing. The owners of fields are decided in `http/server-side-apply.ts`.
 */

import { type JsonObject, isObject, jsonEqual } from "../../../src/domain/json.ts"
import type { ListType } from "./structural-schema.ts"

/** Paths of leaves, their steps joined by `\n`. Steps: `f:<field>`, `k:<JSON of the keys>`, `v:<JSON>`. */
export type FieldSet = ReadonlySet<string>

export type ListTypeAt = (path: ReadonlyArray<string>) => ListType

const separator = "\n"

/** Defaults of keys that an item may leave out (k8s.io/api: `ports[].protocol`). */
const keyDefaults: Record<string, string> = { protocol: "TCP" }

const keysOf = (item: JsonObject, keys: ReadonlyArray<string>): string =>
  JSON.stringify(
    Object.fromEntries(
      keys
        .toSorted()
        .map((key) => [key, item[key] ?? keyDefaults[key]])
        .filter(([, value]) => value !== undefined)
    )
  )

/** The step that identifies an item of an associative list or set; `undefined` in an atomic one. */
export const itemStep = (type: ListType, item: unknown): string | undefined => {
  switch (type._tag) {
    case "Atomic":
      return undefined
    case "Set":
      return `v:${JSON.stringify(item)}`
    case "Map":
      return isObject(item) ? `k:${keysOf(item, type.keys)}` : undefined
  }
}

/** Paths that never belong to a manager. */
const unowned = new Set([
  "apiVersion",
  "kind",
  "metadata",
  ...[
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields"
  ].map((field) => `metadata.${field}`),
  "metadata.deletionGracePeriodSeconds",
  "metadata.generateName",
  "metadata.selfLink"
])

/**
 * The leaves of an object with their values: scalars, atomic lists, empty objects, items of sets. Items of associative
 * lists count as leaves too.
 */
export const leavesOf = (object: unknown, listType: ListTypeAt): ReadonlyMap<string, unknown> => {
  const leaves = new Map<string, unknown>()
  const visit = (value: unknown, steps: ReadonlyArray<string>, names: ReadonlyArray<string>): void => {
    const here = names.join(".")
    if (isObject(value) && Object.keys(value).length > 0) {
      for (const [key, child] of Object.entries(value)) {
        if (child === undefined) continue
        const path = names.length === 0 ? key : `${here}.${key}`
        if (unowned.has(path) && path !== "metadata") continue
        visit(child, [...steps, `f:${key}`], [...names, key])
      }
      return
    }
    if (Array.isArray(value) && value.length > 0) {
      const type = listType(names)
      const identified = value.map((item) => itemStep(type, item))
      if (identified.every((step) => step !== undefined)) {
        value.forEach((item, index) => {
          const step = [...steps, identified[index] ?? ""]
          leaves.set(step.join(separator), type._tag === "Set" ? item : undefined)
          if (type._tag === "Map") visit(item, step, [...names, "[]"])
        })
        return
      }
    }
    if (steps.length > 0 && here !== "metadata") leaves.set(steps.join(separator), value)
  }
  visit(object, [], [])
  return leaves
}

/** `fieldsV1` → set of leaf paths. */
export const parseFields = (fields: JsonObject): Set<string> => {
  const set = new Set<string>()
  const visit = (node: JsonObject, steps: ReadonlyArray<string>): void => {
    const children = Object.entries(node).filter(([key]) => key !== ".")
    if ((children.length === 0 || Object.hasOwn(node, ".")) && steps.length > 0) {
      if (children.length === 0 || steps.at(-1)?.startsWith("k:") === true) set.add(steps.join(separator))
    }
    for (const [key, child] of children) if (isObject(child)) visit(child, [...steps, key])
  }
  visit(fields, [])
  return set
}

/** Set of leaf paths → `fieldsV1`. */
export const formatFields = (set: FieldSet): JsonObject => {
  const root: JsonObject = {}
  for (const path of [...set].toSorted()) {
    let node = root
    for (const step of path.split(separator)) {
      const next = node[step]
      if (isObject(next)) node = next
      else {
        const created: JsonObject = {}
        node[step] = created
        node = created
      }
    }
  }
  // A "." says that the manager owns the item itself, not only fields of the item.
  for (const path of set) {
    let node: JsonObject = root
    for (const step of path.split(separator)) {
      const next = node[step]
      if (isObject(next)) node = next
    }
    if (path.split(separator).at(-1)?.startsWith("k:") === true && Object.keys(node).length > 0) node["."] = {}
  }
  return root
}

/** `f:spec\nf:replicas` → `.spec.replicas`, as conflict messages show it. */
export const displayPath = (path: string): string =>
  path
    .split(separator)
    .map((step) => {
      const rest = step.slice(2)
      if (step.startsWith("f:")) return `.${rest}`
      if (step.startsWith("v:")) return `[=${rest}]`
      const keys: unknown = JSON.parse(rest)
      return `[${Object.entries(isObject(keys) ? keys : {})
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .join(",")}]`
    })
    .join("")

/** Compares two objects: `changed` paths are new or different in `after`, `removed` paths are missing there. */
export const compareLeaves = (
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>
): { readonly changed: FieldSet; readonly removed: FieldSet } => ({
  changed: new Set(
    [...after].filter(([path, value]) => !before.has(path) || !jsonEqual(before.get(path), value)).map(([path]) => path)
  ),
  removed: new Set([...before.keys()].filter((path) => !after.has(path)))
})

export const isUnder = (path: string, ancestor: string): boolean =>
  path === ancestor || path.startsWith(ancestor + separator)

/** Removes the value at a path, and the lists and objects that become empty by the removal. */
export const removePath = (object: JsonObject, path: string, listType: ListTypeAt): void => {
  const steps = path.split(separator)
  const remove = (node: unknown, index: number, names: ReadonlyArray<string>): void => {
    const step = steps[index]
    if (step === undefined) return
    const last = index === steps.length - 1
    if (step.startsWith("f:")) {
      if (!isObject(node)) return
      const key = step.slice(2)
      if (last) delete node[key]
      else {
        remove(node[key], index + 1, [...names, key])
        const child = node[key]
        if (isObject(child) && Object.keys(child).length === 0) delete node[key]
        if (Array.isArray(child) && child.length === 0) delete node[key]
      }
      return
    }
    if (!Array.isArray(node)) return
    const type = listType(names)
    const position = node.findIndex((item) => itemStep(type, item) === step)
    if (position < 0) return
    if (last) node.splice(position, 1)
    else remove(node[position], index + 1, [...names, "[]"])
  }
  remove(object, 0, [])
}
