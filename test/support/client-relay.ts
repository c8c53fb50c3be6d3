/**
 * Stands between a client and an API server as a person with a client certificate uses it, and keeps what both say:
 * each request with its answer, and the messages of WebSockets.
 */

import { readFileSync, writeFileSync } from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import type { Duplex } from "node:stream"
import { parse, stringify } from "yaml"
import { FrameHeader, opcode } from "../../src/domain/websocket/frame-header.ts"
import { type Kubeconfig, tlsOf } from "../real/api-client.ts"
import { listenLocally } from "./listen-locally.ts"

/** A message of a WebSocket. */
export interface RelayedMessage {
  readonly from: "client" | "operator"
  readonly bytes: Uint8Array
}

/** A request, and its answer as far as it came. */
export interface RelayedExchange {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  body: string
  /** 0 before there is an answer. */
  status: number
  answerHeaders: http.IncomingHttpHeaders
  answer: string
  /** Whether the answer, or the WebSocket, goes on. */
  isOpen: boolean
  /** Undefined unless the answer is a WebSocket. */
  messages: Array<RelayedMessage> | undefined
}

export interface ClientRelay {
  /** Kubeconfig of the same user at this address. */
  readonly kubeconfig: string
  readonly server: string
  /** Oldest first. */
  readonly exchanges: ReadonlyArray<RelayedExchange>
  readonly close: () => void
}

/** Finds the binary messages in the bytes of one direction. */
const messagesIn = (found: (bytes: Uint8Array) => void): ((chunk: Buffer) => void) => {
  const header = new FrameHeader()
  let rest = Buffer.alloc(0)
  const parts: Array<Uint8Array> = []
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (header.read(rest, 0, rest.length) && rest.length >= header.size + header.length) {
      const payload = rest.subarray(header.size, header.size + header.length)
      if (header.opcode === opcode.binary || header.opcode === opcode.continuation) {
        parts.push(payload.map((byte, at) => byte ^ (header.isMasked ? (header.key >>> (8 * (at % 4))) & 255 : 0)))
        if (header.isFinal) found(Uint8Array.from(Buffer.concat(parts.splice(0))))
      }
      rest = rest.subarray(header.size + header.length)
    }
  }
}

/** `path`: where the new kubeconfig is written. `change`: makes another text of every answer 200 to this path. */
export const startClientRelay = async (
  kubeconfig: string,
  path: string,
  change?: { readonly path: string; readonly of: (answer: string) => string }
): Promise<ClientRelay> => {
  const config = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig
  const { server: upstream, tls } = tlsOf(config)
  const agent = new https.Agent({ ...tls, keepAlive: true })
  const sockets = new Set<Duplex>()
  const exchanges: Array<RelayedExchange> = []
  const begin = ({ headers, method = "GET", url = "/" }: http.IncomingMessage): RelayedExchange => {
    const asked = { method, path: url, headers, body: "", status: 0, answerHeaders: {}, answer: "" }
    const exchange: RelayedExchange = { ...asked, isOpen: true, messages: undefined }
    exchanges.push(exchange)
    return exchange
  }
  const ask = (exchange: RelayedExchange, options: https.RequestOptions): http.ClientRequest => {
    const { host: _, ...headers } = exchange.headers
    // The path as it came: an URL would lose an empty query.
    return https.request(upstream, { method: exchange.method, headers, path: exchange.path, ...options })
  }
  const begun = (exchange: RelayedExchange, { headers, statusCode = 500 }: http.IncomingMessage): void => {
    exchange.status = statusCode
    exchange.answerHeaders = headers
  }
  const note = (exchange: RelayedExchange, answer: http.IncomingMessage): void => {
    begun(exchange, answer)
    answer.setEncoding("utf8").on("data", (part: string) => (exchange.answer += part))
    answer.once("close", () => (exchange.isOpen = false))
  }
  const relay = http.createServer((incoming, outgoing) => {
    const exchange = begin(incoming)
    const request = ask(exchange, { agent })
    request.on("error", () => outgoing.destroy())
    outgoing.on("close", () => request.destroy())
    request.on("response", (answer) => {
      note(exchange, answer)
      const { "content-length": _, ...headers } = answer.headers
      outgoing.writeHead(exchange.status, headers)
      outgoing.flushHeaders()
      const isChanged = change?.path === exchange.path && exchange.status === 200
      if (!isChanged) answer.on("data", (part: string) => void outgoing.write(part))
      answer.on("end", () => outgoing.end(isChanged ? change.of(exchange.answer) : ""))
    })
    incoming.on("data", (part: Buffer) => (exchange.body += part.toString()))
    incoming.pipe(request)
  })
  relay.on("connection", (socket) => void sockets.add(socket))
  relay.on("upgrade", (incoming, client: Duplex) => {
    const exchange = begin(incoming)
    const request = ask(exchange, { ...tls, agent: false })
    const head = ({ rawHeaders, statusCode = 500, statusMessage = "" }: http.IncomingMessage): string => {
      const lines = rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("")
      return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines}\r\n`
    }
    request.on("error", () => client.destroy())
    request.on("response", (answer) => {
      client.write(head(answer))
      note(exchange, answer)
      answer.pipe(client)
    })
    request.on("upgrade", (answer, member, first) => {
      sockets.add(member)
      begun(exchange, answer)
      const messages: Array<RelayedMessage> = (exchange.messages = [])
      client.on(
        "data",
        messagesIn((bytes) => messages.push({ from: "client", bytes }))
      )
      const said = messagesIn((bytes) => messages.push({ from: "operator", bytes }))
      said(first)
      member.on("data", said)
      client.write(head(answer))
      client.write(first)
      client.pipe(member).pipe(client)
      for (const [one, other] of [
        [client, member],
        [member, client]
      ] as const)
        one
          .on("error", () => other.destroy())
          .on("close", () => {
            exchange.isOpen = false
            other.destroy()
          })
    })
    request.end()
  })
  const server = `http://127.0.0.1:${await listenLocally(relay)}`
  const [cluster] = config.clusters
  writeFileSync(
    path,
    stringify({
      ...config,
      clusters: [{ ...cluster, cluster: { server } }],
      users: config.users.map((user) => ({ ...user, user: {} }))
    })
  )
  return {
    kubeconfig: path,
    server,
    exchanges,
    close: () => {
      relay.close()
      for (const socket of sockets) socket.destroy()
      agent.destroy()
    }
  }
}
