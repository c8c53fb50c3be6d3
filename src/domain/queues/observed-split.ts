/**
 * Everything from which the next steps of a split are decided: one workload and its queues in one cluster. Times are
 * epoch ms.
 *
 * Not here: looking at the cluster and at SQS, and resolving variables to queues.
 */

import type * as Result from "effect/Result"
import type { Precondition } from "../resources/object-meta.ts"
import type { SplitSession } from "./chosen-session.ts"
import type { SplitFailure } from "./split-failure.ts"

/** A queue of the workload, as it was configured when the split began. */
export interface SplitSource {
  /** The same for all names of this queue, such as its ARN. */
  readonly identity: string
  /** Its name or URL, as the workload has it. */
  readonly reference: string
  readonly name: string
  readonly url: string
  /** The ids that it has in the configuration. */
  readonly ids: ReadonlyArray<string>
}

/** The settings of a split's configuration for its beginning and its end. */
export interface SplitTimes {
  readonly restartMillis: number
  readonly strategy: "standard" | "isolatePods"
  /** How many pods must have the new names and be ready before a session is. */
  readonly waitForPods: number | "all"
  /** How long the split stays as it is after its last session. */
  readonly ttlMillis: number
  /** How long the workload may take to empty its main queues; `undefined` for ever. */
  readonly drainMillis: number | undefined
  /** Template of the names of temporary queues; `undefined` for the default one. */
  readonly nameTemplate: string | undefined
}

export type ObservedConfiguration =
  /** It could not be read yet. That is no reason to end a split. */
  | { readonly _tag: "Unknown" }
  /** There is none that can be used. `why`: a sentence. */
  | { readonly _tag: "Refused"; readonly code: number; readonly why: string }
  | {
      readonly _tag: "Known"
      /** Another one for another configuration, or if its variables lead to other queues. */
      readonly digest: string
      readonly sources: ReadonlyArray<SplitSource>
      readonly times: SplitTimes
    }

/**
 * `Starting`: pods get the names of the main queues. `Live`: sessions get their messages. `Idle`: the same without
 * sessions. `Draining`: the workload empties its main queues, which get no more. `Unpatching`: pods get the original
 * names back. After that there is no record, and what is left of its queues is cleaned up beside a new split.
 */
export type SplitPhase = "Starting" | "Live" | "Idle" | "Draining" | "Unpatching"

/** An order to replace pods. It is recorded before it is carried out. */
export interface RecordedRestart {
  /** Counts the orders of this split. */
  readonly number: number
  readonly at: number
  /** Orders for the same reason, with this one. */
  readonly attempts: number
}

/** The split as Kubernetes holds it. */
export interface SplitRecord {
  readonly uid: string
  /** The configuration's, when the split began. */
  readonly digest: string
  /** At least one. */
  readonly sources: ReadonlyArray<SplitSource>
  /** Those that the split began with. They count while the configuration cannot be read. */
  readonly times: SplitTimes
  readonly phase: SplitPhase
  /** When the phase began; if it restarts pods: when it first ordered that. */
  readonly since: number
  /** The last one; `undefined` if there was none. */
  readonly restart: RecordedRestart | undefined
  readonly precondition: Precondition
  /** Whether it ends at once, as `braid cleanup` wants it; `undefined` stands for no. */
  readonly endsNow?: boolean | undefined
}

export interface ObservedWorkload {
  readonly replicas: number
  /** The token of the last {@link import("./split-action.ts").RestartWorkload}; `undefined` if it shows none. */
  readonly restartToken: string | undefined
}

/** A pod of the workload. */
export interface WorkloadPod {
  /** The split whose names it has: `SplitRecord.uid`, from the label; `undefined` if it reads the originals. */
  readonly patchedBy: string | undefined
  readonly isReady: boolean
  /** Whether it is being deleted. It reads its queues until it is gone. */
  readonly isTerminating: boolean
  readonly bornAt: number
}

/** Messages in a queue at a time: visible, in flight and delayed. */
export interface QueueCount {
  readonly at: number
  readonly messages: number
}

export type QueueState =
  /** It was not looked at since this process began. */
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Absent" }
  /** `counts`: in the order of their times. `maximumMessageSize`: bytes; not there for a queue that was just made. */
  | { readonly _tag: "Present"; readonly counts: ReadonlyArray<QueueCount>; readonly maximumMessageSize?: number }

export type QueueOwner =
  /** `split`: `SplitRecord.uid`. */
  | { readonly _tag: "Main"; readonly split: string }
  /** `session`: `WantedSession.uid`. */
  | { readonly _tag: "Session"; readonly session: string; readonly mode: SplitSession["mode"] }

/** A temporary queue that Kubernetes names, whether it is at SQS or not. */
export interface RecordedQueue {
  readonly name: string
  readonly source: SplitSource
  readonly owner: QueueOwner
  /** Since when nothing is sent to it any more, as the record says; `undefined` while something may be. */
  readonly quietSince: number | undefined
  readonly state: QueueState
}

/** A session queue that another cluster has made. */
export interface GivenQueue {
  /** Its id in the configuration; `undefined` if the other cluster did not say. */
  readonly id: string | undefined
  /** The name or the URL of the original there. */
  readonly original: string
  /** Its own name or URL. */
  readonly queue: string
}

export type SessionPhase = "starting" | "resourcesReady" | "ready" | "startError" | "cleanupError"

/** A session of which the cluster has a record. `uid`: of this record, so a session that comes again has another. */
export interface WantedSession extends Omit<SplitSession, "mode"> {
  readonly uid: string
  /** Whether it takes or copies messages, by the id of the queue. Queues that are not here match no message. */
  readonly modes: ReadonlyMap<string, SplitSession["mode"]>
  /** `Own`: this cluster makes the session's queues, as the default cluster does. `Given`: it uses those of another. */
  readonly queues: { readonly _tag: "Own" } | { readonly _tag: "Given"; readonly given: ReadonlyArray<GivenQueue> }
  /** As its status says; `undefined` if it has none yet. */
  readonly phase: SessionPhase | undefined
  /** Why it cannot go on for a reason of its own, such as a filter that gives no answer; `undefined` if it can. */
  readonly problem: { readonly code: number; readonly message: string } | undefined
  /** Whether it is over, although its record is still there. */
  readonly isEnding: boolean
}

/** Where matches of a session go. `ids`: the filters of these ids choose them. */
export interface Route extends SplitSession {
  readonly uid: string
  readonly ids: ReadonlyArray<string>
  /** The name or the URL of the session's queue. */
  readonly queue: string
}

/** The ways of the messages of one queue of the workload. */
export interface ForwardingTable {
  readonly source: SplitSource
  /** The name of the queue that gets what no session takes. */
  readonly main: string
  /** The session that comes first in it wins. */
  readonly routes: ReadonlyArray<Route>
}

/** A loop that forwards messages of the workload's queue. */
export interface RunningForwarder {
  readonly table: ForwardingTable
  /** Whether it is another replica's, which has still to take the table. */
  readonly isAwaited?: boolean
  /** Whether it begins no more batches. */
  readonly isStopping: boolean
  /** Queues of earlier tables to which a batch under way may still send. */
  readonly stillSendsTo: ReadonlyArray<string>
}

/** A loop of this process that moves messages out of a temporary queue. */
export interface RunningDrain {
  readonly queue: string
  readonly to: DrainTarget
}

export type DrainTarget =
  | { readonly _tag: "Main"; readonly name: string }
  | { readonly _tag: "Original"; readonly source: SplitSource }

export interface ObservedSplit {
  /** `undefined` if it is deleted. */
  readonly workload: ObservedWorkload | undefined
  readonly pods: ReadonlyArray<WorkloadPod>
  readonly sessions: ReadonlyArray<WantedSession>
  /** Until when another cluster may send to the queues of a session, by its uid. */
  readonly heldUntil: ReadonlyMap<string, number>
  readonly configuration: ObservedConfiguration
  readonly record: SplitRecord | undefined
  readonly queues: ReadonlyArray<RecordedQueue>
  /** Queues of {@link GivenQueue}, by their names or URLs. */
  readonly given: ReadonlyMap<string, QueueState>
  /** `Other`: it has other values or selects other pods than it has to. */
  readonly webhook: "Absent" | "Other" | "Current"
  readonly forwarders: ReadonlyArray<RunningForwarder>
  readonly drains: ReadonlyArray<RunningDrain>
  /** Until when a process that led before this one may still send messages. */
  readonly fencedUntil: number
  /** The last failure of an action by its key. An action that succeeds removes its failure. */
  readonly failures: ReadonlyMap<string, SplitFailure>
  /** The keys of reports that were made. */
  readonly reported: ReadonlySet<string>
  /** Makes the name of a temporary queue of random digits that differ for each `seed`. The failure is a clause. */
  readonly queueName: (source: SplitSource, role: "main" | "session", seed: string) => Result.Result<string, string>
}
