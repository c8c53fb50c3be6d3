/**
 * Mirrored and stolen connections and requests of the strict client, in one map per channel (wire.md §6.12). Responses
 * are in `http-responses.ts`, subscriptions in `port-subscriptions.ts`.
 */

import type { BodyFrame, IncomingTrafficTransportType } from "../../src/domain/protocol/http-messages.ts"
import type { DaemonTcp, NewTcpConnection } from "../../src/domain/protocol/incoming-messages.ts"
import type { Headers } from "../../src/domain/protocol/shape.ts"
import type { Channel, ClientRequest } from "./client-input.ts"
import type { IgnoredReason, RequestKey } from "./client-output.ts"
import {
  event,
  type Incoming,
  type IncomingRequest,
  mapWith,
  mapWithout,
  notDone,
  send,
  type Turn,
  update
} from "./client-state.ts"

export const incomingOf = (turn: Turn, channel: Channel, id: bigint): Incoming | undefined =>
  turn.state.incoming[channel].get(id)

const setIncoming = (turn: Turn, channel: Channel, map: ReadonlyMap<bigint, Incoming>): void =>
  update(turn, { incoming: { ...turn.state.incoming, [channel]: map } })

export const putIncoming = (turn: Turn, channel: Channel, id: bigint, incoming: Incoming): void =>
  setIncoming(turn, channel, mapWith(turn.state.incoming[channel], id, incoming))

const dropIncoming = (turn: Turn, channel: Channel, id: bigint): void =>
  setIncoming(turn, channel, mapWithout(turn.state.incoming[channel], id))

const ignored = (turn: Turn, channel: Channel, what: IgnoredReason): void =>
  event(turn, { _tag: "Ignored", what, message: channel })

/** Whether traffic is of a port that is not subscribed, or only in the other channel. Dump prints all traffic. */
const isStale = (turn: Turn, channel: Channel, port: number): boolean =>
  turn.state.options.kind !== "dump" && turn.state.subscriptions.get(port)?.channel !== channel

const newConnection = (
  turn: Turn,
  channel: Channel,
  connection: NewTcpConnection,
  transport: IncomingTrafficTransportType
): void => {
  const { connectionId, destinationPort: port } = connection
  if (isStale(turn, channel, port)) {
    event(turn, { _tag: "Stale", channel, connectionId, port })
    return send(turn, "incoming", { _tag: channel, value: { _tag: "ConnectionUnsubscribe", value: connectionId } })
  }
  const replaced = incomingOf(turn, channel, connectionId) !== undefined
  putIncoming(turn, channel, connectionId, { port, raw: true, requests: new Map() })
  event(turn, { _tag: "NewConnection", channel, connection, transport, replaced })
}

/** The beginning of a request, in whatever form it came. */
interface NewRequest {
  readonly port: number
  readonly head: {
    readonly method: string
    readonly uri: string
    readonly headers: Headers
    readonly version: string
  }
  readonly frames: ReadonlyArray<BodyFrame>
  readonly isLast: boolean
}

const newRequest = (turn: Turn, key: RequestKey, { frames, head, isLast, port }: NewRequest): void => {
  const { channel, connectionId, requestId } = key
  const { headers, method, uri, version } = head
  if (isStale(turn, channel, port)) {
    event(turn, { _tag: "Stale", channel, connectionId, port })
    if (channel === "TcpSteal") badGateway(turn, connectionId, requestId, port)
    return
  }
  const known = incomingOf(turn, channel, connectionId)
  const replaced = known?.requests.has(requestId) ?? false
  const request: IncomingRequest = { bodyOpen: !isLast, response: undefined, responded: false }
  putIncoming(turn, channel, connectionId, {
    port,
    raw: false,
    requests: mapWith(known?.requests ?? new Map(), requestId, request)
  })
  event(turn, { _tag: "HttpRequest", ...key, port, method, uri, headers, version, frames, isLast, replaced })
}

/** The answer that the client itself gives; always in the oldest form (wire.md §3.6). */
export const badGateway = (turn: Turn, connectionId: bigint, requestId: number, port: number): void =>
  send(turn, `request ${connectionId} ${requestId}`, {
    _tag: "TcpSteal",
    value: {
      _tag: "HttpResponse",
      value: {
        port,
        connectionId,
        requestId,
        internalResponse: {
          status: 502,
          version: "HTTP/1.1",
          headers: [],
          body: new TextEncoder().encode("mirrord: no local response")
        }
      }
    }
  })

const body = (turn: Turn, key: RequestKey, frames: ReadonlyArray<BodyFrame>, isLast: boolean): void => {
  const known = incomingOf(turn, key.channel, key.connectionId)
  const request = known?.requests.get(key.requestId)
  if (known === undefined || !request?.bodyOpen) return ignored(turn, key.channel, "strayBody")
  const requests = mapWith(known.requests, key.requestId, { ...request, bodyOpen: !isLast })
  putIncoming(turn, key.channel, key.connectionId, { ...known, requests })
  event(turn, { _tag: "HttpBody", ...key, frames, isLast })
}

const aborted = (turn: Turn, key: RequestKey, message: string): void => {
  const known = incomingOf(turn, key.channel, key.connectionId)
  if (!known?.requests.has(key.requestId)) return ignored(turn, key.channel, "strayError")
  putIncoming(turn, key.channel, key.connectionId, { ...known, requests: mapWithout(known.requests, key.requestId) })
  event(turn, { _tag: "HttpAborted", ...key, message })
}

/** Takes all messages of `Tcp` and `TcpSteal` except subscription results. */
export const incomingTraffic = (
  turn: Turn,
  channel: Channel,
  message: Exclude<DaemonTcp, { readonly _tag: "SubscribeResult" }>
): void => {
  switch (message._tag) {
    case "NewConnectionV1":
      return newConnection(turn, channel, message.value, { _tag: "Tcp" })
    case "NewConnectionV2":
      return newConnection(turn, channel, message.value.connection, message.value.transport)
    case "Data": {
      const { connectionId, bytes } = message.value
      const known = incomingOf(turn, channel, connectionId)
      if (known === undefined) return ignored(turn, channel, "strayData")
      if (!known.raw) return ignored(turn, channel, "beforeUpgrade")
      return event(turn, { _tag: "Data", channel, connectionId, bytes })
    }
    case "Close": {
      const { connectionId } = message.value
      if (incomingOf(turn, channel, connectionId) === undefined) return ignored(turn, channel, "strayClose")
      dropIncoming(turn, channel, connectionId)
      return event(turn, { _tag: "ConnectionClosed", channel, connectionId })
    }
    case "HttpRequest": {
      const { internalRequest: head, connectionId, requestId, port } = message.value
      const frames: ReadonlyArray<BodyFrame> = [{ _tag: "Data", value: head.body }]
      return newRequest(turn, { channel, connectionId, requestId }, { port, head, frames, isLast: true })
    }
    case "HttpRequestFramed": {
      const { internalRequest: head, connectionId, requestId, port } = message.value
      return newRequest(turn, { channel, connectionId, requestId }, { port, head, frames: head.body, isLast: true })
    }
    case "HttpRequestChunked":
      return chunk(turn, channel, message.value)
  }
}

const chunk = (
  turn: Turn,
  channel: Channel,
  piece: Extract<DaemonTcp, { readonly _tag: "HttpRequestChunked" }>["value"]
): void => {
  const { connectionId, requestId } = piece.value
  const key = { channel, connectionId, requestId }
  switch (piece._tag) {
    case "StartV1": {
      const { internalRequest: head, port } = piece.value
      return newRequest(turn, key, { port, head, frames: head.body, isLast: false })
    }
    case "StartV2": {
      const { request: head, metadata } = piece.value
      return newRequest(turn, key, { port: metadata.destination.port, head, ...head.body })
    }
    case "Body":
      return body(turn, key, piece.value.frames, piece.value.isLast)
    case "ErrorV1":
      return aborted(turn, key, "the request's body could not be read")
    case "ErrorV2":
      return aborted(turn, key, piece.value.errorMessage)
  }
}

export const sendData = (turn: Turn, request: Extract<ClientRequest, { readonly _tag: "SendData" }>): void => {
  const { connectionId, bytes } = request
  if (!incomingOf(turn, "TcpSteal", connectionId)?.raw)
    return notDone(turn, request, "no such stolen connection is open")
  send(turn, `connection ${connectionId}`, {
    _tag: "TcpSteal",
    value: { _tag: "Data", value: { connectionId, bytes } }
  })
}

export const closeConnection = (
  turn: Turn,
  request: Extract<ClientRequest, { readonly _tag: "CloseConnection" }>
): void => {
  const { channel, connectionId } = request
  // HTTP requests never produce this message, except after an upgrade (wire.md §6.12).
  if (!incomingOf(turn, channel, connectionId)?.raw) return notDone(turn, request, "no such connection is open")
  dropIncoming(turn, channel, connectionId)
  send(turn, "incoming", { _tag: channel, value: { _tag: "ConnectionUnsubscribe", value: connectionId } })
}
