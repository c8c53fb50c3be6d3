/**
 * Writes the audit lines of a person's request through a tunnel.
 *
 * Not here: their fields (domain/outbound/people-audit.ts), and acts about sessions (audit.ts).
 */

import { Effect } from "effect"
import {
  beginningFields,
  peopleFields,
  type PeopleOutcome,
  type PeopleRequest
} from "../../domain/outbound/people-audit.ts"
import { logInfo } from "./log.ts"

/** Before a request is passed on, so that what it does has a line whatever becomes of this process. */
export const auditBeginning = (request: PeopleRequest): Effect.Effect<void> =>
  request.isLasting ? logInfo("request of a person begins", beginningFields(request)) : Effect.void

/** `ms`: how long the request took. */
export const auditPeople = (request: PeopleRequest, outcome: PeopleOutcome, ms: number): Effect.Effect<void> =>
  logInfo("request of a person", peopleFields(request, outcome, ms))
