/**
 * The port for agents next to targets: started, found again and connected to. Which containers get agents is decided in
 * src/domain/targets; the frames of a connection are the relay's.
 */

import { Context, Data, type Effect } from "effect"
import type { PortTls } from "../domain/policies/tls/tls-steal-rules.ts"
import type { OwnerReference } from "../domain/resources/object-meta.ts"
import type { AgentPlacement } from "../domain/targets/pod-choice.ts"
import type { FrameChannel } from "./frame-channel.ts"

/**
 * An agent that a session may use. `name` is the same for every session on the same container, and for the agent that
 * replaces it; `uid` is this agent's alone.
 */
export interface AgentHandle {
  readonly name: string
  readonly uid: string
  readonly host: string
  readonly port: number
  /** The certificate by which the agent knows the operator, PEM; undefined: it speaks clear text. No secret. */
  readonly certificatePem?: string | undefined
  /** Whether the agent answers its own variables beside the target's; users must not see them. */
  readonly tellsOwnVariables?: true
}

/**
 * `isNotAllowed`: the settings of the cluster rule it out, so another try is no use, and the sentence is the same for
 * every agent.
 */
export class AgentFailed extends Data.TaggedError("AgentFailed")<{
  readonly agent: string
  readonly detail: string
  readonly isNotAllowed?: true
}> {
  override get message(): string {
    return this.isNotAllowed === true ? this.detail : `agent ${this.agent} cannot be started: ${this.detail}`
  }
}

/** `isRefused`: nothing listens at its port, or not yet. */
export class AgentUnreachable extends Data.TaggedError("AgentUnreachable")<{
  readonly agent: string
  readonly detail: string
  readonly isRefused?: boolean
}> {
  override get message(): string {
    return `agent ${this.agent} cannot be reached: ${this.detail}`
  }
}

/**
 * Starts agents next to targets and connects to them. One agent per container, shared by all its sessions (agent.md
 * §2.5).
 */
export class Agents extends Context.Service<
  Agents,
  {
    /**
     * Makes sure that an agent runs next to the container, with `owner` among its owners; it is deleted with its last
     * owner. Without a placement a targetless session gets an agent of its own. Completes when the agent can be
     * dialled. `tls`: the ports of the target that serve TLS. They are fixed for the agent's life, so an agent with
     * others is replaced; it fails if other sessions use that agent.
     */
    readonly ensure: (
      placement: AgentPlacement | undefined,
      owner: OwnerReference,
      tls?: ReadonlyArray<PortTls>
    ) => Effect.Effect<AgentHandle, AgentFailed>
    /**
     * Gives up an agent that does not answer any more: it is ended, and `ensure` starts another in its place, never
     * beside it. Of an agent that is gone already nothing is left to do.
     */
    readonly giveUp: (agent: AgentHandle) => Effect.Effect<void, AgentFailed>
    /** Opens a new connection, which is a new client for the agent, with fresh state. */
    readonly connect: (agent: AgentHandle) => Effect.Effect<FrameChannel, AgentUnreachable>
  }
>()("braid/ports/Agents") {}
