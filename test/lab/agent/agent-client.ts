/** A client of an agent for tests, over the agent's raw TCP side. */

import * as net from "node:net"
import { TLSSocket } from "node:tls"
import { StreamDecoder } from "../../../lab/agent/stream-decoder.ts"
import type { AgentTls } from "../../../src/adapters/agents/secure-agent.ts"
import { clientMessage, type ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage, DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { nodeTls } from "../../support/agent-tls.ts"

/** A message with bytes as latin-1 text and maps as objects, so that expectations are easy to write. */
const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1")
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, part]) => [String(key), plain(part)]))
  if (Array.isArray(value)) return value.map(plain)
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]))
  }
  return value
}

/** A client of an agent. Messages are handed out in the order of their arrival. */
export class AgentClient {
  readonly socket: net.Socket
  readonly #decoder = new StreamDecoder(daemonMessage, DaemonMessage)
  readonly #arrived: Array<DaemonMessage> = []
  readonly #waiting: Array<(message: DaemonMessage | undefined) => void> = []
  #closed = false

  /** With `tls` the client is an operator. */
  constructor(port: number, tls?: AgentTls) {
    const socket = net.connect({ port, host: "127.0.0.1", noDelay: true })
    this.socket = tls === undefined ? socket : new TLSSocket(socket, { isServer: true, ...nodeTls(tls) })
    this.socket.on("data", (bytes) => {
      for (const { value } of this.#decoder.feed(bytes).messages) {
        const waiting = this.#waiting.shift()
        if (waiting === undefined) this.#arrived.push(value)
        else waiting(value)
      }
    })
    this.socket.on("error", () => undefined)
    // A handshake that fails ends the stream, and a write that waits for it then keeps the socket from closing.
    for (const event of ["end", "close"]) {
      this.socket.on(event, () => {
        this.#closed = true
        for (const waiting of this.#waiting.splice(0)) waiting(undefined)
      })
    }
  }

  send(...messages: ReadonlyArray<ClientMessage>): void {
    this.socket.write(Buffer.concat(messages.map((message) => clientMessage.encode(message))))
  }

  /** The next message, or `undefined` once the agent has ended the connection. */
  next(): Promise<DaemonMessage | undefined> {
    const message = this.#arrived.shift()
    if (message !== undefined || this.#closed) return Promise.resolve(message)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async take(count: number): Promise<ReadonlyArray<unknown>> {
    const messages: Array<unknown> = []
    for (let i = 0; i < count; i++) messages.push(plain(await this.next()))
    return messages
  }

  async ask(message: ClientMessage): Promise<unknown> {
    this.send(message)
    return plain(await this.next())
  }

  /** All messages until the agent has handled everything that was sent before. */
  async settle(): Promise<ReadonlyArray<unknown>> {
    this.send({ _tag: "Ping" })
    const messages: Array<unknown> = []
    for (
      let message = await this.next();
      message !== undefined && message._tag !== "Pong";
      message = await this.next()
    ) {
      messages.push(plain(message))
    }
    return messages
  }

  close(): void {
    this.socket.destroy()
  }
}
