/**
 * Why the Job of an agent or of migrations has no pod, or the pod of an agent does not start, where the pod itself does
 * not say so: from the Job and from Events about the two. Admission (Pod Security, quotas, webhooks) refuses the pod to
 * the Job's controller, which reports it in an Event alone; so does a node of volumes and networks.
 *
 * Not here: reading them (adapters/agents/agent-progress.ts, app/branches/branch-controller.ts), and what the pod says
 * (domain/pod-problem.ts).
 */

import { quotation } from "../clean-text.ts"
import { asObjects, asString, at, type JsonObject } from "../json.ts"

/** The times of an Event's kinds: `core/v1` has the first two, `events.k8s.io` the third. */
const timesOf = ({ eventTime, firstTimestamp, lastTimestamp, metadata }: JsonObject): ReadonlyArray<string> =>
  [lastTimestamp, firstTimestamp, eventTime, at(metadata, "creationTimestamp")].flatMap((time) => asString(time) ?? [])

/** The newest warning among Events, in the words of the one who wrote it. `reason`: only those of that reason. */
export const latestWarning = (events: ReadonlyArray<JsonObject>, reason?: string): string | undefined => {
  const warnings = events
    .filter((event) => event["type"] === "Warning" && (reason === undefined || event["reason"] === reason))
    .toSorted((a, b) => ((timesOf(a)[0] ?? "") < (timesOf(b)[0] ?? "") ? -1 : 1))
  const [newest] = warnings.slice(-1)
  if (newest === undefined) return undefined
  const words = quotation(asString(newest["message"]) ?? "")
  return words === "" ? quotation(asString(newest["reason"]) ?? "") : words
}

/** Why the pod of a Job cannot be made, in the words of the server that refused it. */
export const podRefusal = (events: ReadonlyArray<JsonObject>): string | undefined =>
  latestWarning(events, "FailedCreate")?.replace(/^Error creating: /u, "")

/** Why the pod of an agent's Job cannot be made, a clause. */
export const whyNoPod = (events: ReadonlyArray<JsonObject>): string | undefined => {
  const refusal = podRefusal(events)
  return refusal === undefined ? undefined : `its pod cannot be made: ${refusal}`
}

/** How a Job without a pod has ended, a clause; `undefined` if it has not. */
export const howJobEnded = (job: JsonObject | undefined): string | undefined => {
  if (job === undefined || at(job, "metadata", "deletionTimestamp") !== undefined) return "its Job was deleted"
  const failed = asObjects(at(job, "status", "conditions")).find(
    ({ status, type }) => (type === "Failed" || type === "Complete") && status === "True"
  )
  if (failed === undefined) return undefined
  const why = [asString(failed["reason"]), asString(failed["message"])].filter((word) => word !== undefined)
  return `its pod was deleted${why.length === 0 ? "" : ` (${quotation(why.join(": "))})`}`
}
