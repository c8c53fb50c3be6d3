/** The ports that requests to steal, and errors that refuse a subscription, name. */

import type { StealType } from "./http-filter-messages.ts"
import type { ResponseError } from "./response-error.ts"

export const stealPort = (type: StealType): number => (type._tag === "All" ? type.value : type.port)

/** The port that an error names; `undefined` if it names none. */
export const portOfError = (error: ResponseError): number | undefined => {
  if (error._tag === "PortAlreadyStolen") return error.value
  if (error._tag !== "Forbidden" && error._tag !== "ForbiddenWithReason") return undefined
  const { blockedAction } = error
  if (blockedAction._tag === "Mirror") return blockedAction.value
  return blockedAction._tag === "Steal" ? stealPort(blockedAction.value) : undefined
}
