/**
 * Decodes objects from caches, each object once for each kind. Not for objects that change after they were read.
 */

import type { Result } from "effect"
import {
  readResource,
  type ResourceDescriptor,
  type UnreadableResource
} from "../../domain/resources/resource-descriptor.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

type Read = Result.Result<unknown, UnreadableResource>

const known = new WeakMap<ResourceDescriptor<unknown>, WeakMap<KubeObject, Read>>()

/**
 * As `readResource`, with memory: an API server's object never changes, and controllers read the same object many
 * times.
 */
export const readCached = <T>(
  resource: ResourceDescriptor<T>,
  object: KubeObject
): Result.Result<T, UnreadableResource> => {
  const ofKind = known.get(resource) ?? new WeakMap<KubeObject, Read>()
  known.set(resource, ofKind)
  const before = ofKind.get(object) as Result.Result<T, UnreadableResource> | undefined
  if (before !== undefined) return before
  const read = readResource(resource, object)
  ofKind.set(object, read)
  return read
}
