/**
 * Calls about an object that the operator wants, mostly in another cluster. A list may be older than its server's
 * state, so every write names the object that it is meant for, and an absence is confirmed before anything follows from
 * it.
 *
 * Not here: what is to be done about the object (domain/resources/mirrored-object.ts), and the time for which a cluster
 * that is away is waited for, which each caller decides.
 */

import { Effect } from "effect"
import { isBeingDeleted, type Precondition } from "../../domain/resources/object-meta.ts"
import { type KubeApi, KubeError, type KubeObject, type ResourceRef } from "../../ports/kube-api.ts"
import { orIf } from "./or-if.ts"
import type { Reflector } from "./reflector.ts"

/** Where the object is or is to be. */
export interface MirrorPlace {
  readonly api: KubeApi
  readonly resource: ResourceRef
  readonly name: string
  readonly namespace?: string
}

/** A place, and the cache that shows it. */
export interface WatchedPlace extends MirrorPlace {
  readonly cache: Pick<Reflector, "reread" | "wrote">
}

/** Which of the marked objects is meant. */
type IsMeant = (found: KubeObject) => boolean

const within = ({ namespace }: MirrorPlace) => (namespace === undefined ? {} : { namespace })

/** The failure of a turn that is to be made again, because its caches are behind. `detail`: a clause. */
export const changedMeanwhile = ({ cluster }: KubeApi, operation: string, detail: string): KubeError =>
  new KubeError({ cluster, operation, reason: "Conflict", detail })

/** Whether a cluster would refuse the same object again. */
export const isRefusal = ({ code = 0, reason }: KubeError): boolean =>
  ["NotFound", "Forbidden", "Invalid"].includes(reason) || (reason === "Other" && code >= 400 && code < 500)

/** The end of a create. `Taken`: an object has the name, which an earlier try may have made. */
export type Creation =
  | { readonly _tag: "Made"; readonly object: KubeObject }
  | { readonly _tag: "Taken" }
  | { readonly _tag: "Refused"; readonly error: KubeError }

/** Tells the ends of a create apart; fails if the same create may succeed later. */
export const creation = (create: Effect.Effect<KubeObject, KubeError>): Effect.Effect<Creation, KubeError> =>
  Effect.map(create, (object): Creation => ({ _tag: "Made", object })).pipe(
    orIf("AlreadyExists", Effect.succeed<Creation>({ _tag: "Taken" })),
    Effect.catch((error) =>
      isRefusal(error) ? Effect.succeed<Creation>({ _tag: "Refused", error }) : Effect.fail(error)
    )
  )

/** The object that is there now; `undefined` if there is none. */
export const readMirror = ({ api, name, namespace, resource }: MirrorPlace) =>
  api.get(resource, name, namespace).pipe(orIf("NotFound", Effect.undefined))

/** Fails with a conflict if the object is there after all, and stays. */
export const confirmGone = (place: WatchedPlace, isMeant: IsMeant): Effect.Effect<void, KubeError> =>
  Effect.flatMap(readMirror(place), (found) => {
    if (found === undefined || isBeingDeleted(found.metadata) || !isMeant(found)) return Effect.void
    place.cache.wrote(found)
    return Effect.fail(changedMeanwhile(place.api, "delete", `${place.name} is there`))
  })

/**
 * Changes the object that the patch names in its `metadata`. The result is `undefined`, and the cache brought up to
 * date, if another has the name by now or it was changed meanwhile.
 */
export const patchMirror = (place: WatchedPlace, patch: object): Effect.Effect<KubeObject | undefined, KubeError> => {
  const { api, cache, name, namespace, resource } = place
  const reread = Effect.as(cache.reread(name, namespace), undefined)
  return api.mergePatch(resource, name, patch, within(place)).pipe(
    Effect.tap((after) => Effect.sync(() => cache.wrote(after))),
    orIf("NotFound", reread),
    orIf("Conflict", reread)
  )
}

/** `Gone`: by its API server's own answer, there is none that was meant. */
export type Deletion = "Begun" | "Gone"

/** Deletes an object as it was seen. Another one of its name is a conflict. */
export const deleteSeen = (place: MirrorPlace, seen: Partial<Precondition>): Effect.Effect<Deletion, KubeError> =>
  Effect.as(place.api.delete(place.resource, place.name, { ...within(place), ...seen }), "Begun" as const).pipe(
    orIf("NotFound", Effect.succeed("Gone" as const))
  )

/** Deletes the object whichever was seen before. */
export const deleteMeant = (place: MirrorPlace, isMeant: IsMeant): Effect.Effect<Deletion, KubeError> =>
  Effect.flatMap(readMirror(place), (found) =>
    found !== undefined && isMeant(found)
      ? deleteSeen(place, { uid: found.metadata.uid ?? "" })
      : Effect.succeed("Gone" as const)
  )

/** A part of an object's status. `metadata`: the object that is meant. */
export interface StatusPatch {
  readonly metadata: object
  readonly status: object
}

export const patchStatus = (place: MirrorPlace, patch: StatusPatch): Effect.Effect<KubeObject, KubeError> =>
  place.api.mergePatch(place.resource, place.name, patch, { ...within(place), subresource: "status" })

/** The same, and the cache shows it at once. */
export const writeStatus = (place: WatchedPlace, patch: StatusPatch): Effect.Effect<KubeObject, KubeError> =>
  Effect.tap(patchStatus(place, patch), (after) => Effect.sync(() => place.cache.wrote(after)))
