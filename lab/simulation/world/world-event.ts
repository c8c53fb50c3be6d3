/**
 * All that can happen in a simulated world, as invariants, traces and reports see it. Plain data, without behaviour.
 */

import type { CopyTargetPhase } from "../../../src/domain/resources/copy-target.ts"
import type { KubeErrorReason } from "../../../src/ports/kube-api.ts"
import type { ClientEvent } from "../../client/client-output.ts"
import type { Commit } from "../../memory/memory-objects.ts"
import type { LogLine } from "../kernel/sim-process.ts"
import type { EndedSpan } from "./ended-span.ts"

/** A request of an operator to something outside, with its number among the requests of its cluster's operator. */
export interface PortCall {
  /** Cluster of the operator that calls. */
  readonly operator: string
  readonly index: number
  readonly to: string
  readonly verb: "get" | "list" | "watch" | "create" | "patch" | "update" | "delete" | "link" | "dial"
  readonly group: string
  readonly resource: string
  readonly namespace: string | undefined
  /** Empty where a whole collection is meant. */
  readonly name: string
  readonly subresource: "status" | "ephemeralcontainers" | undefined
  /** The object, patch or delete options that are sent, or the selection of a watch. */
  readonly body: object | undefined
}

/** An event of a simulated world. */
export type WorldEvent =
  | { readonly _tag: "Called"; readonly call: PortCall; readonly process: string }
  | {
      readonly _tag: "Answered"
      readonly call: PortCall
      readonly outcome: "ok" | KubeErrorReason
      readonly retryAfterMs?: number
    }
  /** A change of an operator process. `replica` counts from 0 and is missing where no leader is elected. */
  | {
      readonly _tag: "Operator"
      readonly cluster: string
      readonly process: string
      readonly replica?: number
      readonly change: "started" | "crashed" | "paused" | "resumed" | "ended"
      readonly detail?: string
    }
  | { readonly _tag: "Committed"; readonly cluster: string; readonly commit: Commit }
  | { readonly _tag: "Log"; readonly process: string; readonly line: LogLine }
  /** A span that an operator would export. */
  | { readonly _tag: "Span"; readonly cluster: string; readonly process: string; readonly span: EndedSpan }
  | {
      readonly _tag: "AgentStarted" | "AgentEnded"
      readonly cluster: string
      readonly agent: string
      readonly pod: string
    }
  /** A new client connection of an agent, or its end. `connection` is unique in the world. */
  | {
      readonly _tag: "AgentConnected" | "AgentDisconnected"
      readonly cluster: string
      readonly agent: string
      readonly connection: number
    }
  | {
      readonly _tag: "AgentHeard" | "AgentSaid"
      readonly cluster: string
      readonly agent: string
      readonly connection: number
      readonly bytes: Uint8Array
    }
  /**
   * A user's first connect request, or the internal proxy's first after the command line's. A refusal of either is
   * final.
   */
  | { readonly _tag: "ClientAsks"; readonly client: string }
  /** The operator has told a client how far its copy is. */
  | {
      readonly _tag: "CopyTold"
      readonly client: string
      readonly cluster: string
      readonly copy: string
      readonly phase: CopyTargetPhase
    }
  /** A client begins to order its branches. */
  | { readonly _tag: "BranchesAsked"; readonly client: string }
  /** A client sees how far a branch is that it has ordered or found. */
  | {
      readonly _tag: "BranchTold"
      readonly client: string
      readonly cluster: string
      readonly branch: string
      readonly phase: string | undefined
    }
  /** A client's socket. `connection` is unique in the world. */
  | {
      readonly _tag: "ClientConnected"
      readonly client: string
      readonly connection: number
      readonly sessionId: bigint
    }
  | {
      readonly _tag: "ClientRefused"
      readonly client: string
      readonly code: number | undefined
      readonly reason: string
      readonly message: string
    }
  | {
      readonly _tag: "ClientSaid" | "ClientHeard"
      readonly client: string
      readonly connection: number
      readonly bytes: Uint8Array
    }
  | { readonly _tag: "ClientEvent"; readonly client: string; readonly event: ClientEvent }
  | { readonly _tag: "ClientLost"; readonly client: string; readonly connection: number; readonly reason: string }
  /** The end of a client as its user sees it; without a rule the client left on its own. */
  | {
      readonly _tag: "ClientEnded"
      readonly client: string
      readonly rule: string | undefined
      readonly message: string
    }
  /** A request that entered a workload, and its answer. */
  | {
      readonly _tag: "RequestEntered"
      readonly id: number
      readonly cluster: string
      readonly pod: string
      readonly path: string
    }
  | {
      readonly _tag: "RequestAnswered"
      readonly id: number
      readonly cluster: string
      readonly by: "workload" | "client" | "nobody"
      readonly status: number
      readonly body: string
    }
  /** A tunnel of a member stands at the primary's process. `tunnel`: its number, unique in the world. */
  | {
      readonly _tag: "TunnelStands"
      readonly cluster: string
      readonly tunnel: number
      readonly process: string
      /** The place that it was dialled from. */
      readonly from: string
    }
  /** An end of a tunnel that stood is over. */
  | {
      readonly _tag: "TunnelEnded"
      readonly cluster: string
      readonly tunnel: number
      readonly side: "cell" | "outpost"
      readonly why: string
    }
  /** The cell has refused a certificate. */
  | {
      readonly _tag: "TunnelRefused"
      readonly cluster: string
      readonly tunnel: number
      readonly from: string
      /** TLS, of which the primary tells nothing, since a stranger may dial; or the cell, of a member's certificate. */
      readonly by: "tls" | "cell"
      readonly why: string
    }
  /** A line of a control lane, as a side sends it or gets it. */
  | {
      readonly _tag: "ControlLine"
      readonly cluster: string
      readonly tunnel: number
      readonly side: "cell" | "outpost"
      readonly is: "sent" | "come"
      readonly line: string
    }
  /** A primary's process opens a lane for a call to this cluster. */
  | {
      readonly _tag: "LaneOpened"
      readonly cluster: string
      readonly tunnel: number
      readonly process: string
      /** That the other end has shown. `until`: epoch ms. */
      readonly certificate: { readonly name: string; readonly keyId: string; readonly until: number }
    }
  /** The cell has given a certificate for a token. `token`: its id, which is no secret. */
  | { readonly _tag: "TokenTraded"; readonly cluster: string; readonly token: string }
  /** A fault that the story brought about. */
  | { readonly _tag: "Fault"; readonly kind: string; readonly text: string }
  | { readonly _tag: "Step"; readonly text: string }

export type WithTime<E> = E & { readonly at: number }
export type TimedEvent = WithTime<WorldEvent>
