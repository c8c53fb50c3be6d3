/**
 * The objects of one cluster in memory: a kube-apiserver with etcd behind it, without HTTP and without rights, plus the
 * controllers without which nothing would ever be deleted (garbage collection by ownerReferences, contents of
 * namespaces and definitions). Workload controllers and the kubelet work on it from outside.
 */

import { type JsonObject, asObject, deepFreeze, isObject, jsonEqual, omit } from "../../../src/domain/json.ts"
import { checkBuiltIn } from "../checks/built-in-checks.ts"
import { checkChange, ephemeralContainersChange } from "../checks/immutable-fields.ts"
import { checkMetadata } from "../checks/object-metadata.ts"
import { applyBuiltInDefaults } from "../schema/built-in-defaults.ts"
import {
  type KubeObject,
  type ObjectMeta,
  type ResourceRef,
  type StoreEvent,
  apiVersionOf,
  kubeTime
} from "../schema/kube-object.ts"
import { type ResourceInfo, hasStatus, storageKey } from "../schema/resource-info.ts"
import * as errors from "../wire/status-error.ts"
import { ChangeFeed, visibleEvent } from "./change-feed.ts"
import { checkDefinition, establish } from "./custom-resources.ts"
import { generatedName, randomUid } from "./generated-names.ts"
import type { Change } from "./object-history.ts"
import { ResourceCatalog } from "./resource-catalog.ts"
import * as refs from "./resource-refs.ts"
import { objectPredicate } from "./selectors.ts"
import { allocateService, checkClusterIps, prepareService } from "./service-allocation.ts"

export type { KubeObject, ResourceRef, StoreEvent } from "../schema/kube-object.ts"

export interface ObjectStoreOptions {
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Uniform in [0, 1). Names, uids. */
  readonly random: () => number
  /** A watch that is more changes behind gets 410. Default 10 000. */
  readonly historyLimit?: number
}

export interface ListOptions {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Lists the objects as they were at this resourceVersion. Default: the newest. */
  readonly at?: number | undefined
}

export interface ObjectList {
  readonly items: ReadonlyArray<KubeObject>
  readonly resourceVersion: string
}

export interface WatchOptions {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Missing or "0": begins with an ADDED for each object that exists. Otherwise: changes after that version. */
  readonly resourceVersion?: string | undefined
}

export interface DeleteOptions {
  /** 409 if the object has another uid. */
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  /** Default `Background`; `Foreground` waits for the dependents, `Orphan` keeps them. */
  readonly propagationPolicy?: string | undefined
  readonly dryRun?: boolean | undefined
}

export interface WriteOptions {
  /** Validates and answers, but keeps nothing. */
  readonly dryRun?: boolean | undefined
  /** The write is a patch: a changed uid is then an immutable field, not a replacement meant for another object. */
  readonly patch?: boolean | undefined
}

/** Namespaces that cannot be deleted. */
const immortal = ["default", "kube-system", "kube-public"]

type StatusPart = "status" | undefined

interface AdmittedChange {
  /** `undefined` if the object is created. */
  readonly before: KubeObject | undefined
  readonly part: StatusPart
  /** A trusted writer may change immutable fields, as the binding of a pod does. */
  readonly trusted: boolean
}

const objectKey = (namespace: string | undefined, name: string): string => `${namespace ?? ""}/${name}`

const keyOf = (object: KubeObject): string => objectKey(object.metadata.namespace, object.metadata.name ?? "")

const foreground = "foregroundDeletion"

/** Objects come from JSON: `metadata` may be missing in spite of the type. */
const metadataOf = (object: KubeObject): ObjectMeta => (isObject(object.metadata) ? object.metadata : {}) as ObjectMeta

/** The part that decides whether a write changes anything: all but the version. */
const content = ({ metadata, ...rest }: KubeObject): JsonObject => ({
  ...rest,
  metadata: omit(metadata, "resourceVersion")
})

const desiredState = (object: KubeObject): JsonObject => omit(object, "metadata", "status", "apiVersion")

/**
 * Synchronous. Everything returned is deeply frozen. Failures are `ApiError`s with a real server's Status. Watch
 * callbacks run before the writing call returns, in the order of the changes; changes made inside a callback are
 * delivered after it.
 */
export class ObjectStore {
  readonly catalog = new ResourceCatalog()
  readonly #now: () => number
  readonly #random: () => number
  readonly #feed: ChangeFeed
  readonly #collections = new Map<string, Map<string, KubeObject>>()
  readonly #byUid = new Map<string, { readonly info: ResourceInfo; readonly key: string }>()
  #version = 1

  constructor(options: ObjectStoreOptions) {
    this.#now = options.now
    this.#random = options.random
    this.#feed = new ChangeFeed(options.historyLimit ?? 10_000)
  }

  get resourceVersion(): string {
    return String(this.#version)
  }

  /** Makes every older resourceVersion too old for a watch, as a compaction of etcd does. */
  compactHistory(): void {
    this.#feed.compact(this.#version)
  }

  get(ref: ResourceRef, namespace: string | undefined, name: string): KubeObject | undefined {
    const info = this.#info(ref)
    const found = this.#collection(info).get(objectKey(info.namespaced ? namespace : undefined, name))
    return found === undefined ? undefined : asVersion(found, info)
  }

  /** Sorted by namespace and name. Throws 410 if the version `at` is older than the history. */
  list(ref: ResourceRef, options: ListOptions = {}): ObjectList {
    const info = this.#info(ref)
    const matches = objectPredicate(storageKey(info), options)
    const all = options.at === undefined ? this.#collection(info) : this.#collectionAt(info, options.at)
    const items = [...all.entries()]
      .filter(([, object]) => matches(object))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => asVersion(object, info))
    return { items, resourceVersion: options.at === undefined ? this.resourceVersion : String(options.at) }
  }

  #collectionAt(info: ResourceInfo, version: number): ReadonlyMap<string, KubeObject> {
    const collection = new Map(this.#collection(info))
    for (const { before, object } of this.#feed.since(storageKey(info), version).toReversed()) {
      if (before === undefined) collection.delete(keyOf(object))
      else collection.set(keyOf(before), before)
    }
    return collection
  }

  create(ref: ResourceRef, object: KubeObject, options: WriteOptions = {}): KubeObject {
    const info = this.#info(ref)
    const draft = structuredClone(object)
    draft.apiVersion = apiVersionOf(info)
    draft.kind = info.kind
    draft.metadata = metadataOf(draft)
    const meta = draft.metadata
    if (!info.namespaced) delete meta.namespace
    if (!meta.name && meta.generateName) meta.name = generatedName(meta.generateName, this.#random)
    const name = meta.name ?? ""
    checkMetadata(info, meta)
    this.#checkNamespace(info, meta.namespace, name)
    if (meta.resourceVersion)
      throw new errors.ApiError(500, "", "resourceVersion should not be set on objects to be created")
    if (this.#collection(info).has(keyOf(draft))) throw errors.alreadyExists(info, name)
    meta.uid = randomUid(this.#random)
    meta.creationTimestamp = kubeTime(this.#now())
    delete meta.deletionTimestamp
    delete meta.deletionGracePeriodSeconds
    delete meta.generation
    if (info.generation) meta.generation = 1
    if (!info.initialStatus.keep) {
      if (info.initialStatus.value === undefined) delete draft["status"]
      else draft["status"] = structuredClone(info.initialStatus.value)
    }
    this.#admit(info, draft, { before: undefined, part: undefined, trusted: false })
    if (options.dryRun === true) return deepFreeze(draft)
    const stored = this.#put(info, draft, "ADDED", undefined)
    this.#collectIfOrphan(info, stored)
    return stored
  }

  /** Replaces all but the status (where the kind has a status subresource) and what the server owns in `metadata`. */
  update(ref: ResourceRef, object: KubeObject, options: WriteOptions = {}): KubeObject {
    return this.#replace(ref, object, undefined, options)
  }

  /** Replaces the status alone. 404 if the kind has no status subresource. */
  updateStatus(ref: ResourceRef, object: KubeObject, options: WriteOptions = {}): KubeObject {
    return this.#replace(ref, object, "status", options)
  }

  /** Adds containers to a pod, and changes nothing else of it. */
  updateEphemeralContainers(ref: ResourceRef, object: KubeObject, options: WriteOptions = {}): KubeObject {
    const info = this.#info(ref)
    const { name = "", namespace, resourceVersion } = metadataOf(object)
    const current = this.get(info, namespace, name)
    if (current === undefined) throw errors.notFound(info, name)
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) throw errors.staleVersion(info, name)
    const draft = structuredClone(current)
    const added = asObject(object["spec"])["ephemeralContainers"]
    const spec = asObject(draft["spec"])
    draft["spec"] = added === undefined ? omit(spec, "ephemeralContainers") : { ...spec, ephemeralContainers: added }
    applyBuiltInDefaults(storageKey(info), draft, false)
    const wrong = [...ephemeralContainersChange(draft, current)]
    if (wrong.length > 0) throw errors.invalid(info, name, wrong)
    return this.#replace(info, draft, undefined, { ...options, trusted: true })
  }

  /** Reads, changes a copy, writes: for controllers in this process. Never conflicts. */
  modify(
    ref: ResourceRef,
    namespace: string | undefined,
    name: string,
    change: (draft: KubeObject) => void
  ): KubeObject {
    const draft = structuredClone(this.#existing(ref, namespace, name))
    change(draft)
    return this.#replace(ref, draft, undefined, { trusted: true })
  }

  /** Writes a status: for controllers in this process. Never conflicts. */
  writeStatus(ref: ResourceRef, namespace: string | undefined, name: string, status: unknown): KubeObject {
    const draft = { ...structuredClone(this.#existing(ref, namespace, name)), status }
    return this.#replace(ref, draft, "status", { trusted: true })
  }

  #existing(ref: ResourceRef, namespace: string | undefined, name: string): KubeObject {
    const current = this.get(ref, namespace, name)
    if (current === undefined) throw errors.notFound(ref, name)
    return current
  }

  /** Returns the object as it was removed, or as it now waits for its finalizers. */
  delete(ref: ResourceRef, namespace: string | undefined, name: string, options: DeleteOptions = {}): KubeObject {
    const info = this.#info(ref)
    const current = this.#collection(info).get(objectKey(info.namespaced ? namespace : undefined, name))
    if (current === undefined) throw errors.notFound(info, name)
    checkDeletion(info, current, options)
    if (options.dryRun === true) return asVersion(current, info)
    if (options.propagationPolicy === "Orphan") this.#orphanDependents(current)
    const finalizers = this.#finalizersAtDeletion(current, options)
    const waits = (finalizers ?? []).length > 0 || this.#isContainer(info)
    if (!waits) return this.#remove(info, current)
    const isMarked =
      current.metadata.deletionTimestamp !== undefined && jsonEqual(finalizers, current.metadata.finalizers)
    const marked = isMarked ? asVersion(current, info) : this.#markDeleted(info, current, finalizers)
    this.#emptyContainer(info, marked)
    return marked
  }

  /**
   * The finalizers for which an object waits. A dependent that already waits for its own dependents does not block:
   * owners in a circle would wait for each other for ever.
   */
  #finalizersAtDeletion(current: KubeObject, { propagationPolicy }: DeleteOptions): Array<string> | undefined {
    const { finalizers } = current.metadata
    const isBlocked =
      propagationPolicy === "Foreground" &&
      this.#dependentsOf(current).some(({ object }) => !isWaitingForDependents(object))
    return isBlocked ? [...new Set([...(finalizers ?? []), foreground])] : structuredClone(finalizers)
  }

  #markDeleted(info: ResourceInfo, current: KubeObject, finalizers: Array<string> | undefined): KubeObject {
    const draft = structuredClone(current)
    if (finalizers !== undefined) draft.metadata.finalizers = finalizers
    draft.metadata.deletionTimestamp ??= kubeTime(this.#now())
    draft.metadata.deletionGracePeriodSeconds ??= 0
    if (info.generation && current.metadata.deletionTimestamp === undefined) {
      draft.metadata.generation = (draft.metadata.generation ?? 0) + 1
    }
    if (storageKey(info) === storageKey(refs.namespaces)) draft["status"] = { phase: "Terminating" }
    const marked = this.#put(info, draft, "MODIFIED", current)
    if (finalizers?.includes(foreground) === true) this.#deleteDependents(current, "Foreground")
    return marked
  }

  /** Calls back for every change of a collection. Throws 410 if `resourceVersion` is older than the history. */
  watch(ref: ResourceRef, options: WatchOptions, listener: (event: StoreEvent) => void): () => void {
    const info = this.#info(ref)
    const matches = objectPredicate(storageKey(info), options)
    const deliver = (change: Change): void => {
      const event = visibleEvent(change, matches)
      if (event !== undefined) listener({ type: event.type, object: asVersion(event.object, info) })
    }
    const start = options.resourceVersion
    const fromNow = start === undefined || start === "" || start === "0"
    const requested = Number(start)
    if (!fromNow && !(Number.isSafeInteger(requested) && requested >= 0)) {
      throw errors.badRequest(
        `Invalid value: ${JSON.stringify(start)}: strconv.ParseUint: parsing ${JSON.stringify(start)}: invalid syntax`
      )
    }
    const replay = fromNow ? [] : this.#feed.since(storageKey(info), requested)
    const snapshot = fromNow ? this.list(ref, options).items : []
    let active = true
    const stop = this.#feed.listen(storageKey(info), this.#version, (change) => {
      if (active) deliver(change)
    })
    for (const object of snapshot) if (active) listener({ type: "ADDED", object })
    for (const change of replay) if (active) deliver(change)
    return () => {
      active = false
      stop()
    }
  }

  #replace(
    ref: ResourceRef,
    object: KubeObject,
    part: StatusPart,
    options: WriteOptions & { readonly trusted?: boolean }
  ): KubeObject {
    const info = this.#info(ref)
    const { name = "", namespace } = metadataOf(object)
    if (part === "status" && !hasStatus(info)) throw errors.noSuchResource()
    const current = this.#collection(info).get(objectKey(info.namespaced ? namespace : undefined, name))
    if (current === undefined) throw errors.notFound(info, name)
    checkReplacement(info, object, current, { part, patch: options.patch === true })
    const draft = replacement(info, object, current, part)
    this.#keepServerMetadata(draft, current)
    if (part === undefined) {
      checkMetadata(info, draft.metadata)
      this.#checkFinalizers(info, draft, current)
    }
    this.#admit(info, draft, { before: current, part, trusted: options.trusted ?? false })
    if (info.generation && part === undefined && !jsonEqual(desiredState(draft), desiredState(current))) {
      draft.metadata.generation = (current.metadata.generation ?? 0) + 1
    }
    if (jsonEqual(content(asVersion(current, info)), content(draft))) return asVersion(current, info)
    return options.dryRun === true ? deepFreeze(draft) : this.#putOrRelease(info, draft, current)
  }

  /** Stores the object, or removes it if it is being deleted and waits for nothing any more. */
  #putOrRelease(info: ResourceInfo, draft: KubeObject, current: KubeObject): KubeObject {
    const released = draft.metadata.deletionTimestamp !== undefined && (draft.metadata.finalizers ?? []).length === 0
    if (released && !this.#isContainer(info)) return this.#remove(info, draft)
    const stored = this.#put(info, draft, "MODIFIED", current)
    if (released) this.#finishContainer(info, stored)
    return stored
  }

  #keepServerMetadata(draft: KubeObject, current: KubeObject): void {
    const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation } = current.metadata
    const meta = draft.metadata
    delete meta.deletionTimestamp
    delete meta.deletionGracePeriodSeconds
    delete meta.generation
    if (uid !== undefined) meta.uid = uid
    if (creationTimestamp !== undefined) meta.creationTimestamp = creationTimestamp
    if (deletionTimestamp !== undefined) meta.deletionTimestamp = deletionTimestamp
    if (deletionGracePeriodSeconds !== undefined) meta.deletionGracePeriodSeconds = deletionGracePeriodSeconds
    if (generation !== undefined) meta.generation = generation
    if (current.metadata.namespace !== undefined) meta.namespace = current.metadata.namespace
    if (current.metadata.generateName !== undefined) meta.generateName = current.metadata.generateName
  }

  #checkFinalizers(info: ResourceInfo, draft: KubeObject, current: KubeObject): void {
    if (current.metadata.deletionTimestamp === undefined) return
    const added = (draft.metadata.finalizers ?? []).filter(
      (item) => !(current.metadata.finalizers ?? []).includes(item)
    )
    if (added.length === 0) return
    throw errors.invalid(info, current.metadata.name ?? "", [
      {
        reason: "FieldValueForbidden",
        field: "metadata.finalizers",
        message:
          "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers " +
          `${JSON.stringify(added)}`
      }
    ])
  }

  /** Defaults, pruning and validation. */
  #admit(info: ResourceInfo, draft: KubeObject, change: AdmittedChange): void {
    const { before, part } = change
    if (info.custom !== undefined) {
      info.custom.schema.prune(draft)
      info.custom.schema.applyDefaults(draft)
      const wrong = info.custom.schema.validate(draft, before, part)
      if (wrong.length > 0) throw errors.invalid(info, draft.metadata.name ?? "", wrong)
      return
    }
    if (part === undefined) this.#admitBuiltIn(info, draft, change)
    if (storageKey(info) === storageKey(refs.customResourceDefinitions)) {
      checkDefinition(draft)
      establish(draft, this.#now())
    }
  }

  #admitBuiltIn(info: ResourceInfo, draft: KubeObject, { before, trusted }: AdmittedChange): void {
    const key = storageKey(info)
    const isService = key === storageKey(refs.services)
    applyBuiltInDefaults(key, draft, before === undefined)
    if (isService) prepareService(draft, before)
    const wrong = [
      ...checkBuiltIn(key, draft),
      ...(before === undefined || trusted ? [] : checkChange(key, draft, before))
    ]
    if (isService) wrong.push(...checkClusterIps(draft, before))
    if (isService && wrong.length === 0)
      wrong.push(...allocateService(draft, { services: this.#collection(info).values(), random: this.#random }))
    if (wrong.length > 0) throw errors.invalid(info, draft.metadata.name ?? "", wrong)
  }

  #checkNamespace(info: ResourceInfo, namespace: string | undefined, name: string): void {
    if (!info.namespaced) return
    if (!namespace) throw errors.badRequest("an empty namespace may not be set during creation")
    const found = this.get(refs.namespaces, undefined, namespace)
    if (found === undefined) throw errors.notFound(refs.namespaces, namespace)
    if (found.metadata.deletionTimestamp !== undefined) {
      throw errors.forbidden(
        info,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`
      )
    }
  }

  #put(info: ResourceInfo, draft: KubeObject, type: "ADDED" | "MODIFIED", before: KubeObject | undefined): KubeObject {
    this.#version += 1
    draft.metadata.resourceVersion = String(this.#version)
    const stored = deepFreeze(draft)
    const key = keyOf(stored)
    this.#collection(info).set(key, stored)
    this.#byUid.set(stored.metadata.uid ?? "", { info, key })
    if (storageKey(info) === storageKey(refs.customResourceDefinitions)) this.catalog.define(stored)
    this.#feed.publish({ resourceVersion: this.#version, key: storageKey(info), type, object: stored, before })
    return stored
  }

  #remove(info: ResourceInfo, last: KubeObject): KubeObject {
    const key = keyOf(last)
    const before = this.#collection(info).get(key)
    this.#version += 1
    const removed = deepFreeze({ ...last, metadata: { ...last.metadata, resourceVersion: String(this.#version) } })
    this.#collection(info).delete(key)
    this.#byUid.delete(last.metadata.uid ?? "")
    if (storageKey(info) === storageKey(refs.customResourceDefinitions)) this.catalog.forget(last)
    this.#feed.publish({
      resourceVersion: this.#version,
      key: storageKey(info),
      type: "DELETED",
      object: removed,
      before
    })
    this.#releaseOwners(removed)
    this.#deleteDependents(removed, "Background")
    this.#finishContainersOf(info, removed)
    return removed
  }

  // ── garbage collection by ownerReferences ──

  #dependentsOf(owner: KubeObject): ReadonlyArray<{ readonly info: ResourceInfo; readonly object: KubeObject }> {
    const found: Array<{ readonly info: ResourceInfo; readonly object: KubeObject }> = []
    for (const { info, key } of this.#byUid.values()) {
      const object = this.#collection(info).get(key)
      if (object?.metadata.ownerReferences?.some((reference) => reference.uid === owner.metadata.uid) === true) {
        found.push({ info, object })
      }
    }
    return found
  }

  #deleteDependents(owner: KubeObject, propagationPolicy: string): void {
    for (const { info, object } of this.#dependentsOf(owner)) {
      const others = (object.metadata.ownerReferences ?? []).filter(
        (reference) => reference.uid !== owner.metadata.uid && this.#byUid.has(reference.uid)
      )
      const { namespace, name = "" } = object.metadata
      if (this.get(info, namespace, name)?.metadata.uid !== object.metadata.uid) continue
      if (others.length === 0) this.delete(info, namespace, name, { propagationPolicy })
      else if (propagationPolicy === "Background") {
        this.modify(info, namespace, name, (draft) => {
          draft.metadata.ownerReferences = others
        })
      }
    }
  }

  #orphanDependents(owner: KubeObject): void {
    for (const { info, object } of this.#dependentsOf(owner)) {
      this.modify(info, object.metadata.namespace, object.metadata.name ?? "", (draft) => {
        const rest = (draft.metadata.ownerReferences ?? []).filter((reference) => reference.uid !== owner.metadata.uid)
        if (rest.length === 0) delete draft.metadata.ownerReferences
        else draft.metadata.ownerReferences = rest
      })
    }
  }

  /** An owner that is deleted in the foreground goes when its last dependent has gone. */
  #releaseOwners(removed: KubeObject): void {
    for (const reference of removed.metadata.ownerReferences ?? []) {
      const entry = this.#byUid.get(reference.uid)
      const owner = entry === undefined ? undefined : this.#collection(entry.info).get(entry.key)
      if (entry === undefined || owner?.metadata.finalizers?.includes(foreground) !== true) continue
      if (this.#dependentsOf(owner).length > 0) continue
      this.modify(entry.info, owner.metadata.namespace, owner.metadata.name ?? "", (draft) => {
        draft.metadata.finalizers = (draft.metadata.finalizers ?? []).filter((item) => item !== foreground)
      })
    }
  }

  /** An object whose owners are all missing is garbage from its first moment. */
  #collectIfOrphan(info: ResourceInfo, object: KubeObject): void {
    const owners = object.metadata.ownerReferences ?? []
    if (owners.length === 0 || owners.some((reference) => this.#byUid.has(reference.uid))) return
    this.delete(info, object.metadata.namespace, object.metadata.name ?? "", { uid: object.metadata.uid })
  }

  // ── namespaces and definitions, which go only when they are empty ──

  #isContainer(info: ResourceInfo): boolean {
    return (
      storageKey(info) === storageKey(refs.namespaces) ||
      storageKey(info) === storageKey(refs.customResourceDefinitions)
    )
  }

  #contentsOf(
    info: ResourceInfo,
    container: KubeObject
  ): ReadonlyArray<{ readonly info: ResourceInfo; readonly object: KubeObject }> {
    const spec = asObject(container["spec"])
    const definition = storageKey(info) === storageKey(refs.customResourceDefinitions)
    const instances = `${String(spec["group"])}/${String(asObject(spec["names"])["plural"])}`
    return [...this.#byUid.values()].flatMap((entry) => {
      const object = this.#collection(entry.info).get(entry.key)
      if (object === undefined) return []
      const inside = definition
        ? storageKey(entry.info) === instances
        : entry.info.namespaced && object.metadata.namespace === container.metadata.name
      return inside ? [{ info: entry.info, object }] : []
    })
  }

  #emptyContainer(info: ResourceInfo, container: KubeObject): void {
    if (!this.#isContainer(info)) return
    for (const { info: inner, object } of this.#contentsOf(info, container)) {
      const { namespace, name = "", uid } = object.metadata
      // An earlier deletion of this loop may have collected the object.
      if (this.#collection(inner).get(keyOf(object))?.metadata.uid !== uid) continue
      if (object.metadata.deletionTimestamp === undefined) this.delete(inner, namespace, name)
    }
    this.#finishContainer(info, container)
  }

  #finishContainer(info: ResourceInfo, container: KubeObject): void {
    const current = this.#collection(info).get(keyOf(container))
    if (current?.metadata.deletionTimestamp === undefined || (current.metadata.finalizers ?? []).length > 0) return
    if (this.#contentsOf(info, current).length === 0) this.#remove(info, current)
  }

  #finishContainersOf(info: ResourceInfo, removed: KubeObject): void {
    const { namespace } = removed.metadata
    if (info.namespaced && namespace !== undefined) {
      const container = this.get(refs.namespaces, undefined, namespace)
      if (container?.metadata.deletionTimestamp !== undefined)
        this.#finishContainer(this.#info(refs.namespaces), container)
    }
    if (info.custom === undefined) return
    const definition = this.get(refs.customResourceDefinitions, undefined, `${info.resource}.${info.group}`)
    if (definition?.metadata.deletionTimestamp !== undefined) {
      this.#finishContainer(this.#info(refs.customResourceDefinitions), definition)
    }
  }

  #info(ref: ResourceRef): ResourceInfo {
    const info = this.catalog.find(ref)
    if (info === undefined) throw errors.noSuchResource()
    return info
  }

  #collection(info: ResourceInfo): Map<string, KubeObject> {
    const key = storageKey(info)
    const found = this.#collections.get(key)
    if (found !== undefined) return found
    const created = new Map<string, KubeObject>()
    this.#collections.set(key, created)
    return created
  }
}

/** Refuses a deletion for another object, an older state, or a namespace that stays. */
const checkDeletion = (info: ResourceInfo, { metadata }: KubeObject, options: DeleteOptions): void => {
  const { name = "", resourceVersion = "", uid = "" } = metadata
  if (options.uid !== undefined && options.uid !== uid) {
    throw errors.preconditionFailed(info, name, "UID", { wanted: options.uid, found: uid })
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const versions = { wanted: options.resourceVersion, found: resourceVersion }
    throw errors.preconditionFailed(info, name, "ResourceVersion", versions)
  }
  if (storageKey(info) === storageKey(refs.namespaces) && immortal.includes(name))
    throw errors.forbidden(info, name, "this namespace may not be deleted")
}

/** Refuses a write for another object, or for an older state. */
const checkReplacement = (
  info: ResourceInfo,
  object: KubeObject,
  current: KubeObject,
  { part, patch }: { readonly part: StatusPart; readonly patch: boolean }
): void => {
  const { name = "", resourceVersion, uid } = metadataOf(object)
  if (!resourceVersion && info.custom !== undefined) {
    throw errors.invalid(info, name, [
      errors.invalidValue("metadata.resourceVersion", 0, "must be specified for an update")
    ])
  }
  if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) throw errors.staleVersion(info, name)
  if (!uid || uid === current.metadata.uid) return
  if (!patch) throw errors.wrongUid(info, name, uid, current.metadata.uid ?? "")
  if (part !== "status")
    throw errors.invalid(info, name, [errors.invalidValue("metadata.uid", uid, "field is immutable")])
}

/** The object that a write leaves, before the server's own metadata. */
const replacement = (info: ResourceInfo, object: KubeObject, current: KubeObject, part: StatusPart): KubeObject => {
  const draft = structuredClone(part === "status" ? current : object)
  draft.apiVersion = apiVersionOf(info)
  draft.kind = info.kind
  if (part === "status") {
    draft["status"] = structuredClone(object["status"])
    if (draft["status"] === undefined) delete draft["status"]
  } else if (hasStatus(info)) {
    delete draft["status"]
    if (current["status"] !== undefined) draft["status"] = structuredClone(current["status"])
  }
  return draft
}

const isWaitingForDependents = (object: KubeObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && object.metadata.finalizers?.includes(foreground) === true

/** Objects keep the version in which they were written; versions differ in `apiVersion` alone (conversion `None`). */
const asVersion = (object: KubeObject, info: ResourceInfo): KubeObject => {
  const apiVersion = apiVersionOf(info)
  return object.apiVersion === apiVersion ? object : deepFreeze({ ...object, apiVersion })
}
