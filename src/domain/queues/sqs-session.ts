/**
 * A session's part in a split as a MirrordSQSSession, for `mirrord operator status`, which knows only the older kinds.
 * No such object is stored.
 */

import { timestamp } from "../resources/object-meta.ts"
import { mirrordSqsSessions, type MirrordSqsSession } from "../resources/queues/queue-sessions.ts"
import { apiVersionOf } from "../resources/resource-descriptor.ts"
import { shownId } from "./queue-split-object.ts"
import type { StoredSession } from "./stored-session.ts"

type Status = NonNullable<MirrordSqsSession["status"]>

const statusOf = ({ failure, names, wanted: { phase, startedAt } }: StoredSession): Status => {
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
export const sqsSession = (session: StoredSession): ServedSqsSession | undefined => {
  const { container, filters, metadata, place, wanted } = session
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
      sessionId: shownId(wanted.id)
    },
    status: statusOf(session)
  }
}
