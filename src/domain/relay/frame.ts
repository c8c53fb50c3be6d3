/**
 * A message with its row of the routing table, as the router's handlers get it. A message is read as far as its row
 * needs it and no further.
 */

import type { ClientRowKey, DaemonRowKey } from "../protocol/peek.ts"
import type { MemberName } from "./member.ts"
import type { Link } from "./state.ts"
import type { ClientRow, DaemonRow } from "./table.ts"

export interface ClientFrame {
  readonly key: ClientRowKey
  readonly row: ClientRow
  /** Exactly the message. */
  readonly bytes: Uint8Array
}

export interface MemberFrame {
  readonly key: DaemonRowKey
  readonly row: DaemonRow
  /** Exactly the message. */
  readonly bytes: Uint8Array
  /** The sender. */
  readonly member: MemberName
  /** The sender as it was before the message. */
  readonly link: Link
}

/**
 * The message at the front of `bytes`. Further bytes are ignored on a WebSocket (wire.md §1.1); on an agent's socket
 * they would be the next message.
 */
export const messageOnly = (bytes: Uint8Array, used: number): Uint8Array =>
  used === bytes.length ? bytes : bytes.subarray(0, used)
