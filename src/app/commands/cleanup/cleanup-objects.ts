/**
 * Lists and deletes objects for `braid cleanup`. A missing object is no failure.
 *
 * Not here: which objects (cleanup.ts).
 */

import { Effect } from "effect"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import type { ResourceDescriptor } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { orIf } from "../../kernel/or-if.ts"

type Kind = Omit<ResourceDescriptor<unknown>, "schema">

/** The objects of a kind. A kind that the cluster does not serve has none. */
export const listed = (api: KubeApi, kind: Kind): Effect.Effect<ReadonlyArray<KubeObject>, KubeError> =>
  api.list(kind).pipe(
    Effect.map(({ items }) => items),
    orIf("NotFound", Effect.succeed([]))
  )

/** Deletes this object, and none that has got its name since. */
export const deleted = (api: KubeApi, kind: Kind, { metadata }: KubeObject): Effect.Effect<void, KubeError> =>
  isBeingDeleted(metadata)
    ? Effect.void
    : api
        .delete(kind, metadata.name, {
          ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
          ...(metadata.uid === undefined ? {} : { uid: metadata.uid })
        })
        .pipe(orIf("NotFound", Effect.void))
