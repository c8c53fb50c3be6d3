/**
 * Which sort of session a user's connect is about, from the request and the operator's role alone. Whether the user may
 * have it is decided elsewhere.
 */

import type { Role } from "../fleet/roles.ts"
import type { ConnectParams } from "./connect-request.ts"
import { parentName } from "./names.ts"
import { type SessionId, sessionIdName } from "./session-id.ts"

/** A session over the whole fleet, or of this cluster alone. */
export type ConnectRoute = "MultiCluster" | "SingleCluster"

/** On a primary every session is over the fleet, unless the user asks for this cluster or targets by labels. */
export const connectRoute = (role: Role, target: string, { values }: ConnectParams): ConnectRoute => {
  if (role._tag === "Single" || values.multi_cluster === false) return "SingleCluster"
  return target === "label" || target.startsWith("label.") ? "SingleCluster" : "MultiCluster"
}

/** On a primary every copy of a target is over the fleet: nothing in a request for one says otherwise. */
export const copyRoute = (role: Role): ConnectRoute => (role._tag === "Single" ? "SingleCluster" : "MultiCluster")

/** Name of the object of a user's session. */
export const sessionName = (route: ConnectRoute, id: SessionId): string =>
  route === "MultiCluster" ? parentName(id) : sessionIdName(id)
