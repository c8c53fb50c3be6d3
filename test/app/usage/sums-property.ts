/** That reports made of sums are those made of records alone, whatever is written and deleted, and when. */

import { Effect, type Scope } from "effect"
import fc from "fast-check"
import { expect } from "vitest"
import { makeSums } from "../../../src/app/usage/make-sums.ts"
import { readRecords, readUsage } from "../../../src/app/usage/read-usage.ts"
import { primaryKeys, type UsageQuery } from "../../../src/domain/usage/usage-query.ts"
import { usageKinds, type UsageRecord } from "../../../src/domain/usage/usage-record.ts"
import { UsageSums } from "../../../src/domain/usage/usage-report.ts"
import { TrendSums } from "../../../src/domain/usage/usage-trends.ts"
import type { UsageStore, UsageStoreError } from "../../../src/ports/usage-store.ts"
import { record } from "../../domain/usage/some-records.ts"

const hour = 3_600_000
const day = 24 * hour
/** The middle of a January: sessions are in the months around it. */
const start = Date.UTC(2026, 0, 20)
const maxTime = 50 * day
const always = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER }

const lengths = fc.oneof(fc.nat(3 * hour), fc.constantFrom(0, 1, 2 * hour, day, 2 * day, -hour), fc.nat(40 * day))
/** Moments of which many are the same, or are where days and months begin. */
const moments = fc.oneof(
  fc.nat(maxTime),
  fc.constantFrom(0, 1, day, 12 * day - hour, 12 * day - 1, 12 * day, 12 * day + 1, 12 * day + hour, 40 * day, maxTime)
)

const someRecord = fc
  .record({
    id: fc.constantFrom("1", "2", "3", "4", "5", "6", "7", "8"),
    machineId: fc.constantFrom("key-1", "key-2", ""),
    kubernetesUser: fc.constantFrom("jane", "joe"),
    clientHost: fc.constantFrom("laptop", "desktop"),
    kind: fc.constantFrom(...usageKinds),
    target: fc.constantFrom("deployment/web", "pod/a"),
    clusters: fc.constantFrom([], ["a"], ["a", "b"]),
    at: moments,
    length: fc.option(lengths, { nil: undefined, freq: 4 })
  })
  .map(({ at, length, ...given }): UsageRecord => {
    const startedAt = start + at
    return record({ ...given, startedAt, stoppedAt: length === undefined ? undefined : startedAt + length })
  })

/** A write or a prune. */
const act = fc.oneof(
  { weight: 5, arbitrary: someRecord.map((put) => (store: UsageStore) => store.put(put)) },
  {
    weight: 1,
    arbitrary: moments.map(
      (at) => (store: UsageStore) => Effect.asVoid(store.prune({ before: start + at, maxBytes: Infinity }))
    )
  }
)

type Act = (store: UsageStore) => Effect.Effect<void, UsageStoreError>

interface Disturbance {
  /** Before so many calls of the maker. */
  readonly after: number
  readonly act: Act
  /** Whether another maker makes sums then. */
  readonly isMade: boolean
}

/** Acts, a making of sums, and acts during it. */
const round = fc.record({
  before: fc.array(act, { maxLength: 10 }),
  during: fc.array(fc.record({ after: fc.nat(80), act, isMade: fc.boolean() }), { maxLength: 3 }),
  now: moments
})

const query = fc.record({
  primaryKey: fc.constantFrom(...primaryKeys),
  from: fc.option(moments, { nil: undefined }),
  to: fc.option(moments, { nil: undefined })
})

/** The store as a maker has it while others write. */
const disturbed = (store: UsageStore, during: ReadonlyArray<Disturbance>) => {
  let calls = 0
  const before = <A>(call: Effect.Effect<A, UsageStoreError>): Effect.Effect<A, UsageStoreError> =>
    Effect.suspend(() => {
      const due = during.filter(({ after }) => after === calls)
      calls++
      return Effect.andThen(
        Effect.forEach(due, (one) =>
          Effect.andThen(one.act(store), one.isMade ? makeSums(store, start + maxTime) : Effect.void)
        ),
        call
      )
    })
  return {
    ...store,
    nextStart: (from) => before(store.nextStart(from)),
    page: (...which) => before(store.page(...which)),
    sums: (span) => before(store.sums(span)),
    keepSums: (...sums) => before(store.keepSums(...sums))
  } satisfies UsageStore
}

/** Fails if the reports made of sums differ from those made of records. */
export const reportsAgree = Effect.fnUntraced(function* (
  store: UsageStore,
  asked: Omit<UsageQuery, "format">,
  now: number
) {
  const full: UsageQuery = { format: "json", ...asked }
  const [bySums, byRecords] = [new UsageSums(full, now), new UsageSums(full, now)]
  const [trends, trendsByRecords] = [new TrendSums(25, now), new TrendSums(25, now)]
  yield* readUsage(store, { cuts: [asked.from, asked.to].filter((cut) => cut !== undefined), now }, bySums)
  yield* readUsage(store, { cuts: [], now }, trends)
  yield* readRecords(store, always, (one) => {
    byRecords.add(one)
    trendsByRecords.add(one)
  })
  const installation = { operatorVersion: "1", chartVersion: "1", clusterName: "main", clusters: [] }
  expect(bySums.report(installation)).toEqual(byRecords.report(installation))
  expect(trends.trends()).toEqual(trendsByRecords.trends())
})

/** `empty`: opens a store without records. */
export const sumsHold = (
  empty: Effect.Effect<UsageStore, UsageStoreError, Scope.Scope>,
  numRuns: number
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(
      fc.array(round, { minLength: 1, maxLength: 3 }),
      fc.array(act, { maxLength: 2 }),
      fc.array(query, { minLength: 1, maxLength: 3 }),
      (rounds, last, queries) =>
        Effect.gen(function* () {
          const store = yield* empty
          for (const { before, during, now } of rounds) {
            for (const one of before) yield* one(store)
            yield* makeSums(disturbed(store, during), start + now)
          }
          for (const one of last) yield* one(store)
          for (const { from, primaryKey, to } of queries) {
            const at = (moment: number | undefined) => (moment === undefined ? undefined : start + moment)
            yield* reportsAgree(store, { primaryKey, from: at(from), to: at(to) }, start + maxTime)
          }
        }).pipe(Effect.scoped, Effect.runPromise)
    ),
    { numRuns }
  )
