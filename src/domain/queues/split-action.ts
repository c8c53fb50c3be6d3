/**
 * The actions by which a split is carried on, as plain data. They may be carried out in any order, and each may fail or
 * be skipped: the next plan starts from what is then observed.
 *
 * Not here: which is next (split-plan.ts), and performing it.
 */

import type { Precondition } from "../resources/object-meta.ts"
import type {
  DrainTarget,
  ForwardingTable,
  QueueOwner,
  SplitRecord,
  SplitSource,
  SplitTimes
} from "./observed-split.ts"

/** A session's queue by its source: what its program and its user get to see. */
export interface SessionResource {
  readonly source: SplitSource
  /** The name or the URL of the session's queue. */
  readonly queue: string
}

/** The next status of a session. */
export type NewStatus =
  | { readonly phase: "starting" }
  | { readonly phase: "resourcesReady" | "ready"; readonly resources: ReadonlyArray<SessionResource> }
  /** It ends a session that was ready as well. `message`: a sentence. */
  | { readonly phase: "startError" | "cleanupError"; readonly code: number; readonly message: string }

/** Replace the pods that were born before `bornBefore` (epoch ms). The workload shows the token from then on. */
export interface RestartWorkload {
  readonly _tag: "RestartWorkload"
  readonly strategy: SplitTimes["strategy"]
  readonly token: string
  readonly bornBefore: number
}

export type SplitAction =
  /** Create the split's record, in the phase `Starting`. */
  | {
      readonly _tag: "RecordSplit"
      readonly since: number
      readonly digest: string
      readonly sources: ReadonlyArray<SplitSource>
      readonly times: SplitTimes
    }
  /** Change the split's record. There is at most one in a plan. */
  | {
      readonly _tag: "WriteRecord"
      readonly change: Partial<Pick<SplitRecord, "phase" | "since" | "restart">>
      readonly precondition: Precondition
    }
  | { readonly _tag: "DeleteRecord"; readonly precondition: Precondition }
  /** Create the record of a queue. The queue itself is made by a later plan, which sees the record. */
  | {
      readonly _tag: "RecordQueue"
      readonly name: string
      readonly source: SplitSource
      readonly owner: QueueOwner
    }
  /** `CreateQueue` with the attributes of the original. */
  | { readonly _tag: "CreateQueue"; readonly name: string }
  /** Look whether a queue exists and count its messages. `queue`: its name, or the name or URL of a given one. */
  | { readonly _tag: "ReadQueue"; readonly queue: string }
  /** Write into a queue's record since when nothing is sent to it (epoch ms). */
  | { readonly _tag: "QuietQueue"; readonly name: string; readonly at: number }
  /** Begin to move messages out of a queue, to this target alone. */
  | { readonly _tag: "DrainQueue"; readonly queue: string; readonly to: DrainTarget }
  /** Receive no more. The drain is observed until its last batch is done. */
  | { readonly _tag: "StopDrain"; readonly queue: string }
  /** Delete a queue, with which its drain ends; a queue that is gone is a success. */
  | { readonly _tag: "DeleteQueue"; readonly name: string }
  /** Delete the record of a queue that is gone. */
  | { readonly _tag: "ForgetQueue"; readonly name: string }
  /** `uid`: of the session. There is at most one for each session. */
  | { readonly _tag: "WriteStatus"; readonly uid: string; readonly status: NewStatus }
  /** Create the webhook, or give it the values that it has to have. */
  | { readonly _tag: "PutWebhook" }
  | { readonly _tag: "RemoveWebhook" }
  | RestartWorkload
  /** Begin to forward by this table, or let the next batches see it. */
  | { readonly _tag: "StartForwarding"; readonly table: ForwardingTable }
  /** Begin no more batches. The forwarder is observed until the last one is done. */
  | { readonly _tag: "StopForwarding"; readonly source: SplitSource }
  /** Say it by log and Event. `key`: the same for the same news. */
  | { readonly _tag: "Report"; readonly key: string; readonly message: string }
  /** Plan again at this time (epoch ms, in the future) if nothing happens before. */
  | { readonly _tag: "RequeueAt"; readonly at: number }

/** The key under which failures of an action are kept: equal for actions that do the same to the same thing. */
export const actionKey = (action: SplitAction): string => {
  switch (action._tag) {
    case "RecordQueue":
    case "CreateQueue":
    case "QuietQueue":
    case "DeleteQueue":
    case "ForgetQueue":
      return `${action._tag} ${action.name}`
    case "ReadQueue":
    case "DrainQueue":
    case "StopDrain":
      return `${action._tag} ${action.queue}`
    case "WriteStatus":
      return `${action._tag} ${action.uid}`
    case "StartForwarding":
      return `${action._tag} ${action.table.source.identity}`
    case "StopForwarding":
      return `${action._tag} ${action.source.identity}`
    case "Report":
      return `${action._tag} ${action.key}`
    default:
      return action._tag
  }
}
