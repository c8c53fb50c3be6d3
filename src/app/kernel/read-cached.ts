/**
 * Decodes objects from caches, each object once for each kind. Not for objects that change after they were read.
 */

import { Result } from "effect"
import { isObject } from "../../domain/json.ts"
import {
  readResource,
  type ResourceDescriptor,
  type UnreadableResource
} from "../../domain/resources/resource-descriptor.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

type Read = Result.Result<unknown, UnreadableResource>

const known = new WeakMap<ResourceDescriptor<unknown>, WeakMap<KubeObject, Read>>()

const readsOf = (resource: ResourceDescriptor<unknown>): WeakMap<KubeObject, Read> => {
  const ofKind = known.get(resource) ?? new WeakMap<KubeObject, Read>()
  known.set(resource, ofKind)
  return ofKind
}

/**
 * As `readResource`, with memory: an API server's object never changes, and controllers read the same object many
 * times.
 */
export const readCached = <T>(
  resource: ResourceDescriptor<T>,
  object: KubeObject
): Result.Result<T, UnreadableResource> => {
  const ofKind = readsOf(resource)
  const before = ofKind.get(object) as Result.Result<T, UnreadableResource> | undefined
  if (before !== undefined) return before
  const read = readResource(resource, object)
  ofKind.set(object, read)
  return read
}

/**
 * Remembers the reading of `after`, which differs from `before` by its heartbeat only: most new versions of a session
 * do, and reading an object costs more than everything else that is done about its heartbeat. Nothing is remembered
 * where the reading of `before` is not known, or where the heartbeat is not a plain change of one text to another.
 */
export const readHeartbeat = (resource: ResourceDescriptor<unknown>, before: KubeObject, after: KubeObject): void => {
  const reads = readsOf(resource)
  const read = reads.get(before)
  if (read === undefined || Result.isFailure(read) || reads.has(after)) return
  const view = read.success
  const status = after["status"]
  const { resourceVersion } = after.metadata
  if (!isObject(view) || !isObject(view["metadata"]) || !isObject(view["status"]) || !isObject(status)) return
  const { connectedTimestamp } = status
  const wasText = typeof view["status"]["connectedTimestamp"] === "string"
  if (!wasText || typeof connectedTimestamp !== "string" || typeof resourceVersion !== "string") return
  const next = {
    ...view,
    metadata: { ...view["metadata"], resourceVersion },
    status: { ...view["status"], connectedTimestamp }
  }
  reads.set(after, Result.succeed(next))
}
