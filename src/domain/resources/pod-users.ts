/**
 * Users of the pods that the operator makes.
 *
 * Not here: the pods of agents, which need the user of their target's node.
 */

import type { JsonObject } from "../json.ts"

/**
 * The fields of a security context that name users and groups; none where the cluster chooses them, as OpenShift does
 * for each namespace.
 */
export const podUsers = (leavesUsersOut: boolean | undefined, users: JsonObject): JsonObject =>
  leavesUsersOut === true ? {} : users
