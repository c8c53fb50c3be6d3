/**
 * The strict client's inputs: options, wishes of local programs, frames and time. Plain data; the outputs are in
 * `client-output.ts`.
 */

import type { FileRequest } from "../../src/domain/protocol/file-messages.ts"
import type { HttpFilter, StealType } from "../../src/domain/protocol/http-filter-messages.ts"
import type { BodyFrame } from "../../src/domain/protocol/http-messages.ts"
import type { SocketAddress } from "../../src/domain/protocol/network-messages.ts"
import type { Headers } from "../../src/domain/protocol/shape.ts"

/** The kinds of clients in mirrord 3.250.0, each a column (or two) of the table in wire.md §6.2. */
export type ClientKind = "cli" | "intproxy" | "portForward" | "reversePortForward" | "dump" | "extproxy"

export interface EnvSelection {
  readonly filter: ReadonlySet<string>
  readonly select: ReadonlySet<string>
}

export interface ClientOptions {
  readonly kind: ClientKind
  /** The version that the client announces; the real 3.250.0 says `1.29.0`. */
  readonly version: string
  /** Time between two pings, ms; the real default is 30 000. `cli` and `dump` never ping. */
  readonly pingInterval: number
  /**
   * The silence after which a client with an unanswered ping takes its connection for lost, ms; the interval if left
   * out, as for real clients. Where real time passes, a loaded machine may be silent for longer.
   */
  readonly maxSilence?: number
  /** Whether the operator offers `LayerReconnect`. Only the intproxy ever reconnects (operator-api.md §8.7). */
  readonly reconnect: boolean
  /** `cli`: the variables that it asks for after the handshake; all if left out. */
  readonly env?: EnvSelection
  /** `intproxy`: the question of its DB port-forwards before the version switch; none if left out (wire.md §6.3). */
  readonly branchEnv?: EnvSelection
  /** `intproxy`: after so many ms without a version answer it gives up (wire.md §5.4); 60 000 if left out. */
  readonly startIdleTimeout?: number
}

/** `internal_proxy.start_idle_timeout`, ms. */
export const defaultStartIdleTimeout = 60_000

export type Transport = "Tcp" | "Udp" | "Seqpacket"
/** Mirrored or stolen traffic; also the name of the message variant. */
export type Channel = "Tcp" | "TcpSteal"

/**
 * A wish of a local program. Connection ids and file descriptors are those of the events. Wishes that the client can
 * refuse on its own (a newer operation towards an old agent, an id that is gone) fail locally with an event `NotDone`.
 */
export type ClientRequest =
  | { readonly _tag: "FetchEnv"; readonly selection: EnvSelection }
  | { readonly _tag: "File"; readonly request: FileRequest }
  | { readonly _tag: "Resolve"; readonly node: string; readonly servicePort?: number }
  | {
      readonly _tag: "Connect"
      readonly transport: Transport
      readonly uid: bigint
      readonly remoteAddress: SocketAddress
    }
  | { readonly _tag: "Write"; readonly transport: Transport; readonly connectionId: bigint; readonly bytes: Uint8Array }
  | { readonly _tag: "CloseOutgoing"; readonly transport: Transport; readonly connectionId: bigint }
  | { readonly _tag: "Steal"; readonly type: StealType }
  | { readonly _tag: "Mirror"; readonly port: number; readonly filter?: HttpFilter }
  | { readonly _tag: "Unsubscribe"; readonly port: number }
  /** Head and first frames of a response; with `isLast` the whole body is there at once (wire.md §3.6). */
  | {
      readonly _tag: "Respond"
      readonly connectionId: bigint
      readonly requestId: number
      readonly status: number
      readonly headers: Headers
      readonly frames: ReadonlyArray<BodyFrame>
      readonly isLast: boolean
    }
  | {
      readonly _tag: "RespondBody"
      readonly connectionId: bigint
      readonly requestId: number
      readonly frames: ReadonlyArray<BodyFrame>
      readonly isLast: boolean
    }
  /** Reading the local response failed before or after its head. */
  | { readonly _tag: "FailResponse"; readonly connectionId: bigint; readonly requestId: number }
  /** Bytes of the local program on a stolen connection or after an upgrade; empty is a half-close. */
  | { readonly _tag: "SendData"; readonly connectionId: bigint; readonly bytes: Uint8Array }
  /** The local side of a connection ends first. */
  | { readonly _tag: "CloseConnection"; readonly channel: Channel; readonly connectionId: bigint }

/** One input. `now` is epoch ms and never goes back. */
export type ClientInput = { readonly now: number } &
  /** The first socket is open. */
  (
    | { readonly _tag: "Start" }
    | {
        readonly _tag: "Frame"
        readonly kind: "binary" | "text" | "ping" | "pong" | "close"
        readonly bytes: Uint8Array
      }
    /**
     * The socket ended, or an attempt to reconnect failed; `code` and `reason` are then those of the Status, if there
     * is one.
     */
    | { readonly _tag: "Closed"; readonly code?: number; readonly reason?: string }
    /** The attempt that a `Reconnect` output asked for succeeded. */
    | { readonly _tag: "Reconnected" }
    /** Time has passed; given at or after the time of the last `WakeAt`. */
    | { readonly _tag: "Tick" }
    | { readonly _tag: "Do"; readonly request: ClientRequest }
  )
