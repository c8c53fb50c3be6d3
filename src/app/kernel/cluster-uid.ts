/**
 * Reads the identity of a cluster: the UID of its namespace `kube-system`.
 *
 * Not here: what follows from it (domain/fleet/cluster-identity.ts).
 */

import { Effect } from "effect"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import { identityNamespace } from "../../domain/fleet/cluster-identity.ts"
import { namespaces } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"

/** Nothing where the namespace may not be read, as with charts of before. */
export const clusterUid = (api: KubeApi): Effect.Effect<string | undefined, KubeError> =>
  api.get(namespaces, identityNamespace).pipe(
    Effect.map(({ metadata: { uid } }) => (uid === undefined ? undefined : cleanText(uid, textLimits.name))),
    Effect.catch((error) =>
      error.reason === "Forbidden" || error.reason === "NotFound" ? Effect.undefined : Effect.fail(error)
    )
  )
