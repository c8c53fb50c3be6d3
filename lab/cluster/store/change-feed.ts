/**
 * The changes of a store: kept for a while, and delivered to listeners in order, before the writing call returns. A
 * change that a listener makes is delivered after the current one, to every listener. Selectors come in at
 * `visibleEvent`; the feed itself knows keys and versions only.
 */

import type { StoreEvent } from "../schema/kube-object.ts"
import { type Change, ObjectHistory } from "./object-history.ts"
import type { ObjectPredicate } from "./selectors.ts"

export class ChangeFeed {
  readonly #history: ObjectHistory
  readonly #listeners = new Map<string, Set<(change: Change) => void>>()
  readonly #pending: Array<Change> = []
  #delivering = false

  constructor(historyLimit: number) {
    this.#history = new ObjectHistory(historyLimit)
  }

  publish(change: Change): void {
    this.#history.add(change)
    this.#pending.push(change)
    if (this.#delivering) return
    this.#delivering = true
    try {
      for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) {
        for (const listener of this.#listeners.get(next.key) ?? []) listener(next)
      }
    } finally {
      this.#delivering = false
    }
  }

  /** Changes of one collection after a version. Throws 410 `Expired`. */
  since(key: string, resourceVersion: number): ReadonlyArray<Change> {
    return this.#history.since(key, resourceVersion)
  }

  /** Delivers the changes after `horizon`: the caller has seen older ones, even those that still wait for delivery. */
  listen(key: string, horizon: number, listener: (change: Change) => void): () => void {
    const receive = (change: Change): void => {
      if (change.resourceVersion > horizon) listener(change)
    }
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners)
    listeners.add(receive)
    return () => void listeners.delete(receive)
  }

  compact(resourceVersion: number): void {
    this.#history.compact(resourceVersion)
  }
}

/**
 * The change as a watch with a selector sees it: an object that enters the selection is ADDED, one that leaves DELETED.
 */
export const visibleEvent = (change: Change, matches: ObjectPredicate): StoreEvent | undefined => {
  const { object } = change
  const matched = change.before !== undefined && matches(change.before)
  if (change.type === "DELETED") return matched || matches(object) ? { type: "DELETED", object } : undefined
  if (matches(object)) return { type: matched ? "MODIFIED" : "ADDED", object }
  return matched ? { type: "DELETED", object } : undefined
}
