/**
 * The messages of an agent or operator to a client, as shapes (wire.md §4). Their treatment by the router is decided in
 * routing/table.ts.
 */

import { codec } from "./codec.ts"
import { FileResponse } from "./file-messages.ts"
import { DaemonTcp } from "./incoming-messages.ts"
import { DaemonSeqpacket, DaemonTcpOutgoing, DaemonUdpOutgoing } from "./outgoing-messages.ts"
import { ResponseError } from "./response-error.ts"
import {
  bool,
  bytes,
  enumeration,
  fields,
  ip,
  list,
  newtype,
  result,
  semver,
  struct,
  text,
  textMap,
  type TypeOf,
  u128,
  unitVariant
} from "./shape.ts"

/** `Info` since 1.13.4. */
const LogLevel = enumeration("LogLevel", { Warn: unitVariant, Error: unitVariant, Info: unitVariant })

const DaemonVpn = enumeration("DaemonVpn", {
  NetworkConfiguration: newtype(struct({ ip, netMask: ip, gateway: ip })),
  Packet: newtype(bytes)
})

const LookupRecord = struct({ name: text, ip })

/** Everything an agent or operator says to a client (wire.md §4). */
export const DaemonMessage = enumeration("DaemonMessage", {
  Close: newtype(text),
  Tcp: newtype(DaemonTcp),
  TcpSteal: newtype(DaemonTcp),
  TcpOutgoing: newtype(DaemonTcpOutgoing),
  UdpOutgoing: newtype(DaemonUdpOutgoing),
  LogMessage: newtype(struct({ message: text, level: LogLevel })),
  File: newtype(FileResponse),
  Pong: unitVariant,
  GetEnvVarsResponse: newtype(result(textMap, ResponseError)),
  GetAddrInfoResponse: newtype(result(list(LookupRecord), ResponseError)),
  PauseTarget: newtype(enumeration("PauseTarget", { PauseResponse: fields({ changed: bool, containerPaused: bool }) })),
  SwitchProtocolVersionResponse: newtype(semver),
  Vpn: newtype(DaemonVpn),
  OperatorPing: newtype(u128),
  ReverseDnsLookup: newtype(result(struct({ hostname: result(text, ResponseError) }), ResponseError)),
  SeqpacketOutgoing: newtype(DaemonSeqpacket)
})
export type DaemonMessage = TypeOf<typeof DaemonMessage>

export const daemonMessage = codec("DaemonMessage", DaemonMessage)
