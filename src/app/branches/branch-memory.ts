/**
 * The memory of one process about the branches: which sessions use them, and their passwords. A new process begins with
 * what the resources say.
 *
 * Not here: which sessions count (domain/branches/branch-sessions.ts).
 */

import type { Redacted } from "effect"
import { awaitedFrom } from "../../domain/branches/branch-plan.ts"
import type { KnownUses } from "../../domain/branches/branch-sessions.ts"
import type { PodlessJob } from "../../domain/branches/migrations/migration-plan.ts"
import { originAnnotations } from "../../domain/branches/sync/synced-branch.ts"
import { type ObjectMeta, timeOf } from "../../domain/resources/object-meta.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { memoryOf } from "../kernel/planned-controller.ts"

/** One branch, until it is gone. */
export interface KnownBranch extends KnownUses {
  readonly uid: string | undefined
  readonly uses: Record<string, { readonly id: string; readonly owner: SessionOwner }>
  readonly released: Set<string>
  password: Redacted.Redacted | "Unread" | "Gone"
  /** Why its pod could not be made; `undefined` if it was not tried, or it could. */
  refusal: string | undefined
  /** Until when it stays for sessions that have named it and are not there yet, by their ids; epoch ms. */
  readonly awaited: Map<string, number>
  /** The session for which a primary has asked last to keep it. */
  awaitedBy: string | undefined
  /** Why the cluster did not take its migrations at the last try, and when they are tried again, epoch ms. */
  obstacle: { readonly generation: number | undefined; readonly why: string; readonly retryAt: number } | undefined
  /** The Job of its migrations, if it has no pod. */
  podless: PodlessJob | undefined
  /** UID of the Job of migrations that was deleted last. */
  endedJob: string | undefined
  /** Whether an Event has reported that it waits. */
  hasToldWaiting: boolean
  /** Whether its deletion has begun, so that no session may begin to use it. */
  isEnding: boolean
}

/** The branches by `namespace/name`. */
export type BranchMemory = Map<string, KnownBranch>

const remembered = (memory: BranchMemory, key: string, { uid }: ObjectMeta, now: number): KnownBranch =>
  memoryOf<KnownBranch>(memory, key, {
    uid,
    since: now,
    uses: {},
    released: new Set(),
    password: "Unread",
    refusal: undefined,
    awaited: new Map(),
    awaitedBy: undefined,
    obstacle: undefined,
    podless: undefined,
    endedJob: undefined,
    hasToldWaiting: false,
    isEnding: false
  })

/**
 * Since when a session is awaited that a primary names. The primary's clock counts only for an annotation that another
 * process may have seen before.
 */
const since = ({ annotations }: ObjectMeta, isFirstLook: boolean, now: number): number =>
  isFirstLook ? Math.min(now, timeOf(annotations?.[originAnnotations.awaitedSince]) ?? now) : now

/** The memory about this very branch; that about an earlier branch of its name is dropped. `now`: epoch ms. */
export const knownBranch = (memory: BranchMemory, key: string, metadata: ObjectMeta, now: number): KnownBranch => {
  const isFirstLook = memory.get(key)?.uid !== metadata.uid
  const known = remembered(memory, key, metadata, now)
  const awaitedBy = metadata.annotations?.[originAnnotations.awaitedBy]
  if (awaitedBy !== undefined && awaitedBy !== known.awaitedBy)
    known.awaited.set(awaitedBy, awaitedFrom(since(metadata, isFirstLook, now)))
  for (const [session, until] of known.awaited) if (until <= now) known.awaited.delete(session)
  known.awaitedBy = awaitedBy
  return known
}

/** Until when a branch stays for the sessions that are to come, epoch ms; `undefined` if there are none. */
export const awaitedUntil = ({ awaited }: KnownBranch): number | undefined =>
  awaited.size === 0 ? undefined : Math.max(...awaited.values())
