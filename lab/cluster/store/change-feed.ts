import type { StoreEvent } from "../schema/kube-object.ts"
import { type Change, ObjectHistory } from "./object-history.ts"
import type { ObjectPredicate } from "./selectors.ts"

/**
 * The changes of a store: kept for a while, and delivered to listeners in their order, before the writing call returns.
 * A change that is made inside a callback is delivered after the one that is being delivered, to every listener.
 */
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

  /** Calls back for changes after `horizon`: those that wait for delivery now are the caller's to know already. */
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

/** A change as a watch with a selector sees it: entering is ADDED, leaving is DELETED. */
export const visibleEvent = (change: Change, matches: ObjectPredicate): StoreEvent | undefined => {
  const { object } = change
  const was = change.before !== undefined && matches(change.before)
  if (change.type === "DELETED") return was || matches(object) ? { type: "DELETED", object } : undefined
  if (matches(object)) return { type: was ? "MODIFIED" : "ADDED", object }
  return was ? { type: "DELETED", object } : undefined
}
