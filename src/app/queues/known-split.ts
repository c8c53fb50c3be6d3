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
import type { AuditedSession } from "../../domain/sessions/session-act.ts"
import type { DrainEnd } from "./drain-session.ts"
import type { ForwarderReport } from "./forwarder.ts"
import { splitFailure } from "./queue-failure.ts"
import { SplitTotals } from "./queue-totals.ts"
import type { ResolvedSplit } from "./resolve-split.ts"
import { makeRunningDrains, type RunningDrains } from "./running-drains.ts"
import type { Forwarders, MakeForwarders } from "./running-forwarders.ts"
import type { SplitRefused } from "./split-refused.ts"

/** The queues of a configuration, when they were looked up. */
export interface Resolution {
  /** The versions of the objects that it was made of. */
  readonly inputs: string
  /** Epoch ms. */
  readonly at: number
  readonly result: Result.Result<ResolvedSplit, SplitRefused>
}

/** A session that gets messages, for the audit log. */
export interface AuditedPart extends AuditedSession {
  readonly queues: ReadonlyArray<string>
}

export interface KnownSplit {
  readonly place: SplitPlace
  /** `undefined` before the first look-up that was answered. */
  resolution: Resolution | undefined
  /** By the names of temporary queues, and by the names or URLs of given ones. */
  readonly queues: Map<string, QueueState>
  readonly forwarders: Forwarders
  readonly drains: RunningDrains
  /** By the keys of actions. */
  readonly failures: Map<string, SplitFailure>
  readonly reported: Set<string>
  readonly totals: SplitTotals
  /** The sessions that get messages, by their uids. */
  readonly audited: Map<string, AuditedPart>
  /** Since when sessions are over to whose queues other clusters send, by their uids; epoch ms. */
  readonly goneSince: Map<string, number>
  /** Why sessions cannot go on, by their uids. */
  readonly problems: Map<string, { readonly code: number; readonly message: string }>
}

/** The reason why a session gets no more messages, as a sentence. */
const endOf = ({ detail, end }: Extract<ForwarderReport, { readonly _tag: "SessionEnded" }>): string => {
  switch (end) {
    case "QueueGone":
      return "The session's queue is gone: start the session again."
    case "QueueDenied":
      return sentence(`SQS did not carry out ${detail}`)
    case "FilterFailed":
      return sentence(`The session's filter gives no answer, so it gets no more messages: ${detail}`)
  }
}

/** How long a failure is remembered, ms. Actions that are still to be done are tried again before. */
const rememberedFor = 600_000

/** Forgets what concerns sessions and queues that are over. `live`: the names and uids of the others. */
export const forgetEnded = (
  known: Pick<KnownSplit, "failures" | "problems" | "queues" | "reported">,
  live: ReadonlySet<string>,
  now: number
): void => {
  const { failures, problems, queues, reported } = known
  for (const map of [problems, queues]) for (const key of map.keys()) if (!live.has(key)) map.delete(key)
  for (const [key, { at }] of failures) if (at + rememberedFor < now) failures.delete(key)
  for (const key of reported) {
    // The first word is followed by the uid or name of its subject; strays have a number behind it.
    const [word, about = ""] = key.split(" ")
    if (!live.has((word === "Strays" ? about.split(".")[0] : about) ?? "")) reported.delete(key)
  }
}

export interface KnownSplitOptions {
  readonly sessions: () => ReadonlyArray<StoredSession>
  /** Called when something has happened in a loop. */
  readonly changed: () => void
  readonly makeForwarders: MakeForwarders
}

/** Begins to remember a split, for as long as the scope lives. */
export const makeKnownSplit = Effect.fnUntraced(function* (
  place: SplitPlace,
  { changed, makeForwarders, sessions }: KnownSplitOptions
): Effect.fn.Return<KnownSplit, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const failures = new Map<string, SplitFailure>()
  const problems: KnownSplit["problems"] = new Map()
  const queues = new Map<string, QueueState>()
  const report = (identity: string, found: ForwarderReport): void => {
    if (found._tag === "SplitFailed") {
      const { queue, reason } = found.error
      const name = queue.slice(queue.lastIndexOf("/") + 1)
      // A main queue that was deleted is made again; the original's messages wait for it.
      if (reason === "NoQueue" && queues.has(name)) queues.set(name, { _tag: "Unknown" })
      else failures.set(`StartForwarding ${identity}`, splitFailure(found.error, clock.currentTimeMillisUnsafe()))
      forwarders.stop(identity)
    } else {
      for (const { wanted } of sessions())
        if (wanted.id === found.session) problems.set(wanted.uid, { code: 500, message: endOf(found) })
    }
    changed()
  }
  const drained = (queue: string, end: DrainEnd): Effect.Effect<void> =>
    Effect.sync(() => {
      if (end._tag === "Failed")
        failures.set(`DrainQueue ${queue}`, splitFailure(end.error, clock.currentTimeMillisUnsafe()))
      changed()
    })
  const forwarders: Forwarders = yield* makeForwarders(place, { report, changed })
  return {
    place,
    resolution: undefined,
    queues,
    forwarders,
    drains: yield* makeRunningDrains(drained),
    failures,
    reported: new Set(),
    goneSince: new Map(),
    totals: new SplitTotals(),
    audited: new Map(),
    problems
  }
})
