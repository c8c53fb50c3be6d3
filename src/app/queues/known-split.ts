/**
 * The memory of one process about a split: what it has seen at SQS, its loops, and the failures of its calls. A new
 * process begins with what the cluster's records say.
 */

import { Clock, Effect, type Result, type Scope } from "effect"
import { sentence } from "../../domain/clean-text.ts"
import type { QueueState } from "../../domain/queues/observed-split.ts"
import type { SplitFailure } from "../../domain/queues/split-failure.ts"
import type { SplitPlace } from "../../domain/queues/split-place.ts"
import type { StoredSession } from "../../domain/queues/stored-session.ts"
import type { DrainEnd } from "./drain-session.ts"
import type { ForwarderReport } from "./forwarder.ts"
import { splitFailure } from "./queue-failure.ts"
import type { ResolvedSplit } from "./resolve-split.ts"
import { makeRunningDrains, type RunningDrains } from "./running-drains.ts"
import { makeRunningForwarders, type RunningForwarders } from "./running-forwarders.ts"
import type { SplitRefused } from "./split-refused.ts"

/** The queues of a configuration, when they were looked up. */
export interface Resolution {
  /** The versions of the objects that it was made of. */
  readonly inputs: string
  /** Epoch ms. */
  readonly at: number
  readonly result: Result.Result<ResolvedSplit, SplitRefused>
}

export interface KnownSplit {
  readonly place: SplitPlace
  /** `undefined` before the first look-up that was answered. */
  resolution: Resolution | undefined
  /** By the names of temporary queues, and by the names or URLs of given ones. */
  readonly queues: Map<string, QueueState>
  /** Bytes of the largest message, by the same names. */
  readonly messageSizes: Map<string, number>
  readonly forwarders: RunningForwarders
  readonly drains: RunningDrains
  /** By the keys of actions. */
  readonly failures: Map<string, SplitFailure>
  readonly reported: Set<string>
  /** Why sessions cannot go on, by their uids. */
  readonly problems: Map<string, { readonly code: number; readonly message: string }>
}

/** The reason why a session gets no more messages, as a sentence. */
const endOf = ({ detail, end }: Extract<ForwarderReport, { readonly _tag: "SessionEnded" }>): string =>
  end === "QueueGone"
    ? "The session's queue is gone: start the session again."
    : sentence(`The session's filter gives no answer, so it gets no more messages: ${detail}`)

/** Begins to remember a split, for as long as the scope lives. `changed`: something happened in a loop. */
export const makeKnownSplit = Effect.fnUntraced(function* (
  place: SplitPlace,
  sessions: () => ReadonlyArray<StoredSession>,
  changed: () => void
): Effect.fn.Return<KnownSplit, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const failures = new Map<string, SplitFailure>()
  const problems: KnownSplit["problems"] = new Map()
  const report = (identity: string, found: ForwarderReport): void => {
    if (found._tag === "SplitFailed") {
      failures.set(`StartForwarding ${identity}`, splitFailure(found.error, clock.currentTimeMillisUnsafe()))
      forwarders.stop(identity)
    } else {
      for (const { wanted } of sessions())
        if (wanted.id === found.session) problems.set(wanted.uid, { code: 500, message: endOf(found) })
    }
    changed()
  }
  const drained = (queue: string, end: DrainEnd): Effect.Effect<void> =>
    Effect.sync(() => {
      const key = `DrainQueue ${queue}`
      if (end._tag === "Failed") failures.set(key, splitFailure(end.error, clock.currentTimeMillisUnsafe()))
      else failures.delete(key)
      changed()
    })
  const forwarders: RunningForwarders = yield* makeRunningForwarders({ report, changed })
  return {
    place,
    resolution: undefined,
    queues: new Map(),
    messageSizes: new Map(),
    forwarders,
    drains: yield* makeRunningDrains(drained),
    failures,
    reported: new Set(),
    problems
  }
})
