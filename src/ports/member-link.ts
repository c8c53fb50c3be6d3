/**
 * The request for a link to a member's operator, and its refusal. An open link is a `FrameChannel`; `ClusterAccess`
 * opens it (docs/concepts/member-link.md).
 */

import { Data } from "effect"

/** The parameters of a link beside the member itself. One link per client connection and member. */
export interface LinkRequest {
  readonly cluster: string
  /** The client's own id, decimal. */
  readonly sessionId: bigint
  readonly namespace: string
  /** The target as the client's URL names it, such as `deployment.foo`. */
  readonly target: string
  /** The connect parameters for this member as a query string. */
  readonly query: string
  /**
   * Whether the member's operator advertises `ConnectParamsInHeader`, so that it reads the parameters from a header.
   */
  readonly parametersInHeader: boolean
  /**
   * The asking leader's term, if a leader is elected there. A link of another term ends the session's links of this one
   * (docs/concepts/member-link.md).
   */
  readonly term?: string
  /** The trace that the link belongs to, as W3C `traceparent`. */
  readonly traceparent?: string | undefined
}

/** The member's answer when it is not 101. `code` is absent when there was no answer. */
export class LinkRefused extends Data.TaggedError("LinkRefused")<{
  readonly cluster: string
  readonly code?: number
  readonly reason: string
  readonly detail: string
}> {
  override get message(): string {
    return `cluster ${this.cluster} refused the connection: ${this.detail}`
  }
}
