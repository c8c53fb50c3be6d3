/**
 * Writes one audit line per deleted session: with our cause if we deleted it, else `Deleted`; and counts how long it
 * lasted. Decides no deletion: the caller passes it in.
 */

import { Clock, Effect, Exit } from "effect"
import { type ObjectMeta, timeOf } from "../../domain/resources/object-meta.ts"
import { traceparentAnnotation } from "../../domain/sessions/names.ts"
import type { AuditedSession, SessionAct } from "../../domain/sessions/session-act.ts"
import { audit, countEnd } from "../kernel/audit.ts"
import { traced } from "../kernel/tracing.ts"

type OwnEnd = Exclude<Extract<SessionAct, { readonly act: "ended" }>, { readonly cause: "Deleted" }>
type Identity = Pick<ObjectMeta, "name" | "uid" | "creationTimestamp" | "annotations">
type AnyEnd = Extract<SessionAct, { readonly act: "ended" }>

/**
 * How many ends are remembered. The watch shows an end within moments of its deletion, so older entries are not needed.
 */
const maxRemembered = 10_000

/** The end of one object, as far as it is known. */
interface End {
  /** When its session began, by the API server's clock; epoch ms. */
  readonly createdAt: number | undefined
  /** The trace that it belongs to. */
  readonly traceparent: string | undefined
  isTold: boolean
  /** Own deletions under way. */
  pending: number
  /** The session as the audit describes it, once the watch has shown the end. */
  seen: AuditedSession | undefined
}

/** The ends of sessions that this process caused or saw. */
export class SessionEnds {
  /** By UID, in the order in which the ends became known. */
  readonly #ends = new Map<string, End>()

  /**
   * Deletes a session's object. After a failure no cause is audited: an object that was gone already was ended by
   * another process or a person.
   */
  readonly end = <E>(object: Identity, deletion: Effect.Effect<unknown, E>, act: OwnEnd): Effect.Effect<void, E> =>
    Effect.suspend(() => {
      // Counted before the call, because the watch may show the deletion before the call is answered.
      const known = this.#endOf(object)
      known.pending++
      return Effect.onExit(deletion, (exit) => {
        known.pending--
        if (Exit.isSuccess(exit)) return this.#tell(known, act)
        return known.seen === undefined || known.pending > 0 ? Effect.void : this.#tellDeleted(known, known.seen)
      })
    }).pipe(Effect.asVoid)

  /** Records that an object is deleted, or is being deleted. */
  readonly seen = (object: Identity, about: AuditedSession): Effect.Effect<void> =>
    Effect.suspend(() => {
      const known = this.#endOf(object)
      known.seen = about
      return known.pending > 0 ? Effect.void : this.#tellDeleted(known, about)
    })

  readonly #tell = (known: End, act: AnyEnd): Effect.Effect<void> => {
    if (known.isTold) return Effect.void
    known.isTold = true
    const { createdAt } = known
    const counted = (now: number) => (createdAt === undefined ? Effect.void : countEnd(now - createdAt, act))
    return Effect.flatMap(Clock.currentTimeMillis, counted).pipe(
      Effect.andThen(audit(act)),
      traced({
        name: "session end",
        within: known.traceparent,
        attributes: { "braid.session": act.session, "k8s.namespace.name": act.namespace, "braid.cause": act.cause }
      })
    )
  }

  readonly #tellDeleted = (known: End, about: AuditedSession): Effect.Effect<void> =>
    this.#tell(known, {
      act: "ended",
      cause: "Deleted",
      ...about,
      message: "Its object was deleted. Who did that is in the API server's audit log."
    })

  #endOf({ annotations, creationTimestamp, name, uid = name }: Identity): End {
    const known = this.#ends.get(uid)
    if (known !== undefined) return known
    const fresh: End = {
      createdAt: timeOf(creationTimestamp),
      traceparent: annotations?.[traceparentAnnotation],
      isTold: false,
      pending: 0,
      seen: undefined
    }
    this.#ends.set(uid, fresh)
    const [oldest] = this.#ends.keys()
    if (this.#ends.size > maxRemembered && oldest !== undefined) this.#ends.delete(oldest)
    return fresh
  }
}
