/**
 * Follows the pods of sessions' targets by watches, so that a session looks for its pods as soon as one of them can be
 * used otherwise. Sessions with one selection of pods share a watch.
 *
 * Decides nothing: `domain/sessions/child-plan.ts` says when a session looks.
 */

import { Effect, FiberMap, type Scope } from "effect"
import { followedPods, isUsedOtherwise } from "../../../domain/targets/followed-pod.ts"
import type { KubeApi, Selection } from "../../../ports/kube-api.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { makeReflector } from "../../kernel/reflector.ts"

export interface TargetPods {
  /** Follows the pods of a session, in place of those that it followed before. `changed`: a pod was seen to change. */
  readonly follow: (session: string, selection: Selection, changed: () => void) => void
  readonly forget: (session: string) => void
}

const keyOf = ({ labelSelector = "", name = "", namespace = "" }: Selection): string =>
  [namespace, name, labelSelector].join("\n")

export const makeTargetPods = Effect.fnUntraced(function* (
  api: KubeApi
): Effect.fn.Return<TargetPods, never, Scope.Scope> {
  const watches = yield* FiberMap.make<string>()
  const run = yield* FiberMap.runtime(watches)<never>()
  /** The sessions of each selection, and the selection of each session. */
  const followers = new Map<string, Map<string, () => void>>()
  const followed = new Map<string, string>()
  yield* countHolding("followed pods", () => followers.size)

  const watch = (selection: Selection, sessions: ReadonlyMap<string, () => void>): Effect.Effect<never> =>
    Effect.gen(function* () {
      const pods = yield* makeReflector(
        api,
        followedPods,
        (pod, deleted, before) => {
          // The first list tells what the sessions' own looks have seen.
          if (!pods.synced() || !(deleted || isUsedOtherwise(before, pod))) return
          for (const changed of sessions.values()) changed()
        },
        selection
      )
      return yield* Effect.never
    }).pipe(Effect.scoped)

  const forget = (session: string): void => {
    const key = followed.get(session)
    const sessions = key === undefined ? undefined : followers.get(key)
    if (key === undefined || sessions === undefined) return
    followed.delete(session)
    sessions.delete(session)
    if (sessions.size > 0) return
    followers.delete(key)
    run(key, Effect.void)
  }
  return {
    follow: (session, selection, changed) => {
      const key = keyOf(selection)
      if (followed.get(session) !== key) forget(session)
      followed.set(session, key)
      const known = followers.get(key)
      if (known !== undefined) return void known.set(session, changed)
      const sessions = new Map([[session, changed]])
      followers.set(key, sessions)
      run(key, watch(selection, sessions))
    },
    forget
  }
})
