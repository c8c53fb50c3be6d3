import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import type { Caller } from "../../../src/domain/credentials/front-proxy.ts"
import type { LinkRequest } from "../../../src/ports/member-link.ts"

/** What a member's operator gets to see of a primary's link when there is no HTTP between them. */
export const linkedConnectRequest = (
  caller: Caller,
  { namespace, query, sessionId, target, term }: LinkRequest
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
  query
})
