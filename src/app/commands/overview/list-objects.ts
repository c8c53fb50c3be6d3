/** Lists the objects of a kind with a person's own rights. */

import { Effect, Result } from "effect"
import { readResource, type ResourceDescriptor } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"

export interface Listed<T> {
  readonly objects: ReadonlyArray<T>
  /** The objects that cannot be read, each as a sentence. */
  readonly notes: ReadonlyArray<string>
}

/** The objects of one kind, in one namespace or in all. A kind that the cluster does not serve has no objects. */
export const listObjects = <T>(
  api: KubeApi,
  kind: ResourceDescriptor<T>,
  namespace?: string
): Effect.Effect<Listed<T>, KubeError> =>
  api.list(kind, namespace === undefined ? {} : { namespace }).pipe(
    Effect.map(({ items }) => {
      const read = items.map((item) => ({ item, result: readResource(kind, item) }))
      return {
        objects: read.flatMap(({ result }) => (Result.isSuccess(result) ? [result.success] : [])),
        notes: read.flatMap(({ item, result }) =>
          Result.isSuccess(result) ? [] : [`${kind.kind} ${item.metadata.name} is left out: ${result.failure.message}`]
        )
      }
    }),
    Effect.catch((error) =>
      error.reason === "NotFound" ? Effect.succeed({ objects: [], notes: [] }) : Effect.fail(error)
    )
  )
