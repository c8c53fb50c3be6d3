/**
 * Lets a person's request for a member's API server through, or says why not: the member dials out, the person has the
 * right that this cluster's API server could not ask for, and the member's tunnel has a place.
 *
 * Not here: the request itself (app/api/proxy-requests.ts), and what the person may do in the member, which decides it.
 */

import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { quoted } from "../../domain/clean-text.ts"
import type { ServedCluster } from "../../domain/fleet/cluster-object.ts"
import { authWords } from "../../domain/fleet/credentials/cluster-auth.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { type ProxiedRequest, proxySubresource } from "../../domain/outbound/proxied-request.ts"
import { mirrordClusters } from "../../domain/resources/mirrord-cluster.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { OpenPersonalLane } from "../../ports/outbound-connector.ts"
import { mayDo } from "../api/access-review.ts"
import { type ApiError, badRequest, forbidden, serviceUnavailable } from "../api/status.ts"

export interface AdmitPersonOptions {
  /** The API of the operator's own cluster. */
  readonly api: KubeApi
  /** The cluster of this name, or that there is none. */
  readonly clusterNamed: (name: string) => Effect.Effect<ServedCluster, ApiError>
  readonly openLane: OpenPersonalLane
}

const resource = `${mirrordClusters.plural}/${proxySubresource}`

/** An API server authorises an upgrade as `get`, with which a reader could run programs in pods. */
const unlessUnasked = (
  { api }: AdmitPersonOptions,
  { cluster, isUnasked, verb }: ProxiedRequest,
  caller: Caller
): Effect.Effect<void, ApiError> => {
  if (!isUnasked) return Effect.void
  const { group } = mirrordClusters
  const deed = { group, resource: mirrordClusters.plural, subresource: proxySubresource, verb, name: cluster }
  return Effect.flatMap(mayDo(api, caller, deed), (may) =>
    may
      ? Effect.void
      : Effect.fail(
          forbidden(
            `User ${quoted(caller.user)} may not ${verb} ${resource}.${group} ${quoted(cluster)}, which exec, ` +
              "attach, cp and port-forward need; ask an administrator of this primary for the right."
          )
        )
  )
}

/** Opens a lane for the request. */
export const admitPerson = Effect.fnUntraced(function* (
  options: AdmitPersonOptions,
  request: ProxiedRequest,
  caller: Caller
): Effect.fn.Return<Duplex, ApiError> {
  const { cluster, isUpgrade } = request
  const { spec } = yield* options.clusterNamed(cluster)
  if (spec?.authType !== authWords.Outbound)
    return yield* badRequest(
      `Cluster ${quoted(cluster)} does not dial out, and requests of people pass through tunnels alone; use a ` +
        "kubeconfig of the cluster itself."
    )
  yield* unlessUnasked(options, request, caller)
  return yield* Effect.mapError(options.openLane({ cluster, user: caller.user, isUpgrade }), serviceUnavailable)
})
