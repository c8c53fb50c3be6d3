/**
 * The reasons why a session fails, and the sentences that give its user the cause and the cure.
 *
 * Not here: the answer over HTTP (failure-status.ts).
 */

import { quotation } from "../clean-text.ts"

/**
 * Reasons why a session, or one cluster's part of it, is not possible. The words are condition reasons, visible with
 * `kubectl`.
 */
export const failureReasons = [
  /** The target, or its container, does not exist. */
  "NoSuchTarget",
  /** The target exists and cannot be one as it is; the message says what to name or to change. */
  "UnusableTarget",
  /** The target exists and has no pod that is ready, now. */
  "TargetNotReady",
  /** The target had pods, and has had none for longer than a session waits. */
  "NoPods",
  /** The pod of the session's copy has ended, or is deleted, and no controller makes it again. */
  "CopyEnded",
  /** The queues that the session asks for are not split, or not any more. */
  "QueuesNotSplit",
  /** A right is missing that the session needs. */
  "Forbidden",
  /** An administrator's setting does not allow it: a protected namespace, or a bound that is reached. */
  "NotAllowed",
  /** The cluster serves another primary, or wants to know which one asks. */
  "OtherPrimary",
  /** Not ready in time. */
  "TimedOut",
  /** The cluster cannot be reached. */
  "ClusterLost",
  /** The default cluster of a running session stayed away too long. */
  "DefaultLost",
  /** Anything else: the agent does not start, … */
  "Error"
] as const
export type FailureReason = (typeof failureReasons)[number]

export const isFailureReason = (text: string): text is FailureReason => failureReasons.some((known) => known === text)

/** A failure with the sentence for the user. Never holds a credential. */
export interface SessionFailure {
  readonly reason: FailureReason
  readonly message: string
  /** The code of the answer to a client, 400 to 599; missing: that of the reason. No object keeps it. */
  readonly code?: number | undefined
}

/** The cure for each failure. */
const cures: Readonly<Record<FailureReason, string>> = {
  NoSuchTarget: "check the target's name, container and namespace, and that it exists in that cluster",
  UnusableTarget: "then run the command again",
  TargetNotReady:
    "wait until one of its pods is ready (`kubectl get pods` there shows how they are), then run the command again",
  NoPods: "start a new session when the target has pods again",
  CopyEnded: "no pod takes its place, so run the command again, which makes a new copy",
  QueuesNotSplit: "then run the command again",
  Forbidden:
    "ask the administrator of that cluster to grant the missing permission (operator.multiClusterMember on the member)",
  NotAllowed: "ask the administrator of that cluster, who sets this in the values of the chart",
  OtherPrimary: "ask the administrator of that cluster, which serves one primary alone",
  TimedOut: "look at the mirrord agent's pods and the operator's log in that cluster, then run the command again",
  ClusterLost: "check that the cluster's API server and its operator are up, then run the command again",
  DefaultLost: "check that cluster, then start a new session",
  Error: "look at the operator's log in that cluster, then run the command again"
}

/** The cure for a failure, as the rest of a sentence. */
export const cureOf = (reason: FailureReason): string => cures[reason]

/** A failure as one sentence naming cluster, cause and cure. */
export const explainFailure = (cluster: string | undefined, failure: SessionFailure): string => {
  const cause = quotation(failure.message)
  const place = cluster === undefined ? "The session failed" : `The session failed in cluster ${cluster}`
  return `${place}: ${cause}; ${cures[failure.reason]}.`
}
