/**
 * Recognizes changes of an object that are only its heartbeat. Writes no heartbeats: the controllers of sessions do.
 */

import { jsonEqual } from "../../domain/json.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/** Whether all fields are equal but the skipped ones, which differ always or are compared apart. */
const isSameBeside = (left: object, right: object, skipped: ReadonlySet<string>): boolean => {
  if (left === right) return true
  const [a, b] = [left as Readonly<Record<string, unknown>>, right as Readonly<Record<string, unknown>>]
  for (const key of Object.keys(a)) if (!skipped.has(key) && !jsonEqual(a[key], b[key])) return false
  for (const key of Object.keys(b)) if (!skipped.has(key) && b[key] !== undefined && a[key] === undefined) return false
  return true
}

const apart: ReadonlySet<string> = new Set(["metadata", "status"])
const ofStatus: ReadonlySet<string> = new Set(["connectedTimestamp"])
const ofMetadata: ReadonlySet<string> = new Set(["resourceVersion", "managedFields"])

/** Whether only the heartbeat has changed. Such a change is no reason to plan a session again (failures.md §4.11). */
export const isHeartbeatOnly = (before: KubeObject | undefined, after: KubeObject): before is KubeObject =>
  before !== undefined &&
  before.metadata.resourceVersion !== after.metadata.resourceVersion &&
  isSameBeside(before["status"] ?? {}, after["status"] ?? {}, ofStatus) &&
  isSameBeside(before.metadata, after.metadata, ofMetadata) &&
  isSameBeside(before, after, apart)
