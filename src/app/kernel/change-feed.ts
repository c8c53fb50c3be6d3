/**
 * News for those who plan: what sessions are planned from has changed. Made before everybody who publishes and
 * everybody who subscribes, so that sockets, fleet and controllers need not know each other. Not for those who wait for
 * one session: they have the SessionNotifier.
 */

import type { ClusterName } from "../../domain/fleet/cluster-name.ts"

/** A change outside of the objects that a controller watches itself. */
export type Change =
  /** A socket, a child or whatever else a multi-cluster session is planned from. */
  | { readonly _tag: "ParentChanged"; readonly session: string }
  /** A socket, a requirement or whatever else a session in this cluster is planned from. */
  | { readonly _tag: "ChildChanged"; readonly session: string }
  /** A cluster was lost, came back or was engaged, or its sessions became readable or unreadable. */
  | { readonly _tag: "ClusterChanged"; readonly cluster: ClusterName }

export class ChangeFeed {
  readonly #subscribers: Array<(change: Change) => void> = []

  /** Calls every subscriber before it returns. */
  readonly publish = (change: Change): void => {
    for (const subscriber of this.#subscribers) subscriber(change)
  }

  /** For as long as the feed lives: its subscribers end with it. */
  readonly subscribe = (subscriber: (change: Change) => void): void => {
    this.#subscribers.push(subscriber)
  }
}
