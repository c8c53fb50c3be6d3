/**
 * The objects, versions and watches of one API server in memory: deterministic, without promises and timers. Schemas,
 * RBAC and the exact sentences of a server are not here; `lab/cluster/store` has those.
 */

import { Result } from "effect"
import { at, isObject, jsonEqual } from "../../src/domain/json.ts"
import { type OwnerReference, timestamp } from "../../src/domain/resources/object-meta.ts"
import {
  type DeleteOptions,
  type KubeErrorReason,
  KubeError,
  type KubeObject,
  type PatchOptions,
  type ResourceRef,
  type Selection,
  type UpdateOptions,
  type WatchEvent
} from "../../src/ports/kube-api.ts"

export type Answer<A> = Result.Result<A, KubeError>
export type Json = Readonly<Record<string, unknown>>

/** One write that had an effect. `before` is missing for a creation, `after` for a removal. */
export interface Commit {
  readonly version: number
  readonly ref: ResourceRef
  readonly before: KubeObject | undefined
  readonly after: KubeObject | undefined
}

export interface WatchListener {
  readonly event: (event: WatchEvent) => void
  /** The server ends the watch, with an error or without. */
  readonly ended: (error: KubeError | undefined) => void
}

interface Change {
  readonly version: number
  readonly collection: string
  readonly before: KubeObject | undefined
  readonly event: Extract<WatchEvent, { readonly object: KubeObject }>
}

interface Watcher {
  readonly selection: Selection | undefined
  readonly listener: WatchListener
  /**
   * Whether a change was kept from the watcher. From then on no change is delivered, because later events would hide
   * the gap.
   */
  missed: boolean
}

/** Number of changes kept for watches from the past and for stale reads; a watch from before them is told 410. */
const historyLength = 1_000

/** A merge patch (RFC 7396). The result is `target` itself where nothing changes. */
const merged = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return jsonEqual(target, patch) ? target : patch
  const base = isObject(target) ? target : {}
  const result: Record<string, unknown> = { ...base }
  let changed = base !== target
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      changed ||= key in result
      delete result[key]
      continue
    }
    const next = merged(result[key], value)
    changed ||= next !== result[key] || !(key in result)
    result[key] = next
  }
  return changed ? result : target
}

const collectionOf = (ref: ResourceRef): string => `${ref.group}/${ref.plural}`
const nameKey = (name: string, namespace: string | undefined): string => `${namespace ?? ""}/${name}`

const isSelected = (object: KubeObject, selection: Selection | undefined): boolean => {
  const { metadata } = object
  if (selection?.namespace !== undefined && metadata.namespace !== selection.namespace) return false
  if (selection?.name !== undefined && metadata.name !== selection.name) return false
  const fields = Object.entries(selection?.fields ?? {})
  if (fields.some(([field, value]) => at(object, ...field.split(".")) !== value)) return false
  if (selection?.labelSelector === undefined) return true
  return selection.labelSelector.split(",").every((term) => {
    const [key = "", value] = term.split("=")
    return (
      term === "" || (value === undefined ? metadata.labels?.[key] !== undefined : metadata.labels?.[key] === value)
    )
  })
}

/** Where and when an object is created. */
export interface NewPlace {
  readonly namespace: string | undefined
  /** Epoch ms. */
  readonly now: number
}

/**
 * The objects of one API server. Versions and uids are counted, time is an argument. The promises that controllers rely
 * on are kept: resourceVersion and uid preconditions, no event for a write without effect, the status subresource,
 * generations, finalizers, owner references, watches from a version, and 410 when that version is gone. Label selectors
 * are `key=value` and `key`, joined by commas.
 */
export class MemoryObjects {
  readonly cluster: string
  /** Called for each write that had an effect. */
  committed: (commit: Commit) => void = () => {}
  #objects = new Map<string, Map<string, KubeObject>>()
  #changes: Array<Change> = []
  #watchers = new Map<string, Set<Watcher>>()
  readonly #present = new Set<string>()
  #version = 0
  #uids = 0
  /** Versions up to here are forgotten; a watch from before is told 410. */
  #forgotten = 0
  #muted = false

  constructor(cluster: string) {
    this.cluster = cluster
  }

  get version(): number {
    return this.#version
  }

  /** Whether changes reach no watch, see {@link MemoryObjects.setMuted}. */
  get isMuted(): boolean {
    return this.#muted
  }

  /**
   * While muted, watches stay open but changes do not reach them. Afterwards watches that missed something are told
   * 410, as by a server whose watch cache has lost events. A new watch from the old version gets the missed events.
   */
  setMuted(muted: boolean): void {
    this.#muted = muted
    if (muted) return
    const gone = this.error("watch", "Gone", "too old resource version", 410)
    for (const watchers of this.#watchers.values()) {
      for (const watcher of [...watchers]) {
        if (!watcher.missed) continue
        watchers.delete(watcher)
        watcher.listener.ended(gone)
      }
    }
  }

  /** Ends every watch. */
  endWatches(error?: KubeError): void {
    const open = [...this.#watchers.values()].flatMap((watchers) => [...watchers])
    this.#watchers.clear()
    for (const { listener } of open) listener.ended(error)
  }

  /** Forgets all changes so far; with `breakWatches` open watches are told 410 too. */
  forgetHistory(breakWatches = false): void {
    this.#forgotten = this.#version
    this.#changes = []
    if (breakWatches) this.endWatches(this.error("watch", "Gone", "too old resource version", 410))
  }

  /** Sends every watch a bookmark. */
  bookmark(): void {
    for (const watchers of this.#watchers.values()) {
      for (const { listener, missed } of watchers)
        if (!missed) listener.event({ _tag: "Bookmark", resourceVersion: String(this.#version) })
    }
  }

  get openWatches(): number {
    return [...this.#watchers.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** An object as it is now. */
  peek(ref: ResourceRef, name: string, namespace?: string): KubeObject | undefined {
    return this.#objects.get(collectionOf(ref))?.get(nameKey(name, namespace))
  }

  /** Whether an object with this uid exists. */
  has(uid: string): boolean {
    return this.#present.has(uid)
  }

  /** All objects of a collection as they are now. */
  peekAll(ref: ResourceRef): ReadonlyArray<KubeObject> {
    return [...(this.#objects.get(collectionOf(ref))?.values() ?? [])]
  }

  /**
   * Creates or changes an object without any precondition; `change` is merged into it, status included.
   *
   * @param place its namespace, or that with the time of its creation, epoch ms
   */
  write(ref: ResourceRef, name: string, change: object, place?: string | NewPlace): KubeObject {
    const { namespace, now } = typeof place === "object" ? place : { namespace: place, now: 0 }
    const known = this.peek(ref, name, namespace)
    return known === undefined
      ? this.#create(ref, merged({ metadata: { name } }, change) as KubeObject, namespace, now)
      : this.#replace(ref, known, merged(known, change) as KubeObject)
  }

  /** Removes an object at once, finalizers or not. */
  erase(ref: ResourceRef, name: string, namespace?: string): void {
    const known = this.peek(ref, name, namespace)
    if (known !== undefined) this.#remove(ref, known)
  }

  // Requests

  get(ref: ResourceRef, name: string, namespace?: string): Answer<KubeObject> {
    const found = this.peek(ref, name, namespace)
    return found === undefined ? Result.fail(this.#notFound("get", ref, name)) : Result.succeed(found)
  }

  /** Lists a collection. `staleBy`: as it was so many writes of this server ago, as far as they are remembered. */
  list(
    ref: ResourceRef,
    selection?: Selection,
    staleBy = 0
  ): { readonly items: ReadonlyArray<KubeObject>; readonly resourceVersion: string } {
    const version = Math.max(this.#forgotten, this.#version - staleBy)
    const items = staleBy === 0 ? this.peekAll(ref) : [...this.#asOf(ref, version).values()]
    return { items: items.filter((object) => isSelected(object, selection)), resourceVersion: String(version) }
  }

  /** Starts a watch; changes since `resourceVersion` are delivered before this returns. The result stops the watch. */
  watch(
    ref: ResourceRef,
    resourceVersion: string,
    selection: Selection | undefined,
    listener: WatchListener
  ): Answer<() => void> {
    const from = Number(resourceVersion)
    if (from < this.#forgotten) return Result.fail(this.error("watch", "Gone", "too old resource version", 410))
    const collection = collectionOf(ref)
    const watcher: Watcher = { selection, listener, missed: false }
    for (const change of this.#changes) {
      if (change.version > from && change.collection === collection && isSelected(change.event.object, selection))
        listener.event(change.event)
    }
    const watchers = this.#watchers.get(collection) ?? new Set()
    this.#watchers.set(collection, watchers.add(watcher))
    return Result.succeed(() => void watchers.delete(watcher))
  }

  create(ref: ResourceRef, object: object, namespace: string | undefined, now: number): Answer<KubeObject> {
    const { status: _status, ...body } = object as KubeObject
    const { name } = body.metadata
    if (this.peek(ref, name, namespace) !== undefined) {
      return Result.fail(
        this.error(`create ${ref.plural}`, "AlreadyExists", `${ref.plural} "${name}" already exists`, 409)
      )
    }
    return Result.succeed(this.#create(ref, body, namespace, now))
  }

  mergePatch(ref: ResourceRef, name: string, patch: object, options?: PatchOptions): Answer<KubeObject> {
    const known = this.peek(ref, name, options?.namespace)
    if (known === undefined) return Result.fail(this.#notFound("patch", ref, name))
    const { metadata = {}, status, ...rest } = patch as { readonly metadata?: Json; readonly status?: unknown }
    const { resourceVersion, uid, ...metadataChange } = metadata
    const isStale = resourceVersion !== undefined && resourceVersion !== known.metadata.resourceVersion
    // A patch of a status changes the object that has the name now, unless it says the version.
    const isOther = options?.subresource !== "status" && uid !== undefined && uid !== known.metadata.uid
    if (isStale || isOther) {
      return Result.fail(this.error(`patch ${name}`, "Conflict", "the object has been modified", 409))
    }
    const change = options?.subresource === "status" ? { status } : { metadata: metadataChange, ...rest }
    return Result.succeed(this.#replace(ref, known, merged(known, change) as KubeObject))
  }

  /** Replaces the subresource, here a field of the pod's spec, if the object has not changed since. */
  update(ref: ResourceRef, object: KubeObject, { namespace }: UpdateOptions): Answer<KubeObject> {
    const { name, resourceVersion } = object.metadata
    const known = this.peek(ref, name, namespace)
    if (known === undefined) return Result.fail(this.#notFound("update", ref, name))
    if (resourceVersion !== undefined && resourceVersion !== known.metadata.resourceVersion)
      return Result.fail(this.error(`update ${name}`, "Conflict", "the object has been modified", 409))
    const ephemeralContainers = at(object, "spec", "ephemeralContainers")
    return Result.succeed(this.#replace(ref, known, merged(known, { spec: { ephemeralContainers } }) as KubeObject))
  }

  delete(
    ref: ResourceRef,
    name: string,
    options: Pick<DeleteOptions, "namespace" | "uid" | "resourceVersion"> | undefined,
    now: number
  ): Answer<void> {
    const known = this.peek(ref, name, options?.namespace)
    if (known === undefined) return Result.fail(this.#notFound("delete", ref, name))
    if (options?.uid !== undefined && options.uid !== known.metadata.uid) {
      return Result.fail(this.error(`delete ${name}`, "Conflict", "the UID in the precondition does not match", 409))
    }
    if (options?.resourceVersion !== undefined && options.resourceVersion !== known.metadata.resourceVersion)
      return Result.fail(this.error(`delete ${name}`, "Conflict", "the object has been modified", 409))
    if ((known.metadata.finalizers ?? []).length === 0) this.#remove(ref, known)
    else if (known.metadata.deletionTimestamp === undefined) {
      this.#replace(ref, known, { ...known, metadata: { ...known.metadata, deletionTimestamp: timestamp(now) } })
    }
    return Result.succeed(undefined)
  }

  error(operation: string, reason: KubeErrorReason, detail: string, code?: number): KubeError {
    return new KubeError({ cluster: this.cluster, operation, reason, detail, ...(code === undefined ? {} : { code }) })
  }

  // Helpers of the requests.

  #notFound(verb: string, ref: ResourceRef, name: string): KubeError {
    return this.error(`${verb} ${name}`, "NotFound", `${ref.plural} "${name}" not found`, 404)
  }

  #asOf(ref: ResourceRef, version: number): ReadonlyMap<string, KubeObject> {
    const collection = collectionOf(ref)
    const objects = new Map(this.#objects.get(collection))
    for (const change of this.#changes.toReversed()) {
      if (change.version <= version) break
      if (change.collection !== collection) continue
      const { metadata } = change.event.object
      const key = nameKey(metadata.name, metadata.namespace)
      if (change.before === undefined) objects.delete(key)
      else objects.set(key, change.before)
    }
    return objects
  }

  #commit(
    ref: ResourceRef,
    tag: "Changed" | "Deleted",
    object: KubeObject,
    before: KubeObject | undefined
  ): KubeObject {
    const version = ++this.#version
    const stored: KubeObject = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    const collection = collectionOf(ref)
    const objects = this.#objects.get(collection) ?? new Map<string, KubeObject>()
    this.#objects.set(collection, objects)
    const key = nameKey(object.metadata.name, object.metadata.namespace)
    const uid = stored.metadata.uid ?? ""
    if (tag === "Changed") {
      objects.set(key, stored)
      this.#present.add(uid)
    } else {
      objects.delete(key)
      this.#present.delete(uid)
    }
    const event = { _tag: tag, object: stored } as const
    this.#changes.push({ version, collection, before, event })
    this.#trim()
    for (const watcher of this.#watchers.get(collection) ?? []) {
      if (!isSelected(stored, watcher.selection)) continue
      if (this.#muted || watcher.missed) watcher.missed = true
      else watcher.listener.event(event)
    }
    this.committed({ version, ref, before, after: tag === "Changed" ? stored : undefined })
    return stored
  }

  #trim(): void {
    if (this.#changes.length < 2 * historyLength) return
    const dropped = this.#changes.splice(0, this.#changes.length - historyLength)
    this.#forgotten = dropped.at(-1)?.version ?? this.#forgotten
  }

  #create(ref: ResourceRef, object: KubeObject, namespace: string | undefined, now: number): KubeObject {
    const metadata = {
      ...object.metadata,
      ...(namespace === undefined ? {} : { namespace }),
      uid: `${this.cluster}-uid-${++this.#uids}`,
      generation: 1,
      // Real servers keep whole seconds.
      creationTimestamp: timestamp(Math.floor(now / 1000) * 1000)
    }
    return this.#commit(ref, "Changed", { ...object, metadata }, undefined)
  }

  #replace(ref: ResourceRef, before: KubeObject, after: KubeObject): KubeObject {
    if (before === after) return before
    const generation = (before.metadata.generation ?? 1) + (jsonEqual(before["spec"], after["spec"]) ? 0 : 1)
    const object: KubeObject =
      after.metadata.generation === generation ? after : { ...after, metadata: { ...after.metadata, generation } }
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0) {
      this.#remove(ref, object)
      return object
    }
    return this.#commit(ref, "Changed", object, before)
  }

  #remove(ref: ResourceRef, object: KubeObject): void {
    this.#commit(ref, "Deleted", object, object)
    const isOwner = ({ uid }: OwnerReference): boolean => uid === object.metadata.uid
    for (const [collection, objects] of [...this.#objects]) {
      const [group = "", plural = ""] = collection.split("/")
      const owned: ResourceRef = { group, version: "", plural, scope: "Namespaced" }
      for (const dependent of [...objects.values()]) {
        const owners = dependent.metadata.ownerReferences ?? []
        if (!owners.some(isOwner)) continue
        const left = owners.filter((owner) => !isOwner(owner))
        if (left.length === 0) this.#remove(owned, dependent)
        else
          this.#replace(owned, dependent, { ...dependent, metadata: { ...dependent.metadata, ownerReferences: left } })
      }
    }
  }
}
