/**
 * Outgoing connections of the strict client: connects matched by uid or, in the oldest form, by position; ids per
 * transport (wire.md §6.6, §6.13).
 */

import type { ClientMessage } from "../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { SocketAddress } from "../../src/domain/protocol/network-messages.ts"
import type { ResponseError } from "../../src/domain/protocol/response-error.ts"
import type { ResultOf } from "../../src/domain/protocol/shape.ts"
import { gate } from "../../src/domain/protocol/version.ts"
import type { ClientRequest, Transport } from "./client-input.ts"
import type { Connected } from "./client-output.ts"
import { event, fatal, notDone, type PendingConnect, send, speaks, type Turn, update } from "./client-state.ts"

export type OutgoingMessage = Extract<
  DaemonMessage,
  { readonly _tag: "TcpOutgoing" | "UdpOutgoing" | "SeqpacketOutgoing" }
>

const transports = { TcpOutgoing: "Tcp", UdpOutgoing: "Udp", SeqpacketOutgoing: "Seqpacket" } as const

const transportOf = ({ _tag }: OutgoingMessage): Transport => transports[_tag]

type Common = Extract<ClientMessage, { readonly _tag: "SeqpacketOutgoing" }>["value"]

const wrap = (transport: Transport, value: Common): ClientMessage => {
  switch (transport) {
    case "Tcp":
      return { _tag: "TcpOutgoing", value }
    case "Udp":
      return { _tag: "UdpOutgoing", value }
    case "Seqpacket":
      return { _tag: "SeqpacketOutgoing", value }
  }
}

export const connect = (turn: Turn, request: Extract<ClientRequest, { readonly _tag: "Connect" }>): void => {
  const { transport, uid, remoteAddress } = request
  const { state } = turn
  if (transport === "Seqpacket" && !speaks(state, gate.seqpacket)) {
    return notDone(turn, request, `seqpacket needs protocol ${gate.seqpacket}`)
  }
  const pending: PendingConnect = { transport, uid, request }
  if (transport === "Seqpacket" || state.options.kind === "portForward" || speaks(state, gate.outgoingConnectV2)) {
    update(turn, { connects: [...state.connects, pending] })
    return send(turn, "outgoing", wrap(transport, { _tag: "ConnectV2", value: { uid, remoteAddress } }))
  }
  update(turn, {
    legacyConnects: { ...state.legacyConnects, [transport]: [...state.legacyConnects[transport], pending] }
  })
  const value = { _tag: "Connect", value: { remoteAddress } } as const
  send(turn, "outgoing", transport === "Tcp" ? { _tag: "TcpOutgoing", value } : { _tag: "UdpOutgoing", value })
}

const isOpen = (turn: Turn, transport: Transport, id: bigint): boolean => turn.state.outgoing[transport].has(id)

const setOpen = (turn: Turn, transport: Transport, id: bigint, open: boolean): void => {
  const ids = new Set(turn.state.outgoing[transport])
  if (open) ids.add(id)
  else ids.delete(id)
  update(turn, { outgoing: { ...turn.state.outgoing, [transport]: ids } })
}

export const write = (turn: Turn, request: Extract<ClientRequest, { readonly _tag: "Write" }>): void => {
  const { transport, connectionId, bytes } = request
  if (!isOpen(turn, transport, connectionId)) return notDone(turn, request, "the connection is not open")
  send(turn, "outgoing", wrap(transport, { _tag: "Write", value: { connectionId, bytes } }))
}

export const closeOutgoing = (
  turn: Turn,
  request: Extract<ClientRequest, { readonly _tag: "CloseOutgoing" }>
): void => {
  const { transport, connectionId } = request
  if (!isOpen(turn, transport, connectionId)) return notDone(turn, request, "the connection is not open")
  setOpen(turn, transport, connectionId, false)
  send(turn, "outgoing", wrap(transport, { _tag: "Close", value: { connectionId } }))
}

/**
 * Whether an address fits the transport, because the local socket's type is taken from the answer's address (wire.md
 * §6.7).
 */
const fits = (transport: Transport, address: SocketAddress): boolean =>
  transport === "Tcp" || (transport === "Udp" ? address._tag === "Ip" : address._tag === "Unix")

const connected = (
  turn: Turn,
  { transport, uid }: PendingConnect,
  result: ResultOf<Connected, ResponseError>
): void => {
  if (result._tag === "Ok") {
    if (!fits(transport, result.value.remoteAddress)) {
      return fatal(turn, "wire.md §6.7", `a ${result.value.remoteAddress._tag} address cannot be a ${transport} peer`)
    }
    setOpen(turn, transport, result.value.connectionId, true)
  }
  event(turn, { _tag: "Connected", transport, uid, result })
}

/** Takes any message about outgoing traffic, for the kinds of clients that have some. */
export const outgoingMessage = (turn: Turn, message: OutgoingMessage): void => {
  const transport = transportOf(message)
  const { value } = message
  switch (value._tag) {
    case "Connect": {
      if (transport === "Seqpacket") return
      if (turn.state.options.kind === "portForward")
        return fatal(turn, "wire.md §6.2 F", "a connect answer without uid")
      const [first, ...rest] = turn.state.legacyConnects[transport]
      if (first === undefined)
        return fatal(turn, "wire.md §6.6 legacy Connect", `a surplus ${transport} connect answer: none waits`)
      update(turn, { legacyConnects: { ...turn.state.legacyConnects, [transport]: rest } })
      return connected(turn, first, value.value)
    }
    case "ConnectV2": {
      const { uid, connect: result } = value.value
      const pending = turn.state.connects.find((waiting) => waiting.uid === uid && waiting.transport === transport)
      if (pending === undefined)
        return fatal(turn, "wire.md §6.6 ConnectV2", `no ${transport} connect has the uid ${uid.toString(16)}`)
      update(turn, { connects: turn.state.connects.filter((waiting) => waiting !== pending) })
      return connected(turn, pending, result)
    }
    case "Read": {
      if (value.value._tag === "Err")
        return fatal(turn, "wire.md §6.7", `${transport} Read(Err): ${value.value.error._tag}`)
      const { connectionId, bytes } = value.value.value
      return isOpen(turn, transport, connectionId)
        ? event(turn, { _tag: "OutgoingData", transport, connectionId, bytes })
        : event(turn, { _tag: "Ignored", what: "strayOutgoing", message: message._tag })
    }
    case "Close":
      if (!isOpen(turn, transport, value.value))
        return event(turn, { _tag: "Ignored", what: "strayOutgoing", message: message._tag })
      setOpen(turn, transport, value.value, false)
      return event(turn, { _tag: "OutgoingClosed", transport, connectionId: value.value })
  }
}
