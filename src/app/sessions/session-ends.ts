import { Effect } from "effect"
import type { AuditedSession, SessionAct } from "../../domain/audit/session-act.ts"
import { audit } from "../audit.ts"

type OwnEnd = Exclude<Extract<SessionAct, { readonly act: "ended" }>, { readonly cause: "Deleted" }>

/** An end is seen within moments of the deletion that caused it; more than so many at a time are not told apart. */
const mostRemembered = 10_000

/** The ends of sessions, one audit line for each: of this process's own deletions as they are made, of all others when they are seen. */
export class SessionEnds {
  /** UIDs of the objects that this process has deleted, the latest last. */
  readonly #own = new Set<string>()

  /** Deletes a session's object. One that was not there any more has been ended by somebody else. */
  readonly end = <E>(uid: string | undefined, deletion: Effect.Effect<unknown, E>, act: OwnEnd): Effect.Effect<void, E> =>
    Effect.suspend(() => {
      // Before the call: the watch may tell of it before the answer comes.
      if (uid !== undefined) this.#remember(uid)
      return deletion
    }).pipe(
      Effect.tapError(() => Effect.sync(() => this.#own.delete(uid ?? ""))),
      Effect.andThen(audit(act))
    )

  /** To be called once per session whose object is, or is being, deleted. */
  readonly seen = (uid: string | undefined, about: AuditedSession): Effect.Effect<void> =>
    Effect.suspend(() =>
      this.#own.has(uid ?? "")
        ? Effect.void
        : audit({ act: "ended", cause: "Deleted", ...about, message: "Its object was deleted. Who did that is in the API server's audit log." })
    )

  #remember(uid: string): void {
    this.#own.add(uid)
    const [oldest] = this.#own
    if (this.#own.size > mostRemembered && oldest !== undefined) this.#own.delete(oldest)
  }
}
