/**
 * Stops sessions at the request of users, one session or all. Deletes their objects only; the capability of a session
 * does the rest. The API server has checked the user's right to delete sessions; no owner is asked here.
 */

import { Clock, Effect, Result } from "effect"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { isBeingDeleted } from "../../domain/resources/object-meta.ts"
import { parseSessionReference, sessionIdHex } from "../../domain/sessions/session-id.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { SessionSelection } from "../api/operator-facade.ts"
import { type ApiError, badRequest, forbidden, internalError, notFound } from "../api/status.ts"
import { cureOf } from "../kernel/kube-cure.ts"
import { logWarning } from "../kernel/log.ts"
import type { DistantSession, ServedSession, ServedSessions, Sessions } from "../services/sessions.ts"
import type { SessionEnds } from "../sessions/session-ends.ts"

/** Most sessions of other clusters that are stopped side by side. */
const maxAtOnce = 100

/** The sessions, and the audit of their ends. */
export interface Stopping {
  readonly api: KubeApi
  readonly ends: SessionEnds
  readonly sessions: Sessions["Service"]
}

/** The user who stops sessions, and which sessions. */
interface Stop {
  readonly by: Caller
  readonly cause: "Stopped" | "AllStopped" | "InactiveStopped"
}

/** Remembers sessions before they are deleted: they must not begin again when their clients come back. */
const remember = ({ stopped }: ServedSessions, names: ReadonlyArray<string>): Effect.Effect<void, ApiError> =>
  Effect.mapError(stopped.record(names), ({ message }) =>
    internalError(
      `Nothing was stopped, because it cannot be remembered which sessions are to stay so: ${message}. Try again in ` +
        "a moment."
    )
  )

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
          : Effect.fail(internalError(`Session ${metadata.name} cannot be deleted: ${error.detail}. ${cureOf(error)}`))
      )
    )
}

/** Sessions over many clusters come first: sessions of one cluster may be parts of them. */
const sessionsToStop = ({ sessions }: Stopping): ReadonlyArray<ServedSessions> => sessions.served.toReversed()

/** Ends the part of a session over many clusters with its namespace; else it is the primary's. */
const endPart = ({ endWithNamespace, metadata: { name } }: DistantSession): Effect.Effect<void, ApiError> =>
  (endWithNamespace ?? Effect.succeed(false)).pipe(
    Effect.mapError(({ detail }) =>
      internalError(`Session ${name} stays, since its namespace cannot be looked up: ${detail}.`)
    ),
    Effect.flatMap((hasEnded) => {
      const cure = "stop it at the operator of its primary cluster."
      return hasEnded
        ? Effect.void
        : Effect.fail(forbidden(`Session ${name} is a part of a session over many clusters; ${cure}`))
    })
  )

/** Lets the operator of another cluster stop a session there. */
const stopDistant = (stopping: Stopping, session: DistantSession, how: Stop): Effect.Effect<void, ApiError> => {
  const { audited, metadata, stop: stopThere } = session
  const { name } = metadata
  if (stopThere === undefined) return endPart(session)
  const { ends } = stopping
  return ends
    .end(metadata, stopThere, { act: "ended", ...how, ...audited })
    .pipe(
      Effect.catch((error) =>
        error.reason === "NotFound"
          ? Effect.void
          : Effect.fail(
              internalError(
                `Session ${name} of cluster ${error.cluster} is not stopped: ${error.detail}. ${cureOf(error)} ` +
                  "Or stop it at the operator of that cluster."
              )
            )
      )
    )
}

/** Whether the operator of another cluster has agreed. */
const isStopped = (stopping: Stopping, session: DistantSession, how: Stop): Effect.Effect<boolean> =>
  Effect.matchEffect(stopDistant(stopping, session, how), {
    onSuccess: () => Effect.succeed(true),
    onFailure: ({ message }) => Effect.as(logWarning("session of a member not stopped", { problem: message }), false)
  })

/** `reference`: an id in any of the forms of operator-api.md §4.3. */
export const stopSession = Effect.fnUntraced(function* (
  stopping: Stopping,
  reference: string,
  by: Caller,
  namespace: string | undefined
) {
  const now = yield* Clock.currentTimeMillis
  const ids = parseSessionReference(reference)
  if (Result.isFailure(ids)) return yield* badRequest(ids.failure.message)
  for (const id of ids.success) {
    for (const sessions of sessionsToStop(stopping)) {
      const session = sessions.find(sessions.nameOf(id))
      if (session === undefined || (namespace !== undefined && session.namespace !== namespace)) continue
      yield* remember(sessions, [session.metadata.name])
      return yield* stop(stopping, session, { by, cause: "Stopped" })
    }
    const distant = stopping.sessions.distant().find(({ info }) => {
      const { id: its, namespace: there } = info(now)
      return its === sessionIdHex(id) && (namespace === undefined || there === namespace)
    })
    if (distant !== undefined) return yield* stopDistant(stopping, distant, { by, cause: "Stopped" })
  }
  return yield* notFound(`There is no session ${reference}.`)
})

/** The sessions that are stopped. `namespace`: only those there; the namespace controller asks so. */
export interface StoppedSelection {
  readonly which: SessionSelection
  readonly namespace?: string | undefined
}

/** Stops all sessions, or those that have no client, and returns their number; of other clusters: of those stopped. */
export const stopSessions = Effect.fnUntraced(function* (
  stopping: Stopping,
  { namespace, which }: StoppedSelection,
  by: Caller
) {
  const now = yield* Clock.currentTimeMillis
  const isThere = (session: DistantSession): boolean => namespace === undefined || session.namespace === namespace
  const cause = which === "All" ? "AllStopped" : "InactiveStopped"
  let count = 0
  for (const sessions of sessionsToStop(stopping)) {
    const found = sessions.all().filter((one) => isThere(one) && (which === "All" || one.isInactive(now)))
    if (found.length === 0) continue
    const names = found.map(({ metadata }) => metadata.name)
    yield* remember(sessions, names)
    yield* Effect.forEach(found, (session) => Effect.ignore(stop(stopping, session, { by, cause })), {
      discard: true
    })
    count += found.length
  }
  // A member knows which of its sessions have no client.
  const isAsked = (session: DistantSession): boolean =>
    isThere(session) && (session.stop !== undefined || namespace !== undefined)
  const distant = which === "All" ? stopping.sessions.distant().filter(isAsked) : []
  // Side by side: a cluster that does not answer holds up no other.
  const stopped = yield* Effect.forEach(distant, (session) => isStopped(stopping, session, { by, cause }), {
    concurrency: maxAtOnce
  })
  return count + stopped.filter(Boolean).length
})
