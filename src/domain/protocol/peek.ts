/**
 * The one recogniser of messages: finds a message's row in the routing table by its first bytes, without decoding it.
 * The names are those of the shapes.
 *
 * Not here: whether the rest of the message is sound (codec.ts).
 */

import { ClientMessage } from "./client-message.ts"
import { DaemonMessage } from "./daemon-message.ts"
import { FileRequest, FileResponse } from "./file-messages.ts"
import { ChunkedRequest, ChunkedResponse } from "./http-messages.ts"
import { DaemonTcp, LayerTcp, LayerTcpSteal } from "./incoming-messages.ts"
import {
  DaemonSeqpacket,
  DaemonTcpOutgoing,
  DaemonUdpOutgoing,
  LayerSeqpacket,
  LayerTcpOutgoing,
  LayerUdpOutgoing
} from "./outgoing-messages.ts"
import { marker, varintTail } from "./reader.ts"
import type { Shape } from "./shape.ts"

/** Names of one variant, from the outermost enum inwards: `TcpSteal.HttpResponseChunked.Body`. */
export type ClientRowKey =
  | Exclude<
      ClientMessage["_tag"],
      "Tcp" | "TcpSteal" | "TcpOutgoing" | "UdpOutgoing" | "SeqpacketOutgoing" | "FileRequest"
    >
  | `Tcp.${LayerTcp["_tag"]}`
  | `TcpSteal.${Exclude<LayerTcpSteal["_tag"], "HttpResponseChunked">}`
  | `TcpSteal.HttpResponseChunked.${ChunkedResponse["_tag"]}`
  | `TcpOutgoing.${LayerTcpOutgoing["_tag"]}`
  | `UdpOutgoing.${LayerUdpOutgoing["_tag"]}`
  | `SeqpacketOutgoing.${LayerSeqpacket["_tag"]}`
  | `FileRequest.${FileRequest["_tag"]}`

type IncomingKey = Exclude<DaemonTcp["_tag"], "HttpRequestChunked"> | `HttpRequestChunked.${ChunkedRequest["_tag"]}`
/** As {@link ClientRowKey}, of the other direction. */
export type DaemonRowKey =
  | Exclude<DaemonMessage["_tag"], "Tcp" | "TcpSteal" | "TcpOutgoing" | "UdpOutgoing" | "SeqpacketOutgoing" | "File">
  | `Tcp.${IncomingKey}`
  | `TcpSteal.${IncomingKey}`
  | `TcpOutgoing.${DaemonTcpOutgoing["_tag"]}`
  | `UdpOutgoing.${DaemonUdpOutgoing["_tag"]}`
  | `SeqpacketOutgoing.${DaemonSeqpacket["_tag"]}`
  | `File.${FileResponse["_tag"]}`

/** The messages of type `M` whose names, from the outermost inwards, are `K`. */
type MessageAt<M, K> = K extends `${infer Outer}.${infer Inner}`
  ? M extends { readonly _tag: Outer; readonly value: infer V }
    ? { readonly _tag: Outer; readonly value: MessageAt<V, Inner> }
    : never
  : Extract<M, { readonly _tag: K }>
export type ClientMessageAt<K extends ClientRowKey> = MessageAt<ClientMessage, K>
export type DaemonMessageAt<K extends DaemonRowKey> = MessageAt<DaemonMessage, K>

/** Enums inside of messages whose variants have rows of their own; the other variants of a row differ in content. */
const opened: ReadonlySet<Shape> = new Set<Shape>([
  LayerTcp,
  LayerTcpSteal,
  ChunkedResponse,
  LayerTcpOutgoing,
  LayerUdpOutgoing,
  LayerSeqpacket,
  FileRequest,
  DaemonTcp,
  ChunkedRequest,
  DaemonTcpOutgoing,
  DaemonUdpOutgoing,
  DaemonSeqpacket,
  FileResponse
])

/** A variant at its index on the wire: the key of its row, or the variants that follow it. */
interface Node {
  readonly tag: string
  readonly key: string
  readonly inner: ReadonlyArray<Node> | undefined
}

const nodesOf = (shape: Shape, prefix = ""): ReadonlyArray<Node> => {
  if (shape.kind !== "enum") return []
  return shape.variants.map(({ fields, name }) => {
    const content = fields[0]?.shape
    const inner = content !== undefined && opened.has(content) ? nodesOf(content, `${prefix}${name}.`) : undefined
    return { tag: name, key: `${prefix}${name}`, inner }
  })
}

const clientNodes = nodesOf(ClientMessage)
const daemonNodes = nodesOf(DaemonMessage)

const keysOf = (nodes: ReadonlyArray<Node>): ReadonlyArray<string> =>
  nodes.flatMap(({ inner, key }) => (inner === undefined ? [key] : keysOf(inner)))

/** Every row of a client's messages, in the order of the wire. */
export const clientRowKeys = keysOf(clientNodes) as ReadonlyArray<ClientRowKey>

/** As {@link clientRowKeys}, of a daemon's messages. */
export const daemonRowKeys = keysOf(daemonNodes) as ReadonlyArray<DaemonRowKey>

/** The innermost variant with a row of its own, by the indices at the front of `bytes`; overlong indices count too. */
const find = (roots: ReadonlyArray<Node>, bytes: Uint8Array, isOutermost: boolean): Node | undefined => {
  let nodes = roots
  let offset = 0
  for (;;) {
    const first = bytes[offset]
    if (first === undefined || first > marker.u32) return undefined
    const tail = varintTail(first)
    if (bytes.length - offset <= tail) return undefined
    let index = tail === 0 ? first : 0
    for (let i = tail; i > 0; i--) index = index * 256 + (bytes[offset + i] ?? 0)
    const node = nodes[index]
    if (node?.inner === undefined || isOutermost) return node
    offset += tail + 1
    nodes = node.inner
  }
}

/**
 * The row of a client's message; `undefined` if the message ends too early, or has a variant that this version of the
 * protocol does not know, so that it does not decode either. The tests of the table check that the keys are of the
 * type.
 */
export const peekClient = (bytes: Uint8Array): ClientRowKey | undefined =>
  find(clientNodes, bytes, false)?.key as ClientRowKey | undefined

/** As {@link peekClient}, of a daemon's message. */
export const peekDaemon = (bytes: Uint8Array): DaemonRowKey | undefined =>
  find(daemonNodes, bytes, false)?.key as DaemonRowKey | undefined

/** The outermost variant of a client's message, whatever is inside. */
export const clientTag = (bytes: Uint8Array): ClientMessage["_tag"] | undefined =>
  find(clientNodes, bytes, true)?.tag as ClientMessage["_tag"] | undefined

/** As {@link clientTag}, of a daemon's message. */
export const daemonTag = (bytes: Uint8Array): DaemonMessage["_tag"] | undefined =>
  find(daemonNodes, bytes, true)?.tag as DaemonMessage["_tag"] | undefined
