/**
 * Splits of queues for the sessions of this cluster.
 *
 * Not here: carrying splits on (split-controller.ts), and what a connect asks for (domain/queues/wanted-split.ts).
 */

import { Context, Effect } from "effect"
import type { ServedQueueSplit } from "../../domain/queues/queue-split-object.ts"
import { readWish } from "../../domain/queues/split-wish.ts"
import type { ServedSqsSession } from "../../domain/queues/sqs-session.ts"
import type { WantedSplit } from "../../domain/queues/wanted-split.ts"
import type { MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import { asksForSplit } from "../../domain/sessions/names.ts"
import { met, type Requirement } from "../../domain/sessions/requirement.ts"
import { type ApiError, notFound } from "../api/status.ts"
import type { ConnectAttempt } from "../services/capability.ts"

export class QueueSplits extends Context.Service<
  QueueSplits,
  {
    /** Whether connects of a sort may split queues. */
    readonly areServed: (route: ConnectAttempt["_tag"]) => boolean
    /**
     * Refuses a split that is impossible, before there is a session. False if there is nothing to split: `mirrord up`
     * asks for all queues that the workload may have.
     */
    readonly check: (wanted: WantedSplit) => Effect.Effect<boolean, ApiError>
    /** The same for what a primary orders: the configuration may be on its way from there, and is waited for. */
    readonly checkOrdered: (wanted: WantedSplit) => Effect.Effect<boolean, ApiError>
    /** Orders the split of a session, once: it lives until the session is deleted. */
    readonly order: (session: MirrordClusterSession, wanted: WantedSplit) => Effect.Effect<void, ApiError>
    /** Whether a session that splits queues can begin, and goes on. `Met` for others. */
    readonly requirement: (session: MirrordClusterSession) => Requirement
    /** New values of variables of the session's container, by name; empty if it splits none. `session`: its name. */
    readonly variables: (session: string) => ReadonlyMap<string, string>
    /** The parts of sessions in splits, for lists of sessions, by the names of the sessions. */
    readonly shown: () => ReadonlyMap<string, ServedSqsSession>
    /** The parts of all sessions, of all namespaces or of one; not found if queues are not split here. */
    readonly objects: (namespace: string | undefined) => Effect.Effect<ReadonlyArray<ServedQueueSplit>, ApiError>
  }
>()("braid/app/QueueSplits") {}

const switchedOff = "Queues are not split in this cluster: the operator's chart has operator.sqsSplitting for it."

/** Refuses children whose sessions need a split. `mirrord up` asks for whatever queues there are. */
const refusedSplit = ({ metadata }: MirrordClusterSession): Requirement =>
  asksForSplit(metadata) && readWish(metadata)?.isAutomatic !== true
    ? {
        _tag: "Failed",
        failure: { reason: "QueuesNotSplit", message: switchedOff, code: 400 },
        comesFirst: true
      }
    : met

/** The splits of an operator that splits none. */
export const noSplits: QueueSplits["Service"] = {
  areServed: () => false,
  check: () => Effect.succeed(false),
  checkOrdered: () => Effect.succeed(false),
  order: () => Effect.void,
  requirement: refusedSplit,
  variables: () => new Map(),
  shown: () => new Map(),
  objects: () => Effect.fail(notFound(switchedOff))
}
