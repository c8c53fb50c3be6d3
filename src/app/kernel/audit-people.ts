/**
 * Writes the audit line of a person's request through a tunnel.
 *
 * Not here: its fields (domain/outbound/people-audit.ts), and acts about sessions (audit.ts).
 */

import type { Effect } from "effect"
import { peopleFields, type PeopleOutcome, type PeopleRequest } from "../../domain/outbound/people-audit.ts"
import { logInfo } from "./log.ts"

/** `ms`: how long the request took. */
export const auditPeople = (request: PeopleRequest, outcome: PeopleOutcome, ms: number): Effect.Effect<void> =>
  logInfo("request of a person", peopleFields(request, outcome, ms))
