/** That a store, of any engine, keeps spans of clusters' health as it should. */

import { Effect } from "effect"
import { expect } from "vitest"
import type { HealthSpan } from "../../../src/domain/usage/health-spans.ts"
import { maxSpansOfCluster, type SpanMark, type UsageStore } from "../../../src/ports/usage-store.ts"

const span = (cluster: string, from: number, more: Partial<HealthSpan> = {}): HealthSpan => ({
  cluster,
  unready: { reason: "Lost", message: "it's away" },
  from,
  lastSeen: from + 10,
  to: from + 10,
  ...more
})

/** All spans that overlap a period, in pages. */
export const healthIn = Effect.fnUntraced(function* (store: UsageStore, from = 0, to = 1e15, most = 2) {
  const found: Array<HealthSpan> = []
  let after: SpanMark | undefined
  for (;;) {
    const page = yield* store.health({ from, to }, after, most)
    found.push(...page)
    if (page.length < most) return found
    after = page.at(-1)
  }
})

export const healthIsKept = Effect.fnUntraced(function* (store: UsageStore) {
  expect(yield* store.openHealth).toEqual({ open: [], end: undefined })
  expect(yield* store.firstHealth).toBeUndefined()
  const open = span("b", 25, { unready: undefined, to: undefined })
  const spans = [span("a", 10), span("b", 5), open, span("a", 20, { lastSeen: 900, to: 900 })]
  yield* store.putHealth(spans)
  yield* store.putHealth([{ ...open, lastSeen: 95 }, span("a", 10, { to: undefined })])
  expect(yield* store.openHealth).toEqual({
    open: [span("a", 10, { to: undefined }), { ...open, lastSeen: 95 }],
    end: 900
  })
  yield* store.putHealth([span("a", 10)])
  expect(yield* store.firstHealth).toBe(5)
  expect(yield* healthIn(store)).toEqual([spans[0], spans[3], spans[1], { ...open, lastSeen: 95 }])
  expect(yield* healthIn(store, 20, 25)).toEqual([spans[3]])
  yield* store.prune({ before: 60, maxBytes: 1e9 })
  expect(yield* healthIn(store)).toEqual([spans[3], { ...open, lastSeen: 95 }])
  const many = Array.from({ length: maxSpansOfCluster + 5 }, (_, index) => span("c", 1_000 + 10 * index))
  yield* store.putHealth(many)
  yield* store.prune({ before: 60, maxBytes: 1e9 })
  expect(yield* healthIn(store, 0, 1e15, 2_000)).toEqual([spans[3], { ...open, lastSeen: 95 }, ...many.slice(5)])
})
