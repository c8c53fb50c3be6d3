import { Clock, Effect, Queue, type Cause, Stream } from "effect"
import { type OwnerReference, timestamp } from "../../domain/resources/object-meta.ts"
import { type KubeApi, KubeError, type KubeErrorReason, type KubeObject, type ResourceRef, type Selection, type WatchEvent } from "../../ports/kube-api.ts"

/** One request, as hooks and the log of calls see it. */
export interface MemoryCall {
  readonly verb: "get" | "list" | "watch" | "create" | "patch" | "delete"
  readonly plural: string
  readonly name: string
  readonly subresource: "status" | undefined
  /** The object or the patch that was sent. */
  readonly body: object | undefined
}

type Hook = (call: MemoryCall) => Effect.Effect<void, KubeError>
type Json = Readonly<Record<string, unknown>>

interface Change {
  readonly version: number
  readonly collection: string
  readonly event: Extract<WatchEvent, { readonly object: KubeObject }>
}

interface Watcher {
  readonly collection: string
  readonly selection: Selection | undefined
  readonly queue: Queue.Queue<WatchEvent, KubeError | Cause.Done>
}

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** RFC 7396. */
const merged = (target: unknown, patch: unknown): unknown => {
  if (!isJson(patch)) return patch
  const result: Record<string, unknown> = isJson(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result
}

const collectionOf = (ref: ResourceRef): string => `${ref.group}/${ref.plural}`
const nameKey = (name: string, namespace: string | undefined): string => `${namespace ?? ""}/${name}`

const isSelected = ({ metadata }: KubeObject, selection: Selection | undefined): boolean => {
  if (selection?.namespace !== undefined && metadata.namespace !== selection.namespace) return false
  return (selection?.labelSelector ?? "").split(",").every((term) => {
    const [key = "", value] = term.split("=")
    return term === "" || (value === undefined ? metadata.labels?.[key] !== undefined : metadata.labels?.[key] === value)
  })
}

const withoutVersion = ({ metadata: { resourceVersion: _version, ...metadata }, ...rest }: KubeObject): string =>
  JSON.stringify({ ...rest, metadata })

/**
 * An API server as a value: {@link KubeApi} over objects in memory, for simulations and tests. Deterministic: versions and uids are
 * counted, time is Effect's clock, no request takes time unless a hook makes it. It keeps the promises that controllers rely on:
 * resourceVersion and uid preconditions, no event for a write without effect, the status subresource, generations, finalizers,
 * owner references, watches from a version and 410 when that is gone. Label selectors are `key=value` and `key`, joined by commas;
 * schemas and RBAC are not played: refusals come from hooks.
 */
export class MemoryKubeApi implements KubeApi {
  readonly cluster: string
  /** Every request in order, refused ones included. */
  readonly calls: Array<MemoryCall> = []
  /** Runs before a request is carried out; fails it, or makes it wait. */
  before: Hook = () => Effect.void
  /** Runs after a write was carried out: failing it loses the answer. */
  after: Hook = () => Effect.void
  #objects = new Map<string, Map<string, KubeObject>>()
  #changes: Array<Change> = []
  #watchers = new Set<Watcher>()
  #version = 0
  #uids = 0
  /** Versions up to here are forgotten: a watch from before is told 410. */
  #forgotten = 0
  #reachable = true
  #muted = false

  constructor(cluster: string) {
    this.cluster = cluster
  }

  // What the world does to it.

  /** An unreachable server answers nothing, and its watches break. */
  setReachable(reachable: boolean): void {
    this.#reachable = reachable
    if (!reachable) this.#endWatches(this.#error("watch", "Unreachable", "connection refused"))
  }

  /** While muted, watches stay open but changes are lost to them for ever. */
  setMuted(muted: boolean): void {
    this.#muted = muted
  }

  /** Ends every watch, as servers do when they like. */
  endWatches(): void {
    this.#endWatches(undefined)
  }

  /** Forgets all changes so far; with `breakWatches` open watches are told 410 too. */
  forgetHistory(breakWatches = false): void {
    this.#forgotten = this.#version
    this.#changes = []
    if (breakWatches) this.#endWatches(this.#error("watch", "Gone", "too old resource version", 410))
  }

  /** Sends every watch a bookmark. */
  bookmark(): void {
    for (const { queue } of this.#watchers) Queue.offerUnsafe(queue, { _tag: "Bookmark", resourceVersion: String(this.#version) })
  }

  get openWatches(): number {
    return this.#watchers.size
  }

  /** An object as it is, without a request. */
  peek(ref: ResourceRef, name: string, namespace?: string): KubeObject | undefined {
    return this.#objects.get(collectionOf(ref))?.get(nameKey(name, namespace))
  }

  /** All objects of a collection as they are, without a request. */
  peekAll(ref: ResourceRef): ReadonlyArray<KubeObject> {
    return [...(this.#objects.get(collectionOf(ref))?.values() ?? [])]
  }

  /** Creates or changes an object as another writer would: `change` is merged into it, status included. */
  write(ref: ResourceRef, name: string, change: object, namespace?: string, now = 0): KubeObject {
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

  // KubeApi

  readonly get: KubeApi["get"] = (ref, name, namespace) =>
    this.#request({ verb: "get", plural: ref.plural, name, subresource: undefined, body: undefined }, () =>
      Effect.fromNullishOr(this.peek(ref, name, namespace)).pipe(Effect.mapError(() => this.#notFound("get", ref, name)))
    )

  readonly list: KubeApi["list"] = (ref, selection) =>
    this.#request({ verb: "list", plural: ref.plural, name: "", subresource: undefined, body: undefined }, () =>
      Effect.succeed({
        items: this.peekAll(ref).filter((object) => isSelected(object, selection)),
        resourceVersion: String(this.#version)
      })
    )

  readonly watch: KubeApi["watch"] = (ref, resourceVersion, selection) =>
    Stream.unwrap(
      this.#request({ verb: "watch", plural: ref.plural, name: "", subresource: undefined, body: undefined }, () =>
        Effect.acquireRelease(this.#startWatch(ref, Number(resourceVersion), selection), (watcher) =>
          Effect.sync(() => this.#watchers.delete(watcher))
        ).pipe(Effect.map(({ queue }) => Stream.fromQueue(queue)))
      )
    )

  readonly create: KubeApi["create"] = (ref, object, namespace) => {
    const body = object as KubeObject
    const { name } = body.metadata
    return this.#write({ verb: "create", plural: ref.plural, name, subresource: undefined, body }, (now) => {
      if (this.peek(ref, name, namespace) !== undefined) {
        return Effect.fail(this.#error(`create ${ref.plural}`, "AlreadyExists", `${ref.plural} "${name}" already exists`, 409))
      }
      const { status: _status, ...rest } = body
      return Effect.succeed(this.#create(ref, rest, namespace, now))
    })
  }

  readonly mergePatch: KubeApi["mergePatch"] = (ref, name, patch, options) =>
    this.#write({ verb: "patch", plural: ref.plural, name, subresource: options?.subresource, body: patch }, () => {
      const known = this.peek(ref, name, options?.namespace)
      if (known === undefined) return Effect.fail(this.#notFound("patch", ref, name))
      const { metadata = {}, status, ...rest } = patch as { readonly metadata?: Json; readonly status?: unknown }
      const { resourceVersion, uid, ...metadataChange } = metadata
      const isStale = resourceVersion !== undefined && resourceVersion !== known.metadata.resourceVersion
      if (isStale || (uid !== undefined && uid !== known.metadata.uid)) {
        return Effect.fail(this.#error(`patch ${name}`, "Conflict", "the object has been modified", 409))
      }
      const change = options?.subresource === "status" ? { status } : { metadata: metadataChange, ...rest }
      return Effect.succeed(this.#replace(ref, known, merged(known, change) as KubeObject))
    })

  readonly delete: KubeApi["delete"] = (ref, name, options) =>
    this.#write({ verb: "delete", plural: ref.plural, name, subresource: undefined, body: undefined }, (now) => {
      const known = this.peek(ref, name, options?.namespace)
      if (known === undefined) return Effect.fail(this.#notFound("delete", ref, name))
      if (options?.uid !== undefined && options.uid !== known.metadata.uid) {
        return Effect.fail(this.#error(`delete ${name}`, "Conflict", "the UID in the precondition does not match", 409))
      }
      if ((known.metadata.finalizers ?? []).length === 0) this.#remove(ref, known)
      else if (known.metadata.deletionTimestamp === undefined) {
        this.#replace(ref, known, { ...known, metadata: { ...known.metadata, deletionTimestamp: timestamp(now) } })
      }
      return Effect.void
    })

  // How it does it.

  #error(operation: string, reason: KubeErrorReason, detail: string, code?: number): KubeError {
    return new KubeError({ cluster: this.cluster, operation, reason, detail, ...(code === undefined ? {} : { code }) })
  }

  #notFound(verb: string, ref: ResourceRef, name: string): KubeError {
    return this.#error(`${verb} ${name}`, "NotFound", `${ref.plural} "${name}" not found`, 404)
  }

  #request<A, R>(call: MemoryCall, answer: () => Effect.Effect<A, KubeError, R>): Effect.Effect<A, KubeError, R> {
    return Effect.suspend(() => {
      this.calls.push(call)
      if (!this.#reachable) return Effect.fail(this.#error(call.verb, "Unreachable", "connection refused"))
      return Effect.andThen(this.before(call), () =>
        Effect.suspend(() => (this.#reachable ? answer() : Effect.fail(this.#error(call.verb, "Unreachable", "connection reset"))))
      )
    })
  }

  #write<A>(call: MemoryCall, carryOut: (now: number) => Effect.Effect<A, KubeError>): Effect.Effect<A, KubeError> {
    return this.#request(call, () =>
      Effect.tap(Effect.flatMap(Clock.currentTimeMillis, carryOut), () => this.after(call))
    )
  }

  #startWatch(ref: ResourceRef, from: number, selection: Selection | undefined): Effect.Effect<Watcher, KubeError> {
    return Effect.suspend(() => {
      if (from < this.#forgotten) return Effect.fail(this.#error("watch", "Gone", "too old resource version", 410))
      return Effect.map(Queue.unbounded<WatchEvent, KubeError | Cause.Done>(), (queue) => {
        const watcher = { collection: collectionOf(ref), selection, queue }
        for (const change of this.#changes) if (change.version > from) this.#deliver(watcher, change)
        this.#watchers.add(watcher)
        return watcher
      })
    })
  }

  #deliver({ collection, queue, selection }: Watcher, change: Change): void {
    if (change.collection === collection && isSelected(change.event.object, selection)) Queue.offerUnsafe(queue, change.event)
  }

  #endWatches(error: KubeError | undefined): void {
    for (const { queue } of this.#watchers) {
      if (error === undefined) Queue.endUnsafe(queue)
      else Effect.runSync(Queue.fail(queue, error))
    }
    this.#watchers.clear()
  }

  #commit(ref: ResourceRef, tag: "Changed" | "Deleted", object: KubeObject): KubeObject {
    const version = ++this.#version
    const stored: KubeObject = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    const collection = collectionOf(ref)
    const objects = this.#objects.get(collection) ?? new Map<string, KubeObject>()
    this.#objects.set(collection, objects)
    const key = nameKey(object.metadata.name, object.metadata.namespace)
    if (tag === "Changed") objects.set(key, stored)
    else objects.delete(key)
    const change: Change = { version, collection, event: { _tag: tag, object: stored } }
    if (this.#muted) return stored
    this.#changes.push(change)
    for (const watcher of this.#watchers) this.#deliver(watcher, change)
    return stored
  }

  #create(ref: ResourceRef, object: KubeObject, namespace: string | undefined, now: number): KubeObject {
    return this.#commit(ref, "Changed", {
      ...object,
      metadata: {
        ...object.metadata,
        ...(namespace === undefined ? {} : { namespace }),
        uid: `${this.cluster}-uid-${++this.#uids}`,
        generation: 1,
        // Real servers keep whole seconds.
        creationTimestamp: timestamp(Math.floor(now / 1000) * 1000)
      }
    })
  }

  #replace(ref: ResourceRef, before: KubeObject, after: KubeObject): KubeObject {
    if (withoutVersion(before) === withoutVersion(after)) return before
    const isSpecSame = JSON.stringify(before["spec"]) === JSON.stringify(after["spec"])
    const generation = (before.metadata.generation ?? 1) + (isSpecSame ? 0 : 1)
    const object: KubeObject = { ...after, metadata: { ...after.metadata, generation } }
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0) {
      this.#remove(ref, object)
      return object
    }
    return this.#commit(ref, "Changed", object)
  }

  #remove(ref: ResourceRef, object: KubeObject): void {
    this.#commit(ref, "Deleted", object)
    const isOwner = ({ uid }: OwnerReference): boolean => uid === object.metadata.uid
    for (const [collection, objects] of [...this.#objects]) {
      const [group = "", plural = ""] = collection.split("/")
      const owned: ResourceRef = { group, version: "", plural, scope: "Namespaced" }
      for (const dependent of [...objects.values()]) {
        const owners = dependent.metadata.ownerReferences ?? []
        if (!owners.some(isOwner)) continue
        const left = owners.filter((owner) => !isOwner(owner))
        if (left.length === 0) this.#remove(owned, dependent)
        else this.#replace(owned, dependent, { ...dependent, metadata: { ...dependent.metadata, ownerReferences: left } })
      }
    }
  }
}
