/**
 * Describes a client that asks for something, for the audit. Nothing is decided by it.
 */

import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { AuditedCaller } from "../../domain/sessions/session-act.ts"
import type { Asker, ConnectRequest } from "./operator-facade.ts"

/**
 * The client of a connection, for the audit: the verified caller, and apart from it the client's own claims. `owner`:
 * from a verified certificate.
 */
export const askedBy = (
  { caller, clientHostname, clientName, ignored }: Asker & Pick<ConnectRequest, "ignored">,
  owner?: SessionOwner
) => {
  const by: AuditedCaller = caller
  return {
    by,
    ...(owner === undefined ? {} : { userId: owner.userId }),
    claims: {
      ...(clientName === undefined ? {} : { username: clientName }),
      ...(clientHostname === undefined ? {} : { hostname: clientHostname })
    },
    ...(ignored === undefined ? {} : { ignored })
  }
}
