/**
 * S3 (failures.md §1.3, §4.23, §4.27). A request that a client hears is recognised at the agents by its content. Where
 * several agents sent the same content at a time, each may be the origin, and only what holds for all of them is
 * demanded.
 */

import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { DaemonTcp } from "../../../src/domain/protocol/incoming-messages.ts"
import { clientTag, daemonTag, peekClient, peekDaemon } from "../../../src/domain/protocol/peek.ts"
import { addressedByClient, addressedByMember } from "../../../src/domain/relay/connection-id.ts"
import type { Invariant } from "./invariant.ts"

/** Whether the message opens a connection, or the first request of one. */
const opens = (message: DaemonTcp): boolean =>
  message._tag === "NewConnectionV1" ||
  message._tag === "NewConnectionV2" ||
  message._tag === "HttpRequest" ||
  message._tag === "HttpRequestFramed" ||
  (message._tag === "HttpRequestChunked" && (message.value._tag === "StartV1" || message.value._tag === "StartV2"))

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

interface Incoming {
  readonly channel: "Tcp" | "TcpSteal"
  readonly id: bigint
  /** Everything but the id; only for messages that open something. */
  readonly content: string | undefined
}

const isIncoming = (tag: string | undefined): boolean => tag === "Tcp" || tag === "TcpSteal"

const readDaemon = (bytes: Uint8Array): Incoming | undefined => {
  if (!isIncoming(daemonTag(bytes))) return undefined
  const decoded = daemonMessage.decode(bytes)
  if (decoded._tag !== "Decoded") return undefined
  const { value: message } = decoded
  if (message._tag !== "Tcp" && message._tag !== "TcpSteal") return undefined
  const addressed = addressedByMember(message.value)
  if (addressed === undefined) return undefined
  const content = opens(message.value)
    ? hex(daemonMessage.encode({ _tag: message._tag, value: addressed.withId(0n) }))
    : undefined
  return { channel: message._tag, id: addressed.id, content }
}

const readClient = (bytes: Uint8Array) => {
  if (!isIncoming(clientTag(bytes))) return undefined
  const decoded = clientMessage.decode(bytes)
  return decoded._tag === "Decoded" ? addressedByClient(decoded.value) : undefined
}

/** An agent's connection id, and the agent that allocated it. */
interface Origin {
  readonly cluster: string
  readonly agent: string
  readonly key: string
  /** The client's id for the same connection, once that is certain. */
  known: string | undefined
}

export const oneOwnerPerId: Invariant = {
  id: "S3",
  sentence: "A connection id that a client sees means one connection of one agent for its whole life.",
  begin: () => {
    /** By content: what agents opened, until it is certain which client heard of it. */
    const opened = new Map<string, Array<Origin>>()
    const origins = new Map<string, Origin>()
    /** By client connection, channel and id. */
    const owners = new Map<string, ReadonlyArray<Origin>>()
    const closed = new Set<string>()
    /**
     * Client ids that were said in a message towards the agents. They are kept, because the last messages may arrive
     * after the connection's end.
     */
    const used = new Set<string>()
    return {
      on: (event) => {
        switch (event._tag) {
          case "AgentSaid": {
            const incoming = readDaemon(event.bytes)
            if (incoming?.content === undefined) return undefined
            const key = `${event.connection} ${incoming.channel} ${incoming.id}`
            const origin: Origin = { cluster: event.cluster, agent: event.agent, key, known: origins.get(key)?.known }
            origins.set(key, origin)
            const same = opened.get(incoming.content)
            if (same === undefined) opened.set(incoming.content, [origin])
            else same.push(origin)
            return undefined
          }
          case "ClientHeard": {
            const incoming = readDaemon(event.bytes)
            if (incoming === undefined) return undefined
            const key = `${event.connection} ${incoming.channel} ${incoming.id}`
            if (incoming.content === undefined) {
              if (peekDaemon(event.bytes) === `${incoming.channel}.Close`) closed.add(key)
              return undefined
            }
            if (closed.has(key))
              return (
                `${event.client} is told of a new connection ${incoming.id}, ` +
                "an id that was used and closed before."
              )
            const same = opened.get(incoming.content) ?? []
            const known = owners.get(key)
            const possible =
              known === undefined
                ? same.filter((origin) => origin.known === undefined || origin.known === key)
                : same.filter((origin) => known.some((owner) => owner.key === origin.key))
            const [first] = possible
            if (first === undefined) {
              return known === undefined
                ? `${event.client} is told of connection ${incoming.id}, which no agent opened.`
                : `${event.client} is told of a request on connection ${incoming.id}, but not by its owner ` +
                    `${known.map(({ agent, cluster }) => `${agent} in ${cluster}`).join(" or ")}.`
            }
            owners.set(key, possible)
            if (possible.length > 1) return undefined
            first.known = key
            const rest = same.filter((origin) => origin !== first)
            if (rest.length === 0) opened.delete(incoming.content)
            else opened.set(incoming.content, rest)
            return undefined
          }
          case "ClientSaid": {
            const addressed = readClient(event.bytes)
            if (addressed !== undefined) used.add(`${event.connection} ${addressed.channel} ${addressed.id}`)
            return undefined
          }
          case "AgentHeard": {
            const addressed = readClient(event.bytes)
            if (addressed === undefined) return undefined
            const origin = origins.get(`${event.connection} ${addressed.channel} ${addressed.id}`)
            const where = `agent ${event.agent} in ${event.cluster}`
            if (origin === undefined) return `The ${where} hears of connection ${addressed.id}, which it never opened.`
            const isAnswer =
              addressed.channel === "TcpSteal" && peekClient(event.bytes) !== "TcpSteal.ConnectionUnsubscribe"
            if (origin.known === undefined || !isAnswer) return undefined
            return used.has(origin.known)
              ? undefined
              : `The ${where} hears an answer on connection ${addressed.id} that its client did not give.`
          }
          case "ClientLost": {
            const prefix = `${event.connection} `
            for (const key of owners.keys()) if (key.startsWith(prefix)) owners.delete(key)
            for (const key of closed) if (key.startsWith(prefix)) closed.delete(key)
            return undefined
          }
          case "AgentDisconnected": {
            const prefix = `${event.connection} `
            for (const key of origins.keys()) if (key.startsWith(prefix)) origins.delete(key)
            // The last messages may still be on their way to the client, so `opened` stays.
            return undefined
          }
          default:
            return undefined
        }
      }
    }
  }
}
