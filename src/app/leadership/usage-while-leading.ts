/**
 * The record of use as a leader may write it: a process that wakes up after its term would bring a session back whose
 * end the next leader has written.
 *
 * Not here: the rest of the world (while-leading.ts).
 */

import { Effect, type Scope } from "effect"
import { type UsageStore, UsageStoreError } from "../../ports/usage-store.ts"
import type { Term } from "../kernel/term.ts"
import { whyNotLeading } from "./while-leading.ts"

/** Opens a store whose changes fail once the term does not last, at the moment when they would leave. */
export const usageWhileLeading = (
  term: Term,
  open: Effect.Effect<UsageStore, UsageStoreError, Scope.Scope>
): Effect.Effect<UsageStore, UsageStoreError, Scope.Scope> => {
  const led = <A>(
    operation: UsageStoreError["operation"],
    change: Effect.Effect<A, UsageStoreError>
  ): Effect.Effect<A, UsageStoreError> =>
    Effect.suspend(() =>
      term.lasts() ? change : Effect.fail(new UsageStoreError({ operation, detail: whyNotLeading }))
    )
  return Effect.map(open, (store) => ({
    ...store,
    put: (record) => led("write", store.put(record)),
    prune: (limits) => led("prune", store.prune(limits)),
    putHealth: (spans) => led("write", store.putHealth(spans)),
    beginSums: (spans, maker) => led("write", store.beginSums(spans, maker)),
    keepSums: (span, sums, maker) => led("write", store.keepSums(span, sums, maker))
  }))
}
