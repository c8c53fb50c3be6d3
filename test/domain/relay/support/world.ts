import type { ClientInput, ClientOptions, ClientRequest } from "../../../../lab/client/client-input.ts"
import type { ClientEvent, ClientOutput, QueueName } from "../../../../lab/client/client-output.ts"
import type { ClientState } from "../../../../lab/client/client-state.ts"
import { makeClient, step as stepClient } from "../../../../lab/client/client.ts"
import { type ClientMessage, clientMessage } from "../../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import { type MemberName, memberName } from "../../../../src/domain/relay/member.ts"
import {
  type DropReason,
  makeRouter,
  type RouterInput,
  type RouterOptions,
  type RouterOutput,
  type RouterState,
  step as stepRouter
} from "../../../../src/domain/relay/router.ts"
import { command } from "./agent-commands.ts"
import { type Agent, type AgentCommand, type AgentOutput, makeAgent, type Source } from "./agent-state.ts"
import { answerTraffic } from "./local-program.ts"
import { hear } from "./scripted-agent.ts"

export const a = memberName("cluster-a")
export const b = memberName("cluster-b")
export const c = memberName("cluster-c")

export interface WorldOptions {
  readonly client?: Partial<ClientOptions>
  readonly members?: ReadonlyArray<MemberName>
  /** Versions of the agents; 1.29.0 where nothing is said. */
  readonly versions?: Readonly<Partial<Record<string, string>>>
  readonly router?: Partial<RouterOptions>
  /** Members that are not connected at the start. */
  readonly away?: ReadonlyArray<MemberName>
}

/** Something that happens to the world from outside. */
export type Deed =
  | { readonly _tag: "Do"; readonly request: ClientRequest }
  | { readonly _tag: "At"; readonly member: MemberName; readonly command: AgentCommand }
  | { readonly _tag: "Lose"; readonly member: MemberName }
  | { readonly _tag: "Return"; readonly member: MemberName }
  | { readonly _tag: "Wait"; readonly ms: number }
  /** The other side sees bytes of the client that a strict client would not send. */
  | { readonly _tag: "Bytes"; readonly bytes: Uint8Array }
  /** A member says bytes that no agent would. */
  | { readonly _tag: "BytesFrom"; readonly member: MemberName; readonly bytes: Uint8Array }

type Untimed<I> = I extends { readonly now: number } ? Omit<I, "now"> : never

const decoded = <T>(
  codec: { readonly name: string; readonly decode: (bytes: Uint8Array) => { readonly _tag: string } },
  bytes: Uint8Array
): T => {
  const result = codec.decode(bytes) as { readonly _tag: string; readonly value?: T; readonly used?: number }
  if (result._tag !== "Decoded" || result.value === undefined)
    throw new Error(`bytes that are no ${codec.name}: ${bytes.join(" ")}`)
  if (result.used !== bytes.length) throw new Error(`bytes after a ${codec.name}: ${bytes.join(" ")}`)
  return result.value
}

/** Something that may happen next: one message of one queue. */
interface Possible {
  readonly name: string
  readonly run: () => void
}

/**
 * One strict client, one router and its agents, with every queue between them; `play` lets the caller choose what
 * happens next, `settle` plays until nothing is left and lets time pass.
 */
export class World {
  now = 1_000_000
  readonly options: WorldOptions
  client: ClientState
  router: RouterState
  readonly routerOptions: RouterOptions
  /** Members that can be reached; a new socket of the client gets a connection to each. */
  readonly up = new Set<MemberName>()
  readonly agents = new Map<MemberName, Agent>()
  /** Agents of connections that are over. */
  readonly formerAgents: Array<Agent> = []
  readonly fromClient = new Map<QueueName | "raw", Array<Uint8Array>>()
  toClient: Array<Uint8Array> = []
  readonly toMember = new Map<MemberName, Array<Uint8Array>>()
  readonly fromMember = new Map<MemberName, Map<Source, Array<DaemonMessage>>>()
  /** The end of the client's socket that follows once everything before it is delivered. */
  ending: "drop" | "end" | undefined
  deeds: Array<Deed> = []

  // The record for the test
  readonly events: Array<ClientEvent> = []
  /** Per socket of the client what it was sent. */
  readonly received: Array<Array<DaemonMessage>> = [[]]
  readonly sent: Array<ClientMessage> = []
  /** The messages that the router was given by its members, in that order. */
  readonly fed: Array<{ readonly member: MemberName; readonly message: DaemonMessage }> = []
  readonly dropped: Array<DropReason> = []
  readonly warnings: Array<string> = []
  readonly disconnected: Array<MemberName> = []
  /** Members as they were lost, each time. */
  readonly losses: Array<MemberName> = []
  /** Byte buffers as they went into and came out of the router. */
  readonly buffers: Array<{ readonly direction: "in" | "out"; readonly bytes: Uint8Array }> = []
  fatal: string | undefined
  ended: string | undefined
  clientDropped: string | undefined
  #clientWake: number | undefined
  #routerWake: number | undefined
  #reconnecting = false

  constructor(options: WorldOptions = {}) {
    this.options = options
    const members = options.members ?? [a, b]
    const [defaultMember] = members
    if (defaultMember === undefined) throw new Error("a world needs a member")
    this.routerOptions = {
      members,
      defaultMember,
      memberKind: "cluster",
      mergeBound: 2000,
      pingMembersEvery: undefined,
      ...options.router
    }
    this.client = makeClient({
      kind: "intproxy",
      version: "1.29.0",
      pingInterval: 30_000,
      reconnect: true,
      startIdleTimeout: 1e9,
      ...options.client
    })
    this.router = makeRouter(this.routerOptions)
    for (const member of members) if (!(options.away ?? []).includes(member)) this.comeBack(member)
    this.#feedClient({ _tag: "Start" })
  }

  // Happenings

  connect(member: MemberName): void {
    this.#retire(member)
    this.agents.set(member, makeAgent(member, this.options.versions?.[member] ?? "1.29.0"))
    this.toMember.set(member, [])
    this.fromMember.set(member, new Map())
    this.#feedRouter({ _tag: "MemberConnected", member })
  }

  lose(member: MemberName): void {
    this.up.delete(member)
    if (!this.agents.has(member)) return
    this.losses.push(member)
    this.#retire(member)
    this.#feedRouter({ _tag: "MemberLost", member, reason: "its socket was closed" })
  }

  comeBack(member: MemberName): void {
    this.up.add(member)
    if (!this.agents.has(member) && !this.#reconnecting && this.ending === undefined) this.connect(member)
  }

  ask(...requests: ReadonlyArray<ClientRequest>): this {
    for (const request of requests) this.#feedClient({ _tag: "Do", request })
    return this
  }

  at(member: MemberName, what: AgentCommand): this {
    const agent = this.agents.get(member)
    if (agent !== undefined) this.#agentDid(member, command(agent, what))
    return this
  }

  pass(ms: number): this {
    this.now += ms
    this.#tick()
    return this
  }

  perform(deed: Deed): void {
    switch (deed._tag) {
      case "Do":
        this.ask(deed.request)
        return
      case "At":
        this.at(deed.member, deed.command)
        return
      case "Lose":
        return this.lose(deed.member)
      case "Return":
        return this.comeBack(deed.member)
      case "Wait":
        this.pass(deed.ms)
        return
      case "Bytes":
        return this.#enqueue("raw", deed.bytes)
      case "BytesFrom":
        if (this.agents.has(deed.member))
          this.#feedRouter({ _tag: "FromMember", member: deed.member, bytes: deed.bytes })
    }
  }

  // Scheduling

  possible(): ReadonlyArray<Possible> {
    const all: Array<Possible> = []
    const add = <T>(name: string, queue: Array<T>, run: (item: T) => void): void => {
      if (queue.length > 0)
        all.push({
          name,
          run: () => {
            const item = queue.shift()
            if (item !== undefined) run(item)
          }
        })
    }
    add("deed", this.deeds, (deed) => this.perform(deed))
    if (!this.#reconnecting && this.ending === undefined) {
      for (const [queue, messages] of this.fromClient) {
        add(`client ${queue}`, messages, (bytes) => this.#feedRouter({ _tag: "FromClient", bytes }))
      }
    }
    add("to client", this.toClient, (bytes) => this.#feedClient({ _tag: "Frame", kind: "binary", bytes }))
    if (this.toClient.length === 0 && this.ending !== undefined)
      all.push({ name: "socket end", run: () => this.#socketEnds() })
    if (this.#reconnecting && this.up.has(this.routerOptions.defaultMember)) {
      all.push({ name: "reconnect", run: () => this.#reconnect() })
    }
    for (const member of this.routerOptions.members) {
      const inbox = this.toMember.get(member) ?? []
      add(`to ${member}`, inbox, (bytes) => {
        const agent = this.agents.get(member)
        if (agent !== undefined) this.#agentDid(member, hear(agent, decoded<ClientMessage>(clientMessage, bytes)))
      })
      for (const [source, messages] of this.fromMember.get(member) ?? []) {
        add(`from ${member} ${source}`, messages, (message) => {
          this.fed.push({ member, message })
          this.#feedRouter({ _tag: "FromMember", member, bytes: daemonMessage.encode(message) })
        })
      }
    }
    return all
  }

  /** Does what the numbers choose, until they or the possibilities are used up. */
  play(choices: Iterable<number>): this {
    for (const choice of choices) {
      const all = this.possible()
      const next = all[choice % Math.max(1, all.length)]
      if (next === undefined) break
      this.now += 1
      next.run()
    }
    return this
  }

  /** Everything that can be delivered, in turn, without letting time pass by itself. */
  deliver(): this {
    for (let rounds = 0; rounds < 100_000; rounds++) {
      const all = this.possible()
      const next = all[rounds % Math.max(1, all.length)]
      if (next === undefined) return this
      next.run()
    }
    throw new Error("the world does not come to rest")
  }

  /** Delivers everything and lets the router's bounds pass, so that every answer has come that will ever come. */
  settle(): this {
    this.deliver()
    this.pass(this.routerOptions.mergeBound)
    return this.deliver()
  }

  heardBy(member: MemberName): ReadonlyArray<ClientMessage> {
    return this.agents.get(member)?.heard ?? []
  }

  get violations(): ReadonlyArray<string> {
    return [...this.formerAgents, ...this.agents.values()].flatMap((agent) => [
      ...agent.violations,
      ...(agent.choked === undefined
        ? []
        : [
            `${agent.name} cannot decode ` +
              `${JSON.stringify(agent.choked, (_, v) => (typeof v === "bigint" ? String(v) : v))}`
          ])
    ])
  }

  eventsOf<T extends ClientEvent["_tag"]>(tag: T): ReadonlyArray<Extract<ClientEvent, { readonly _tag: T }>> {
    return this.events.filter((event): event is Extract<ClientEvent, { readonly _tag: T }> => event._tag === tag)
  }

  // Wiring

  #tick(): void {
    if (this.#routerWake !== undefined && this.now >= this.#routerWake) {
      this.#routerWake = undefined
      this.#feedRouter({ _tag: "Tick" })
    }
    if (this.#clientWake !== undefined && this.now >= this.#clientWake) {
      this.#clientWake = undefined
      this.#feedClient({ _tag: "Tick" })
    }
  }

  #enqueue(queue: QueueName | "raw", bytes: Uint8Array): void {
    this.fromClient.set(queue, [...(this.fromClient.get(queue) ?? []), bytes])
  }

  #feedClient(input: Untimed<ClientInput>): void {
    const [state, outputs] = stepClient(this.client, { ...input, now: this.now } as ClientInput)
    if (input._tag === "Frame") this.received.at(-1)?.push(decoded<DaemonMessage>(daemonMessage, input.bytes))
    this.client = state
    for (const output of outputs) this.#clientSays(output)
  }

  #clientSays(output: ClientOutput): void {
    switch (output._tag) {
      case "Send":
        this.sent.push(decoded<ClientMessage>(clientMessage, output.bytes))
        return this.#enqueue(output.queue, output.bytes)
      case "Event":
        this.events.push(output.event)
        return this.ask(...answerTraffic(output.event)) && undefined
      case "Fatal":
        this.fatal = `${output.rule}: ${output.message}`
        return
      case "Reconnect":
        this.#reconnecting = true
        return this.#forgetSocket()
      case "WakeAt":
        this.#clientWake = output.at
    }
  }

  #feedRouter(input: Untimed<RouterInput>): void {
    if ("bytes" in input) this.buffers.push({ direction: "in", bytes: input.bytes as Uint8Array })
    const [state, outputs] = stepRouter(this.router, { ...input, now: this.now } as RouterInput)
    this.router = state
    for (const output of outputs) this.#routerSays(output)
  }

  #routerSays(output: RouterOutput): void {
    switch (output._tag) {
      case "ToClient":
        this.buffers.push({ direction: "out", bytes: output.bytes })
        this.toClient.push(output.bytes)
        return
      case "ToMember": {
        this.buffers.push({ direction: "out", bytes: output.bytes })
        const inbox = this.toMember.get(output.member)
        if (inbox === undefined) throw new Error(`the router speaks to ${output.member}, which is not connected`)
        inbox.push(output.bytes)
        return
      }
      case "DisconnectMember":
        this.disconnected.push(output.member)
        return this.#retire(output.member)
      case "DropClient":
        this.clientDropped = output.reason
        this.ending = "drop"
        return
      case "EndSession":
        this.ended = output.reason
        this.ending = "end"
        return
      case "WakeAt":
        this.#routerWake = output.at
        return
      case "Warn":
        this.warnings.push(output.message)
        return
      case "Dropped":
        this.dropped.push(output.what)
    }
  }

  #agentDid(member: MemberName, [agent, outputs]: readonly [Agent, ReadonlyArray<AgentOutput>]): void {
    this.agents.set(member, agent)
    const queues = this.fromMember.get(member) ?? new Map<Source, Array<DaemonMessage>>()
    for (const { source, message } of outputs) queues.set(source, [...(queues.get(source) ?? []), message])
    this.fromMember.set(member, queues)
    // An agent that cannot decode a message drops the connection without a word.
    if (agent.choked !== undefined) this.lose(member)
  }

  /** The connection and everything under way on it are gone. */
  #retire(member: MemberName): void {
    const agent = this.agents.get(member)
    if (agent !== undefined) this.formerAgents.push(agent)
    this.agents.delete(member)
    this.toMember.delete(member)
    this.fromMember.delete(member)
  }

  #socketEnds(): void {
    this.#forgetSocket()
    this.#feedClient({ _tag: "Closed" })
  }

  /** The client's socket is gone, and with it its router and the connections to the members. */
  #forgetSocket(): void {
    this.ending = undefined
    this.fromClient.clear()
    this.toClient = []
    this.#routerWake = undefined
    for (const member of this.routerOptions.members) this.#retire(member)
  }

  /** A new socket is a new router with new connections to every member (wire.md §8.13). */
  #reconnect(): void {
    this.#reconnecting = false
    this.router = makeRouter(this.routerOptions)
    this.received.push([])
    for (const member of this.routerOptions.members) if (this.up.has(member)) this.connect(member)
    this.#feedClient({ _tag: "Reconnected" })
  }
}
