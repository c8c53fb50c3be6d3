/**
 * The port for the store of records of use. It has one writer, the operator that leads; a write is one statement, so a
 * crash leaves it done or not done, and the same write again changes nothing.
 */

import { Data, type Effect } from "effect"
import type { UsageRecord } from "../domain/usage/usage-record.ts"

/** The failure of a call. `detail` is a clause without a full stop. The caller tries again later. */
export class UsageStoreError extends Data.TaggedError("UsageStoreError")<{
  readonly operation: "open" | "read" | "write" | "prune"
  readonly detail: string
}> {
  override get message(): string {
    return `the store of use cannot ${this.operation}: ${this.detail}`
  }
}

/** The most that a store keeps. */
export interface UsageLimits {
  /** Sessions that began before this moment and have ended go, epoch ms. */
  readonly before: number
  /** The oldest sessions that have ended go while the records need more bytes. */
  readonly maxBytes: number
}

/** Where a page ended. */
export type PageMark = Pick<UsageRecord, "startedAt" | "id" | "machineId">

export interface UsageStore {
  /** The records without an end. */
  readonly open: Effect.Effect<ReadonlyArray<UsageRecord>, UsageStoreError>
  /** Makes the session's record, or brings it up to date. */
  readonly put: (record: UsageRecord) => Effect.Effect<void, UsageStoreError>
  /** The next records after a mark, in the order of their starts; fewer than `max` only at the end. */
  readonly page: (
    after: PageMark | undefined,
    max: number
  ) => Effect.Effect<ReadonlyArray<UsageRecord>, UsageStoreError>
  /** Deletes what is beyond the limits, and returns how many records that were. */
  readonly prune: (limits: UsageLimits) => Effect.Effect<number, UsageStoreError>
}
