/** Drives one strict client in tests: feeds inputs, collects outputs, and holds common messages. */

import type { ClientInput, ClientOptions, ClientRequest } from "../../../lab/client/client-input.ts"
import type { ClientEvent, ClientOutput, QueueName } from "../../../lab/client/client-output.ts"
import type { ClientState } from "../../../lab/client/client-state.ts"
import { makeClient, step } from "../../../lab/client/client.ts"
import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"

type Untimed = ClientInput extends infer I ? (I extends { readonly now: number } ? Omit<I, "now"> : never) : never

const options: ClientOptions = { kind: "intproxy", version: "1.29.0", pingInterval: 30_000, reconnect: false }

/** A strict client with all its outputs; the `take…` methods return and empty them. */
export class Driver {
  state: ClientState
  now = 5_000_000
  outputs: Array<ClientOutput> = []

  constructor(changes: Partial<ClientOptions> = {}) {
    this.state = makeClient({ ...options, ...changes })
  }

  put(input: Untimed): this {
    const [state, outputs] = step(this.state, { ...input, now: this.now } as ClientInput)
    this.state = state
    this.outputs.push(...outputs)
    return this
  }

  start(): this {
    return this.put({ _tag: "Start" })
  }

  bytes(bytes: Uint8Array): this {
    return this.put({ _tag: "Frame", kind: "binary", bytes })
  }

  hear(...messages: ReadonlyArray<DaemonMessage>): this {
    for (const message of messages) this.bytes(daemonMessage.encode(message))
    return this
  }

  ask(...requests: ReadonlyArray<ClientRequest>): this {
    for (const request of requests) this.put({ _tag: "Do", request })
    return this
  }

  later(ms: number): this {
    this.now += ms
    return this.put({ _tag: "Tick" })
  }

  takeSent(): ReadonlyArray<readonly [QueueName, ClientMessage]> {
    return this.#take("Send").map(({ queue, bytes }) => {
      const decoded = clientMessage.decode(bytes)
      if (decoded._tag !== "Decoded" || decoded.used !== bytes.length)
        throw new Error("the client sent something that is not one message")
      return [queue, decoded.value] as const
    })
  }

  takeMessages(): ReadonlyArray<ClientMessage> {
    return this.takeSent().map(([, message]) => message)
  }

  takeEvents(): ReadonlyArray<ClientEvent> {
    return this.#take("Event").map((output) => output.event)
  }

  takeReconnects(): ReadonlyArray<number> {
    return this.#take("Reconnect").map((output) => output.after)
  }

  get fatal(): string | undefined {
    const last = this.outputs.findLast((output) => output._tag === "Fatal")
    return last?._tag === "Fatal" ? last.rule : undefined
  }

  #take<T extends ClientOutput["_tag"]>(tag: T): ReadonlyArray<Extract<ClientOutput, { readonly _tag: T }>> {
    const hasTag = (output: ClientOutput): output is Extract<ClientOutput, { readonly _tag: T }> => output._tag === tag
    const taken = this.outputs.filter(hasTag)
    this.outputs = this.outputs.filter((output) => output._tag !== tag)
    return taken
  }
}

export const pong: DaemonMessage = { _tag: "Pong" }
export const version = (value: string): DaemonMessage => ({ _tag: "SwitchProtocolVersionResponse", value })
export const env: DaemonMessage = { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map([["A", "1"]]) } }
export const log = (level: "Warn" | "Error" | "Info"): DaemonMessage => ({
  _tag: "LogMessage",
  value: { message: "hello", level: { _tag: level } }
})
export const access: ClientRequest = { _tag: "File", request: { _tag: "Access", value: { pathname: "/a", mode: 0 } } }
export const accessed: DaemonMessage = { _tag: "File", value: { _tag: "Access", value: { _tag: "Ok", value: {} } } }
export const resolve: ClientRequest = { _tag: "Resolve", node: "db" }
export const resolved: DaemonMessage = {
  _tag: "GetAddrInfoResponse",
  value: { _tag: "Ok", value: [{ name: "db.", ip: "10.0.0.1" }] }
}
export const fetchEnv: ClientRequest = { _tag: "FetchEnv", selection: { filter: new Set(), select: new Set(["*"]) } }
export const address = { _tag: "Ip", value: { ip: "10.0.0.1", port: 5432 } } as const
export const steal = (port: number): ClientRequest => ({ _tag: "Steal", type: { _tag: "All", value: port } })
export const subscribed = (port: number): DaemonMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: port } }
})

/** An intproxy past its handshake. */
export const serving = (changes: Partial<ClientOptions> = {}, negotiated = "1.29.0"): Driver => {
  const driver = new Driver(changes).start().hear(pong, version(negotiated))
  driver.outputs = []
  return driver
}
