/** The ports of targets that serve TLS, for the agents of sessions. TLS configurations provide them. */

import { Context, type Effect } from "effect"
import type { PortTls } from "../../domain/policies/tls/tls-steal-rules.ts"
import type { SessionFailure } from "../../domain/resources/session-failure.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import type { Target } from "../../domain/targets/target.ts"

/** An agent that is about to be started for a session, beside a container. */
export interface TlsSubject {
  readonly namespace: string
  readonly target: Target
  readonly placement: AgentPlacement
}

export class TlsSettings extends Context.Service<
  TlsSettings,
  {
    /** The ports of a target that serve TLS, for its agent. Fails with a sentence if that cannot be found out. */
    readonly stealTls: (subject: TlsSubject) => Effect.Effect<ReadonlyArray<PortTls>, SessionFailure>
  }
>()("braid/app/TlsSettings") {}
