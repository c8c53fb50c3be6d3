import { Data } from "effect"

/** What a link to a member's operator needs beside the member itself; one link per client connection and member. */
export interface LinkRequest {
  readonly cluster: string
  /** The client's own id, decimal. */
  readonly sessionId: bigint
  readonly namespace: string
  /** The target as the client's URL names it, such as `deployment.foo`. */
  readonly target: string
  /** The connect parameters for this member as a query string. */
  readonly query: string
  /** Whether the member's operator advertises `ConnectParamsInHeader`, and so reads the parameters from a header. */
  readonly parametersInHeader: boolean
  /** The asking leader's term, where one is elected: other leaders' links of this session end (docs/member-link.md). */
  readonly term?: string
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
