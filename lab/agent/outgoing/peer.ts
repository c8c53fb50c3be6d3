/**
 * The peer of an outgoing connection, as `AgentOutgoing` sees it: a real socket (`dial.ts`), or an echo in the
 * simulation.
 */

import type { SocketAddress } from "../../../src/domain/protocol/network-messages.ts"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"

/** An open connection to a peer of the target. */
export interface Peer {
  readonly remoteAddress: SocketAddress
  readonly localAddress: SocketAddress
  /** Begins to deliver what the peer sends. Called once, after the client has heard of the connection. */
  readonly start: (events: PeerEvents) => void
  /** Calls back when the bytes are on their way. */
  readonly write: (bytes: Uint8Array, done: () => void) => void
  /** The client will write no more. */
  readonly end: () => void
  /** Ends both directions, after what was written is sent. */
  readonly close: () => void
  /** Ends both directions at once. */
  readonly destroy: (reason?: Error) => void
  readonly pause: () => void
  readonly resume: () => void
}

export interface PeerEvents {
  readonly data: (bytes: Uint8Array) => void
  /** The peer will send no more. */
  readonly end: () => void
  /** Both directions are over. */
  readonly close: (error: Error | undefined) => void
}

export type Dialled =
  | { readonly _tag: "Open"; readonly peer: Peer }
  | { readonly _tag: "Failed"; readonly error: ResponseError }

/** Makes one connection attempt; `cancel` ends the attempt without a result. */
export type Dial = (address: SocketAddress, result: (dialled: Dialled) => void) => { readonly cancel: () => void }
