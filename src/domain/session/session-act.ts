import { oneLine } from "../one-line.ts"

/** Longest text of a field, and most items of a list; a client chooses some of them. UTF-16 code units. */
const longestField = 300
const mostItems = 50

/** Who asked, as the API server authenticated them. */
export interface AuditedCaller {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  /**
   * `X-Forwarded-For` as the API server sent it: its last entry is the API server's own, those before it the client may
   * have chosen.
   */
  readonly from?: string
}

/** What a session is about. Nothing of what it carries. */
export interface AuditedSession {
  /** Name of the session's object. */
  readonly session?: string
  readonly namespace?: string
  /** As the client named it, such as `deployment.my-app`. */
  readonly target?: string
  readonly clusters?: ReadonlyArray<string>
  /** User whom the cluster authenticated when the session was made. */
  readonly owner?: string
}

interface Asked {
  readonly by: AuditedCaller
  /** Public key of a user's certificate that this operator has verified. */
  readonly userId?: string
  /** What the client says of itself; verified by nobody. */
  readonly claims?: { readonly username?: string; readonly hostname?: string }
}

/** One act about a session. */
export type SessionAct =
  | (AuditedSession & Asked & { readonly act: "created" | "connected" })
  /** One more connection of a session that had a client before: that client comes back, or another of its processes. */
  | (AuditedSession & Asked & { readonly act: "reconnected" })
  | (AuditedSession & Asked & { readonly act: "disconnected"; readonly message: string })
  | (AuditedSession &
      Asked & { readonly act: "refused"; readonly code: number; readonly reason: string; readonly message: string })
  /** `Stopped`, `AllStopped`: by a user, one session or all of them. */
  | (AuditedSession & Asked & { readonly act: "ended"; readonly cause: "Stopped" | "AllStopped" })
  /** By the operator itself: no client in time, a while after it failed, or its client was told that it is over. */
  | (AuditedSession & { readonly act: "ended"; readonly cause: "Expired" | "ToldOver"; readonly message: string })
  /** By somebody who deleted its object past the operator, such as with `kubectl`; only the API server knows who. */
  | (AuditedSession & { readonly act: "ended"; readonly cause: "Deleted"; readonly message: string })

/** A value of a line in the log. */
export type AuditValue = string | number | boolean | ReadonlyArray<string>

const clean = (value: AuditValue): AuditValue => {
  if (typeof value === "string") return oneLine(value, longestField)
  if (typeof value === "number" || typeof value === "boolean") return value
  const items = value.slice(0, mostItems).map((item) => oneLine(item, longestField))
  return value.length > mostItems ? [...items, `… ${value.length - mostItems} more`] : items
}

/**
 * The fields of an act's line in the log, which has `audit=true` so that it can be told from others. What is not known
 * is left out, what the client claims says so in its name, and whatever somebody sent stays within its own field and
 * line.
 */
export const auditFields = (act: SessionAct): Readonly<Record<string, AuditValue>> => {
  const asked = "by" in act ? act : undefined
  const cause = "cause" in act ? act.cause : undefined
  const fields = {
    audit: true,
    act: act.act,
    decision: act.act === "refused" ? "denied" : "allowed",
    session: act.session,
    user: asked?.by.user ?? (cause === "Deleted" ? undefined : "the operator"),
    groups: asked?.by.groups,
    userId: asked?.userId,
    claimedUsername: asked?.claims?.username,
    claimedHostname: asked?.claims?.hostname,
    from: asked?.by.from,
    owner: act.owner,
    namespace: act.namespace,
    target: act.target,
    clusters: act.clusters,
    cause,
    code: "code" in act ? act.code : undefined,
    reason: "reason" in act ? act.reason : undefined,
    message: "message" in act ? act.message : undefined
  }
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, clean(value)] as const]))
  )
}
