/**
 * The start of a session and its life while it runs: which children to create, and whether the session is ready, goes
 * on without a cluster, or fails.
 *
 * Not here: how one cluster stands by itself (cluster-verdict.ts).
 */

import { cleanText, quotation, textLimits } from "../clean-text.ts"
import type { ClusterName } from "../fleet/cluster-name.ts"
import { withCondition, type Condition } from "../resources/condition.ts"
import { mergePatch } from "../resources/merge-patch.ts"
import type {
  ClusterSessionStatus,
  MirrordMultiClusterSessionSpec,
  SessionPhase
} from "../resources/mirrord-multi-cluster-session.ts"
import { explainFailure, type SessionFailure } from "../resources/session-failure.ts"
import { assessCluster, type ClusterAssessment } from "./cluster-verdict.ts"
import { type ChildSplit, newChild } from "./new-child.ts"
import type { ObservedSession, SessionSettings } from "./observed-session.ts"
import { conditionSince, parentConditions, type ParentView } from "./parent-view.ts"
import type { SessionAction } from "./session-action.ts"

/** Milliseconds that other members get after the default cluster is ready, before the session starts without them. */
export const memberGrace = 15_000

/** The same where members have pods of their target replaced to split queues. */
const splitGrace = 90_000

/** How long a configuration of queue splits may take to come from the primary to a member, in ms. */
export const configurationComes = 20_000

/** Seconds that a session may take to start where its target's pods are replaced to split queues, at least. */
export const splitStartSecs = 180

/**
 * For this long, a failed check from before the session's creation cannot fail the session, ms. The cluster may have
 * come back since, and a user who starts a session now must not hear of its former loss. A newer check usually follows
 * within a second.
 */
const oldNewsGrace = 8_000
/** Milliseconds until a session that waits for a newer check is planned again. */
const lookForNews = 1_000

interface Situation {
  readonly observed: ObservedSession
  readonly parent: ParentView
  readonly clusters: ReadonlyArray<ClusterAssessment>
  readonly now: number
}

/** The text of a list without queues. */
const noQueues = "[]"

/**
 * The queues that the default cluster has made, as a text; `undefined` while it is not known. A cluster that is ready
 * without a word of them splits none: its operator does not know of splits.
 */
const madeQueuesOf = ({ observed, parent }: Pick<Situation, "observed" | "parent">): string | undefined => {
  const child = parent.defaultCluster === undefined ? undefined : observed.children.get(parent.defaultCluster)
  return child?._tag === "Present" ? (child.madeQueues ?? (child.ready ? noQueues : undefined)) : undefined
}

const graceOf = (situation: Pick<Situation, "observed" | "parent">): number =>
  situation.parent.splitWish === undefined || madeQueuesOf(situation) === noQueues ? memberGrace : splitGrace

const notInTime = (situation: Situation): string =>
  `it was not ready ${graceOf(situation) / 1000} s after the default cluster`

/**
 * When the time of the other members ends, epoch ms. A new leader gives them their full time again, since it must first
 * learn how they are.
 */
const graceEnd = ({ observed, parent, now }: Situation): number =>
  Math.max(conditionSince(parent.conditions, parentConditions.defaultReady, "True") ?? now, observed.leaderSince) +
  graceOf({ observed, parent })

/** Whether waiting is of no use: the cluster will say the same in a moment. */
const isFinal = ({ reason }: SessionFailure): boolean =>
  reason === "NoSuchTarget" ||
  reason === "UnusableTarget" ||
  reason === "NotAllowed" ||
  reason === "OtherPrimary" ||
  reason === "CopyEnded" ||
  reason === "QueuesNotSplit"

/** Why a session may start, or go on, without a cluster; `undefined` while it must be waited for. */
const leftOutReason = ({ verdict }: ClusterAssessment, situation: Situation): string | undefined => {
  switch (verdict._tag) {
    case "Ready":
      return undefined
    case "Lost":
      return verdict.failure.message
    case "Failed":
      return isFinal(verdict.failure) || situation.now >= graceEnd(situation) ? verdict.failure.message : undefined
    case "Starting":
      return situation.now >= graceEnd(situation) ? notInTime(situation) : undefined
  }
}

const startDeadline = ({ observed, parent }: Situation): number =>
  Math.max(parent.createdAt, observed.leaderSince) + observed.settings.remoteSessionTimeoutSecs * 1000

interface Failing {
  readonly cluster: ClusterName | undefined
  readonly failure: SessionFailure
}

const failureOf = ({ cluster, verdict }: ClusterAssessment): ReadonlyArray<Failing> =>
  verdict._tag === "Lost" || verdict._tag === "Failed" ? [{ cluster, failure: verdict.failure }] : []

/**
 * Until when an old check of a lost cluster does not count against the session, epoch ms; `undefined` if the loss
 * counts.
 */
const isOldNewsUntil = ({ verdict }: ClusterAssessment, { parent, now }: Situation): number | undefined => {
  const until = parent.createdAt + oldNewsGrace
  const isOld = verdict._tag === "Lost" && verdict.askedAt !== undefined && verdict.askedAt < parent.createdAt
  return isOld && now < until ? until : undefined
}

/** Whether the session cannot start without a cluster, beside the default one: a cluster of the fleet. */
const isDemanded = ({ cluster }: ClusterAssessment, { fleet, settings }: ObservedSession): boolean =>
  settings.sessionStart === "all" && fleet.clusters.has(cluster)

/** Clusters without which the session cannot start. */
const demandedOf = (
  { observed, clusters }: Situation,
  defaultCluster: ClusterAssessment
): ReadonlyArray<ClusterAssessment> => [defaultCluster, ...clusters.filter((part) => isDemanded(part, observed))]

/** Why a session that is not Ready yet fails, or nothing. */
const startFailure = (situation: Situation, defaultCluster: ClusterAssessment | undefined): Failing | undefined => {
  const { observed, parent, now } = situation
  if (defaultCluster === undefined) {
    const message = `it has no usable default cluster: ${parent.defaultCluster ?? "none"} is not among its clusters`
    return { cluster: parent.defaultCluster, failure: { reason: "Error", message } }
  }
  const demanded = demandedOf(situation, defaultCluster)
  const failed = demanded.filter((part) => isOldNewsUntil(part, situation) === undefined).flatMap(failureOf)[0]
  if (failed !== undefined) return failed
  const notReady = demanded.find(({ verdict }) => verdict._tag !== "Ready")
  if (notReady === undefined || now < startDeadline(situation)) return undefined
  const message = `it was not ready within ${observed.settings.remoteSessionTimeoutSecs} s`
  return { cluster: notReady.cluster, failure: { reason: "TimedOut", message } }
}

/**
 * Why a Ready session fails although its client is there: the default cluster stayed away past the bound, or says that
 * its pods did.
 */
const lossOfDefault = (situation: Situation, defaultCluster: ClusterAssessment | undefined): Failing | undefined => {
  const verdict = defaultCluster?.verdict
  // Its program has no queues any more, and would read nothing.
  const isOver =
    verdict?._tag === "Failed" && ["NoPods", "CopyEnded", "QueuesNotSplit"].includes(verdict.failure.reason)
  if (isOver) return { cluster: situation.parent.defaultCluster, failure: verdict.failure }
  const lostAt = conditionSince(situation.parent.conditions, parentConditions.defaultReady, "False")
  const bound = situation.observed.settings.remoteSessionTimeoutSecs
  if (defaultCluster?.verdict._tag === "Ready" || lostAt === undefined || situation.now < lostAt + bound * 1000)
    return undefined
  const detail = defaultCluster === undefined ? [] : failureOf(defaultCluster)
  const message = `it was away for ${bound} s${detail[0] === undefined ? "" : `: ${detail[0].failure.message}`}`
  return { cluster: situation.parent.defaultCluster, failure: { reason: "DefaultLost", message } }
}

/** Why a session fails whose program reads queues that are gone: the part that had them is. */
const lossOfQueues = ({ parent }: Situation, defaultCluster: ClusterAssessment | undefined): Failing | undefined => {
  const hadQueues = conditionSince(parent.conditions, parentConditions.queuesMade, "True") !== undefined
  if (!hadQueues || defaultCluster?.need !== "Create") return undefined
  const message = "its part of the session has ended there, and the queues that the program reads with it"
  return { cluster: defaultCluster.cluster, failure: { reason: "QueuesNotSplit", message } }
}

const phaseOf = (situation: Situation, defaultReady: boolean): SessionPhase => {
  if (situation.parent.phase === "Ready") return "Ready"
  const complete = situation.clusters.every(
    (part) =>
      part.verdict._tag === "Ready" ||
      (!isDemanded(part, situation.observed) && leftOutReason(part, situation) !== undefined)
  )
  return defaultReady && complete ? "Ready" : "Pending"
}

/**
 * The split for a new child; `undefined` if there is none. `Later`: the other clusters split by the queues of the
 * default one, which are not made yet. A second queue of the session would have no reader.
 */
const splitOf = (situation: Situation, cluster: ClusterName): ChildSplit | "Later" | undefined => {
  const { defaultCluster, splitWish: wish } = situation.parent
  if (wish === undefined) return undefined
  if (cluster === defaultCluster) return { wish, given: undefined }
  const given = madeQueuesOf(situation)
  return given === undefined ? "Later" : { wish, given }
}

/** Why a cluster has no child now, in a session that runs; `undefined` for one that has just come to it. */
const whyStarting = ({ cluster, need }: ClusterAssessment, wasReady: boolean, situation: Situation) => {
  const { defaultCluster = "none" } = situation.parent
  if (need === "Create" && splitOf(situation, cluster) === "Later")
    return `it waits for the default cluster ${defaultCluster}, which has made the queues of the session`
  return wasReady ? "it was ready before and is being started again" : undefined
}

/** The error that the status gives for a cluster that is not ready; `undefined` while the cluster is waited for. */
const errorOf = (
  part: ClusterAssessment,
  recorded: { readonly before: string | undefined; readonly wasReady: boolean },
  situation: Situation,
  phase: SessionPhase
): string | undefined => {
  const isDefault = part.cluster === situation.parent.defaultCluster
  const isStarting = part.verdict._tag === "Starting"
  if (phase === "Ready" && !isDefault && isStarting) {
    const why = whyStarting(part, recorded.wasReady, situation)
    if (why !== undefined) return why
  }
  const failure = isDefault || phase === "Ready" ? failureOf(part)[0]?.failure.message : undefined
  const error = failure ?? (isDefault ? undefined : leftOutReason(part, situation))
  if (phase !== "Ready") return error
  // A cluster that was left out keeps its reason until it is ready or a better reason is known.
  return isStarting ? (recorded.before ?? error) : (error ?? recorded.before)
}

/** The new `status.clusterSessions.<c>`. Fields of other writers, such as `agentEndpoint`, stay. */
const entryOf = (
  part: ClusterAssessment,
  recorded: ClusterSessionStatus | undefined,
  situation: Situation,
  phase: SessionPhase
): ClusterSessionStatus => {
  const { error: before, ...rest } = recorded ?? { sessionName: part.childName, ready: false }
  if (part.verdict._tag === "Ready") return { ...rest, ready: true }
  const error = errorOf(part, { before, wasReady: recorded?.ready === true }, situation, phase)
  return error === undefined
    ? { ...rest, ready: false }
    : { ...rest, ready: false, error: cleanText(error, textLimits.message) }
}

/** A condition of the parent for its present generation. */
const conditionOf = (
  { generation }: ParentView,
  type: string,
  isTrue: boolean,
  why: { readonly reason: string; readonly message: string }
): Omit<Condition, "lastTransitionTime"> => ({
  type,
  status: isTrue ? "True" : "False",
  ...why,
  ...(generation === undefined ? {} : { observedGeneration: generation })
})

/** How many clusters are ready, for the column of kubectl. */
const readyText = ({ clusters }: Situation): string =>
  `${clusters.filter(({ verdict }) => verdict._tag === "Ready").length}/${clusters.length}`

const conditionsOf = (situation: Situation, phase: SessionPhase, defaultReady: boolean): ReadonlyArray<Condition> => {
  const { parent, clusters, now } = situation
  const ready = clusters.filter(({ verdict }) => verdict._tag === "Ready").length
  const name = parent.defaultCluster ?? "none"
  const failure = clusters.filter(({ cluster }) => cluster === parent.defaultCluster).flatMap(failureOf)[0]
  const why = failure === undefined ? "" : `: ${quotation(failure.failure.message)}`
  const ofDefault = conditionOf(parent, parentConditions.defaultReady, defaultReady, {
    reason: defaultReady ? "AgentsUsable" : "NotReady",
    message: `The default cluster ${name} is ${defaultReady ? "" : "not "}ready${why}.`
  })
  const without = clusters.filter(({ verdict }) => verdict._tag !== "Ready").map(({ cluster }) => cluster)
  const exceptions = without.length === 0 ? "" : `, without ${without.join(", ")}`
  const message = `${ready} of ${clusters.length} clusters ready${exceptions}.`
  const reason = phase === "Ready" && !defaultReady ? "DefaultNotReady" : phase
  const ofSession = conditionOf(parent, parentConditions.ready, phase === "Ready" && defaultReady, { reason, message })
  const conditions = withCondition(withCondition(parent.conditions, ofDefault, now), ofSession, now)
  if ((madeQueuesOf(situation) ?? noQueues) === noQueues) return conditions
  const ofQueues = { reason: "Made", message: `The default cluster ${name} has made the queues of the session.` }
  return withCondition(conditions, conditionOf(parent, parentConditions.queuesMade, true, ofQueues), now)
}

const failParent = (situation: Situation, { cluster, failure }: Failing): ReadonlyArray<SessionAction> => {
  const { parent, now } = situation
  // Beside the default cluster, only one that an administrator demands can fail a session.
  const isDemandedHere = cluster !== undefined && cluster !== parent.defaultCluster
  const place = isDemandedHere ? `${cluster}, without which no session starts here (sessionStart: all)` : cluster
  const message = explainFailure(place, failure)
  const generation = parent.generation === undefined ? {} : { observedGeneration: parent.generation }
  const notReady = conditionOf(parent, parentConditions.ready, false, { reason: "Failed", message })
  const failed = conditionOf(parent, parentConditions.failed, true, { reason: failure.reason, message })
  const conditions = withCondition(withCondition(parent.conditions, notReady, now), failed, now)
  const entry = cluster === undefined ? undefined : parent.recorded.get(cluster)
  const patch = {
    phase: "Failed",
    closed: message,
    readyClusters: readyText(situation),
    conditions,
    ...generation,
    ...(cluster === undefined || entry === undefined
      ? {}
      : { clusterSessions: { [cluster]: { ready: false, error: failure.message } } })
  }
  return [{ _tag: "PatchStatus", patch, precondition: parent.precondition }]
}

/** The settings of a session, which may take longer to start where it splits queues. */
const settingsOf = ({ settings }: ObservedSession, { splitWish }: ParentView): SessionSettings =>
  splitWish === undefined
    ? settings
    : { ...settings, remoteSessionTimeoutSecs: Math.max(splitStartSecs, settings.remoteSessionTimeoutSecs) }

/** Creates a child that is missing, or deletes one that is of no use. */
const childSteps = (
  situation: Situation,
  spec: MirrordMultiClusterSessionSpec,
  { childName, cluster, need, uid }: ClusterAssessment
): ReadonlyArray<SessionAction> => {
  if (need === "Delete") return [{ _tag: "DeleteChild", cluster, childName, uid }]
  const split = need === "Create" ? splitOf(situation, cluster) : "Later"
  if (split === "Later") return []
  const { observed, parent } = situation
  return [{ _tag: "CreateChild", cluster, child: newChild(childName, spec, parent, { ...observed.settings, split }) }]
}

/** The step of a session whose children are all recorded: create them, follow them, and say how the whole stands. */
export const planStart = (
  seen: ObservedSession,
  spec: MirrordMultiClusterSessionSpec,
  parent: ParentView,
  now: number
): { readonly actions: ReadonlyArray<SessionAction>; readonly lookAgainAt: ReadonlyArray<number | undefined> } => {
  const observed = { ...seen, settings: settingsOf(seen, parent) }
  const clusters = [...parent.recorded].map(([cluster, recorded]) =>
    assessCluster(
      {
        cluster,
        reach: observed.fleet.clusters.get(cluster),
        recorded,
        child: observed.children.get(cluster) ?? {
          _tag: "Unknown",
          since: Math.max(observed.leaderSince, parent.createdAt)
        },
        parent
      },
      now
    )
  )
  const situation: Situation = { observed, parent, clusters, now }
  const defaultCluster = clusters.find(({ cluster }) => cluster === parent.defaultCluster)
  const usual = parent.phase === "Ready" ? lossOfDefault : startFailure
  const failing = lossOfQueues(situation, defaultCluster) ?? usual(situation, defaultCluster)
  if (failing !== undefined) return { actions: failParent(situation, failing), lookAgainAt: [] }

  const defaultReady = defaultCluster?.verdict._tag === "Ready"
  const phase = phaseOf(situation, defaultReady)
  const children = clusters.flatMap((part) => childSteps(situation, spec, part))
  const before = {
    phase: parent.phase,
    observedGeneration: parent.observedGeneration,
    clusterSessions: Object.fromEntries(parent.recorded),
    readyClusters: parent.readyClusters,
    conditions: parent.conditions
  }
  const after = {
    phase,
    observedGeneration: parent.generation ?? parent.observedGeneration,
    clusterSessions: Object.fromEntries(
      clusters.map((part) => [part.cluster, entryOf(part, parent.recorded.get(part.cluster), situation, phase)])
    ),
    readyClusters: readyText(situation),
    conditions: conditionsOf(situation, phase, defaultReady)
  }
  const patch = mergePatch(before, after)
  const status: ReadonlyArray<SessionAction> =
    patch === undefined ? [] : [{ _tag: "PatchStatus", patch, precondition: parent.precondition }]
  const lostAt = conditionSince(after.conditions, parentConditions.defaultReady, "False")
  const news =
    phase === "Ready" || defaultCluster === undefined
      ? []
      : demandedOf(situation, defaultCluster).map((part) => isOldNewsUntil(part, situation))
  const lookAgainAt = [
    ...news.map((until) => (until === undefined ? undefined : Math.min(until, now + lookForNews))),
    ...clusters.map(({ changesAt }) => changesAt),
    phase === "Ready" ? undefined : startDeadline(situation),
    defaultReady && clusters.some(({ verdict }) => verdict._tag !== "Ready") ? graceEnd(situation) : undefined,
    phase === "Ready" && lostAt !== undefined ? lostAt + observed.settings.remoteSessionTimeoutSecs * 1000 : undefined
  ]
  return { actions: [...children, ...status], lookAgainAt }
}
