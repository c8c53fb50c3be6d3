/**
 * The acts about sessions that the audit log keeps, and the fields of their lines.
 *
 * Not here: writing the lines (app/kernel).
 */

import { oneLine } from "../one-line.ts"
import type { IgnoredParameters } from "./connect-request.ts"

/** Longest text of a field, and most items of a list; a client chooses some of them. UTF-16 code units. */
const maxField = 300
const maxItems = 50

/** The user who asked, as the API server authenticated them. */
export interface AuditedCaller {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  /**
   * `X-Forwarded-For` as the API server sent it. Its last entry is the API server's own; the client may have chosen the
   * earlier entries.
   */
  readonly from?: string
}

/** The subject of a session; nothing of the traffic that it carries. */
export interface AuditedSession {
  /** Name of the session's object. */
  readonly session?: string
  readonly namespace?: string
  /** As the client named it, such as `deployment.my-app`. */
  readonly target?: string
  readonly clusters?: ReadonlyArray<string>
  /** User whom the cluster authenticated when the session was made. */
  readonly owner?: string
  /** Set for a session of a CI run, for the metrics; no field of a line. */
  readonly isOfCi?: true
}

interface Asked {
  readonly by: AuditedCaller
  /** Public key of a user's certificate that this operator has verified. */
  readonly userId?: string
  /** The client's own claims, which are not verified. */
  readonly claims?: { readonly username?: string; readonly hostname?: string }
  /** Connect parameters that were not understood. */
  readonly ignored?: IgnoredParameters
}

/** The acts, as lines and metrics name them. */
export const sessionActs = [
  "created",
  "connected",
  "reconnected",
  "disconnected",
  "refused",
  "ended",
  "copied",
  "copyDeleted",
  "branched",
  "branchUsed",
  "branchMigrated",
  "branchDeleted",
  "queuesSplit",
  "queuesReturned"
] as const satisfies ReadonlyArray<SessionAct["act"]>

/** One act about a session. */
export type SessionAct =
  | (AuditedSession & Asked & { readonly act: "created" | "connected" })
  /**
   * A further connection of a session that had a client before: the client came back, or it is another of its
   * processes.
   */
  | (AuditedSession & Asked & { readonly act: "reconnected" })
  | (AuditedSession & Asked & { readonly act: "disconnected"; readonly message: string })
  | (AuditedSession &
      Asked & { readonly act: "refused"; readonly code: number; readonly reason: string; readonly message: string })
  /** By a user, who stopped one session, all of them or those without a client. */
  | (AuditedSession & Asked & { readonly act: "ended"; readonly cause: "Stopped" | "AllStopped" | "InactiveStopped" })
  /**
   * By the operator itself: no client came in time, the session failed a while ago, or its client was told that it is
   * over.
   */
  | (AuditedSession & { readonly act: "ended"; readonly cause: "Expired" | "ToldOver"; readonly message: string })
  /**
   * A person deleted the object without asking the operator, for example with `kubectl`. Only the API server knows who.
   */
  | (AuditedSession & { readonly act: "ended"; readonly cause: "Deleted"; readonly message: string })
  /** A user's copy of a target was made, for a first session. `copy`: name of its pod. */
  | (AuditedSession & Asked & { readonly act: "copied"; readonly copy: string; readonly scaleDown: boolean })
  /** The operator has deleted a copy that no session used. */
  | (AuditedSession & { readonly act: "copyDeleted"; readonly copy: string; readonly message: string })
  /**
   * The pod of a database's branch was made, or at a primary the order for it in the cluster that is named. `branch`:
   * name of its resource, whose maker the API server knows.
   */
  | (AuditedSession & { readonly act: "branched"; readonly branch: string })
  /** A session uses a branch from now on. `owner`: its user; `session`: its id, as sessions are listed. */
  | (AuditedSession & { readonly act: "branchUsed"; readonly branch: string })
  /** A Job was made that runs a user's migrations in a branch. */
  | (AuditedSession & { readonly act: "branchMigrated"; readonly branch: string })
  /** The operator has deleted a branch that no session used, or that failed. */
  | (AuditedSession & { readonly act: "branchDeleted"; readonly branch: string; readonly message: string })
  /**
   * A session gets messages of its workload's queues from now on, or no more: they are the workload's again. `queues`:
   * the names of the workload's own.
   */
  | (AuditedSession & { readonly act: "queuesSplit" | "queuesReturned"; readonly queues: ReadonlyArray<string> })

/** A value of a line in the log. */
export type AuditValue = string | number | boolean | ReadonlyArray<string>

const clean = (value: AuditValue): AuditValue => {
  if (typeof value === "string") return oneLine(value, maxField)
  if (typeof value === "number" || typeof value === "boolean") return value
  const items = value.slice(0, maxItems).map((item) => oneLine(item, maxField))
  return value.length > maxItems ? [...items, `… ${value.length - maxItems} more`] : items
}

type BranchAct = Extract<SessionAct, { readonly branch: string }>

const isOfBranch = (act: SessionAct): act is BranchAct => "branch" in act

/** The request behind an act; empty if it was not requested of this operator. */
const askedOf = (act: SessionAct): Partial<Asked> => {
  if (act.act === "copyDeleted" || isOfBranch(act) || "queues" in act) return {}
  if (act.act !== "ended") return act
  return "by" in act ? act : {}
}

const endMessageOf = (act: Extract<SessionAct, { readonly act: "ended" }>): string | undefined => {
  switch (act.cause) {
    case "Stopped":
    case "AllStopped":
    case "InactiveStopped":
      return undefined
    case "Expired":
    case "ToldOver":
    case "Deleted":
      return act.message
  }
}

/** The fields about a copy of a target, a branch or a split of queues. */
const copyOf = (act: SessionAct): Readonly<Record<string, AuditValue>> => {
  if (act.act === "copied") return { copy: act.copy, scaleDown: act.scaleDown }
  if (isOfBranch(act)) return { branch: act.branch }
  if ("queues" in act) return { queues: act.queues }
  return act.act === "copyDeleted" ? { copy: act.copy } : {}
}

const whyOf = (act: SessionAct): string | undefined => {
  switch (act.act) {
    case "created":
    case "connected":
    case "reconnected":
    case "copied":
    case "branched":
    case "branchUsed":
    case "branchMigrated":
    case "queuesSplit":
    case "queuesReturned":
      return undefined
    case "copyDeleted":
    case "branchDeleted":
    case "disconnected":
    case "refused":
      return act.message
    case "ended":
      return endMessageOf(act)
  }
}

/**
 * The fields of an act's line in the log; `audit=true` distinguishes it from other lines, and no field has a name that
 * every line has (app/kernel/log.ts). Unknown values are left out, and names of the client's claims begin with
 * `claimed`. Text of others stays within its own field and line.
 */
export const auditFields = (act: SessionAct): Readonly<Record<string, AuditValue>> => {
  const { by, claims, ignored, userId } = askedOf(act)
  const cause = act.act === "ended" ? act.cause : undefined
  const refusal = act.act === "refused" ? act : undefined
  const fields = {
    audit: true,
    act: act.act,
    decision: act.act === "refused" ? "denied" : "allowed",
    session: act.session,
    user: by?.user ?? (cause === "Deleted" ? undefined : "the operator"),
    groups: by?.groups,
    userId,
    claimedUsername: claims?.username,
    claimedHostname: claims?.hostname,
    from: by?.from,
    owner: act.owner,
    namespace: act.namespace,
    target: act.target,
    clusters: act.clusters,
    ignoredParameters: ignored?.count,
    ignoredNames: ignored?.names,
    ...copyOf(act),
    cause,
    code: refusal?.code,
    reason: refusal?.reason,
    why: whyOf(act)
  }
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, clean(value)] as const]))
  )
}
