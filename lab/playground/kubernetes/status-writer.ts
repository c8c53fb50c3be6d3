import { Effect, Queue, type Scope } from "effect"
import { logError } from "../../../src/app/kernel/log.ts"
import type { KubeApi, KubeError, ResourceRef } from "../../../src/ports/kube-api.ts"

/** What is still to be written of one object. */
interface Write {
  readonly ref: ResourceRef
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string
  /** Top-level fields of the status. */
  readonly status: Readonly<Record<string, unknown>> | undefined
  /** Its programs have ended: the object itself goes, after its last status. */
  readonly release: boolean
}

/** How long a server that gave no answer, or none that decides anything, is left alone. */
const pause = "500 millis"

/** Whether a server may do later what it did not do now. */
export const isWorthAnotherTry = ({ reason }: KubeError): boolean =>
  reason === "Unreachable" || reason === "TooManyRequests" || reason === "Other"

export interface StatusWriter {
  readonly setStatus: (object: Omit<Write, "status" | "release">, status: Readonly<Record<string, unknown>>) => void
  readonly release: (object: Omit<Write, "status" | "release">) => void
}

/**
 * Writes the states of a node's pods, one after the other: of several changes of an object only what they come to
 * together, and nothing after its release. A server that is not there is asked again until the scope closes.
 *
 * @param isCurrent whether the object of this `uid` is still known; another one of its name must not get its status
 */
export const makeStatusWriter = (
  api: KubeApi,
  isCurrent: (ref: ResourceRef, uid: string) => boolean
): Effect.Effect<StatusWriter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const waiting = new Map<string, Write>()
    const turns = yield* Queue.unbounded<string>()

    /** Older changes lose against newer ones. */
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
        // In conflict: another object has the name, so this one has gone.
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
          // Many writers of one object may be in conflict without any of them naming a version.
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
