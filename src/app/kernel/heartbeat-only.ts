/**
 * Recognizes changes of an object that are only its heartbeat. Writes no heartbeats: the controllers of sessions do.
 */

import { jsonEqual, omit } from "../../domain/json.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/** Compares without the skipped fields: they differ between any two versions of an object, or are compared apart. */
const isSameBeside = (left: object, right: object, ...skipped: ReadonlyArray<string>): boolean =>
  jsonEqual(omit(left, ...skipped), omit(right, ...skipped))

/** Whether only the heartbeat has changed. Such a change is no reason to plan a session again (failures.md §4.11). */
export const isHeartbeatOnly = (before: KubeObject | undefined, after: KubeObject): boolean =>
  before !== undefined &&
  before.metadata.resourceVersion !== after.metadata.resourceVersion &&
  isSameBeside(before["status"] ?? {}, after["status"] ?? {}, "connectedTimestamp") &&
  isSameBeside(before.metadata, after.metadata, "resourceVersion", "managedFields") &&
  isSameBeside(before, after, "metadata", "status")
