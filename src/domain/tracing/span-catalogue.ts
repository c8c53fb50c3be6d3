/**
 * Every span of a session's trace: its name and its attributes. All names are known to the program, and no attribute
 * holds more than the audit log says of a session.
 *
 * Not here: how spans are made (app/kernel/tracing.ts) and exported (adapters/otlp).
 */

/** Where a span is made, and what it lasts from and to; for docs/reference/spans.md. */
interface SpanRow {
  readonly where: "primary" | "member" | "both"
  readonly lasts: string
}

/** The phases of a session, by the names of their spans. */
export const spanCatalogue = {
  "session connect": [
    {
      where: "primary",
      lasts:
        "a user's connect, from its check until every link that is waited for is open; the first begins the trace. " +
        "A connect whose request has a valid header `traceparent` goes on with that trace"
    },
    { where: "member", lasts: "the same at the member, or a user's own connect there" }
  ],
  "session start": [{ where: "primary", lasts: "while that connect waits until the session is ready" }],
  "member start": [
    {
      where: "primary",
      lasts: "until one cluster's part is ready; `interrupted`: the session was ready without it"
    }
  ],
  "child create": [{ where: "primary", lasts: "the call that creates the child in one cluster" }],
  "agent start": [
    {
      where: "member",
      lasts:
        "one agent, from its first call until its first word; moments: `agent ready`, `agent connected`, " +
        "`agent answered`"
    }
  ],
  "link open": [
    { where: "primary", lasts: "the link to one member, from the dial until it is open; also when it is opened again" }
  ],
  "first byte": [{ where: "primary", lasts: "from the upgrade until the first bytes to the client" }],
  "session end": [{ where: "both", lasts: "no time; `braid.cause` says why" }]
} as const satisfies Readonly<Record<string, ReadonlyArray<SpanRow>>>

export type SpanName = keyof typeof spanCatalogue

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
