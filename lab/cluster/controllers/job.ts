/**
 * Jobs → pods, until enough of them succeeded or too many failed. Simpler than a real controller: a failed pod is
 * replaced at once, without back-off, and there are no indexed completions. Nothing turns CronJobs into Jobs.
 */

import { asNumber, asObject, asObjects, asString } from "../../../src/domain/json.ts"
import { type KubeObject, kubeTime } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { jobs, pods } from "../store/resource-refs.ts"
import { type Condition, ifPresent, nameOf, podPhase, setStatus, uidOf, withConditions } from "../store/store-access.ts"
import type { PodCreator } from "./pod-creator.ts"
import { isActive, ownedPods, readyCount } from "./pod-template.ts"

const podLabels = (job: KubeObject): Record<string, string> => ({
  "batch.kubernetes.io/controller-uid": uidOf(job),
  "batch.kubernetes.io/job-name": nameOf(job),
  "controller-uid": uidOf(job),
  "job-name": nameOf(job)
})

const isFinished = (status: Readonly<Record<string, unknown>>): boolean =>
  asObjects(status["conditions"]).some(
    (c) => (c["type"] === "Complete" || c["type"] === "Failed") && c["status"] === "True"
  )

/**
 * Complete after `completions` succeeded pods, Failed after more than `backoffLimit` failed pods. Returns the
 * milliseconds after which the Job must be reconciled again.
 */
export const reconcileJob = (creator: PodCreator, job: KubeObject, now: number): number | undefined => {
  const { store } = creator
  const spec = asObject(job["spec"])
  const status = asObject(job["status"])
  if (job.metadata.deletionTimestamp !== undefined) return undefined
  if (isFinished(status)) return expire(store, job, now)

  const all = ownedPods(store, job)
  const succeeded = all.filter((pod) => podPhase(pod) === "Succeeded").length
  const failed = all.filter((pod) => podPhase(pod) === "Failed").length
  const active = all.filter(isActive)
  const completions = asNumber(spec["completions"]) ?? 1
  const startTime = asString(status["startTime"]) ?? kubeTime(now)
  const deadline = asNumber(spec["activeDeadlineSeconds"])
  const left = deadline === undefined ? undefined : Date.parse(startTime) + deadline * 1000 - now

  const verdict = ((): Condition | undefined => {
    if (succeeded >= completions) return { type: "Complete", status: "True", reason: "CompletionsReached" }
    if (failed > (asNumber(spec["backoffLimit"]) ?? 6)) {
      const message = "Job has reached the specified backoff limit"
      return { type: "Failed", status: "True", reason: "BackoffLimitExceeded", message }
    }
    if (left !== undefined && left <= 0) {
      const message = "Job was active longer than specified deadline"
      return { type: "Failed", status: "True", reason: "DeadlineExceeded", message }
    }
    return undefined
  })()

  const goal =
    verdict !== undefined || spec["suspend"] === true
      ? 0
      : Math.min(asNumber(spec["parallelism"]) ?? 1, completions - succeeded)
  for (let missing = goal - active.length - creator.waiting(job).length; missing > 0; missing--) {
    creator.create(job, { name: { generateName: `${nameOf(job)}-` }, labels: podLabels(job) })
  }
  for (const pod of active.slice(goal)) {
    ifPresent(() => store.delete(pods, pod.metadata.namespace, nameOf(pod), { uid: uidOf(pod) }))
  }
  const running = ownedPods(store, job).filter(isActive)
  setStatus(store, jobs, job, {
    startTime,
    active: running.length,
    ready: readyCount(running),
    succeeded,
    failed,
    ...(verdict === undefined
      ? {}
      : {
          conditions: withConditions(status["conditions"], [verdict], kubeTime(now)),
          ...(verdict.type === "Complete" ? { completionTime: kubeTime(now) } : {})
        })
  })
  return verdict === undefined ? left : 0
}

/** Deletes a finished Job at the end of `ttlSecondsAfterFinished`; until then returns the milliseconds left. */
const expire = (store: ObjectStore, job: KubeObject, now: number): number | undefined => {
  const ttl = asNumber(asObject(job["spec"])["ttlSecondsAfterFinished"])
  if (ttl === undefined) return undefined
  const conditions = asObjects(asObject(job["status"])["conditions"])
  const finished = conditions.find((c) => c["type"] === "Complete" || c["type"] === "Failed")
  const left = Date.parse(asString(finished?.["lastTransitionTime"]) ?? "") + ttl * 1000 - now
  if (left > 0) return left
  ifPresent(() => store.delete(jobs, job.metadata.namespace, nameOf(job), { uid: uidOf(job) }))
  return undefined
}
