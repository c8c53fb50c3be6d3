/**
 * The health of a cluster of the fleet: how a check of its operator changes what was known before, and when the next
 * check is due. Pure decisions only.
 *
 * Not here: making the checks and keeping the state (app/fleet/cluster-connection.ts).
 */

import * as Result from "effect/Result"

/** When clusters are checked, and how many checks decide. All times in ms. */
export interface CheckOptions {
  /** Pause after a check of a well cluster; 5 s. Longer: a loss is noticed later. */
  readonly checkEvery: number
  /** How long a check may take; 5 s. Shorter: slow clusters count as lost. */
  readonly checkTimeout: number
  /** First pause after a check of a lost or never-checked cluster; 1 s. Sessions wait for the next check. */
  readonly checkAgainEvery: number
  /** Pause after the first failed check of a well cluster; 3 s, so that an API server may be restarted meanwhile. */
  readonly reconsiderAfter: number
  /** How long a check may take whose failure loses the cluster; 3 s, as clients are to be refused within 10 s. */
  readonly decisiveTimeout: number
  /** Consecutive failed checks before a well or never-checked cluster counts as lost; 2. */
  readonly lostAfter: number
}

export const defaultCheckOptions: CheckOptions = {
  checkEvery: 5_000,
  checkTimeout: 5_000,
  checkAgainEvery: 1_000,
  reconsiderAfter: 3_000,
  decisiveTimeout: 3_000,
  lostAfter: 2
}

/** An operator that answers, as it describes itself. */
export interface ConnectedOperator {
  readonly _tag: "Connected"
  readonly operatorVersion: string
  readonly fingerprint: string | undefined
  readonly parametersInHeader: boolean
  /** The features of branches among its own, as its description names them; `undefined` if it was not asked. */
  readonly branchFeatures?: ReadonlyArray<string>
}

/** `lacksRight`: as in {@link FailedCheck}. */
export type ClusterHealth =
  | ConnectedOperator
  | { readonly _tag: "Error"; readonly message: string; readonly lacksRight?: true }

/** When a check began and ended, epoch ms. Its findings may miss changes in the cluster since `askedAt`. */
export interface CheckTimes {
  readonly askedAt: number
  readonly checkedAt: number
}

/** One check: the operator's answer, or why there is none. */
export interface ClusterCheck extends CheckTimes {
  readonly found: Result.Result<ConnectedOperator, FailedCheck>
}

export interface FailedCheck {
  readonly message: string
  /** The API server answers, but an administrator has yet to grant this operator a right there. */
  readonly lacksRight: boolean
}

/** The cluster is not watched since `since`, epoch ms: its credentials are missing or unusable, or not yet read. */
export interface NotEngaged {
  readonly _tag: "NotEngaged"
  readonly since: number
  readonly message: string
}

/** Another cluster answers under its name since `since`, epoch ms. Only a check can end that. */
export interface RefusedCluster {
  readonly _tag: "Refused"
  readonly since: number
  readonly message: string
}

/** `failedChecks` in a row, of which the last one is described. */
export interface ChecksFailed extends FailedCheck {
  readonly _tag: "ChecksFailed"
  readonly lastCheck: CheckTimes
  readonly failedChecks: number
}

/** The knowledge of a cluster, with the reasons. */
export type ClusterState =
  /** It is not known yet whether the cluster is well; it does not count as lost. */
  | {
      readonly _tag: "Connecting"
      readonly reason: NotEngaged | { readonly _tag: "NotChecked"; readonly failedChecks: number }
    }
  /** `failedChecks` have failed since `lastCheck`, fewer than lose the cluster. */
  | {
      readonly _tag: "Connected"
      readonly lastCheck: CheckTimes
      readonly operator: ConnectedOperator
      readonly failedChecks: number
    }
  | {
      readonly _tag: "Lost"
      readonly reason: NotEngaged | RefusedCluster | ChecksFailed
    }

/** The state of a cluster before anything was tried. */
export const neverEngaged = (now: number): ClusterState => ({
  _tag: "Connecting",
  reason: { _tag: "NotEngaged", since: now, message: "it has not been connected yet" }
})

/** The cluster is watched now. It starts as never checked: missing credentials said nothing of its health. */
export const afterEngaging = (known: ClusterState): ClusterState =>
  known._tag === "Connected" || known.reason._tag !== "NotEngaged"
    ? known
    : { _tag: "Connecting", reason: { _tag: "NotChecked", failedChecks: 0 } }

/** The state of a cluster that is no longer watched. */
export const afterDisengaging = (message: string, now: number): ClusterState => ({
  _tag: "Lost",
  reason: { _tag: "NotEngaged", since: now, message }
})

/** Another cluster than expected answers. */
export const afterRefusing = (reason: RefusedCluster): ClusterState => ({ _tag: "Lost", reason })

/** Why a cluster is refused, if it is. */
export const refusalOf = (state: ClusterState): RefusedCluster | undefined =>
  state._tag === "Lost" && state.reason._tag === "Refused" ? state.reason : undefined

/** Failed checks in a row. */
const failedChecksOf = (state: ClusterState): number => {
  if (state._tag === "Connected") return state.failedChecks
  const { reason } = state
  return reason._tag === "NotChecked" || reason._tag === "ChecksFailed" ? reason.failedChecks : 0
}

/** The last failed check of a cluster that is lost because this operator lacks a right there. */
export const missingRightOf = (state: ClusterState): ChecksFailed | undefined =>
  state._tag === "Lost" && state.reason._tag === "ChecksFailed" && state.reason.lacksRight ? state.reason : undefined

/**
 * Why a cluster is lost, a clause; `undefined` if that is reported elsewhere: another cluster answers, or a right is
 * missing.
 */
export const lossOf = (state: ClusterState): string | undefined => {
  if (state._tag !== "Lost" || state.reason._tag === "Refused") return undefined
  return state.reason._tag === "ChecksFailed" && state.reason.lacksRight ? undefined : state.reason.message
}

/** Whether the operator has answered the last check. */
export const isWell = (state: ClusterState): boolean => state._tag === "Connected" && state.failedChecks === 0

/** How long the next check may take. */
export const nextCheckTimeout = (known: ClusterState, options: CheckOptions): number =>
  known._tag !== "Lost" && failedChecksOf(known) + 1 >= options.lostAfter
    ? options.decisiveTimeout
    : options.checkTimeout

/** By so much of itself a pause may differ between clusters that were lost together. */
const pauseSpread = 0.2

/** The pause before the next check. That of a lost cluster grows to the one of a well cluster. */
const nextCheckIn = (state: ClusterState, { lostAfter, ...options }: CheckOptions, share: number): number => {
  if (isWell(state)) return options.checkEvery
  if (state._tag !== "Lost") return state._tag === "Connected" ? options.reconsiderAfter : options.checkAgainEvery
  const doublings = Math.min(10, Math.max(0, failedChecksOf(state) - lostAfter))
  const pause = Math.min(options.checkEvery, options.checkAgainEvery * 2 ** doublings)
  return Math.round(pause * (1 - pauseSpread + 2 * pauseSpread * share))
}

const afterFailedCheck = (
  known: ClusterState,
  { lacksRight, message }: FailedCheck,
  lastCheck: CheckTimes,
  lostAfter: number
): ClusterState => {
  const failedChecks = failedChecksOf(known) + 1
  if (known._tag === "Lost" || failedChecks >= lostAfter)
    return { _tag: "Lost", reason: { _tag: "ChecksFailed", lastCheck, failedChecks, message, lacksRight } }
  // The last known state is kept until the loss is certain: links also depend on the features it advertised.
  return known._tag === "Connected"
    ? { ...known, failedChecks }
    : { _tag: "Connecting", reason: { _tag: "NotChecked", failedChecks } }
}

/**
 * The state that a check leads to, and the ms until the next check is due. `share`: from 0 up to 1, another for each
 * cluster, so that clusters which were lost together are not asked at the same moments.
 */
export const afterCheck = (
  known: ClusterState,
  { askedAt, checkedAt, found }: ClusterCheck,
  options: CheckOptions,
  share: number
): { readonly state: ClusterState; readonly nextCheckIn: number } => {
  const lastCheck = { askedAt, checkedAt }
  const state: ClusterState = Result.isSuccess(found)
    ? { _tag: "Connected", lastCheck, operator: found.success, failedChecks: 0 }
    : afterFailedCheck(known, found.failure, lastCheck, options.lostAfter)
  return { state, nextCheckIn: nextCheckIn(state, options, share) }
}

/**
 * Since when a cluster's children cannot be read, epoch ms, if so. A cluster that is well again gets the usual time for
 * its list, even after a single failed check: its silence until now proves nothing.
 */
export const unreadableSince = (
  before: number | undefined,
  isReadable: boolean,
  isWellAgain: boolean,
  now: number
): number | undefined => {
  if (isReadable) return undefined
  return isWellAgain ? now : (before ?? now)
}

/** A cluster's health for people and sessions; times are epoch ms. */
export interface LastCheck {
  /** When the check began. Missing where the health is known without a check. */
  readonly askedAt?: number
  readonly checkedAt: number
  readonly health: ClusterHealth
}

const notEngaged = ({ message, since }: NotEngaged | RefusedCluster): LastCheck => ({
  checkedAt: since,
  health: { _tag: "Error", message }
})

/** The last check that decided the state; missing before the first. */
export const lastCheckOf = (state: ClusterState): LastCheck | undefined => {
  switch (state._tag) {
    case "Connecting":
      return state.reason._tag === "NotEngaged" ? notEngaged(state.reason) : undefined
    case "Connected":
      return { ...state.lastCheck, health: state.operator }
    case "Lost": {
      if (state.reason._tag !== "ChecksFailed") return notEngaged(state.reason)
      const { lacksRight, lastCheck, message } = state.reason
      return { ...lastCheck, health: { _tag: "Error", message, ...(lacksRight && { lacksRight }) } }
    }
  }
}
