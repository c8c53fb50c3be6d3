/** The kinds of calls that an act can be about, such as `of tokens`. */

import type { PortCall } from "../world/world-event.ts"

export const callKinds = ["tokens", "secrets"] as const
export type CallKind = (typeof callKinds)[number]

/** Whether a call asks for a token, or writes a Secret. */
export const isOfKind = ({ resource, verb }: PortCall, kind: CallKind | undefined): boolean => {
  switch (kind) {
    case undefined:
      return true
    case "tokens":
      return verb === "create" && resource.startsWith("serviceaccounts/")
    case "secrets":
      return resource === "secrets" && (verb === "create" || verb === "patch")
  }
}
