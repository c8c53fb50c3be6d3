/**
 * Carries out the restart strategy `isolatePods`, one step after the other.
 *
 * Not here: which step is next (domain/queues/isolate-step.ts).
 */

import { Clock, Effect } from "effect"
import { asNumber, asObject, at } from "../../domain/json.ts"
import { isolatablePods, isolatedLabel, isolateStep, isolationPatch } from "../../domain/queues/isolate-step.ts"
import type { PatchedWorkload } from "../../domain/queues/pod-of-workload.ts"
import { pods } from "../../domain/resources/core-kinds.ts"
import { kindAddress } from "../../domain/targets/target.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { orIf } from "../kernel/or-if.ts"

/** `spec.replicas` where it is missing, as for Kubernetes. */
const defaultReplicas = 1

/**
 * Takes the next step for the pods that were born before `bornBefore` (epoch ms), and gives the time to come here again
 * at the latest; `undefined` if all is done. With 0 it only ends what was begun: pods that are out of their set belong
 * to no controller, so they must not be forgotten, whether their split goes on or not.
 *
 * Reads the pods by itself: what a watch has told may be older than the last step, and then two would be out at once.
 */
export const isolatePods = Effect.fnUntraced(function* (
  api: KubeApi,
  workload: PatchedWorkload,
  bornBefore: number
): Effect.fn.Return<number | undefined, KubeError> {
  const { kind, name, namespace } = workload
  const object = yield* api
    .get({ ...kindAddress(kind), scope: "Namespaced" }, name, namespace)
    .pipe(orIf("NotFound", Effect.undefined))
  const replicas = object === undefined ? 0 : (asNumber(at(object, "spec", "replicas")) ?? defaultReplicas)
  const labels = Object.entries(asObject(at(object, "spec", "selector", "matchLabels")))
  const labelSelector = object === undefined ? isolatedLabel : labels.map((label) => label.join("=")).join()
  const { items } = yield* api.list(pods, { namespace, labelSelector })
  const now = yield* Clock.currentTimeMillis
  const step = isolateStep(isolatablePods(items, workload), { bornBefore, replicas }, now)
  switch (step._tag) {
    case "Isolate":
      yield* api.mergePatch(pods, step.pod.name, isolationPatch(workload, step.pod, now), { namespace })
      return step.until
    case "Delete":
      yield* api.delete(pods, step.pod.name, { namespace, uid: step.pod.uid }).pipe(orIf("NotFound", Effect.void))
      return now
    case "Wait":
      return step.until
    case "Done":
      return undefined
  }
})
