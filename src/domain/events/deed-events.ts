/**
 * Events for what the operator itself does to a session. Changes of a session's status have theirs in parent-events.ts
 * and child-events.ts.
 */

import { quotation } from "../clean-text.ts"
import type { SessionEvent } from "./event-catalogue.ts"

/** The operator deletes a session by itself. `why`: a sentence. */
export const expiredEvent = (why: string): SessionEvent => ({
  reason: "Expired",
  message: `${why} The session is ended; a new one has to be started.`
})

/** A pod of the target gets no agent. `why`: the end of a sentence, or a sentence. */
export const podLeftOutEvent = (pod: string, why: string): SessionEvent => ({
  reason: "PodLeftOut",
  message: `Pod ${pod} is left out of the session: ${quotation(why)}. It is looked at again every 30 s.`
})

/** A child could not be deleted in time and stands in the ledger now. */
export const childOwedEvent = (cluster: string, childName: string): SessionEvent => ({
  reason: "ChildOwed",
  cluster,
  message:
    `Session ${childName} in cluster ${cluster} could not be deleted in time; ConfigMap mirrord-operator-debts ` +
    "keeps it in mind, and it is deleted when that cluster is back. Until then check that cluster and its " +
    "credentials."
})
