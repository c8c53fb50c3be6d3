/** The service at which people log in to a page of the operator (OpenID Connect, code flow). */

import { Data, type Effect } from "effect"

/** A login that does not succeed. `message`: a sentence for the person. */
export class LoginError extends Data.TaggedError("LoginError")<{
  /** `Away`: the service cannot be asked, so that a later try may succeed. `Refused`: this login is not valid. */
  readonly reason: "Away" | "Refused"
  readonly message: string
}> {}

/** Kept by the browser of a person while it is at the service, so that no other answer than its own is taken. */
export interface LoginAttempt {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface LoginProvider {
  /** The service's page for a new login. */
  readonly begin: Effect.Effect<{ readonly url: string; readonly attempt: LoginAttempt }, LoginError>
  /** The claims about the person who comes back with the query `answer` (`?code=…`). */
  readonly finish: (
    answer: string,
    attempt: LoginAttempt
  ) => Effect.Effect<Readonly<Record<string, unknown>>, LoginError>
}

/** The contents of a sealed text. `until`: its end, epoch ms. */
interface Opened {
  readonly contents: Readonly<Record<string, unknown>>
  readonly until: number
}

/** Writes what only this operator can read, for the cookies of a page. */
export interface Seal {
  /** `purpose`: a sealed text is opened for the same one alone. `until`: epoch ms. */
  readonly close: (purpose: string, contents: object, until: number) => Effect.Effect<string>
  /** `undefined` for a text that is no sealed one, or that has ended at `now`, epoch ms. */
  readonly open: (purpose: string, text: string, now: number) => Effect.Effect<Opened | undefined>
}
