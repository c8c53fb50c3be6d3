/**
 * The label by which the Service finds the leader's pod: put on this pod, taken off all others. The elector decides who
 * leads.
 */

import { Effect } from "effect"
import type { OperatorPod } from "../../domain/leadership/identity.ts"
import { labelledPods, labelPatch } from "../../domain/leadership/leader-label.ts"
import { pods } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { logInfo, logWarning } from "../kernel/log.ts"

/** How often the labels are looked at, and how soon again after a failure, in ms. */
const lookEvery = 30_000
const retryEvery = 2_000

export interface LeaderLabelOptions {
  readonly api: KubeApi
  readonly namespace: string
  readonly pod: OperatorPod
}

/** The pod is gone, or another one has its name: either way the label is not where it was. */
const isElsewhere = ({ reason }: KubeError): boolean => reason === "NotFound" || reason === "Conflict"

const label = (
  { api, namespace }: LeaderLabelOptions,
  { name, uid }: { readonly name: string; readonly uid?: string },
  isLeader: boolean
) => api.mergePatch(pods, name, labelPatch(isLeader, uid), { namespace })

/**
 * Takes the label off every other pod first: a leader that was killed still has it, and requests would go there too.
 */
const putInOrder = (options: LeaderLabelOptions): Effect.Effect<void, KubeError> =>
  Effect.gen(function* () {
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
 * Keeps the label on this pod and off all others. To be run for as long as the term lasts, with an api that asks for
 * it.
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

/** Takes the label off this pod. The next leader does so too. */
export const dropLeaderLabel = (options: LeaderLabelOptions): Effect.Effect<void> =>
  Effect.ignore(label(options, options.pod, false))
