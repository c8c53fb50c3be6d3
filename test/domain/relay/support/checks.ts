/** Checks that hold in every world that has settled. */

import * as HashMap from "effect/HashMap"
import { expect } from "vitest"
import type { ClientMessage } from "../../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import type { World } from "./world.ts"

/** Nobody has broken a rule: the client lives, no agent got what is another's or what it cannot read. */
export const nobodyHurt = (world: World): void => {
  expect(world.fatal).toBeUndefined()
  expect(world.violations).toEqual([])
  expect(world.events.filter((event) => "replaced" in event && event.replaced)).toEqual([])
}

/** Every request that has an answer has got it, once: a second one would have been fatal or ignored. */
export const everythingAnswered = (world: World): void => {
  const { files, lookups, envs, connects, legacyConnects, subscriptions, held } = world.client
  expect({ files, lookups, envs, connects, legacyConnects, held }).toEqual({
    files: [],
    lookups: [],
    envs: [],
    connects: [],
    legacyConnects: { Tcp: [], Udp: [] },
    held: []
  })
  expect([...subscriptions].filter(([, { confirmed }]) => !confirmed)).toEqual([])
  expect(world.client.pings.expected).toBe(0)
}

/** The ids of new connections and requests, in the order in which the client saw them. */
const newIds = (messages: ReadonlyArray<DaemonMessage>): ReadonlyArray<bigint> =>
  messages.flatMap((message) => {
    if (message._tag !== "Tcp" && message._tag !== "TcpSteal") return []
    const { value } = message
    switch (value._tag) {
      case "NewConnectionV1":
      case "HttpRequest":
      case "HttpRequestFramed":
        return [value.value.connectionId]
      case "NewConnectionV2":
        return [value.value.connection.connectionId]
      case "HttpRequestChunked":
        return value.value._tag === "StartV1" || value.value._tag === "StartV2" ? [value.value.value.connectionId] : []
      default:
        return []
    }
  })

/** No id twice on one socket, whatever channel and member. */
export const idsNeverReused = (world: World): void => {
  for (const socket of world.received) {
    const ids = newIds(socket)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
  }
}

/** The router knows exactly the connections that its members have open. */
export const mappingsMatch = (world: World): void => {
  const open = [...world.agents.values()].reduce(
    (sum, agent) => sum + agent.open.Tcp.size + agent.open.TcpSteal.size,
    0
  )
  expect(HashMap.size(world.router.ids.routes)).toBe(open)
}

const statefulTags: ReadonlySet<ClientMessage["_tag"]> = new Set([
  "FileRequest",
  "GetEnvVarsRequest",
  "GetAddrInfoRequest",
  "GetAddrInfoRequestV2",
  "TcpOutgoing",
  "UdpOutgoing",
  "SeqpacketOutgoing"
])
export const isStateful = (message: ClientMessage): boolean => statefulTags.has(message._tag)

/** The FIFO of the client that a stateful message travels in (wire.md §6.15). */
export const fifoOf = ({ _tag }: ClientMessage): "files" | "simple" | "outgoing" => {
  if (_tag === "FileRequest") return "files"
  return _tag.endsWith("Outgoing") ? "outgoing" : "simple"
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** The part of a message that says where it comes from: a log line, bytes of a connection, the URI of a request. */
export const marker = (message: DaemonMessage): string | undefined => {
  if (message._tag === "LogMessage") return message.value.message
  if (message._tag === "File" && message.value._tag === "Read" && message.value.value._tag === "Ok")
    return `read ${text(message.value.value.value.bytes)}`
  if (message._tag !== "Tcp" && message._tag !== "TcpSteal") return undefined
  const { value } = message
  if (value._tag === "Data") return text(value.value.bytes)
  if (value._tag !== "HttpRequestChunked") return undefined
  const chunk = value.value
  if (chunk._tag === "StartV2") return `start ${chunk.value.request.uri}`
  if (chunk._tag !== "Body") return undefined
  return `body ${chunk.value.frames.map((frame) => (frame._tag === "Data" ? text(frame.value) : "")).join("")}`
}

/** Whether `part` is left when something is taken out of `whole`. */
export const isSubsequence = (part: ReadonlyArray<string>, whole: ReadonlyArray<string>): boolean => {
  let at = 0
  for (const one of whole) if (one === part[at]) at++
  return at === part.length
}
