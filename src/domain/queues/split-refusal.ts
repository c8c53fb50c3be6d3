/**
 * Why the sessions of a split cannot go on, or cannot begin.
 *
 * Not here: what is wrong with one session alone (session-steps.ts).
 */

import type { ObservedSplit, SplitRecord, WantedSession } from "./observed-split.ts"
import { currentOrder, losesNames, strayMessage } from "./patched-pods.ts"
import type { SplitFailure } from "./split-failure.ts"

export interface SplitRefusal {
  /** As of an HTTP answer. */
  readonly code: number
  /** A sentence. */
  readonly message: string
  /** Whether sessions that have no queues yet may wait for the next split, which begins when this one is over. */
  readonly mayWait: boolean
}

const refusal = (code: number, message: string): SplitRefusal => ({ code, message, mayWait: false })

/** Whether a session's program has the names of its queues. */
export const isServed = ({ phase }: WantedSession): boolean => phase === "resourcesReady" || phase === "ready"

/** Whether a session is to have its queues: it goes on, or begins. */
export const isWanted = ({ isEnding, phase }: Pick<WantedSession, "isEnding" | "phase">): boolean =>
  !isEnding && phase !== "startError" && phase !== "cleanupError"

/** Whether a refusal ends a session. */
export const isRefused = (session: WantedSession, found: SplitRefusal): boolean => !found.mayWait || isServed(session)

/** Actions without which no session can start, while the split starts. */
const mainFailures = ({ failures, queues }: ObservedSplit, { uid }: SplitRecord): ReadonlyArray<SplitFailure> => {
  const mains = queues.filter(({ owner }) => owner._tag === "Main" && owner.split === uid)
  return ["PutWebhook", "RestartWorkload", ...mains.map(({ name }) => `CreateQueue ${name}`)].flatMap((key) => {
    const failure = failures.get(key)
    return failure === undefined ? [] : [failure]
  })
}

const failureOf = (observed: ObservedSplit, record: SplitRecord): SplitRefusal | undefined => {
  const forwarding = record.sources.flatMap(({ identity }) => {
    const failure = observed.failures.get(`StartForwarding ${identity}`)
    return failure === undefined ? [] : [failure]
  })
  const all = [...(record.phase === "Starting" ? mainFailures(observed, record) : []), ...forwarding]
  const lasting = all.find(({ at, isLasting }) => isLasting && at >= record.since)
  return lasting === undefined ? undefined : refusal(lasting.code, lasting.message)
}

const nameProblem = (observed: ObservedSplit, { sources, uid }: SplitRecord): SplitRefusal | undefined => {
  for (const source of sources) {
    const name = observed.queueName(source, "main", `${uid}/${source.identity}`)
    if (name._tag === "Failure") return refusal(400, `The queue has no temporary name: ${name.failure}.`)
  }
  return undefined
}

/** When the pods of a split that starts must be ready, in epoch ms; `undefined` if no restart is ordered yet. */
export const restartDeadline = (record: SplitRecord): number | undefined =>
  record.phase === "Starting" && currentOrder(record) !== undefined
    ? record.since + record.times.restartMillis
    : undefined

/** Why no session can be in the split; `undefined` if sessions can. `arePodsReady`: as many as sessions need. */
export const splitRefusal = (observed: ObservedSplit, arePodsReady: boolean, now: number): SplitRefusal | undefined => {
  const { configuration, record, workload } = observed
  if (workload === undefined) return refusal(404, "The workload whose queues are split is deleted.")
  if (configuration._tag === "Refused") return refusal(configuration.code, configuration.why)
  if (record === undefined) return undefined
  if (record.endsNow === true) return refusal(503, "`braid cleanup` ends all splits of queues: start again later.")
  if (configuration._tag === "Known" && configuration.digest !== record.digest) {
    const message = "The configuration of the workload's queues has changed: start the session again."
    return { code: 409, message, mayWait: true }
  }
  const deadline = restartDeadline(record)
  if (deadline !== undefined && now >= deadline && !arePodsReady) {
    const seconds = record.times.restartMillis / 1_000
    const message =
      `The workload's pods did not become ready with temporary queues within ${seconds} s: ` +
      "look at its pods, or give spec.restart.timeout more time."
    return refusal(500, message)
  }
  if (losesNames(observed, record, now)) return refusal(500, strayMessage)
  return failureOf(observed, record) ?? nameProblem(observed, record)
}
