import { Effect, Exit } from "effect"
import type { ObjectMeta } from "../../domain/resources/object-meta.ts"
import type { AuditedSession, SessionAct } from "../../domain/session/session-act.ts"
import { audit } from "../kernel/audit.ts"

type OwnEnd = Exclude<Extract<SessionAct, { readonly act: "ended" }>, { readonly cause: "Deleted" }>
type Identity = Pick<ObjectMeta, "name" | "uid">

/** An end is seen within moments of the deletion that caused it; more than so many at a time are not told apart. */
const mostRemembered = 10_000

/** What is known of the end of one object. */
interface End {
  isTold: boolean
  /** Own deletions under way. */
  pending: number
  /** It was seen while nobody knew yet whose deletion it was. */
  seen: AuditedSession | undefined
}

/**
 * The ends of sessions, one audit line for each object: with its cause after a deletion of this process's own, as
 * `Deleted` otherwise.
 */
export class SessionEnds {
  /** By UID, the latest last. */
  readonly #ends = new Map<string, End>()

  /** Deletes a session's object. One that was not there any more has been ended by somebody else. */
  readonly end = <E>(of: Identity, deletion: Effect.Effect<unknown, E>, act: OwnEnd): Effect.Effect<void, E> =>
    Effect.suspend(() => {
      // Before the call: the watch may tell of it before the answer comes.
      const known = this.#endOf(of)
      known.pending++
      return Effect.onExit(deletion, (exit) => {
        known.pending--
        if (Exit.isSuccess(exit)) return this.#tell(known, act)
        return known.seen === undefined || known.pending > 0 ? Effect.void : this.#tellDeleted(known, known.seen)
      })
    }).pipe(Effect.asVoid)

  /** The object is, or is being, deleted. */
  readonly seen = (of: Identity, about: AuditedSession): Effect.Effect<void> =>
    Effect.suspend(() => {
      const known = this.#endOf(of)
      known.seen = about
      return known.pending > 0 ? Effect.void : this.#tellDeleted(known, about)
    })

  readonly #tell = (known: End, act: SessionAct): Effect.Effect<void> => {
    if (known.isTold) return Effect.void
    known.isTold = true
    return audit(act)
  }

  readonly #tellDeleted = (known: End, about: AuditedSession): Effect.Effect<void> =>
    this.#tell(known, {
      act: "ended",
      cause: "Deleted",
      ...about,
      message: "Its object was deleted. Who did that is in the API server's audit log."
    })

  #endOf({ name, uid = name }: Identity): End {
    const known = this.#ends.get(uid)
    if (known !== undefined) return known
    const fresh: End = { isTold: false, pending: 0, seen: undefined }
    this.#ends.set(uid, fresh)
    const [oldest] = this.#ends.keys()
    if (this.#ends.size > mostRemembered && oldest !== undefined) this.#ends.delete(oldest)
    return fresh
  }
}
