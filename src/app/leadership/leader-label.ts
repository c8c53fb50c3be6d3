/**
 * Keeps the label by which the Service finds the leader's pod: puts it on this pod, takes it off all others. The
 * elector decides who leads.
 */

import { Effect } from "effect"
import type { OperatorPod } from "../../domain/leadership/identity.ts"
import { labelledPods, labelPatch } from "../../domain/leadership/leader-label.ts"
import { pods } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { logInfo, logWarning } from "../kernel/log.ts"

/** How often the labels are checked, and how soon again after a failure, in ms. */
const lookEvery = 30_000
const retryEvery = 2_000

export interface LeaderLabelOptions {
  readonly api: KubeApi
  readonly namespace: string
  readonly pod: OperatorPod
}

/** Whether the pod is gone, or its name belongs to another pod: either way it does not have the label any more. */
const isElsewhere = ({ reason }: KubeError): boolean => reason === "NotFound" || reason === "Conflict"

const label = (
  { api, namespace }: LeaderLabelOptions,
  { name, uid }: { readonly name: string; readonly uid?: string },
  isLeader: boolean
) => api.mergePatch(pods, name, labelPatch(isLeader, uid), { namespace })

/** Takes the label off every other pod first: a leader that was killed still has it, so requests would go there too. */
const putInOrder = Effect.fnUntraced(function* (options: LeaderLabelOptions): Effect.fn.Return<void, KubeError> {
  const { api, namespace, pod } = options
  const { items } = yield* api.list(pods, { namespace, labelSelector: labelledPods })
  for (const { metadata } of items) {
    if (metadata.name === pod.name) continue
    yield* label(
      options,
      { name: metadata.name, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) },
      false
    ).pipe(
      Effect.andThen(logInfo("leader label taken off another pod", { pod: metadata.name })),
      Effect.catch((error) => (isElsewhere(error) ? Effect.void : Effect.fail(error)))
    )
  }
  if (!items.some(({ metadata }) => metadata.name === pod.name)) yield* label(options, pod, true)
})

/**
 * Keeps the label on this pod and off all others. Runs for as long as a term lasts, with an API that checks the term.
 */
export const keepLeaderLabel = (options: LeaderLabelOptions): Effect.Effect<never> =>
  putInOrder(options).pipe(
    Effect.as(lookEvery),
    Effect.catch((error) =>
      Effect.as(
        logWarning("the leader label cannot be put on this pod yet", { problem: error.message }),
        Math.max(retryEvery, error.retryAfterMs ?? 0)
      )
    ),
    Effect.flatMap((pause) => Effect.sleep(pause)),
    Effect.forever
  )

/** Takes the label off this pod; the next leader would do so too. */
export const dropLeaderLabel = (options: LeaderLabelOptions): Effect.Effect<void> =>
  Effect.ignore(label(options, options.pod, false))
