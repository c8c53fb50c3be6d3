/**
 * The record of one session's use, as the store keeps it, and by what users are told apart in reports.
 *
 * Not here: when a record is written (follow-usage.ts), and what reports make of many (usage-report.ts).
 */

import type { Brand } from "effect/Brand"

/** The session's id as lists show it: upper-case hex without padding. */
export type RecordedId = string & Brand<"RecordedId">

/** The public key of the user's certificate: one per user and machine. */
export type MachineId = string & Brand<"MachineId">

/** `exec`: of a person; `ci`: of a CI run; `preview`: of a preview environment, which braid does not make yet. */
export const usageKinds = ["exec", "ci", "preview"] as const
export type UsageKind = (typeof usageKinds)[number]

/** The user of a session. All but the first two are the client's own claims. */
export interface UsageUser {
  readonly machineId: MachineId
  readonly kubernetesUser: string
  readonly clientUser: string
  readonly clientHost: string
}

/** One session. All times are epoch ms by the clock of the API server. */
export interface UsageRecord extends UsageUser {
  readonly id: RecordedId
  readonly kind: UsageKind
  /** The clusters that took part at any time, sorted; of a session in one cluster none. */
  readonly clusters: ReadonlyArray<string>
  readonly namespace: string
  /** As users write it, such as `deployment/my-app`, without a container. */
  readonly target: string
  /** Empty if the user named none. */
  readonly container: string
  /** Provider and pipeline of a CI run, as far as they are known. */
  readonly ciProvider: string
  readonly ciPipeline: string
  readonly startedAt: number
  /** The last heartbeat, or the start if there was none: where the session ends if its end was not seen. */
  readonly lastSeenAt: number
  /** `undefined` while the session runs. */
  readonly stoppedAt: number | undefined
}

/** One row per session: an id that another user's client happens to choose is another session. */
export const recordKey = ({ id, machineId }: Pick<UsageRecord, "id" | "machineId">): string => `${id} ${machineId}`

/** Milliseconds that the session has lasted. `now`: where a running session ends for the moment. */
export const lasted = ({ startedAt, stoppedAt }: UsageRecord, now: number): number =>
  Math.max(0, (stoppedAt ?? now) - startedAt)

/** Whether a machine began the session: a CI run or a preview. */
export const isOfMachine = ({ kind }: Pick<UsageRecord, "kind">): boolean => kind !== "exec"
