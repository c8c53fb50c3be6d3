/**
 * The port for the API server of one cluster: typed by resource, with one error for all failures. Contains no retries,
 * no caches and no rules about resources.
 */

import { Data, type Effect, type Stream } from "effect"
import { isObject } from "../domain/json.ts"
import type { Keeps, StoredObject } from "../domain/resources/kept-fields.ts"

/** The collection of the API that a call is about. `plural` is the resource's name in URLs; the core group is `""`. */
export interface ResourceRef {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly scope: "Cluster" | "Namespaced"
  /** The part of the objects that lists and watches give; `undefined` if all of it. */
  readonly keeps?: Keeps
}

/**
 * An object as the API server sent it. Only the presence of its metadata is checked. Lists and watches give the part
 * that its kind {@link ResourceRef.keeps}, and never the content of `metadata.managedFields`. Equal parts of several
 * objects may be one value, so callers must not change any part.
 */
export type KubeObject = StoredObject

/** The part of an object that its kind keeps; `undefined` if the object counts as if it were not there. */
export const keptPart = ({ keeps }: Pick<ResourceRef, "keeps">, object: KubeObject): KubeObject | undefined =>
  keeps === undefined ? object : keeps(object)

export const keptItems = (
  ref: Pick<ResourceRef, "keeps">,
  items: ReadonlyArray<KubeObject>
): ReadonlyArray<KubeObject> => items.flatMap((item) => keptPart(ref, item) ?? [])

/** A change as a watch tells it: an object of which nothing is kept counts as deleted. */
export const keptEvent = (ref: Pick<ResourceRef, "keeps">, event: WatchEvent): WatchEvent => {
  if (event._tag === "Bookmark") return event
  const kept = keptPart(ref, event.object)
  if (kept !== undefined) return kept === event.object ? event : { ...event, object: kept }
  const { name, namespace, resourceVersion, uid } = event.object.metadata
  const known = Object.entries({ namespace, resourceVersion, uid }).filter(([, value]) => value !== undefined)
  return { _tag: "Deleted", object: { metadata: { name, ...Object.fromEntries(known) } } }
}

export const isKubeObject = (value: unknown): value is KubeObject => isObject(value) && isObject(value["metadata"])

/**
 * `Unreachable`: no answer at all (refused, reset, TLS, time-out). `Other`: an answer with another reason.
 * `NotLeading`: nothing was sent, because another replica may lead by now.
 */
export type KubeErrorReason =
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Forbidden"
  | "Unauthorized"
  | "Invalid"
  | "TooManyRequests"
  | "Unreachable"
  | "NotLeading"
  | "Other"

/**
 * The failure of a call to an API server. `code` is the HTTP status, absent when nothing was answered; `retryAfterMs`
 * is the time for which the server asks to be left alone (its header Retry-After).
 */
export class KubeError extends Data.TaggedError("KubeError")<{
  readonly cluster: string
  readonly operation: string
  readonly reason: KubeErrorReason
  readonly code?: number
  readonly retryAfterMs?: number
  readonly detail: string
}> {
  override get message(): string {
    return `cluster ${this.cluster}: ${this.operation}: ${this.detail}`
  }
}

export type WatchEvent =
  | { readonly _tag: "Changed"; readonly object: KubeObject }
  | { readonly _tag: "Deleted"; readonly object: KubeObject }
  /** Nothing changed, but a later watch may start from here. */
  | { readonly _tag: "Bookmark"; readonly resourceVersion: string }

export interface Selection {
  readonly namespace?: string
  readonly labelSelector?: string
  /** Selects the object of this name: rights to a single object cover its lists and watches too. */
  readonly name?: string
  /** More fields and the value of each, such as `spec.nodeName`; only of lists, and only fields that servers index. */
  readonly fields?: Readonly<Record<string, string>>
}

export interface PatchOptions {
  readonly namespace?: string
  readonly subresource?: "status"
}

export interface UpdateOptions {
  readonly namespace?: string
  /** The only part of a pod that may still get containers. */
  readonly subresource: "ephemeralcontainers"
}

export interface DeleteOptions {
  readonly namespace?: string
  /** Another object of this name is a `Conflict`. */
  readonly uid?: string
  /** Together with `uid`. A `Conflict` if the object has changed since. */
  readonly resourceVersion?: string
  /** How long a pod's programs get to end, instead of the pod's own setting; 0 when they have ended. */
  readonly gracePeriodSeconds?: number
}

export interface PodLogOptions {
  readonly container: string
  /** Only lines of the last so many seconds; at least 1. */
  readonly sinceSeconds?: number
  /** Only lines from this time on, epoch ms; API servers know whole seconds. Not together with `sinceSeconds`. */
  readonly sinceTime?: number
  /** The log of the container's run before this one. */
  readonly previous?: boolean
  /** Waits for more lines until the container ends. */
  readonly follow?: boolean
}

/** Logs of pods, which people's commands read; the operator itself has no right to. */
export interface PodLogs {
  /** The lines of one container without their ends, each with the time when the node received it in front. */
  readonly podLog: (namespace: string, pod: string, options: PodLogOptions) => Stream.Stream<string, KubeError>
}

/** One cluster's API server, as one identity. Every call is one request; retrying is the caller's decision. */
export interface KubeApi {
  readonly cluster: string
  readonly get: (ref: ResourceRef, name: string, namespace?: string) => Effect.Effect<KubeObject, KubeError>
  readonly list: (
    ref: ResourceRef,
    selection?: Selection
  ) => Effect.Effect<{ readonly items: ReadonlyArray<KubeObject>; readonly resourceVersion: string }, KubeError>
  /**
   * Changes after `resourceVersion`. Ends without error when the server ends the watch; fails with `Gone` when the
   * version is too old.
   */
  readonly watch: (
    ref: ResourceRef,
    resourceVersion: string,
    selection?: Selection
  ) => Stream.Stream<WatchEvent, KubeError>
  readonly create: (ref: ResourceRef, object: object, namespace?: string) => Effect.Effect<KubeObject, KubeError>
  /**
   * A JSON merge patch. With a `metadata.resourceVersion` in it, the server refuses a stale patch with `Conflict`. The
   * `metadata.uid` of another object conflicts too, but not in a patch of the status: there only the version counts.
   */
  readonly mergePatch: (
    ref: ResourceRef,
    name: string,
    patch: object,
    options?: PatchOptions
  ) => Effect.Effect<KubeObject, KubeError>
  /**
   * Replaces a subresource by that of the object, which is whole and was read before. A `Conflict` if the object has
   * changed since its `metadata.resourceVersion`.
   */
  readonly update: (
    ref: ResourceRef,
    object: KubeObject,
    options: UpdateOptions
  ) => Effect.Effect<KubeObject, KubeError>
  readonly delete: (ref: ResourceRef, name: string, options?: DeleteOptions) => Effect.Effect<void, KubeError>
}
