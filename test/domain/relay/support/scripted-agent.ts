import type { ClientMessage } from "../../../../src/domain/protocol/client-message.ts"
import { minVersion } from "../../../../src/domain/protocol/version.ts"
import { fileAnswer } from "./agent-files.ts"
import {
  type Agent,
  type AgentConnection,
  begin,
  type Channel,
  done,
  incoming,
  type Mutable,
  say,
  setOpen,
  sourceOf,
  type Step,
  take,
  textOf,
  uriOf,
  violation
} from "./agent-state.ts"
import { tooNew } from "./too-new.ts"

/** A client message that arrives. */
export const hear = (agent: Agent, message: ClientMessage): Step => {
  const a = begin(agent)
  if (a.choked !== undefined) return done(a)
  if (tooNew(message, a.version)) {
    a.choked = message
    return done(a)
  }
  a.heard = [...a.heard, message]
  answer(a, message)
  return done(a)
}

const answer = (a: Mutable, message: ClientMessage): void => {
  switch (message._tag) {
    case "Ping":
      return say(a, "inline", { _tag: "Pong" })
    case "SwitchProtocolVersion":
      a.announced = message.value
      return say(a, "inline", { _tag: "SwitchProtocolVersionResponse", value: minVersion(a.version, message.value) })
    case "ReadyForLogs":
      a.readyForLogs = true
      return
    case "GetEnvVarsRequest":
      return say(a, "inline", { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map([["FROM", a.name]]) } })
    case "FileRequest": {
      const response = fileAnswer(message.value, a.name, () => take(a, "fd"))
      if (response !== undefined) say(a, "inline", { _tag: "File", value: response })
      return
    }
    case "GetAddrInfoRequest":
    case "GetAddrInfoRequestV2":
      return say(a, "dns", {
        _tag: "GetAddrInfoResponse",
        value: { _tag: "Ok", value: [{ name: `${message.value.node}.${a.name}.`, ip: "10.0.0.1" }] }
      })
    case "TcpOutgoing":
    case "UdpOutgoing":
    case "SeqpacketOutgoing":
      return outgoing(a, message)
    case "Vpn":
      return say(a, "inline", { _tag: "Close", value: "VPN is not supported" })
    case "PauseTargetRequest":
      return say(a, "inline", { _tag: "Close", value: "Pause isn't supported anymore." })
    case "Tcp":
      return mirror(a, message)
    case "TcpSteal":
      return steal(a, message)
    case "Close":
    case "OperatorPong":
    case "ReverseDnsLookup":
    case "ShareLink":
      return
  }
}

const spaces = { TcpOutgoing: "tcp", UdpOutgoing: "udp", SeqpacketOutgoing: "seqpacket" } as const

const outgoing = (
  a: Mutable,
  message: Extract<ClientMessage, { readonly _tag: "TcpOutgoing" | "UdpOutgoing" | "SeqpacketOutgoing" }>
): void => {
  const { value } = message
  const space = spaces[message._tag]
  switch (value._tag) {
    case "Connect":
    case "ConnectV2": {
      const { remoteAddress } = value.value
      const connect = {
        _tag: "Ok",
        value: { connectionId: take(a, space), remoteAddress, localAddress: remoteAddress }
      } as const
      if (value._tag === "ConnectV2") {
        return say(a, space, {
          _tag: message._tag,
          value: { _tag: "ConnectV2", value: { uid: value.value.uid, connect } }
        })
      }
      if (message._tag !== "SeqpacketOutgoing")
        say(a, space, { _tag: message._tag, value: { _tag: "Connect", value: connect } })
      return
    }
    case "Write":
      return say(a, space, { _tag: message._tag, value: { _tag: "Read", value: { _tag: "Ok", value: value.value } } })
    case "Close":
      return
  }
}

const subscribed = (a: Mutable, channel: Channel, port: number, filter: string | undefined): void => {
  if (filter !== undefined && filter.includes(a.badFilter))
    return say(a, sourceOf(channel), { _tag: "Close", value: `bad filter ${filter}` })
  a.ports = { ...a.ports, [channel]: new Set(a.ports[channel]).add(port) }
  const filtered = new Set(a.filtered)
  if (filter === undefined) filtered.delete(port)
  else filtered.add(port)
  a.filtered = filtered
  incoming(a, channel, { _tag: "SubscribeResult", value: { _tag: "Ok", value: port } })
}

const unsubscribed = (a: Mutable, channel: Channel, port: number): void => {
  const ports = new Set(a.ports[channel])
  ports.delete(port)
  a.ports = { ...a.ports, [channel]: ports }
}

/** An id that was never given out is somebody else's; one that is closed is merely late. */
const known = (a: Mutable, channel: Channel, id: bigint, what: string): AgentConnection | undefined => {
  if (id >= a.counters[channel]) violation(a, `${what} for ${channel} ${id}, which it never gave out`)
  return a.open[channel].get(id)
}

const mirror = (a: Mutable, { value }: Extract<ClientMessage, { readonly _tag: "Tcp" }>): void => {
  switch (value._tag) {
    case "PortSubscribe":
      return subscribed(a, "Tcp", value.value, undefined)
    case "PortSubscribeFilteredHttp":
      return subscribed(a, "Tcp", value.port, JSON.stringify(value.filter))
    case "PortUnsubscribe":
      return unsubscribed(a, "Tcp", value.value)
    case "ConnectionUnsubscribe":
      known(a, "Tcp", value.value, "ConnectionUnsubscribe")
      return setOpen(a, "Tcp", value.value, undefined)
  }
}

const steal = (a: Mutable, { value }: Extract<ClientMessage, { readonly _tag: "TcpSteal" }>): void => {
  switch (value._tag) {
    case "PortSubscribe": {
      const type = value.value
      if (type._tag === "All") return subscribed(a, "TcpSteal", type.value, undefined)
      return subscribed(a, "TcpSteal", type.port, JSON.stringify(type.filter))
    }
    case "PortUnsubscribe":
      return unsubscribed(a, "TcpSteal", value.value)
    case "ConnectionUnsubscribe":
      known(a, "TcpSteal", value.value, "ConnectionUnsubscribe")
      return setOpen(a, "TcpSteal", value.value, undefined)
    case "Data":
      return data(a, value.value.connectionId, new TextDecoder().decode(value.value.bytes))
    case "HttpResponse": {
      const { connectionId, requestId, internalResponse } = value.value
      return response(
        a,
        connectionId,
        requestId,
        internalResponse.status,
        new TextDecoder().decode(internalResponse.body),
        true
      )
    }
    case "HttpResponseFramed": {
      const { connectionId, requestId, internalResponse } = value.value
      return response(a, connectionId, requestId, internalResponse.status, textOf(internalResponse.body), true)
    }
    case "HttpResponseChunked": {
      const chunk = value.value
      const { connectionId, requestId } = chunk.value
      if (chunk._tag === "Error") {
        known(a, "TcpSteal", connectionId, "a response's Error")
        return setOpen(a, "TcpSteal", connectionId, undefined)
      }
      return chunk._tag === "Start"
        ? response(
            a,
            connectionId,
            requestId,
            chunk.value.internalResponse.status,
            textOf(chunk.value.internalResponse.body),
            false
          )
        : response(a, connectionId, requestId, 200, textOf(chunk.value.frames), chunk.value.isLast)
    }
  }
}

const data = (a: Mutable, id: bigint, text: string): void => {
  const connection = known(a, "TcpSteal", id, "data")
  if (connection === undefined || connection.http) return
  const [expected, ...echoes] = connection.echoes
  if (text !== expected) violation(a, `connection ${id} heard ${text} in place of ${expected}`)
  setOpen(a, "TcpSteal", id, { ...connection, echoes })
}

const response = (a: Mutable, id: bigint, requestId: number, status: number, body: string, isLast: boolean): void => {
  const connection = known(a, "TcpSteal", id, "a response")
  if (requestId !== 0) violation(a, `a response for request ${requestId}: they are all 0`)
  if (connection === undefined) return
  const uri = uriOf(a.name, "TcpSteal", id)
  // Pieces may have been joined on the way to an old agent; each names the request.
  if (status !== 502 && body !== uri.repeat(Math.round(body.length / uri.length)))
    violation(a, `request ${uri} got the response ${body}`)
  if (!isLast || status === 101) return
  setOpen(a, "TcpSteal", id, undefined)
  incoming(a, "TcpSteal", { _tag: "Close", value: { connectionId: id } })
}
