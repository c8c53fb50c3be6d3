/** Asks again what a recorded command has asked, through a relay that sees the answers. */

import { randomBytes } from "node:crypto"
import * as http from "node:http"
import WebSocket from "ws"
import { clientMessage } from "../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { ClientRelay } from "../support/client-relay.ts"
import { until } from "../support/until.ts"
import {
  endless,
  isFromClient,
  isLog,
  type Placeholders,
  type RecordedExchange,
  sentHeader,
  sessionHeader
} from "./transcript.ts"

type Headers = Readonly<Record<string, string>>

/** Resolves with the end of the answer, or with its beginning if it has no end. */
const ask = (server: string, { answer, request: asked }: RecordedExchange, headers: Headers, by: Placeholders) =>
  new Promise<void>((resolve, reject) => {
    const { body, method, path } = asked
    const filled = (_name: string, part: unknown): unknown => (typeof part === "string" ? by.fill(part) : part)
    const sent = body === undefined ? "" : JSON.stringify(body, filled)
    // Node sends a DELETE's body without its length.
    const framed = sent === "" ? headers : { ...headers, "content-length": Buffer.byteLength(sent) }
    const options = { method, headers: framed, path: by.fill(path), agent: false }
    const request = http.request(server, options, (received) => {
      if (answer.body === endless) return resolve()
      received.resume().once("end", resolve).once("error", reject)
    })
    request.once("error", reject)
    request.end(sent)
  })

/**
 * Says the client's messages, each after the answers that the client had heard before, and waits for the others. Ends
 * early if the connection does.
 *
 * @param earlier the command's connection before this one, which the client gives up once it has this one
 */
const converse = async (
  url: string,
  { messages = [] }: RecordedExchange,
  { "sec-websocket-protocol": protocol, ...headers }: Headers,
  earlier: WebSocket | undefined
): Promise<WebSocket> => {
  const socket = new WebSocket(url, protocol, { headers, perMessageDeflate: false })
  const heard = { logs: 0, others: 0 }
  let isOver = false
  socket.on("message", (data: Buffer) => {
    const decoded = daemonMessage.decode(new Uint8Array(data))
    const message = decoded._tag === "Decoded" ? decoded.value : decoded
    if (message._tag === "OperatorPing")
      return socket.send(clientMessage.encode({ _tag: "OperatorPong", value: message.value }), { binary: true })
    heard[message._tag === "LogMessage" ? "logs" : "others"] += 1
  })
  for (const end of ["close", "error", "unexpected-response"]) socket.on(end, () => (isOver = true))
  await until(`an answer to ${url}`, () => (isOver || socket.readyState === WebSocket.OPEN ? true : undefined))
  earlier?.terminate()
  const expected = { logs: 0, others: 0 }
  for (const message of messages) {
    if (isOver) break
    if (isFromClient(message)) socket.send(Buffer.from(message.split(" ")[1] ?? "", "hex"), { binary: true })
    else {
      const kind = isLog(message) ? "logs" : "others"
      expected[kind] += 1
      await until(`${message} from ${url}`, () => (isOver || heard[kind] >= expected[kind] ? true : undefined))
    }
  }
  return socket
}

/** Has letters, by which its forms differ, and a leading zero, which some of them leave out. */
const newId = (): bigint => BigInt(`0x0abc${randomBytes(6).toString("hex")}`)

/** Whether an answer tells of a copy that is still being made, of which the client asks again. */
const isInProgress = (answer = ""): boolean => answer.includes('"phase":"InProgress"')

/** Plays a command's exchanges, one after the other. The last socket stays open until the relay is closed. */
export const playRecorded = async (
  relay: ClientRelay,
  exchanges: ReadonlyArray<RecordedExchange>,
  by: Placeholders
): Promise<void> => {
  let socket: WebSocket | undefined
  for (const exchange of exchanges) {
    const { answer, messages = [], request } = exchange
    const session = request.headers[sessionHeader] ?? ""
    if (session !== "" && by.fill(session) === session) by.addSession(newId())
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, sentHeader(name, value, by)])
    )
    const { connection: _connection, "sec-websocket-version": _version, upgrade, ...others } = headers
    if (upgrade === undefined) {
      do await ask(relay.server, exchange, headers, by)
      while (isInProgress(relay.exchanges.at(-1)?.answer) && !isInProgress(JSON.stringify(answer)))
    } else {
      socket = await converse(
        `${relay.server.replace("http:", "ws:")}${by.fill(request.path)}`,
        exchange,
        others,
        socket
      )
      // The relay may not have seen yet what was sent last.
      await until(`all messages to ${request.path}`, () => {
        const { isOpen = false, messages: seen = [] } = relay.exchanges.at(-1) ?? {}
        const sent = seen.filter(({ from }) => from === "client").length
        return !isOpen || sent >= messages.filter(isFromClient).length ? true : undefined
      })
    }
    for (const seen of relay.exchanges) by.learn(seen)
  }
}
