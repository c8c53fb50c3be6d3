/**
 * Tells planners that something changed from which sessions are planned. The feed is made before its publishers and its
 * subscribers, so that sockets, fleet and controllers need not know each other. Not for callers who wait for one
 * session: they have the SessionNotifier.
 */

import { Context, Effect } from "effect"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"

/** A change outside of the objects that a controller watches itself. */
export type Change =
  /** Something changed from which a multi-cluster session is planned, such as a socket or a child. */
  | { readonly _tag: "ParentChanged"; readonly session: string }
  /** Something changed from which a session in this cluster is planned, such as a socket or a requirement. */
  | { readonly _tag: "ChildChanged"; readonly session: string }
  /** A cluster was lost, came back or was engaged, or its sessions became readable or unreadable. */
  | { readonly _tag: "ClusterChanged"; readonly cluster: ClusterName }

export class ChangeFeed {
  readonly #subscribers: Array<(change: Change) => void> = []
  readonly #leavers: Array<(cluster: ClusterName) => Effect.Effect<void>> = []

  /** Calls every subscriber before it returns. */
  readonly publish = (change: Change): void => {
    for (const subscriber of this.#subscribers) subscriber(change)
  }

  /** There is no unsubscribing: subscribers end with the feed. */
  readonly subscribe = (subscriber: (change: Change) => void): void => {
    this.#subscribers.push(subscriber)
  }

  /** Takes back what subscribers have in a cluster that leaves the fleet, while it is still connected. */
  readonly leave = (cluster: ClusterName): Effect.Effect<void> =>
    Effect.forEach(this.#leavers, (leaver) => leaver(cluster), { concurrency: "unbounded", discard: true })

  /** `leaver` may wait for the cluster for as long as a change of the fleet may. */
  readonly beforeLeaving = (leaver: (cluster: ClusterName) => Effect.Effect<void>): void => {
    this.#leavers.push(leaver)
  }
}

/** The feed of one operator, for its capabilities. */
export class Changes extends Context.Service<Changes, ChangeFeed>()("braid/app/Changes") {}
