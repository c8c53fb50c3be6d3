/**
 * Shapes of incoming traffic, mirrored and stolen (wire.md §3.2, §3.3, §4.2). The router merges subscriptions and
 * rewrites the ids of connections.
 */

import { HttpFilter, StealType } from "./http-filter-messages.ts"
import {
  ChunkedRequest,
  ChunkedResponse,
  HttpRequest,
  HttpRequestFramed,
  HttpResponse,
  HttpResponseFramed,
  IncomingTrafficTransportType
} from "./http-messages.ts"
import { ResponseError } from "./response-error.ts"
import { bytes, enumeration, ip, newtype, result, struct, tuple, type TypeOf, u16, u64 } from "./shape.ts"

/** An empty payload means that the sender half-closed the connection. */
const TcpData = struct({ connectionId: u64, bytes })

/** Client to agent, mirroring (wire.md §3.2). */
export const LayerTcp = enumeration("LayerTcp", {
  PortSubscribe: newtype(u16),
  ConnectionUnsubscribe: newtype(u64),
  PortUnsubscribe: newtype(u16),
  PortSubscribeFilteredHttp: tuple({ port: u16, filter: HttpFilter })
})
export type LayerTcp = TypeOf<typeof LayerTcp>

/** Client to agent, stealing (wire.md §3.3). */
export const LayerTcpSteal = enumeration("LayerTcpSteal", {
  PortSubscribe: newtype(StealType),
  ConnectionUnsubscribe: newtype(u64),
  PortUnsubscribe: newtype(u16),
  Data: newtype(TcpData),
  HttpResponse: newtype(HttpResponse),
  HttpResponseFramed: newtype(HttpResponseFramed),
  HttpResponseChunked: newtype(ChunkedResponse)
})
export type LayerTcpSteal = TypeOf<typeof LayerTcpSteal>

export const NewTcpConnection = struct({
  connectionId: u64,
  remoteAddress: ip,
  destinationPort: u16,
  sourcePort: u16,
  localAddress: ip
})
export type NewTcpConnection = TypeOf<typeof NewTcpConnection>

/** Agent to client, mirrored or stolen traffic (wire.md §4.2). */
export const DaemonTcp = enumeration("DaemonTcp", {
  NewConnectionV1: newtype(NewTcpConnection),
  Data: newtype(TcpData),
  Close: newtype(struct({ connectionId: u64 })),
  SubscribeResult: newtype(result(u16, ResponseError)),
  HttpRequest: newtype(HttpRequest),
  HttpRequestFramed: newtype(HttpRequestFramed),
  HttpRequestChunked: newtype(ChunkedRequest),
  NewConnectionV2: newtype(struct({ connection: NewTcpConnection, transport: IncomingTrafficTransportType }))
})
export type DaemonTcp = TypeOf<typeof DaemonTcp>
