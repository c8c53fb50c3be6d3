/**
 * The audit's words about somebody who connects. Nothing is decided by it.
 */

import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { AuditedCaller } from "../../domain/session/session-act.ts"
import type { ConnectRequest } from "./operator-facade.ts"

/**
 * The asker of a connection, for the audit: what was verified, and apart from it what the client claims. `owner`: of a
 * verified certificate.
 */
export const askedBy = ({ caller, clientHostname, clientName }: ConnectRequest, owner?: SessionOwner) => {
  const by: AuditedCaller = caller
  return {
    by,
    ...(owner === undefined ? {} : { userId: owner.userId }),
    claims: {
      ...(clientName === undefined ? {} : { username: clientName }),
      ...(clientHostname === undefined ? {} : { hostname: clientHostname })
    }
  }
}
