/** The strict client's outputs: messages to send, events for local programs and tests, and its end. Plain data. */

import type { DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { FileRequest, FileResponse } from "../../src/domain/protocol/file-messages.ts"
import type { BodyFrame, IncomingTrafficTransportType } from "../../src/domain/protocol/http-messages.ts"
import type { NewTcpConnection } from "../../src/domain/protocol/incoming-messages.ts"
import type { SocketAddress } from "../../src/domain/protocol/network-messages.ts"
import type { ResponseError } from "../../src/domain/protocol/response-error.ts"
import type { Headers, ResultOf } from "../../src/domain/protocol/shape.ts"
import type { Channel, ClientRequest, Transport } from "./client-input.ts"

/**
 * The FIFO in which a message waits (wire.md §6.15). The order inside a FIFO is kept; which FIFO is served next is not
 * defined, so a caller of the machine may serve them in any order. Each stolen connection and each HTTP request has its
 * own FIFO.
 */
export type QueueName =
  | "main"
  | "ping"
  | "files"
  | "simple"
  | "incoming"
  | "outgoing"
  | `connection ${bigint}`
  | `request ${bigint} ${number}`

/**
 * Why a message had no effect although the real client survives it. Tests and the simulation may be stricter than that.
 */
export type IgnoredReason =
  | "strayData"
  | "strayBody"
  | "strayError"
  | "strayClose"
  | "strayOutgoing"
  | "surplusResult"
  | "wrongAction"
  | "branchEnvMissed"
  | "surplusLookup"
  | "beforeUpgrade"

export interface Connected {
  readonly connectionId: bigint
  readonly remoteAddress: SocketAddress
  readonly localAddress: SocketAddress
}

/** The HTTP request that an event belongs to. */
export interface RequestKey {
  readonly channel: Channel
  readonly connectionId: bigint
  readonly requestId: number
}

export type ClientEvent =
  | { readonly _tag: "Versioned"; readonly version: string }
  | { readonly _tag: "Env"; readonly result: ResultOf<ReadonlyMap<string, string>, ResponseError> }
  | { readonly _tag: "FileAnswered"; readonly request: FileRequest; readonly response: FileResponse }
  | {
      readonly _tag: "Resolved"
      readonly node: string
      readonly result: ResultOf<ReadonlyArray<{ readonly name: string; readonly ip: string }>, ResponseError>
    }
  | {
      readonly _tag: "Connected"
      readonly transport: Transport
      readonly uid: bigint
      readonly result: ResultOf<Connected, ResponseError>
    }
  | {
      readonly _tag: "OutgoingData"
      readonly transport: Transport
      readonly connectionId: bigint
      readonly bytes: Uint8Array
    }
  | { readonly _tag: "OutgoingClosed"; readonly transport: Transport; readonly connectionId: bigint }
  /** The `listen()` calls that waited for the port, and their result. */
  | {
      readonly _tag: "Subscribed"
      readonly port: number
      readonly calls: number
      readonly result: { readonly _tag: "Ok" } | { readonly _tag: "Err"; readonly error: ResponseError }
    }
  /** `replaced`: an open connection with this id lost its local side (wire.md §6.12). */
  | {
      readonly _tag: "NewConnection"
      readonly channel: Channel
      readonly connection: NewTcpConnection
      readonly transport: IncomingTrafficTransportType
      readonly replaced: boolean
    }
  /** Head and first frames of a request. `replaced`: a running request with these ids was aborted (wire.md §6.12). */
  | ({
      readonly _tag: "HttpRequest"
      readonly port: number
      readonly method: string
      readonly uri: string
      readonly headers: Headers
      readonly version: string
      readonly frames: ReadonlyArray<BodyFrame>
      readonly isLast: boolean
      readonly replaced: boolean
    } & RequestKey)
  | ({ readonly _tag: "HttpBody"; readonly frames: ReadonlyArray<BodyFrame>; readonly isLast: boolean } & RequestKey)
  | ({ readonly _tag: "HttpAborted"; readonly message: string } & RequestKey)
  | { readonly _tag: "Data"; readonly channel: Channel; readonly connectionId: bigint; readonly bytes: Uint8Array }
  /** The other side closed the connection; its id is not used again. */
  | { readonly _tag: "ConnectionClosed"; readonly channel: Channel; readonly connectionId: bigint }
  /** Traffic of a port that is not subscribed in this channel; it was refused (wire.md §6.11). */
  | { readonly _tag: "Stale"; readonly channel: Channel; readonly connectionId: bigint; readonly port: number }
  | { readonly _tag: "Log"; readonly level: "Warn" | "Error" | "Info"; readonly message: string }
  | { readonly _tag: "Pong" }
  | { readonly _tag: "OperatorPing"; readonly id: bigint }
  | { readonly _tag: "Ignored"; readonly what: IgnoredReason; readonly message: DaemonMessage["_tag"] }
  /** The request failed locally; nothing more is sent or awaited for it. */
  | { readonly _tag: "NotDone"; readonly request: ClientRequest; readonly reason: string }
  /** The socket is gone; a `Reconnect` follows. Everything that was open or pending has failed locally. */
  | { readonly _tag: "Lost"; readonly reason: string }
  | { readonly _tag: "Resumed" }
  /** The client (`cli`) has what it wanted and lets go of the connection; it reads nothing more. */
  | { readonly _tag: "Finished" }

export type ClientOutput =
  /** One WebSocket binary message. */
  | { readonly _tag: "Send"; readonly queue: QueueName; readonly bytes: Uint8Array }
  | { readonly _tag: "Event"; readonly event: ClientEvent }
  /**
   * The end, as the user of the real client sees it; `rule` cites the section that demands it. Later inputs are
   * ignored.
   */
  | { readonly _tag: "Fatal"; readonly rule: string; readonly message: string }
  /** Drop the socket, forget queued messages, and try to connect again in `after` ms. */
  | { readonly _tag: "Reconnect"; readonly after: number }
  /** Asks for a `Tick` at that time; a later `WakeAt` replaces it. */
  | { readonly _tag: "WakeAt"; readonly at: number }
