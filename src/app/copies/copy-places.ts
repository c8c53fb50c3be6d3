/**
 * Room for copies of targets that are being made. Requests of the same moment count each other, so that they do not
 * pass a bound together.
 *
 * Not here: the bounds (domain/copies/copy-bounds.ts).
 */

import { Effect } from "effect"
import { copyBoundProblem } from "../../domain/copies/copy-bounds.ts"
import type { SessionBounds } from "../../domain/sessions/session-bounds.ts"
import { type ApiError, forbidden } from "../api/status.ts"

/** A copy, as far as it is counted. */
export interface CountedCopy {
  readonly namespace: string
  readonly name: string
  /** The Kubernetes user whose copy it is. */
  readonly user: string
}

/** A copy that is to be made beside those that are there at that moment. */
export interface WantedPlace {
  readonly copy: CountedCopy
  readonly there: () => Iterable<CountedCopy>
}

/** Makes a copy if the bounds leave room for it; fails with a sentence. */
export type InPlace = <A>(wanted: WantedPlace, make: Effect.Effect<A, ApiError>) => Effect.Effect<A, ApiError>

const keyOf = ({ name, namespace }: CountedCopy): string => `${namespace}/${name}`

export const makeInPlace = (bounds: SessionBounds): InPlace => {
  const underWay = new Map<string, CountedCopy>()
  const take = ({ copy, there }: WantedPlace): Effect.Effect<void, ApiError> =>
    Effect.suspend(() => {
      // A copy that has just been made is there, and still under way.
      const others = [...there()].filter((other) => !underWay.has(keyOf(other)))
      const users = [...others, ...underWay.values()].map(({ user }) => user)
      const problem = copyBoundProblem(bounds, copy.user, users)
      if (problem !== undefined) return Effect.fail(forbidden(problem))
      underWay.set(keyOf(copy), copy)
      return Effect.void
    })
  return (wanted, make) =>
    Effect.acquireUseRelease(
      take(wanted),
      () => make,
      () => Effect.sync(() => void underWay.delete(keyOf(wanted.copy)))
    )
}
