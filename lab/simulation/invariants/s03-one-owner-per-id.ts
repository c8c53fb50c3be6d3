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

/** All ids that begin with a connection. */
const forget = (ids: Map<string, unknown> | Set<string>, connection: number): void => {
  for (const key of ids.keys()) if (key.startsWith(`${connection} `)) ids.delete(key)
}

/** Follows ids from the agents that allocate them to the clients that hear of them, and back. */
class Ids {
  /** By content: what agents opened, until it is certain which client heard of it. */
  readonly #opened = new Map<string, ReadonlyArray<Origin>>()
  readonly #origins = new Map<string, Origin>()
  /** By client connection, channel and id. */
  readonly #owners = new Map<string, ReadonlyArray<Origin>>()
  readonly #closed = new Set<string>()
  /**
   * Client ids that were said in a message towards the agents. They are kept, because the last messages may arrive
   * after the connection's end.
   */
  readonly #used = new Set<string>()

  /** An agent opens something. */
  open(content: string, origin: Omit<Origin, "known">): void {
    const made: Origin = { ...origin, known: this.#origins.get(origin.key)?.known }
    this.#origins.set(origin.key, made)
    this.#opened.set(content, [...(this.#opened.get(content) ?? []), made])
  }

  close(key: string): void {
    this.#closed.add(key)
  }

  use(key: string): void {
    this.#used.add(key)
  }

  /** A client hears of something that an agent has opened. */
  hear(
    client: string,
    key: string,
    { content, id }: { readonly content: string; readonly id: bigint }
  ): string | undefined {
    if (this.#closed.has(key)) return `${client} gets a new connection ${id}, an id that was used and closed before.`
    const same = this.#opened.get(content) ?? []
    const known = this.#owners.get(key)
    const possible =
      known === undefined
        ? same.filter((origin) => origin.known === undefined || origin.known === key)
        : same.filter((origin) => known.some((owner) => owner.key === origin.key))
    const [first] = possible
    if (first === undefined) {
      return known === undefined
        ? `${client} gets connection ${id}, which no agent opened.`
        : `${client} gets a request on connection ${id}, but not by its owner ` +
            `${known.map(({ agent, cluster }) => `${agent} in ${cluster}`).join(" or ")}.`
    }
    this.#owners.set(key, possible)
    if (possible.length > 1) return undefined
    first.known = key
    const rest = same.filter((origin) => origin !== first)
    if (rest.length === 0) this.#opened.delete(content)
    else this.#opened.set(content, rest)
    return undefined
  }

  /** An agent hears a message on a connection. */
  answer(where: string, key: string, { id, isAnswer }: { readonly id: bigint; readonly isAnswer: boolean }) {
    const origin = this.#origins.get(key)
    if (origin === undefined) return `The ${where} hears of connection ${id}, which it never opened.`
    return !isAnswer || origin.known === undefined || this.#used.has(origin.known)
      ? undefined
      : `The ${where} hears an answer on connection ${id} that its client did not give.`
  }

  loseClient(connection: number): void {
    forget(this.#owners, connection)
    forget(this.#closed, connection)
  }

  /** The last messages may still be on their way to the client, so what was opened stays. */
  loseAgent(connection: number): void {
    forget(this.#origins, connection)
  }
}

export const oneOwnerPerId: Invariant = {
  id: "S3",
  sentence: "A connection id that a client sees means one connection of one agent for its whole life.",
  begin: () => {
    const ids = new Ids()
    const keyOf = (connection: number, { channel, id }: { readonly channel: string; readonly id: bigint }): string =>
      `${connection} ${channel} ${id}`
    return {
      on: {
        AgentSaid: ({ agent, bytes, cluster, connection }) => {
          const incoming = readDaemon(bytes)
          if (incoming?.content !== undefined)
            ids.open(incoming.content, { cluster, agent, key: keyOf(connection, incoming) })
        },
        ClientHeard: ({ bytes, client, connection }) => {
          const incoming = readDaemon(bytes)
          if (incoming === undefined) return undefined
          const { channel, content, id } = incoming
          const key = keyOf(connection, incoming)
          if (content !== undefined) return ids.hear(client, key, { content, id })
          return peekDaemon(bytes) === `${channel}.Close` ? ids.close(key) : undefined
        },
        ClientSaid: ({ bytes, connection }) => {
          const addressed = readClient(bytes)
          if (addressed !== undefined) ids.use(keyOf(connection, addressed))
        },
        AgentHeard: ({ agent, bytes, cluster, connection }) => {
          const addressed = readClient(bytes)
          if (addressed === undefined) return undefined
          const isAnswer = addressed.channel === "TcpSteal" && peekClient(bytes) !== "TcpSteal.ConnectionUnsubscribe"
          const { id } = addressed
          return ids.answer(`agent ${agent} in ${cluster}`, keyOf(connection, addressed), { id, isAnswer })
        },
        ClientLost: ({ connection }) => ids.loseClient(connection),
        AgentDisconnected: ({ connection }) => ids.loseAgent(connection)
      }
    }
  }
}
