/**
 * Begins to find clusters by objects of a kind that may be installed later: where it is not, there are none, and it is
 * looked for again.
 *
 * Not here: finding them (cluster-api-clusters.ts, cluster-profiles.ts).
 */

import { Effect, Schedule, type Scope } from "effect"
import type { KubeApi, KubeError, ResourceRef } from "../../ports/kube-api.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logWarning } from "../kernel/log.ts"
import { tellEvery } from "./await-first-list.ts"

/** The place of the objects. `api`: of the operator's own cluster. */
export interface Place {
  readonly api: KubeApi
  readonly namespace: string
}

/** The first version of a kind that the API server serves; undefined: it is not installed there. */
export const servedVersion = Effect.fnUntraced(function* <Version>(
  { api, namespace }: Place,
  versions: ReadonlyArray<Version>,
  refOf: (version: Version) => ResourceRef
): Effect.fn.Return<Version | undefined, KubeError> {
  for (const version of versions) {
    const isServed = yield* api.list(refOf(version), { namespace }).pipe(
      Effect.as(true),
      Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed(false) : Effect.fail(error)))
    )
    if (isServed) return version
  }
  return undefined
})

/** A kind that is looked for. */
export interface Awaited<Version> {
  /** Such as `Cluster API`, for the log. */
  readonly what: string
  readonly namespace: string
  readonly served: Effect.Effect<Version | undefined, KubeError>
  readonly follow: (version: Version) => Effect.Effect<void, never, Scope.Scope>
}

/** Completes when all is known that is there now. */
export const whenServed = <Version>({
  follow,
  namespace,
  served,
  what
}: Awaited<Version>): Effect.Effect<void, never, Scope.Scope> => {
  const log = new LogOnce()
  const tell = (problem: string) =>
    log.tell(problem, logWarning(`clusters of ${what} are not known`, { namespace, problem }))
  const answered = served.pipe(
    Effect.tapError(({ message }) => tell(message)),
    Effect.retry(Schedule.spaced(tellEvery)),
    Effect.orDie,
    Effect.tap((version) => (version === undefined ? tell(`${what} is not installed`) : Effect.void))
  )
  const begin = (version: Version | undefined): Effect.Effect<void, never, Scope.Scope> =>
    version === undefined
      ? Effect.asVoid(Effect.forkScoped(Effect.delay(Effect.flatMap(answered, begin), tellEvery)))
      : follow(version)
  return Effect.flatMap(answered, begin)
}
