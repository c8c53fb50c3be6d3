/**
 * Stops sessions at the request of users, one session or all. Deletes their objects only; the capability of a session
 * does the rest.
 */

import { Effect, Result } from "effect"
import type { Caller } from "../../domain/credentials/front-proxy.ts"
import { isBeingDeleted } from "../../domain/resources/object-meta.ts"
import { parseSessionReference } from "../../domain/session/session-id.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { Capability, ServedSession, ServedSessions } from "../api/capability.ts"
import { type ApiError, badRequest, internalError, notFound } from "../api/status.ts"
import type { SessionEnds } from "../sessions/session-ends.ts"

/** The capabilities that have sessions, and the audit of their ends. */
export interface Stopping {
  readonly api: KubeApi
  readonly ends: SessionEnds
  readonly capabilities: ReadonlyArray<Capability>
}

/** The user who stops sessions, and whether one session or all. */
interface Stop {
  readonly by: Caller
  readonly cause: "Stopped" | "AllStopped"
}

const stop = ({ api, ends }: Stopping, session: ServedSession, how: Stop): Effect.Effect<void, ApiError> => {
  const { audited, metadata, resource } = session
  // The end has its audit line already, maybe from an earlier leader.
  if (isBeingDeleted(metadata)) return Effect.void
  return ends
    .end(metadata, api.delete(resource, metadata.name), { act: "ended", ...how, ...audited })
    .pipe(
      Effect.catch((error) =>
        error.reason === "NotFound"
          ? Effect.void
          : Effect.fail(internalError(`Session ${metadata.name} cannot be deleted: ${error.detail}.`))
      )
    )
}

/** Sessions over many clusters come first: sessions of one cluster may be parts of them. */
const sessionsToStop = ({ capabilities }: Stopping): ReadonlyArray<ServedSessions> =>
  capabilities.flatMap(({ sessions }) => sessions ?? []).toReversed()

/** `reference`: an id in any of the forms of operator-api.md §4.3. */
export const stopSession = (
  stopping: Stopping,
  reference: string,
  by: Caller,
  namespace: string | undefined
): Effect.Effect<void, ApiError> =>
  Effect.gen(function* () {
    const ids = parseSessionReference(reference)
    if (Result.isFailure(ids)) return yield* badRequest(ids.failure.message)
    for (const id of ids.success) {
      for (const { find } of sessionsToStop(stopping)) {
        const session = find(id)
        if (session === undefined || (namespace !== undefined && session.namespace !== namespace)) continue
        return yield* stop(stopping, session, { by, cause: "Stopped" })
      }
    }
    return yield* notFound(`There is no session ${reference}.`)
  })

/** Stops all sessions and returns their number. */
export const stopAllSessions = (stopping: Stopping, by: Caller): Effect.Effect<number> =>
  Effect.gen(function* () {
    const found = sessionsToStop(stopping).flatMap(({ all }) => all())
    yield* Effect.forEach(found, (session) => Effect.ignore(stop(stopping, session, { by, cause: "AllStopped" })), {
      discard: true
    })
    return found.length
  })
