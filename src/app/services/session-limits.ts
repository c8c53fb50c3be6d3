/**
 * The limits of sessions and copies in this cluster, for the capabilities that serve sessions and make copies. Policies
 * provide them.
 */

import { Context, type Effect } from "effect"
import type { PolicyRules } from "../../domain/policies/policy-rules.ts"
import type { SessionPolicies } from "../../domain/policies/session-policies.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import type { Target } from "../../domain/targets/target.ts"
import type { ApiError } from "../api/status.ts"
import type { ConnectedCopy } from "./copy-targets.ts"

/** A session whose limits are asked for. */
export interface LimitedSession {
  readonly namespace: string
  readonly target: Target
  /** The containers that it uses; `undefined` if any may be meant. */
  readonly containers: ReadonlyArray<string> | undefined
  /** Connect parameter `profile`. */
  readonly profile: string | undefined
  /** Whether its agents answer their own variables beside the target's. */
  readonly tellsAgentVariables?: boolean
  /** Set for a session on a copy, whose pod is its target. `of`: the copied target; `undefined` if the pod names it. */
  readonly copy?: Pick<ConnectedCopy, "scaledown" | "of"> | undefined
  /** The pods that have agents now, first that of environment and files; missing where there are none yet. */
  readonly pods?: () => ReadonlyArray<LimitedPod>
}

/** A pod of a session's target, and the container that the session uses. */
export type LimitedPod = Pick<AgentPlacement, "podName" | "podLabels" | "podOwners" | "containerName">

/** A copy that is asked for. */
export interface WantedCopy {
  readonly namespace: string
  readonly target: Target
  /** Whether the copy is to replace its workload. */
  readonly scaleDown: boolean
}

/** The limits of one session. The relay holds a connection to them. */
export interface HeldLimits {
  readonly policies: SessionPolicies
  /** Completes, with the reason, when others hold for the session: it has to be connected again. */
  readonly outdated: Effect.Effect<{ readonly reason: string }>
  /**
   * The policies that hold for traffic at a pod beside {@link policies}, whichever way the target leads to it. Fails if
   * the session may not be there, or if that cannot be found out.
   */
  readonly atPod: (pod: LimitedPod) => Effect.Effect<ReadonlyArray<PolicyRules>, ApiError>
}

/** Asks for the limits of a session; fails if it may not be, or if that cannot be found out. */
export type AskLimits = (session: LimitedSession) => Effect.Effect<HeldLimits, ApiError>

export class SessionLimits extends Context.Service<
  SessionLimits,
  {
    /** The limits of a session in this cluster, which hold for as long as a connection lasts. */
    readonly ask: AskLimits
    /** Refuses a copy that may not be made in this cluster. */
    readonly permitCopy: (copy: WantedCopy) => Effect.Effect<void, ApiError>
  }
>()("braid/app/SessionLimits") {}
