import type { KubeObject } from "../../ports/kube-api.ts"

const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/** Fields that differ by nature between two versions of an object, or that are compared for themselves. */
const isSameBeside = (left: object, right: object, skipped: ReadonlyArray<string>): boolean => {
  const [a, b] = [left, right].map((object) => Object.entries(object).filter(([key]) => !skipped.includes(key)))
  return (
    a?.length === b?.length && a?.every(([key, value], i) => key === b?.[i]?.[0] && isSame(value, b[i]?.[1])) === true
  )
}

/**
 * Whether nothing but the heartbeat is new. Such a change is no reason to plan a session again (failures.md §4.11).
 */
export const isHeartbeatOnly = (before: KubeObject | undefined, after: KubeObject): boolean =>
  before !== undefined &&
  before.metadata.resourceVersion !== after.metadata.resourceVersion &&
  isSameBeside(before["status"] ?? {}, after["status"] ?? {}, ["connectedTimestamp"]) &&
  isSameBeside(before.metadata, after.metadata, ["resourceVersion", "managedFields"]) &&
  isSameBeside(before, after, ["metadata", "status"])
