/**
 * Asks the API server why the agent of a Job does not start, where its pod does not say so.
 *
 * Not here: the answers' meaning (domain/agents/job-trouble.ts).
 */

import { Effect } from "effect"
import { howJobEnded, latestWarning, whyNoPod } from "../../domain/agents/job-trouble.ts"
import { events } from "../../domain/events/event-object.ts"
import { jobs } from "../../domain/resources/core-kinds.ts"
import { AgentFailed } from "../../ports/agents.ts"
import type { KubeError, KubeObject } from "../../ports/kube-api.ts"
import { type AgentStarter, unlessAbsent } from "./agent-starter.ts"

/** Looks at the pod from one question to the Job and the Events to the next, of which there is none at the first. */
const looksBetween = 2

/** The start of one agent, as far as it is known. */
export interface AgentProgress {
  looks: number
  /** Why its pod could not be made when it was last asked: the next answer of that kind is the last. */
  noPod: string | undefined
}

export const newProgress = (): AgentProgress => ({ looks: 0, noPod: undefined })

/** Events about an object; none if they cannot be read, such as with a role of an earlier release. */
const eventsAbout = ({ api, settings }: AgentStarter, { metadata }: KubeObject) =>
  api.list(events, { namespace: settings.namespace, fields: { "involvedObject.uid": metadata.uid ?? "" } }).pipe(
    Effect.map(({ items }) => items),
    Effect.catch((error) =>
      Effect.as(Effect.annotateLogs(Effect.logDebug("Events were not read"), { problem: error.message }), [])
    )
  )

/**
 * Why a Job has no pod. A quota may be free in a moment, and a webhook back, so only a reason that is found twice
 * counts.
 */
const withoutPod = Effect.fnUntraced(function* (
  starter: AgentStarter,
  job: KubeObject,
  progress: AgentProgress
): Effect.fn.Return<string | undefined, KubeError | AgentFailed> {
  const { name, uid } = job.metadata
  const failed = (detail: string): AgentFailed => new AgentFailed({ agent: name, detail })
  const now = yield* starter.api.get(jobs, name, starter.settings.namespace).pipe(Effect.catch(unlessAbsent))
  const ended = howJobEnded(now?.metadata.uid === uid ? now : undefined)
  if (ended !== undefined) return yield* failed(ended)
  const why = whyNoPod(yield* eventsAbout(starter, job))
  if (why !== undefined && progress.noPod !== undefined) return yield* failed(why)
  progress.noPod = why
  return why
})

/**
 * Why the agent of a Job does not start, a clause, if that is known by now; fails when it never will. Asks only once in
 * a while: most agents start within a second or two.
 */
export const whyNotYet = (
  starter: AgentStarter,
  job: KubeObject,
  pod: KubeObject | undefined,
  progress: AgentProgress
): Effect.Effect<string | undefined, KubeError | AgentFailed> =>
  Effect.suspend(() => {
    const isDue = progress.looks > 0 && progress.looks % looksBetween === 0
    progress.looks++
    if (!isDue) return Effect.undefined
    return pod === undefined
      ? withoutPod(starter, job, progress)
      : Effect.map(eventsAbout(starter, pod), (found) => latestWarning(found))
  })
