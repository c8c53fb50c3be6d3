/**
 * The port for the store of records of use. It has one writer, the operator that leads; a write is one statement, so a
 * crash leaves it done or not done, and the same write again changes nothing.
 *
 * Beside the records it has sums of spans. A record that is written or deleted takes the sums of the spans with it in
 * which it begins or ends, or began or ended before, in the same statement and whoever writes: sums that there are
 * hold.
 *
 * It has the spans of the clusters' health as well, of which the writer makes few (domain/usage/health-spans.ts).
 */

import { Data, type Effect } from "effect"
import type { Period } from "../domain/usage/concurrency.ts"
import type { HealthSpan, StoredHealth } from "../domain/usage/health-spans.ts"
import type { SpanSums } from "../domain/usage/span-sums.ts"
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

/** Spans of a cluster's health that a store keeps: those of months for a cluster that always comes and goes. */
export const maxSpansOfCluster = 10_000

/** Where a page ended. */
export type PageMark = Pick<UsageRecord, "startedAt" | "id" | "machineId">

/** Where a page of spans ended. */
export type SpanMark = Pick<HealthSpan, "cluster" | "from">

export interface UsageStore {
  /** The records without an end. */
  readonly open: Effect.Effect<ReadonlyArray<UsageRecord>, UsageStoreError>
  /** Makes the session's record, or brings it up to date. */
  readonly put: (record: UsageRecord) => Effect.Effect<void, UsageStoreError>
  /** The next records after a mark that began within a span, in the order of their starts; fewer only at the end. */
  readonly page: (
    span: Period,
    after: PageMark | undefined,
    max: number
  ) => Effect.Effect<ReadonlyArray<UsageRecord>, UsageStoreError>
  /**
   * Deletes what is beyond the limits, and returns how many records that were. Spans of clusters' health go as well:
   * those that ended before the moment, and of each cluster the oldest beyond {@link maxSpansOfCluster}.
   */
  readonly prune: (limits: UsageLimits) => Effect.Effect<number, UsageStoreError>
  /** The last records by their starts, in that order. */
  readonly newest: (max: number) => Effect.Effect<ReadonlyArray<UsageRecord>, UsageStoreError>
  /** The first start at a moment or after it, epoch ms; `undefined` if no session began there. */
  readonly nextStart: (from: number) => Effect.Effect<number | undefined, UsageStoreError>
  /** The spans that have sums. */
  readonly summed: Effect.Effect<ReadonlyArray<Period>, UsageStoreError>
  /** The sums of a span; `undefined` if it has none any more. */
  readonly sums: (span: Period) => Effect.Effect<SpanSums | undefined, UsageStoreError>
  /** Says that the sums of spans are about to be made, before the records are read. `maker`: another one each time. */
  readonly beginSums: (spans: ReadonlyArray<Period>, maker: number) => Effect.Effect<void, UsageStoreError>
  /** Keeps sums, unless a record of the span was written or deleted since this maker began, or another maker did. */
  readonly keepSums: (span: Period, sums: SpanSums, maker: number) => Effect.Effect<void, UsageStoreError>
  /** The spans of clusters' health that are without an end, and where the last of all spans ends. */
  readonly openHealth: Effect.Effect<StoredHealth, UsageStoreError>
  /** Where the first of all spans begins, epoch ms; `undefined` without any. */
  readonly firstHealth: Effect.Effect<number | undefined, UsageStoreError>
  /** Makes the rows of these spans, or brings them up to date, in their order; a crash leaves those up to one. */
  readonly putHealth: (spans: ReadonlyArray<HealthSpan>) => Effect.Effect<void, UsageStoreError>
  /** The next spans after a mark that overlap a period, by cluster and start; fewer only at the end. */
  readonly health: (
    period: Period,
    after: SpanMark | undefined,
    max: number
  ) => Effect.Effect<ReadonlyArray<HealthSpan>, UsageStoreError>
}
