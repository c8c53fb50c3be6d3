/** The messages of a client to an agent, as shapes (wire.md §3). Their destinations are decided in routing/table.ts. */

import { codec } from "./codec.ts"
import { FileRequest } from "./file-messages.ts"
import { LayerTcp, LayerTcpSteal } from "./incoming-messages.ts"
import { LayerSeqpacket, LayerTcpOutgoing, LayerUdpOutgoing } from "./outgoing-messages.ts"
import {
  bool,
  bytes,
  enumeration,
  i32,
  ip,
  newtype,
  semver,
  struct,
  text,
  textSet,
  type TypeOf,
  u128,
  u16,
  unitVariant
} from "./shape.ts"

/**
 * `AddressFamily` and `SockType`: upstream's member for "unknown from a newer client" has an index too, but an index
 * beyond it is an error like everywhere else (wire.md §3.9).
 */
const AddressFamily = enumeration("AddressFamily", {
  Ipv4Only: unitVariant,
  Ipv6Only: unitVariant,
  Both: unitVariant,
  Any: unitVariant,
  UnknownAddressFamilyFromNewerClient: unitVariant
})
export type AddressFamily = TypeOf<typeof AddressFamily>
const SockType = enumeration("SockType", {
  Stream: unitVariant,
  Dgram: unitVariant,
  Any: unitVariant,
  UnknownSockTypeFromNewerClient: unitVariant
})

const GetAddrInfoRequestV2 = struct({
  node: text,
  servicePort: u16,
  family: AddressFamily,
  socktype: SockType,
  flags: i32,
  protocol: i32
})

const ClientVpn = enumeration("ClientVpn", {
  GetNetworkConfiguration: unitVariant,
  OpenSocket: unitVariant,
  Packet: newtype(bytes)
})

const ShareLinkRequest = enumeration("ShareLinkRequest", { RegisterKey: newtype(text), RemoveKey: newtype(text) })

/** Everything a client says to an agent; also what an operator says to an agent (wire.md §3). */
export const ClientMessage = enumeration("ClientMessage", {
  Close: unitVariant,
  Tcp: newtype(LayerTcp),
  TcpSteal: newtype(LayerTcpSteal),
  TcpOutgoing: newtype(LayerTcpOutgoing),
  UdpOutgoing: newtype(LayerUdpOutgoing),
  FileRequest: newtype(FileRequest),
  GetEnvVarsRequest: newtype(struct({ envVarsFilter: textSet, envVarsSelect: textSet })),
  Ping: unitVariant,
  GetAddrInfoRequest: newtype(struct({ node: text })),
  PauseTargetRequest: newtype(bool),
  SwitchProtocolVersion: newtype(semver),
  ReadyForLogs: unitVariant,
  Vpn: newtype(ClientVpn),
  GetAddrInfoRequestV2: newtype(GetAddrInfoRequestV2),
  OperatorPong: newtype(u128),
  ReverseDnsLookup: newtype(struct({ ipAddress: ip })),
  SeqpacketOutgoing: newtype(LayerSeqpacket),
  ShareLink: newtype(ShareLinkRequest)
})
export type ClientMessage = TypeOf<typeof ClientMessage>

export const clientMessage = codec("ClientMessage", ClientMessage)
