import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { DaemonTcp } from "../../../src/domain/protocol/incoming-messages.ts"
import { memberName } from "../../../src/domain/relay/member.ts"
import {
  makeRouter,
  type RouterInput,
  type RouterOptions,
  type RouterOutput,
  type RouterState,
  step
} from "../../../src/domain/relay/router.ts"

export const a = memberName("cluster-a")
export const b = memberName("cluster-b")
export const c = memberName("cluster-c")

export const options: RouterOptions = {
  members: [a, b],
  defaultMember: a,
  memberKind: "cluster",
  mergeBound: 2000,
  pingMembersEvery: undefined
}

const decode = <T>(
  codec: { readonly decode: (bytes: Uint8Array) => { readonly _tag: string; readonly value?: T } },
  bytes: Uint8Array
): T => {
  const decoded = codec.decode(bytes)
  if (decoded._tag !== "Decoded" || decoded.value === undefined)
    throw new Error(`the router sent bytes that do not decode: ${Array.from(bytes).join(" ")}`)
  return decoded.value
}

type Event = RouterInput extends infer I ? (I extends { readonly now: number } ? Omit<I, "now"> : never) : never

/** A router with everything that came out of it, decoded; `take…` empties the respective list. */
export class Scenario {
  state: RouterState
  now = 1_000_000
  outputs: Array<RouterOutput> = []

  constructor(changes: Partial<RouterOptions> = {}) {
    this.state = makeRouter({ ...options, ...changes })
  }

  /** Members connected and their versions known; what they were told is taken away. */
  static connected(versions: Readonly<Record<string, string>> = {}, changes: Partial<RouterOptions> = {}): Scenario {
    const s = new Scenario(changes)
    for (const member of s.state.options.members) {
      s.put({ _tag: "MemberConnected", member })
      s.member(member, { _tag: "SwitchProtocolVersionResponse", value: versions[member] ?? "1.29.0" })
    }
    s.take()
    return s
  }

  put(event: Event): this {
    const [state, outputs] = step(this.state, { ...event, now: this.now } as RouterInput)
    this.state = state
    this.outputs.push(...outputs)
    return this
  }

  client(message: ClientMessage): this {
    return this.put({ _tag: "FromClient", bytes: clientMessage.encode(message) })
  }

  member(member: typeof a, message: DaemonMessage): this {
    return this.put({ _tag: "FromMember", member, bytes: daemonMessage.encode(message) })
  }

  steal(member: typeof a, value: DaemonTcp): this {
    return this.member(member, { _tag: "TcpSteal", value })
  }

  lose(member: typeof a): this {
    return this.put({ _tag: "MemberLost", member, reason: "socket closed" })
  }

  later(ms: number): this {
    this.now += ms
    return this.put({ _tag: "Tick" })
  }

  take(): ReadonlyArray<RouterOutput> {
    return this.outputs.splice(0)
  }

  /** Takes what went to the client. */
  toClient(): ReadonlyArray<DaemonMessage> {
    return this.#takeIf((output) =>
      output._tag === "ToClient" ? decode<DaemonMessage>(daemonMessage, output.bytes) : undefined
    )
  }

  /** Takes what went to a member. */
  toMember(member: typeof a): ReadonlyArray<ClientMessage> {
    return this.#takeIf((output) =>
      output._tag === "ToMember" && output.member === member
        ? decode<ClientMessage>(clientMessage, output.bytes)
        : undefined
    )
  }

  has<T extends RouterOutput["_tag"]>(tag: T): ReadonlyArray<Extract<RouterOutput, { readonly _tag: T }>> {
    return this.outputs.filter((output): output is Extract<RouterOutput, { readonly _tag: T }> => output._tag === tag)
  }

  #takeIf<T>(pick: (output: RouterOutput) => T | undefined): ReadonlyArray<T> {
    const taken: Array<T> = []
    this.outputs = this.outputs.filter((output) => {
      const value = pick(output)
      if (value !== undefined) taken.push(value)
      return value === undefined
    })
    return taken
  }
}

// Messages used again and again

export const announce = (value: string): ClientMessage => ({ _tag: "SwitchProtocolVersion", value })
export const version = (value: string): DaemonMessage => ({ _tag: "SwitchProtocolVersionResponse", value })
export const ping: ClientMessage = { _tag: "Ping" }
export const pong: DaemonMessage = { _tag: "Pong" }
export const ready: ClientMessage = { _tag: "ReadyForLogs" }
export const stealPort = (port: number): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "All", value: port } }
})
export const stealHeader = (port: number, filter: string): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "FilteredHttpEx", port, filter: { _tag: "Header", value: filter } } }
})
export const stealMethod = (port: number): ClientMessage => ({
  _tag: "TcpSteal",
  value: {
    _tag: "PortSubscribe",
    value: { _tag: "FilteredHttpEx", port, filter: { _tag: "Method", value: { _tag: "Get" } } }
  }
})
export const unsteal = (port: number): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "PortUnsubscribe", value: port }
})
export const ok = (port: number): DaemonTcp => ({ _tag: "SubscribeResult", value: { _tag: "Ok", value: port } })
export const stolen = (port: number): DaemonTcp => ({
  _tag: "SubscribeResult",
  value: { _tag: "Err", error: { _tag: "PortAlreadyStolen", value: port } }
})
export const request = (connectionId: bigint, requestId = 0): DaemonTcp => ({
  _tag: "HttpRequestChunked",
  value: {
    _tag: "StartV2",
    value: {
      connectionId,
      requestId,
      request: { method: "GET", uri: "/", headers: [], version: "HTTP/1.1", body: { frames: [], isLast: false } },
      metadata: { _tag: "V1", source: { ip: "10.0.0.9", port: 51000 }, destination: { ip: "10.0.0.5", port: 80 } },
      transport: { _tag: "Tcp" }
    }
  }
})
export const connection = (connectionId: bigint): DaemonTcp => ({
  _tag: "NewConnectionV1",
  value: { connectionId, remoteAddress: "10.0.0.9", destinationPort: 80, sourcePort: 51000, localAddress: "10.0.0.5" }
})
export const requestBody = (connectionId: bigint, text: string, requestId = 0): DaemonTcp => ({
  _tag: "HttpRequestChunked",
  value: {
    _tag: "Body",
    value: { frames: [{ _tag: "Data", value: new TextEncoder().encode(text) }], isLast: true, connectionId, requestId }
  }
})
export const data = (connectionId: bigint, text: string) =>
  ({ _tag: "Data", value: { connectionId, bytes: new TextEncoder().encode(text) } }) as const
export const closed = (connectionId: bigint): DaemonTcp => ({ _tag: "Close", value: { connectionId } })
export const unsubscribeId = (value: bigint): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "ConnectionUnsubscribe", value }
})
const head = { status: 200, version: "HTTP/1.1", headers: [] } as const
export const respond = (connectionId: bigint, text: string, requestId = 0): ClientMessage => ({
  _tag: "TcpSteal",
  value: {
    _tag: "HttpResponse",
    value: { port: 80, connectionId, requestId, internalResponse: { ...head, body: new TextEncoder().encode(text) } }
  }
})
export const responseStart = (connectionId: bigint, requestId = 0): ClientMessage => ({
  _tag: "TcpSteal",
  value: {
    _tag: "HttpResponseChunked",
    value: { _tag: "Start", value: { port: 80, connectionId, requestId, internalResponse: { ...head, body: [] } } }
  }
})
export const responseBody = (
  connectionId: bigint,
  bytes: Uint8Array,
  isLast: boolean,
  requestId = 0
): ClientMessage => ({
  _tag: "TcpSteal",
  value: {
    _tag: "HttpResponseChunked",
    value: { _tag: "Body", value: { frames: [{ _tag: "Data", value: bytes }], isLast, connectionId, requestId } }
  }
})
export const responseError = (connectionId: bigint, requestId = 0): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "HttpResponseChunked", value: { _tag: "Error", value: { connectionId, requestId } } }
})
export const logOf = (message: DaemonMessage | undefined): string =>
  message?._tag === "LogMessage" ? message.value.message : `no log message: ${message?._tag}`
