/**
 * A member that dials out, as `braid doctor` reports it. Only its primary reaches it, so the report is what the
 * primary's operator says of it.
 *
 * Not here: reading that (app/commands/doctor).
 */

import { spanText } from "../../fleet/credentials/validity.ts"
import type { Condition } from "../../resources/condition.ts"
import { timeOf } from "../../resources/object-meta.ts"
import { failed, type Finding, ok, skipped, warning } from "./finding.ts"

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

/** The words of the primary's operator about a member at one moment. */
export interface SeenOutbound {
  /** As for {@link outboundFinding}. */
  readonly ready: Condition | undefined
  /** Since when its tunnel is used, as its MirrordCluster says it; `undefined` without a tunnel. */
  readonly tunnelSince: string | undefined
  /** When the certificate of that tunnel ends. */
  readonly certificateUntil: string | undefined
  readonly why: string | undefined
}

const isUsed = ({ ready }: SeenOutbound): boolean => ready?.status === "True"

const whyCut =
  "The log of the primary's operator says why: `tunnel of a member is over`. Unless an operator was started again or " +
  "another replica leads, something on the way cuts connections: docs/operating/outbound.md, `Do tunnels last?`."

/** Judges two looks at a member's tunnel. `seconds`: the time between them. `now`: of the second one, epoch ms. */
export const lastingFinding = (
  name: string,
  [before, after]: readonly [SeenOutbound, SeenOutbound],
  { now, seconds }: { readonly now: number; readonly seconds: number }
): Finding => {
  const isSame = before.tunnelSince === after.tunnelSince
  const wasCut = before.tunnelSince !== undefined && after.ready !== undefined && !isSame
  if (!wasCut && !isUsed(after))
    return isUsed(before)
      ? outboundFinding(name, after.ready, after.why)
      : skipped("reach", "It has no tunnel that could be watched.")
  const since = timeOf(after.tunnelSince)
  if (since === undefined) return failed("reach", `It has no tunnel after ${seconds} s.`, whyCut)
  const age = spanText(now - since)
  if (isSame) return ok("reach", `Its tunnel has held for these ${seconds} s, and began ${age} ago.`)
  const isRenewed = before.certificateUntil !== undefined && before.certificateUntil !== after.certificateUntil
  return isRenewed
    ? warning(
        "reach",
        `Its tunnel began ${age} ago with a renewed certificate, in place of the watched one.`,
        "Try again."
      )
    : failed("reach", `Its tunnel began again ${age} ago, and has not held for ${seconds} s.`, whyCut)
}
