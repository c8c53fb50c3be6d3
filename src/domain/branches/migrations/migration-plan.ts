/**
 * Decides what becomes of the migrations that a branch's spec asks for: `status.migrations`, and the next action. The
 * runs of one branch follow each other, and a run that succeeded counts for later specs with the same migrations.
 *
 * Not here: what a failure means for the branch (branch-plan.ts); making and reading Jobs.
 */

import { sentence } from "../../clean-text.ts"
import type { BranchStatus } from "../../resources/branches/branch-shapes.ts"
import type { MigrationRun } from "./migration-run.ts"

/** A run's Job that has no pod, as it is known. Times are epoch ms. */
export interface PodlessJob {
  /** Its UID. */
  readonly job: string
  /** Since when it was seen without a pod. */
  readonly since: number
  /** When the Events about it were last asked for, if they were. */
  readonly askedAt?: number
  /** Why its pod could not be made, in a server's words; `undefined` if these said nothing of it. */
  readonly why?: string | undefined
  /** Whether they said so twice in a row: a quota may be free in a moment, and a webhook back. */
  readonly isLasting?: boolean
}

export type MigrationStatus = NonNullable<BranchStatus["migrations"]>

/** Everything from which the next action for a branch's migrations follows. Times are epoch ms. */
export interface ObservedMigrations {
  /** The mark of the migrations in the spec. */
  readonly digest: string
  /** Why they cannot be run as the spec has them; a sentence. */
  readonly refusal: string | undefined
  /** Why the cluster did not take them at the last try, which may pass; a sentence. */
  readonly obstacle: { readonly why: string; readonly retryAt: number } | undefined
  readonly run: MigrationRun
  /** The run's Job, if it has no pod. */
  readonly podless?: PodlessJob | undefined
}

/** The next action for migrations. */
export type MigrationAction =
  /** Make the Job of the branch's generation, and the ConfigMap with its files. */
  | { readonly _tag: "MakeMigrations" }
  /** Take away a run that is over, or that has not begun, so that another can begin. */
  | { readonly _tag: "EndMigrations"; readonly job: string; readonly uid: string }
  /** Ask why the Job has no pod. */
  | { readonly _tag: "AskWhyNoPod"; readonly job: PodlessJob }

export interface MigrationPlan {
  readonly status: MigrationStatus | undefined
  readonly action?: MigrationAction
  /** When the plan has to be looked at again if nothing happens. */
  readonly lookAt?: number
}

/** How long a failure that may pass stays to be read, before the run is made again. */
const lostStays = 30_000
/** How long a Job may have no pod until the Events about it are asked for, and at least between two such questions. */
const askAgain = 2_000
/** How long an image may fail to be pulled before that is reported: a node tries again after 10 s, and 20 s later. */
const maxPull = 30_000

interface Situation {
  readonly generation: number
  readonly stored: MigrationStatus | undefined
  /** `undefined` if the spec asks for none. */
  readonly wanted: ObservedMigrations | undefined
  /** Whether migrations could reach the branch now. */
  readonly isUp: boolean
}

type Outcome = Omit<MigrationStatus, "observedGeneration">

const running: Outcome = { phase: "Running" }
const succeeded: Outcome = { phase: "Succeeded" }
const failed = (reason: string): Outcome => ({ phase: "Failed", error: sentence(reason) })

type Decision = Omit<MigrationPlan, "status"> & { readonly outcome: Outcome }

const withoutRun = (
  { generation, isUp, stored }: Situation,
  { obstacle }: ObservedMigrations,
  now: number
): Decision => {
  if (stored?.phase === "Succeeded" && stored.observedGeneration === generation) return { outcome: succeeded }
  const make = isUp ? { action: { _tag: "MakeMigrations" } as const } : {}
  if (obstacle === undefined) return { outcome: running, ...make }
  const { retryAt, why } = obstacle
  return { outcome: failed(why), ...(now >= retryAt ? make : { lookAt: retryAt }) }
}

type Run = Extract<MigrationRun, { readonly _tag: "Job" }>

const endOf = ({ name, uid }: Run): MigrationAction => ({ _tag: "EndMigrations", job: name, uid })

/** A run whose Job has no pod: most get it within a second. The longer it takes, the more rarely is asked why. */
const withoutPod = (podless: PodlessJob, now: number): Decision => {
  const { askedAt = podless.since, isLasting, since, why } = podless
  if (isLasting === true && why !== undefined) return { outcome: failed(`their pod cannot be made: ${why}`) }
  const next = askedAt + Math.max(askAgain, (askedAt - since) / 4)
  return now < next
    ? { outcome: running, lookAt: next }
    : { outcome: running, action: { _tag: "AskWhyNoPod", job: podless }, lookAt: now + askAgain }
}

/** A run whose image cannot be pulled: it fails once that has lasted. */
const stuck = (
  { pulledSince, reason }: { readonly pulledSince?: number | undefined; readonly reason: string },
  now: number
): Decision => {
  const end = (pulledSince ?? 0) + maxPull
  return now < end ? { outcome: running, lookAt: end } : { outcome: failed(reason) }
}

/** A run of what the spec asks for. */
const ofRun = ({ generation, stored, wanted }: Situation, run: Run, now: number): Decision => {
  const { state } = run
  switch (state._tag) {
    case "Waiting": {
      const podless = wanted?.podless
      return podless === undefined ? { outcome: running } : withoutPod(podless, now)
    }
    case "Running":
      return { outcome: running }
    case "Succeeded":
      return { outcome: succeeded }
    case "Stuck": {
      // The words change from try to try of the kubelet.
      const isReported = stored?.phase === "Failed" && stored.observedGeneration === generation
      return isReported ? { outcome: stored } : stuck(state, now)
    }
    case "Failed":
      // The spec was changed since, perhaps to what the migrations needed.
      if (run.generation !== generation) return { outcome: running, action: endOf(run) }
      return { outcome: failed(state.reason) }
    case "Lost": {
      const end = state.since + lostStays
      return now < end ? { outcome: failed(state.reason), lookAt: end } : { outcome: running, action: endOf(run) }
    }
  }
}

const decide = (situation: Situation, wanted: ObservedMigrations, now: number): Decision => {
  const { digest, refusal, run } = wanted
  if (refusal !== undefined) return { outcome: failed(refusal) }
  switch (run._tag) {
    case "None":
      return withoutRun(situation, wanted, now)
    case "Ending":
      return { outcome: running }
    case "Job":
      if (run.digest === digest) return ofRun(situation, run, now)
      // Two programs must not change one database at the same time.
      return { outcome: running, ...(run.state._tag === "Running" ? {} : { action: endOf(run) }) }
  }
}

/** The end of a run that was taken out of the spec is not reported. */
const withdrawn = failed("The migrations were taken out of the spec while they ran: run the command again")

/**
 * The outcome of a branch's migrations, and the next action. A spec that asks for none leaves the status of a run that
 * is over as it is.
 */
export const planMigrations = (situation: Situation, now: number): MigrationPlan => {
  const { generation, stored, wanted } = situation
  if (wanted === undefined && stored?.phase !== "Running") return { status: stored }
  const { outcome, ...next }: Decision = wanted === undefined ? { outcome: withdrawn } : decide(situation, wanted, now)
  const { error, phase } = outcome
  const told = error === undefined || error === null ? {} : { error }
  return { status: { observedGeneration: generation, phase, ...told }, ...next }
}
