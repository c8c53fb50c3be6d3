/**
 * The last changes of a store, so that a watch can begin at an older version. Bounded: a version that is further back
 * gets 410. Delivering changes is `change-feed.ts`'s part.
 */

import type { KubeObject } from "../schema/kube-object.ts"
import { expired } from "../wire/status-error.ts"

/**
 * One change of the store. `before` is the object's old state: it tells a watch what enters or leaves its selection.
 */
export interface Change {
  readonly resourceVersion: number
  /** `group/resource`. */
  readonly key: string
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly object: KubeObject
  readonly before: KubeObject | undefined
}

export class ObjectHistory {
  readonly #limit: number
  #changes: Array<Change> = []
  #oldest = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(change: Change): void {
    this.#changes.push(change)
    // Trims in blocks: a copy per change would be expensive in a long history.
    if (this.#changes.length >= this.#limit * 2) this.#trim()
  }

  /** Changes of one collection after a version. Throws 410 `Expired` if the history does not reach back that far. */
  since(key: string, resourceVersion: number): ReadonlyArray<Change> {
    if (this.#changes.length > this.#limit) this.#trim()
    if (resourceVersion < this.#oldest) throw expired(resourceVersion, this.#oldest)
    return this.#changes.filter((change) => change.key === key && change.resourceVersion > resourceVersion)
  }

  /** Forgets everything up to now, as a compaction of etcd does. */
  compact(resourceVersion: number): void {
    this.#changes = []
    this.#oldest = resourceVersion
  }

  #trim(): void {
    const surplus = this.#changes.length - this.#limit
    if (surplus <= 0) return
    this.#oldest = this.#changes[surplus - 1]?.resourceVersion ?? this.#oldest
    this.#changes = this.#changes.slice(surplus)
  }
}
