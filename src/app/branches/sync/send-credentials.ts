/**
 * Sends the values that a client brings for a branch on to the default cluster, where the branch is made. None of them
 * stays at the primary.
 *
 * Not here: keeping them there (app/branches/offered-credentials.ts).
 */

import { Effect } from "effect"
import { type BranchCredentials, credentialsBody } from "../../../domain/branches/branch-credentials.ts"
import { quotation } from "../../../domain/clean-text.ts"
import type { Caller } from "../../../domain/fleet/credentials/front-proxy.ts"
import { branchCredentials } from "../../../domain/resources/branch-credentials-kind.ts"
import { apiVersionOf } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { type ApiError, badRequest, internalError } from "../../api/status.ts"
import { retryingApi } from "../../kernel/retrying-api.ts"
import { askCluster, noDefault } from "../../services/ask-cluster.ts"
import type { ReachedCluster } from "../../services/fleet-view.ts"
import { unlessStranger } from "../take-credentials.ts"

/** How long the default cluster may take, in ms. */
const sendFor = 20_000

export interface SendingServices {
  /** The API of the primary's own cluster. */
  readonly api: KubeApi
  readonly clusters: () => ReadonlyArray<ReachedCluster>
  /** The namespace of the primary's cluster in which the branch of a target's namespace is ordered. */
  readonly orderedIn: (namespace: string) => string
}

/** Sends the values on, for their user, and returns the name of the Secret that the branch's spec is to name. */
export const sendCredentials = Effect.fnUntraced(function* (
  { api, clusters, orderedIn }: SendingServices,
  credentials: BranchCredentials,
  caller: Caller
): Effect.fn.Return<string, ApiError> {
  const { namespace } = credentials
  yield* unlessStranger(api, caller, { ordered: orderedIn(namespace), target: namespace })
  const cluster = clusters().find(({ isDefault }) => isDefault)
  if (cluster === undefined) return yield* noDefault
  const { name } = cluster
  const body = {
    apiVersion: apiVersionOf(branchCredentials),
    kind: branchCredentials.kind,
    metadata: {},
    ...credentialsBody(credentials, caller.user)
  }
  const away = (why: string) =>
    internalError(`The values for the branch do not reach the default cluster ${name}: ${why}. Try again in a moment.`)
  const loss = cluster.lost()
  if (loss !== undefined) return yield* away(loss)
  const made = yield* Effect.mapError(
    askCluster(cluster, sendFor, (reached) => retryingApi(reached).create(branchCredentials, body)),
    ({ code = 0, detail }) =>
      code >= 400 && code < 500
        ? badRequest(`The default cluster ${name} does not take the values for the branch: ${quotation(detail)}.`)
        : away(quotation(detail))
  )
  return made.metadata.name
})
