/**
 * Reads and replaces the connection id of a message, in whichever field it stands (wire.md §1.6: in five places at the
 * end). The request id beside it is kept: agents ignore answers with another request id (wire.md §7.3).
 *
 * Not here: which id stands for which connection (ids.ts).
 */

import type { ClientMessage } from "../protocol/client-message.ts"
import type { DaemonTcp } from "../protocol/incoming-messages.ts"
import type { Channel } from "./ids.ts"

/** A message about one incoming connection, and how to make the same message with another id. */
export interface Addressed<T> {
  readonly channel: Channel
  readonly id: bigint
  readonly withId: (id: bigint) => T
}

const moved = <T extends { readonly connectionId: bigint }>(content: T, connectionId: bigint): T => ({
  ...content,
  connectionId
})

/** The connection that a client's message is about; `undefined` if it is not about one. */
export const addressedByClient = (message: ClientMessage): Addressed<ClientMessage> | undefined => {
  if (message._tag === "Tcp") {
    const tcp = message.value
    if (tcp._tag !== "ConnectionUnsubscribe") return undefined
    return { channel: "Tcp", id: tcp.value, withId: (id) => ({ _tag: "Tcp", value: { ...tcp, value: id } }) }
  }
  if (message._tag !== "TcpSteal") return undefined
  const steal = message.value
  const channel = "TcpSteal"
  switch (steal._tag) {
    case "PortSubscribe":
    case "PortUnsubscribe":
      return undefined
    case "ConnectionUnsubscribe":
      return { channel, id: steal.value, withId: (id) => ({ _tag: channel, value: { ...steal, value: id } }) }
    case "Data":
      return {
        channel,
        id: steal.value.connectionId,
        withId: (id) => ({ _tag: channel, value: { ...steal, value: moved(steal.value, id) } })
      }
    case "HttpResponse":
      return {
        channel,
        id: steal.value.connectionId,
        withId: (id) => ({ _tag: channel, value: { ...steal, value: moved(steal.value, id) } })
      }
    case "HttpResponseFramed":
      return {
        channel,
        id: steal.value.connectionId,
        withId: (id) => ({ _tag: channel, value: { ...steal, value: moved(steal.value, id) } })
      }
    case "HttpResponseChunked": {
      const chunk = steal.value
      const wrap = (value: typeof chunk): ClientMessage => ({ _tag: channel, value: { ...steal, value } })
      const id = chunk.value.connectionId
      switch (chunk._tag) {
        case "Start":
          return { channel, id, withId: (to) => wrap({ ...chunk, value: moved(chunk.value, to) }) }
        case "Body":
          return { channel, id, withId: (to) => wrap({ ...chunk, value: moved(chunk.value, to) }) }
        case "Error":
          return { channel, id, withId: (to) => wrap({ ...chunk, value: moved(chunk.value, to) }) }
      }
    }
  }
}

/** The connection that a member's message is about; `undefined` for a subscription's result, which names a port. */
export const addressedByMember = (message: DaemonTcp): Omit<Addressed<DaemonTcp>, "channel"> | undefined => {
  switch (message._tag) {
    case "SubscribeResult":
      return undefined
    case "NewConnectionV1":
      return { id: message.value.connectionId, withId: (id) => ({ ...message, value: moved(message.value, id) }) }
    case "NewConnectionV2":
      return {
        id: message.value.connection.connectionId,
        withId: (id) => ({ ...message, value: { ...message.value, connection: moved(message.value.connection, id) } })
      }
    case "Data":
      return { id: message.value.connectionId, withId: (id) => ({ ...message, value: moved(message.value, id) }) }
    case "Close":
      return { id: message.value.connectionId, withId: (id) => ({ ...message, value: moved(message.value, id) }) }
    case "HttpRequest":
      return { id: message.value.connectionId, withId: (id) => ({ ...message, value: moved(message.value, id) }) }
    case "HttpRequestFramed":
      return { id: message.value.connectionId, withId: (id) => ({ ...message, value: moved(message.value, id) }) }
    case "HttpRequestChunked": {
      const chunk = message.value
      const id = chunk.value.connectionId
      switch (chunk._tag) {
        case "StartV1":
          return { id, withId: (to) => ({ ...message, value: { ...chunk, value: moved(chunk.value, to) } }) }
        case "StartV2":
          return { id, withId: (to) => ({ ...message, value: { ...chunk, value: moved(chunk.value, to) } }) }
        case "Body":
          return { id, withId: (to) => ({ ...message, value: { ...chunk, value: moved(chunk.value, to) } }) }
        case "ErrorV1":
          return { id, withId: (to) => ({ ...message, value: { ...chunk, value: moved(chunk.value, to) } }) }
        case "ErrorV2":
          return { id, withId: (to) => ({ ...message, value: { ...chunk, value: moved(chunk.value, to) } }) }
      }
    }
  }
}
