/**
 * Waits until a primary's operator says that a cluster is connected, or that waiting helps nothing.
 *
 * Not here: what its object says (domain/commands/join/awaited-cluster.ts).
 */

import { Clock, Effect } from "effect"
import { type Awaited, awaitedCluster } from "../../../domain/commands/join/awaited-cluster.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { readOperator } from "../overview/read-operator.ts"

/** Time between two looks at the operator's object. */
const lookEvery = "1 second"

/** Asks once at least, and for no longer than this. */
export const awaitCluster = Effect.fnUntraced(function* (
  api: KubeApi,
  name: string,
  waitSecs: number
): Effect.fn.Return<Awaited> {
  const end = (yield* Clock.currentTimeMillis) + waitSecs * 1_000
  for (;;) {
    const awaited = yield* readOperator(api).pipe(
      Effect.map(({ status }) => awaitedCluster(status, name)),
      // An operator that starts again is away for a moment.
      Effect.catch(({ message }) => Effect.succeed<Awaited>({ _tag: "Waiting", why: message }))
    )
    if (awaited._tag !== "Waiting" || (yield* Clock.currentTimeMillis) >= end) return awaited
    yield* Effect.sleep(lookEvery)
  }
})
