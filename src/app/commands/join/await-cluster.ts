/**
 * Waits until a primary's operator says that a cluster is connected, or that waiting helps nothing.
 *
 * Not here: what its object says (domain/join/awaited-cluster.ts).
 */

import { Effect, Schedule } from "effect"
import { type Awaited, awaitedCluster } from "../../../domain/join/awaited-cluster.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { readOperator } from "../overview/read-operator.ts"

/** Time between two looks at the operator's object. */
const lookEvery = "1 second"

export const awaitCluster = (api: KubeApi, name: string, waitSecs: number): Effect.Effect<Awaited> =>
  readOperator(api).pipe(
    Effect.map(({ status }) => awaitedCluster(status, name)),
    // An operator that starts anew is away for a moment.
    Effect.catch(({ message }) => Effect.succeed<Awaited>({ _tag: "Waiting", why: message })),
    Effect.repeat({
      until: ({ _tag }) => _tag !== "Waiting",
      times: waitSecs,
      schedule: Schedule.spaced(lookEvery)
    })
  )
