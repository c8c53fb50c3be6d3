/**
 * Shapes of outgoing connections over TCP, UDP and seqpacket (wire.md §3.7, §4.5). The router forwards them between
 * client and default.
 */

import { SocketAddress } from "./network-messages.ts"
import { ResponseError } from "./response-error.ts"
import { bytes, enumeration, newtype, result, struct, type TypeOf, u128, u64 } from "./shape.ts"

/** Empty bytes are a half-close. The `uid` is a UUID as its 128-bit number. */
const Connect = newtype(struct({ remoteAddress: SocketAddress }))
const ConnectV2 = newtype(struct({ uid: u128, remoteAddress: SocketAddress }))
const Write = newtype(struct({ connectionId: u64, bytes }))
const LayerClose = newtype(struct({ connectionId: u64 }))

export const LayerTcpOutgoing = enumeration("LayerTcpOutgoing", { Connect, Write, Close: LayerClose, ConnectV2 })
export type LayerTcpOutgoing = TypeOf<typeof LayerTcpOutgoing>
export const LayerUdpOutgoing = enumeration("LayerUdpOutgoing", { Connect, Write, Close: LayerClose, ConnectV2 })
export type LayerUdpOutgoing = TypeOf<typeof LayerUdpOutgoing>
/** Other indexes than TCP and UDP: there never was a connect without uid. */
export const LayerSeqpacket = enumeration("LayerSeqpacket", { Write, Close: LayerClose, ConnectV2 })
export type LayerSeqpacket = TypeOf<typeof LayerSeqpacket>

const connected = result(
  struct({ connectionId: u64, remoteAddress: SocketAddress, localAddress: SocketAddress }),
  ResponseError
)
const DaemonConnect = newtype(connected)
const DaemonConnectV2 = newtype(struct({ uid: u128, connect: connected }))
const Read = newtype(result(struct({ connectionId: u64, bytes }), ResponseError))
const DaemonClose = newtype(u64)

export const DaemonTcpOutgoing = enumeration("DaemonTcpOutgoing", {
  Connect: DaemonConnect,
  Read,
  Close: DaemonClose,
  ConnectV2: DaemonConnectV2
})
export type DaemonTcpOutgoing = TypeOf<typeof DaemonTcpOutgoing>
export const DaemonUdpOutgoing = enumeration("DaemonUdpOutgoing", {
  Connect: DaemonConnect,
  Read,
  Close: DaemonClose,
  ConnectV2: DaemonConnectV2
})
export type DaemonUdpOutgoing = TypeOf<typeof DaemonUdpOutgoing>
export const DaemonSeqpacket = enumeration("DaemonSeqpacket", {
  Read,
  Close: DaemonClose,
  ConnectV2: DaemonConnectV2
})
export type DaemonSeqpacket = TypeOf<typeof DaemonSeqpacket>
