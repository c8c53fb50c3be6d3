/** The number of sessions in each phase, as metrics. */

import { type SessionPhase, sessionPhases } from "../resources/mirrord-multi-cluster-session.ts"
import type { ChildObservation } from "../sessions/child-observation.ts"
import type { Sample } from "./catalogue.ts"

/** Over many clusters; in this cluster alone; the part in this cluster of one over many. */
export type SessionKind = "multi_cluster" | "single_cluster" | "child"

/** The phase of a session that says only whether it is usable. */
export const phaseOf = (session: ChildObservation): SessionPhase => {
  if (session._tag !== "Present") return "Initializing"
  if (session.deleting) return "Terminating"
  if (session.ready) return "Ready"
  return session.failure === undefined ? "Initializing" : "Failed"
}

/** A sample for each phase, those without sessions too: a series that comes and goes is hard to reckon with. */
export const sessionSamples = (kind: SessionKind, phases: ReadonlyArray<SessionPhase>): ReadonlyArray<Sample> =>
  sessionPhases.map((phase) => ({
    name: "braid_sessions",
    labels: { kind, phase },
    value: phases.filter((one) => one === phase).length
  }))
