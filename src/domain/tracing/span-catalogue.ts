/**
 * Every span of a session's trace: its name and its attributes. All names are known to the program, and no attribute
 * holds more than the audit log says of a session.
 *
 * Not here: how spans are made (app/kernel/tracing.ts) and exported (adapters/otlp).
 */

/** Phases of a session, by the names of their spans. */
export const spanNames = [
  /** A client's connect, or at a member the primary's, from the checked request until its session is usable. */
  "session connect",
  /** At the primary: from the parent's creation until it is ready. */
  "session start",
  /** At the primary: from the parent's creation until one cluster's part is ready. */
  "member start",
  /** At the primary: the call that creates a child. */
  "child create",
  /** At the primary: the link to a member, from the dial until it is open. */
  "link open",
  /** At a member: one agent, from its first call until its first word. */
  "agent start",
  /** From the moment at which a client's connection is served until the first bytes go out to it. */
  "first byte",
  /** The end of a session, of no length. */
  "session end"
] as const

export type SpanName = (typeof spanNames)[number]

/**
 * Attributes of spans, those of OpenTelemetry's semantic conventions under their names there. Missing ones do not
 * apply.
 */
export interface SpanAttributes {
  /** Name of the session's object. */
  readonly "braid.session"?: string | undefined
  readonly "braid.role"?: "primary" | "member" | undefined
  readonly "braid.target"?: string | undefined
  /** Why a session ended. */
  readonly "braid.cause"?: string | undefined
  /** Whether the session had a client before. */
  readonly "braid.reconnect"?: boolean | undefined
  readonly "k8s.namespace.name"?: string | undefined
  readonly "k8s.cluster.name"?: string | undefined
  readonly "k8s.pod.name"?: string | undefined
}

/** How a phase ended, as attribute `braid.outcome` says. */
export type SpanOutcome = "ok" | "failed" | "interrupted"
