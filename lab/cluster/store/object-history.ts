import type { KubeObject } from "../schema/kube-object.ts"
import { expired } from "../wire/status-error.ts"

/** One change of the store. `before` is what the object was, for watches whose selector it enters or leaves. */
export interface Change {
  readonly resourceVersion: number
  /** `group/resource`. */
  readonly key: string
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly object: KubeObject
  readonly before: KubeObject | undefined
}

/** The last changes, bounded: a watch that starts further back is told 410. */
export class ObjectHistory {
  readonly #limit: number
  #changes: Array<Change> = []
  #oldest = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(change: Change): void {
    this.#changes.push(change)
    // Trimmed in blocks, so that a long history does not cost a copy per change.
    if (this.#changes.length >= this.#limit * 2) this.#trim()
  }

  /** Changes of one collection after a version. Throws 410 `Expired` if some of them are forgotten. */
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
