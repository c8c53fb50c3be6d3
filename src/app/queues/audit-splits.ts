/** The audit log's lines about splits: when a session begins to get messages of queues, and when it does no more. */

import { Effect } from "effect"
import type { StoredSession } from "../../domain/queues/stored-session.ts"
import { audit } from "../kernel/audit.ts"
import type { AuditedPart } from "./known-split.ts"
import type { SeenSplit } from "./observe-split.ts"

const partOf = ({ stored }: SeenSplit, { owner, place, session }: StoredSession): AuditedPart => ({
  session,
  namespace: place.namespace,
  target: `${place.kind}.${place.name}`,
  owner: owner.k8sUsername,
  queues: (stored?.record.sources ?? []).map(({ name }) => name)
})

/** The session is ready for the first time in this process: by its own write, which is not yet in what was seen. */
export const auditBegin = (seen: SeenSplit, session: StoredSession): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { audited } = seen.known
    const { uid } = session.wanted
    if (audited.has(uid)) return Effect.void
    const part = partOf(seen, session)
    audited.set(uid, part)
    return audit({ ...part, act: "queuesSplit" })
  })

/** Writes the lines of sessions that have ended. Those that another process made ready have had their first line. */
export const auditEnds = (seen: SeenSplit): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { audited } = seen.known
    const going = new Map(
      seen.sessions.flatMap((session) => (session.wanted.isEnding ? [] : [[session.wanted.uid, session] as const]))
    )
    for (const [uid, session] of going)
      if (session.wanted.phase === "ready" && !audited.has(uid)) audited.set(uid, partOf(seen, session))
    const ended = [...audited].filter(([uid]) => !going.has(uid))
    return Effect.forEach(
      ended,
      ([uid, part]) => {
        audited.delete(uid)
        return audit({ ...part, act: "queuesReturned" })
      },
      { discard: true }
    )
  })
