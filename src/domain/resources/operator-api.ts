/**
 * Names of the operator's own aggregated API, as clients, operators of a fleet and the API server spell them
 * (operator-api.md §1.5). They are served by src/app/api.
 */

/** The API group of what the operator serves, and of its own kinds. */
export const operatorGroup = "operator.metalbear.co"
export const operatorGroupVersion = `${operatorGroup}/v1`
/** Below it stands everything that the operator serves. */
export const operatorApiRoot = `/apis/${operatorGroupVersion}`
/** The APIService by which the API server knows the operator. */
export const operatorApiService = `v1.${operatorGroup}`
/** Below it API servers ask about new pods of a split: a path for each split, with the uid of its record. */
export const splitPodsPath = "/split-pods"

/** The WebSocket subprotocol that the real client offers and operators demand (operator-api.md §7.3). */
export const connectSubprotocol = "v4.channel.k8s.io"
/** Which leader of a primary asks, on the link to a member. */
export const termHeader = "x-braid-term"
/** Which trace a request belongs to (W3C Trace Context). */
export const traceparentHeader = "traceparent"

/** Path to connect to a target, of which the API server checks the right to connect (operator-api.md §7.1). */
export const proxiedTargetPath = (namespace: string, target: string): string =>
  `${operatorApiRoot}/proxy/namespaces/${encodeURIComponent(namespace)}/targets/${encodeURIComponent(target)}`
