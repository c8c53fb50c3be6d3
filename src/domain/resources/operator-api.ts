// Names of the operator's own aggregated API, as clients, operators of a fleet and the API server spell them
// (operator-api.md §1.5). What is served below them is in src/app/api.

/** The API group of what the operator serves, and of its own kinds. */
export const operatorGroup = "operator.metalbear.co"
export const operatorGroupVersion = `${operatorGroup}/v1`
/** Below it stands everything that the operator serves. */
export const operatorApiRoot = `/apis/${operatorGroupVersion}`

/** The WebSocket subprotocol that the real client offers and operators demand (operator-api.md §7.3). */
export const connectSubprotocol = "v4.channel.k8s.io"
/** Which leader of a primary asks, on the link to a member. */
export const termHeader = "x-braid-term"

/** Where a target is connected to with the right to do so checked by the API server (operator-api.md §7.1). */
export const proxiedTargetPath = (namespace: string, target: string): string =>
  `${operatorApiRoot}/proxy/namespaces/${encodeURIComponent(namespace)}/targets/${encodeURIComponent(target)}`
