/**
 * Requests of a primary to one of its clusters that a user waits for.
 *
 * Not here: whether a cluster that counts as lost is asked at all, which each caller decides.
 */

import { Effect } from "effect"
import { type KubeApi, KubeError } from "../../ports/kube-api.ts"
import { internalError } from "../api/status.ts"
import type { ReachedCluster } from "./fleet-view.ts"

export const noDefault = internalError("There is no default cluster now. Try again in a moment.")

/** Makes a request that may take so many ms. A cluster that is not connected, or is silent, is `Unreachable`. */
export const askCluster = <A>(
  { api, lost, name: cluster }: ReachedCluster,
  patience: number,
  request: (api: KubeApi) => Effect.Effect<A, KubeError>
): Effect.Effect<A, KubeError> =>
  Effect.suspend(() => {
    const unreachable = (detail: string) =>
      Effect.fail(new KubeError({ cluster, operation: "ask", reason: "Unreachable", detail }))
    const reached = api()
    if (reached === undefined) return unreachable(lost() ?? "it is not connected")
    return request(reached).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => unreachable(`no answer within ${patience / 1_000} s`)
      })
    )
  })
