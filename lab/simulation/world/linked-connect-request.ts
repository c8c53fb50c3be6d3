/**
 * Turns a primary's link request into the connect request that the member's operator sees, as the HTTP between them
 * would.
 */

import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import type { Caller } from "../../../src/domain/fleet/credentials/front-proxy.ts"
import type { LinkRequest } from "../../../src/ports/member-link.ts"

export const linkedConnectRequest = (
  caller: Caller,
  { namespace, query, sessionId, target, term, traceparent }: LinkRequest
): ConnectRequest => ({
  caller,
  checked: "proxy",
  namespace,
  target,
  sessionId: sessionId.toString(),
  certificate: undefined,
  clientVersion: undefined,
  clientName: undefined,
  clientHostname: undefined,
  term,
  traceparent,
  query
})
