/**
 * A session's part in a split as a MirrordSQSSession, for `mirrord operator status`, which knows only the older kinds.
 * No such object is stored.
 */

import { timestamp } from "../resources/object-meta.ts"
import {
  mirrordSqsSessions,
  type MirrordSqsSession,
  type SqsSessionStatus
} from "../resources/queues/queue-sessions.ts"
import { apiVersionOf } from "../resources/resource-descriptor.ts"
import { type AskedSplit, askedSplit, shownId } from "./queue-split-object.ts"
import type { StoredSession } from "./stored-session.ts"

/** How a session's part stands. */
export const sqsStatus = ({ failure, names, wanted: { phase, startedAt } }: StoredSession): SqsSessionStatus => {
  // Its readers cut the keys at the first "::".
  const queueNames = Object.fromEntries(
    names.map(({ id, original, temporary }) => [
      `${id}::${original}`,
      { originalName: original, outputName: temporary }
    ])
  )
  if (failure !== undefined) return { StartError: { statusCode: failure.code, reason: failure.message } }
  if (phase === "ready") return { Ready: { queueNames, envUpdates: {} } }
  return phase === "resourcesReady"
    ? { RegisteringFilters: { queueNames, envUpdates: {} } }
    : { Starting: { start_time_utc: timestamp(startedAt) } }
}

/** A MirrordSQSSession with the fields by which Kubernetes knows its kind. */
export type ServedSqsSession = MirrordSqsSession & { readonly apiVersion: string; readonly kind: string }

/** The session's part; `undefined` for workloads that the older kind cannot name. */
export const servedSqsSession = (asked: AskedSplit, status: SqsSessionStatus): ServedSqsSession | undefined => {
  const { container, filters, id: session, metadata, place } = asked
  if (place.kind !== "deployment" && place.kind !== "rollout") return undefined
  return {
    apiVersion: apiVersionOf(mirrordSqsSessions),
    kind: mirrordSqsSessions.kind,
    metadata: { name: metadata.name, namespace: place.namespace },
    spec: {
      queueFilters: Object.fromEntries([...filters].map(([id, { attributes }]) => [id, attributes])),
      queueJqFilters: Object.fromEntries(
        [...filters].flatMap(([id, { program }]) => (program === undefined ? [] : [[id, program] as const]))
      ),
      queueConsumer: {
        name: place.name,
        ...(container !== "" && { container }),
        workloadType: place.kind === "deployment" ? "Deployment" : "Rollout"
      },
      sessionId: shownId(session)
    },
    status
  }
}

/** The part as the workload's own operator serves it. */
export const sqsSession = (session: StoredSession): ServedSqsSession | undefined =>
  servedSqsSession(askedSplit(session), sqsStatus(session))

/** One session with the queues of another cluster beside its own: it is one split to its user. */
export const withQueuesOf = (session: ServedSqsSession, other: ServedSqsSession): ServedSqsSession => {
  const more = other.status?.Ready ?? other.status?.RegisteringFilters
  for (const phase of ["Ready", "RegisteringFilters"] as const) {
    const details = session.status?.[phase]
    if (details !== undefined)
      return {
        ...session,
        status: { [phase]: { ...details, queueNames: { ...details.queueNames, ...more?.queueNames } } }
      }
  }
  return more === undefined ? session : other
}
