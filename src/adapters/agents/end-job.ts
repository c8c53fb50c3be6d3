/**
 * Ends the Job of an agent, so that another agent may take its place: no agent starts beside one that still runs.
 *
 * Not here: which agent has to end (pod-agents.ts, ephemeral-agents.ts).
 */

import { Effect } from "effect"
import { hasEnded } from "../../domain/pod-problem.ts"
import { jobs, pods } from "../../domain/resources/core-kinds.ts"
import type { KubeError, KubeObject } from "../../ports/kube-api.ts"
import { type AgentStarter, pollEvery, unlessAbsent } from "./agent-starter.ts"

/**
 * How long the pod of an agent that was given up may take to end before its successor is made, in ms. On a lost node it
 * ends never, and no successor can start there.
 */
const endWithin = 15_000

/** Waits until no pod of an earlier Job of the name runs; the result is whether that is so. */
export const predecessorEnded = ({ api, settings }: AgentStarter, name: string): Effect.Effect<boolean, KubeError> =>
  Effect.gen(function* () {
    for (;;) {
      const { items } = yield* api.list(pods, { namespace: settings.namespace, labelSelector: `job-name=${name}` })
      if (items.every(hasEnded)) return true
      yield* Effect.sleep(pollEvery)
    }
  }).pipe(Effect.timeoutOrElse({ duration: endWithin, orElse: () => Effect.succeed(false) }))

/** Deletes the Job that was read; a Job that is gone needs no deletion. The pod gets its usual time to end. */
export const deleteJob = (
  { api, settings }: AgentStarter,
  { metadata }: KubeObject
): Effect.Effect<void, KubeError> => {
  const { name, uid } = metadata
  return api
    .delete(jobs, name, { namespace: settings.namespace, ...(uid === undefined ? {} : { uid }) })
    .pipe(Effect.catch(unlessAbsent))
}
