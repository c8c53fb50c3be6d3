/**
 * A member that dials out, as `braid doctor` reports it. Only its primary reaches it, so the report is what the
 * primary's operator says of it.
 */

import type { Condition } from "../../resources/condition.ts"
import { failed, type Finding, ok } from "./finding.ts"

/** `ready`: the condition of its MirrordCluster; `undefined` if there is none. `why`: why it could not be read. */
export const outboundFinding = (name: string, ready: Condition | undefined, why?: string): Finding => {
  if (ready === undefined)
    return failed(
      "reach",
      `The primary's operator says nothing of cluster ${name}${why === undefined ? "" : `: ${why}`}.`,
      "First put right what is wrong with the primary's own cluster."
    )
  return ready.status === "True"
    ? ok("reach", "Its operator dials this primary, and answers through its tunnel.")
    : failed(
        "reach",
        `The primary does not use it: ${ready.message}`,
        "Look at the log of its operator; docs/operating/outbound.md says what each sentence means."
      )
}
