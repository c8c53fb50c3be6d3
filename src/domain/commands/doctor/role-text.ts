/** Words for the role of an operator, inside of sentences of `braid doctor`. */

import type { Role } from "../../fleet/roles.ts"

/** The part of an operator after "serves": ` as a primary that only manages`. Empty for a single cluster. */
export const roleText = (role: Role): string => {
  if (role._tag === "Single") return ""
  return role.managementOnly ? " as a primary that only manages" : " as a primary with workloads"
}
