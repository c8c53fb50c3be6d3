/**
 * Reads at an outpost as whom the request on a lane of a person is to be made.
 *
 * Not here: who is let in (domain/outbound/impersonation.ts), and the requests (serve-lanes.ts).
 */

import type { IncomingMessage } from "node:http"
import { Result } from "effect"
import {
  type Impersonation,
  impersonationHeaders,
  impersonationOf,
  type PeopleRules
} from "../../domain/outbound/impersonation.ts"
import type { RawHeaders } from "../../domain/outbound/passed-headers.ts"
import type { PeopleOutcome, PeopleRequest } from "../../domain/outbound/people-audit.ts"
import { memberHeader, personHeader, readPerson, requestIdHeader } from "../../domain/outbound/person.ts"
import { isLasting, verbOf } from "../../domain/outbound/proxied-request.ts"

/**
 * Takes note of a request, which is passed on afterwards if it has an identity here; the returned function is called
 * once, at its end.
 */
export type NotePeople = (request: PeopleRequest) => (outcome: PeopleOutcome) => void

/** One request to the member's API server. */
export interface OutgoingRequest {
  /** The headers that name the user, or a clause why it is not made. */
  readonly as: Result.Result<RawHeaders, string>
  /** Called once, at its end. */
  readonly over: (outcome: PeopleOutcome) => void
}

const nameOf = (header: string | undefined): string => {
  try {
    return decodeURIComponent(header ?? "")
  } catch {
    return header ?? ""
  }
}

/** The request that is made for a person. */
export const outgoingOf =
  (rules: PeopleRules, note: NotePeople) =>
  ({ headers, headersDistinct, method = "", url = "" }: IncomingMessage): OutgoingRequest => {
    const first = (name: string): string | undefined => headersDistinct[name]?.[0]
    const person = readPerson(first(personHeader))
    const as: Result.Result<Impersonation, string> = Result.flatMap(person, (one) => impersonationOf(one, rules))
    const isUpgrade = headers.upgrade !== undefined
    return {
      as: Result.map(as, impersonationHeaders),
      over: note({
        id: first(requestIdHeader) ?? "",
        cluster: nameOf(first(memberHeader)),
        person: Result.getOrElse(person, () => ({ user: "", groups: [] })),
        verb: verbOf(method, isUpgrade),
        isUpgrade,
        isLasting: isLasting(url, isUpgrade),
        path: url.split("?")[0] ?? "",
        as: Result.getOrUndefined(as)
      })
    }
  }
