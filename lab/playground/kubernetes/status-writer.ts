/**
 * Writes what a stand-in node does to its pods to a real API server: statuses, and the final removal. Decisions about
 * pods are the kubelet's (`lab/cluster/node`).
 */

import { Effect, Queue, type Scope } from "effect"
import { logError } from "../../../src/app/kernel/log.ts"
import type { KubeApi, KubeError, ResourceRef } from "../../../src/ports/kube-api.ts"

/** The pending write of one object. */
interface Write {
  readonly ref: ResourceRef
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string
  /** Top-level fields of the status. */
  readonly status: Readonly<Record<string, unknown>> | undefined
  /** Whether the object's programs have ended: then the object itself is removed after its last status. */
  readonly release: boolean
}

/** How long to wait after no answer, or after an answer that decides nothing. */
const pause = "500 millis"

/** Whether the server may carry out later what it did not carry out now. */
export const isWorthAnotherTry = ({ reason }: KubeError): boolean =>
  reason === "Unreachable" || reason === "TooManyRequests" || reason === "Other"

export interface StatusWriter {
  readonly setStatus: (object: Omit<Write, "status" | "release">, status: Readonly<Record<string, unknown>>) => void
  readonly release: (object: Omit<Write, "status" | "release">) => void
}

/**
 * Writes the states of a node's pods one after the other. Several changes of an object are written as one; nothing is
 * written after its release. An absent server is asked again until the scope closes.
 *
 * @param isCurrent whether the object with this `uid` still exists; another object of its name must not get its status
 */
export const makeStatusWriter = (
  api: KubeApi,
  isCurrent: (ref: ResourceRef, uid: string) => boolean
): Effect.Effect<StatusWriter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const waiting = new Map<string, Write>()
    const turns = yield* Queue.unbounded<string>()

    /** Merges two changes; the newer one wins. */
    const add = (older: Write | undefined, newer: Write): void => {
      if (older === undefined) Queue.offerUnsafe(turns, newer.uid)
      const status =
        older?.status === undefined && newer.status === undefined ? undefined : { ...older?.status, ...newer.status }
      waiting.set(newer.uid, { ...newer, status, release: newer.release || older?.release === true })
    }

    const perform = ({ ref, name, namespace, uid, status, release }: Write): Effect.Effect<void, KubeError> =>
      Effect.gen(function* () {
        const place = namespace === undefined ? {} : { namespace }
        if (status !== undefined && isCurrent(ref, uid)) {
          yield* api.mergePatch(ref, name, { status }, { ...place, subresource: "status" })
        }
        // A conflict means that another object has the name, so this object is gone.
        const unlessAnother = (error: KubeError) => (error.reason === "Conflict" ? Effect.void : Effect.fail(error))
        if (release)
          yield* api.delete(ref, name, { ...place, uid, gracePeriodSeconds: 0 }).pipe(Effect.catch(unlessAnother))
      })

    const turn = Effect.gen(function* () {
      const uid = yield* Queue.take(turns)
      const write = waiting.get(uid)
      if (write === undefined) return
      waiting.delete(uid)
      yield* perform(write).pipe(
        Effect.catch((error) => {
          if (error.reason === "NotFound") return Effect.void
          // Many writers of one object may conflict although none of them names a version.
          if (!isWorthAnotherTry(error) && error.reason !== "Conflict")
            return logError("a status was refused", { problem: error.message })
          return Effect.andThen(
            Effect.sync(() => {
              const newer = waiting.get(uid)
              if (newer === undefined) add(undefined, write)
              else
                waiting.set(uid, {
                  ...newer,
                  status: { ...write.status, ...newer.status },
                  release: newer.release || write.release
                })
            }),
            Effect.sleep(pause)
          )
        })
      )
    })
    yield* Effect.forkScoped(Effect.forever(turn))
    return {
      setStatus: (object, status) => add(waiting.get(object.uid), { ...object, status, release: false }),
      release: (object) => add(waiting.get(object.uid), { ...object, status: undefined, release: true })
    }
  })
