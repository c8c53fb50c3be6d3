/**
 * The targets of a primary: those of its default cluster, which every session over many clusters has to have. The
 * operator of that cluster is asked through its API server, unless it is this one.
 */

import { Effect } from "effect"
import { targets } from "../../../domain/resources/target.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { ApiError, internalError } from "../../api/status.ts"
import { askCluster, noDefault } from "../../services/ask-cluster.ts"
import type { ReachedCluster } from "../../services/fleet-view.ts"
import type { Targets } from "../../services/targets.ts"

/** How long the default cluster may take to answer, in ms. */
const patience = 20_000

const notTold = (cluster: string, { code, detail, reason }: KubeError): ApiError => {
  const refused = internalError(`The default cluster ${cluster} does not tell its targets: ${detail}.`)
  const passedOn = (reason === "NotFound" || reason === "Forbidden") && code !== undefined
  return passedOn ? new ApiError({ code, reason, message: refused.message }) : refused
}

/** `defaultCluster` is `undefined` while the fleet has none that is engaged. */
export const targetsOfDefault = (defaultCluster: () => ReachedCluster | undefined): Targets["Service"] => {
  const ask = <A>(request: (api: KubeApi) => Effect.Effect<A, KubeError>): Effect.Effect<A, ApiError> =>
    Effect.suspend(() => {
      const found = defaultCluster()
      return found === undefined
        ? Effect.fail(noDefault)
        : Effect.mapError(askCluster(found, patience, request), (error) => notTold(found.name, error))
    })
  return {
    list: (namespace) =>
      Effect.map(
        ask((api) => api.list(targets, namespace === undefined ? {} : { namespace })),
        ({ items }) => items
      ),
    get: (namespace, name) => ask((api) => api.get(targets, name, namespace))
  }
}
