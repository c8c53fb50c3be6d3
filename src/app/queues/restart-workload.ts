/**
 * Replaces the pods of a workload, so that the new ones pass the webhook or no webhook any more.
 *
 * Not here: when that is needed (domain/queues/patched-pods.ts).
 */

import { Effect } from "effect"
import { hashLabel, type PatchedWorkload } from "../../domain/queues/pod-of-workload.ts"
import type { RestartWorkload } from "../../domain/queues/split-action.ts"
import { type ObjectMeta, timestamp } from "../../domain/resources/object-meta.ts"
import { kindAddress, type TargetKind } from "../../domain/targets/target.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { isolatePods } from "./isolate-pods.ts"

/** Annotation of a workload: the token of the last order to replace its pods. */
const restartAnnotation = "operator.metalbear.co/split-restart"

/** The token of the last order that was carried out; `undefined` if there was none. */
export const restartToken = ({ metadata }: { readonly metadata: ObjectMeta }): string | undefined =>
  metadata.annotations?.[restartAnnotation]

/** The part of the workload that makes its controller replace the pods. `at`: epoch ms. */
const restartedSpec = (kind: TargetKind, at: number): object =>
  kind === "rollout"
    ? // Whole seconds: Argo compares it with the time in its status, which has no others, and would never be done.
      { restartAt: timestamp(Math.ceil(at / 1_000) * 1_000) }
    : { template: { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": timestamp(at) } } } }

/** Writes the token of an order, and with it the order itself, unless the workload has the token. */
const order = Effect.fnUntraced(
  function* (
    api: KubeApi,
    { kind, name, namespace }: PatchedWorkload,
    token: string,
    spec: object | undefined
  ): Effect.fn.Return<void, KubeError> {
    const workloads = { ...kindAddress(kind), scope: "Namespaced" } as const
    const object = yield* api.get(workloads, name, namespace)
    if (restartToken(object) === token) return
    const { resourceVersion, uid } = object.metadata
    const metadata = { uid, resourceVersion, annotations: { [restartAnnotation]: token } }
    yield* api.mergePatch(workloads, name, { metadata, ...(spec === undefined ? {} : { spec }) }, { namespace })
  },
  Effect.retry({ times: 2, while: ({ reason }) => reason === "Conflict" })
)

/**
 * Carries an order out, or the next step of it, and gives the time (epoch ms) to come here again at the latest;
 * `undefined` if there is no more to do. The workload shows the token from then on. Stateful sets know their pods by
 * their names, so their pods cannot be isolated.
 */
export const restartWorkload = Effect.fnUntraced(function* (
  api: KubeApi,
  workload: PatchedWorkload,
  { bornBefore, strategy, token }: Omit<RestartWorkload, "_tag">
): Effect.fn.Return<number | undefined, KubeError> {
  if (strategy === "standard" || hashLabel(workload.kind) === undefined) {
    return yield* Effect.as(order(api, workload, token, restartedSpec(workload.kind, bornBefore)), undefined)
  }
  const again = yield* isolatePods(api, workload, bornBefore)
  if (again === undefined) yield* order(api, workload, token, undefined)
  return again
})
