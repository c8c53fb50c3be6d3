/**
 * The changes of a pod that is being created, so that its programs read the temporary queues, as a JSON patch (RFC
 * 6902).
 *
 * Not here: which pods get it (pod-of-workload.ts), and the values (environment-updates.ts).
 */

import { asArray, at, isObject, type JsonObject, jsonEqual } from "../json.ts"
import { literalValue } from "../variable-text.ts"
import type { VariableUpdates } from "./environment-updates.ts"

/** The label of a pod that has the names of a split's queues: `SplitRecord.uid`. Published (sqs.md of the docs). */
export const patchedLabel = "operator.metalbear.co/patched"

/** An operation of a JSON patch. */
export interface PatchOperation {
  readonly op: "add" | "replace"
  /** A JSON pointer (RFC 6901). */
  readonly path: string
  readonly value: unknown
}

/** The new values of the containers that name queues, by the name of the container. */
export type ContainerUpdates = ReadonlyMap<string, VariableUpdates>

/** Whether an entry says the same already. API servers leave an empty value out. */
const isWritten = (entry: unknown, wanted: object): boolean =>
  isObject(entry) && jsonEqual({ value: "", ...entry }, wanted)

/** The last entry of a name is the one that counts, and those before it may be referred to from between. */
const environmentPatch = (path: string, env: unknown, updates: VariableUpdates): ReadonlyArray<PatchOperation> => {
  const entries = asArray(env)
  const last = new Map(entries.map((entry, index) => [at(entry, "name"), index]))
  const replaced: Array<PatchOperation> = []
  const added: Array<object> = []
  for (const [name, text] of updates) {
    const value = { name, value: literalValue(text) }
    const index = last.get(name)
    if (index === undefined) added.push(value)
    else if (!isWritten(entries[index], value)) replaced.push({ op: "replace", path: `${path}/${index}`, value })
  }
  if (Array.isArray(env))
    return [...replaced, ...added.map((value) => ({ op: "add", path: `${path}/-`, value }) as const)]
  return added.length === 0 ? [] : [{ op: "add", path, value: added }]
}

const labelPatch = (labels: unknown, split: string): ReadonlyArray<PatchOperation> => {
  if (!isObject(labels)) return [{ op: "add", path: "/metadata/labels", value: { [patchedLabel]: split } }]
  const key = patchedLabel.replaceAll("/", "~1")
  return labels[patchedLabel] === split ? [] : [{ op: "add", path: `/metadata/labels/${key}`, value: split }]
}

/**
 * The patch that gives a pod the names of a split; empty if it has them, since API servers ask twice. `split`:
 * `SplitRecord.uid`. `pod`: as the review of its creation has it.
 */
export const podPatch = (pod: JsonObject, split: string, updates: ContainerUpdates): ReadonlyArray<PatchOperation> => [
  ...["initContainers", "containers"].flatMap((field) =>
    asArray(at(pod, "spec", field)).flatMap((container, index) => {
      const values = updates.get(String(at(container, "name")))
      return values === undefined ? [] : environmentPatch(`/spec/${field}/${index}/env`, at(container, "env"), values)
    })
  ),
  ...labelPatch(at(pod, "metadata", "labels"), split)
]
