/**
 * Server-side apply and the ownership of fields (`managedFields`): merges an applied configuration, finds conflicts
 * between managers, and records the owners of every write. Sets of fields as a data structure are in
 * `schema/field-sets.ts`.
 */

import { type JsonObject, asObject, isObject, jsonEqual, setField } from "../../../src/domain/json.ts"
import {
  type ListTypeAt,
  compareLeaves,
  displayPath,
  formatFields,
  isUnder,
  itemStep,
  leavesOf,
  parseFields,
  removePath
} from "../schema/field-sets.ts"
import { type KubeObject, type ManagedFieldsEntry, kubeTime } from "../schema/kube-object.ts"
import { ApiError } from "../wire/status-error.ts"

/** The writer of a request: its `fieldManager`. */
export interface Manager {
  readonly name: string
  readonly operation: "Apply" | "Update"
  readonly subresource?: string
}

interface Ownership {
  readonly entry: ManagedFieldsEntry
  readonly set: Set<string>
}

const sameManager = (entry: ManagedFieldsEntry, manager: Manager): boolean =>
  entry.manager === manager.name &&
  entry.operation === manager.operation &&
  (entry.subresource ?? "") === (manager.subresource ?? "")

const ownershipsOf = (object: KubeObject | undefined): ReadonlyArray<Ownership> =>
  (object?.metadata.managedFields ?? []).map((entry) => ({ entry, set: parseFields(asObject(entry.fieldsV1)) }))

const write = (object: KubeObject, ownerships: ReadonlyArray<Ownership>): void => {
  const entries = ownerships
    .filter(({ set }) => set.size > 0)
    .map(({ entry, set }) => ({ ...entry, fieldsType: "FieldsV1" as const, fieldsV1: formatFields(set) }))
  if (entries.length === 0) delete object.metadata.managedFields
  else object.metadata.managedFields = entries
}

const newEntry = (manager: Manager, apiVersion: string, now: number): ManagedFieldsEntry => ({
  manager: manager.name,
  operation: manager.operation,
  apiVersion,
  time: kubeTime(now),
  fieldsType: "FieldsV1",
  fieldsV1: {},
  ...(manager.subresource === undefined ? {} : { subresource: manager.subresource })
})

/** Replaces the manager's own set. An unchanged set keeps its time. */
const withOwn = (
  others: ReadonlyArray<Ownership>,
  before: Ownership | undefined,
  set: Set<string>,
  fresh: ManagedFieldsEntry
): ReadonlyArray<Ownership> => {
  const unchanged = before !== undefined && jsonEqual([...before.set].toSorted(), [...set].toSorted())
  return [...others, { entry: unchanged ? before.entry : fresh, set }]
}

/** Gives the changed fields of a create, update or patch to its writer, in place. */
export const trackUpdate = (
  before: KubeObject | undefined,
  after: KubeObject,
  manager: Manager,
  { listType, now }: { readonly now: number; readonly listType: ListTypeAt }
): void => {
  const { changed, removed } = compareLeaves(
    before === undefined ? new Map() : leavesOf(before, listType),
    leavesOf(after, listType)
  )
  const all = ownershipsOf(before).map(({ entry, set }) => ({
    entry,
    set: new Set([...set].filter((path) => !removed.has(path) && !(changed.has(path) && !sameManager(entry, manager))))
  }))
  const own = all.find(({ entry }) => sameManager(entry, manager))
  const set = new Set([...(own?.set ?? []), ...changed])
  write(
    after,
    withOwn(
      all.filter((item) => item !== own),
      own,
      set,
      newEntry(manager, after.apiVersion, now)
    )
  )
}

/** Merges the applied configuration into the live object; list items are matched by their keys. */
const merge = (live: unknown, applied: unknown, listType: ListTypeAt, names: ReadonlyArray<string>): unknown => {
  if (isObject(applied)) {
    const result: JsonObject = isObject(live) ? { ...live } : {}
    for (const [key, value] of Object.entries(applied))
      setField(
        result,
        key,
        merge(Object.hasOwn(result, key) ? result[key] : undefined, value, listType, [...names, key])
      )
    return result
  }
  if (Array.isArray(applied) && Array.isArray(live)) {
    const type = listType(names)
    if (type._tag === "Atomic") return structuredClone(applied)
    const result: Array<unknown> = [...live]
    for (const item of applied) {
      const step = itemStep(type, item)
      const index = result.findIndex((other) => itemStep(type, other) === step)
      if (index < 0) result.push(structuredClone(item))
      else if (type._tag === "Map") result[index] = merge(result[index], item, listType, [...names, "[]"])
    }
    return result
  }
  return structuredClone(applied)
}

const conflictError = (
  conflicts: ReadonlyArray<{ readonly path: string; readonly entry: ManagedFieldsEntry }>
): ApiError => {
  const causes = conflicts.map(({ path, entry }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${JSON.stringify(entry.manager)}${
      entry.subresource === undefined ? "" : ` with subresource ${JSON.stringify(entry.subresource)}`
    }${entry.operation === "Update" ? ` using ${entry.apiVersion}` : ""}`,
    field: displayPath(path)
  }))
  const isSingle = causes.length === 1
  const first = causes[0]
  const text =
    isSingle && first !== undefined
      ? `${first.message}: ${first.field}`
      : `${causes.map((cause) => `${cause.message}: ${cause.field}`).join("\n")}`
  return new ApiError(
    409,
    "Conflict",
    `Apply failed with ${causes.length} conflict${isSingle ? "" : "s"}: ${isSingle ? text : `conflicts:\n${text}`}`,
    { causes }
  )
}

/** Whether a set owns the path or something below it. */
const covers = (set: Iterable<string>, path: string): boolean => {
  for (const other of set) if (isUnder(other, path)) return true
  return false
}

/**
 * The object that results from `applied` over `live`, with `managedFields`. Throws 409 if it would change a field of
 * another manager, unless `force`.
 */
export const serverSideApply = (
  live: KubeObject | undefined,
  applied: KubeObject,
  manager: Manager,
  options: { readonly force: boolean; readonly now: number; readonly listType: ListTypeAt }
): KubeObject => {
  const { listType } = options
  const wanted = leavesOf(applied, listType)
  const current = live === undefined ? new Map<string, unknown>() : leavesOf(live, listType)
  const all = ownershipsOf(live)
  const own = all.find(({ entry }) => sameManager(entry, manager))
  const others = all.filter((item) => item !== own)
  const differs = (path: string): boolean =>
    wanted.has(path) && current.has(path) && !jsonEqual(wanted.get(path), current.get(path))
  const conflicts = others.flatMap(({ entry, set }) => [...set].filter(differs).map((path) => ({ path, entry })))
  if (conflicts.length > 0 && !options.force) throw conflictError(conflicts)

  const lost = new Set(conflicts.map(({ path }) => path))
  const remaining = others.map(({ entry, set }) => ({
    entry,
    set: new Set([...set].filter((path) => !lost.has(path)))
  }))
  const result = merge(live === undefined ? {} : structuredClone(live), applied, listType, []) as KubeObject
  for (const path of [...(own?.set ?? [])].toSorted((a, b) => b.length - a.length)) {
    if (covers(wanted.keys(), path) || remaining.some(({ set }) => covers(set, path))) continue
    removePath(result, path, listType)
  }
  result.metadata = { ...result.metadata }
  write(result, withOwn(remaining, own, new Set(wanted.keys()), newEntry(manager, applied.apiVersion, options.now)))
  return result
}
