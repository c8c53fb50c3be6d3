/**
 * Follows stateful traffic, which only the default cluster's first agent serves (wire.md §9.1, §9.2), or the agent of a
 * copy, from end to end, for S1, S2 and S4. Which agent connection serves which client connection is concluded from the
 * frames alone, never from the operator's state.
 */

import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { clientTag, daemonTag } from "../../../src/domain/protocol/peek.ts"
import { branchEngineWords, databaseFacts } from "../world/source-databases.ts"
import type { TimedEvent } from "../world/world-event.ts"
import type { World } from "../world/world.ts"
import type { EventOf } from "./invariant.ts"
import { defaultOf } from "./session-objects.ts"

/** Client messages that go to the default agent as they are. */
const statefulRequests: ReadonlySet<ReturnType<typeof clientTag>> = new Set([
  "TcpOutgoing",
  "UdpOutgoing",
  "SeqpacketOutgoing",
  "FileRequest",
  "GetEnvVarsRequest",
  "GetAddrInfoRequest",
  "GetAddrInfoRequestV2"
] as const)
/** Their answers. */
const statefulAnswers: ReadonlySet<ReturnType<typeof daemonTag>> = new Set([
  "TcpOutgoing",
  "UdpOutgoing",
  "SeqpacketOutgoing",
  "File",
  "GetEnvVarsResponse",
  "GetAddrInfoResponse"
] as const)

/** A client's frame as it is compared: policies, and the lack of a target, add to the variables that are left out. */
const comparable = (bytes: Uint8Array): Uint8Array => {
  if (clientTag(bytes) !== "GetEnvVarsRequest") return bytes
  const decoded = clientMessage.decode(bytes)
  return decoded._tag === "Decoded" && decoded.value._tag === "GetEnvVarsRequest"
    ? clientMessage.encode({ ...decoded.value, value: { ...decoded.value.value, envVarsFilter: new Set() } })
    : bytes
}

/** An agent's frame as it is compared: the variables of databases lead to branches where a session has them. */
const comparableAnswer = (bytes: Uint8Array): Uint8Array => {
  if (daemonTag(bytes) !== "GetEnvVarsResponse") return bytes
  const decoded = daemonMessage.decode(bytes)
  if (decoded._tag !== "Decoded" || decoded.value._tag !== "GetEnvVarsResponse") return bytes
  const { value } = decoded.value
  if (value._tag === "Err") return bytes
  const variables = new Map(value.value)
  for (const engine of branchEngineWords) variables.delete(databaseFacts[engine].variable)
  return daemonMessage.encode({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: variables } })
}

/** A sequence of frames as one running checksum of 52 bits per prefix. */
class Sequence {
  readonly prefixes: Array<number> = []
  #a = 0x811c9dc5
  #b = 0x01000193
  /** When the last frame was added, virtual ms. */
  last = 0

  add(bytes: Uint8Array, at: number): void {
    let [a, b] = [this.#a, this.#b]
    for (const byte of bytes) {
      a = Math.imul(a ^ byte, 0x01000193)
      b = Math.imul(b + byte + 1, 0x9e3779b1) ^ (a >>> 15)
    }
    this.#a = Math.imul(a ^ 0x1ff, 0x01000193)
    this.#b = b ^ bytes.length
    this.prefixes.push((this.#a >>> 0) * 0x100000 + (this.#b & 0xfffff))
    this.last = at
  }

  get length(): number {
    return this.prefixes.length
  }

  /** Whether `whole` begins with this sequence. */
  isStartOf(whole: Sequence): boolean {
    const { length } = this
    return length === 0 || (length <= whole.length && this.prefixes[length - 1] === whole.prefixes[length - 1])
  }
}

export interface ClientConnection {
  readonly client: string
  readonly connection: number
  readonly sessionId: bigint
  /** The cluster whose agent serves it: the default one, or that of its copy. */
  readonly cluster: string
  /** Number of this connection among all client connections, in the order of their making. */
  readonly epoch: number
  readonly said: Sequence
  readonly heard: Sequence
  open: boolean
}

export interface AgentConnection {
  readonly cluster: string
  readonly agent: string
  readonly connection: number
  readonly heard: Sequence
  readonly said: Sequence
  /** Client connections whose stateful traffic began like this connection's; none before it heard any. */
  candidates: ReadonlyArray<ClientConnection>
}

/** The stateful frame in an event, if there is one. */
export type Passed =
  | { readonly _tag: "AgentHeard"; readonly agent: AgentConnection; readonly before: ReadonlyArray<ClientConnection> }
  | { readonly _tag: "ClientHeard"; readonly client: ClientConnection }
  | undefined

export class StatefulTraffic {
  readonly clients = new Map<number, ClientConnection>()
  readonly agents = new Map<number, AgentConnection>()
  /** By number of a client connection: the agent connections that may serve it. */
  readonly servers = new Map<number, Set<AgentConnection>>()
  #last: TimedEvent | undefined
  #passed: Passed
  #epochs = 0
  readonly #world: () => World

  constructor(world: () => World) {
    this.#world = world
  }

  /** Takes an event. Several invariants hand in the same event; it counts once. */
  take(event: TimedEvent): Passed {
    if (event === this.#last) return this.#passed
    this.#last = event
    const handler: ((event: never) => Passed | void) | undefined = this.#handlers[event._tag]
    this.#passed = handler?.(event as never) ?? undefined
    return this.#passed
  }

  /** The client connection that an agent connection certainly serves, if there is only one candidate. */
  servedBy({ candidates }: AgentConnection): ClientConnection | undefined {
    return candidates.length === 1 ? candidates[0] : undefined
  }

  readonly #handlers: { readonly [Tag in TimedEvent["_tag"]]?: (event: EventOf<Tag>) => Passed | void } = {
    ClientSaid: ({ at, bytes, connection }) => {
      if (statefulRequests.has(clientTag(bytes))) this.clients.get(connection)?.said.add(comparable(bytes), at)
    },
    ClientHeard: ({ at, bytes, connection }) => {
      const client = this.clients.get(connection)
      if (client === undefined || !statefulAnswers.has(daemonTag(bytes))) return undefined
      client.heard.add(this.#answer(bytes), at)
      return { _tag: "ClientHeard", client }
    },
    AgentHeard: (event) => {
      if (!statefulRequests.has(clientTag(event.bytes))) return undefined
      const agent = this.#agent(event)
      const before = agent.heard.length === 0 ? [...this.clients.values()] : agent.candidates
      agent.heard.add(comparable(event.bytes), event.at)
      agent.candidates = before.filter(({ cluster, said }) => cluster === agent.cluster && agent.heard.isStartOf(said))
      for (const { connection } of before) this.servers.get(connection)?.delete(agent)
      for (const { connection } of agent.candidates)
        this.servers.set(connection, (this.servers.get(connection) ?? new Set()).add(agent))
      return { _tag: "AgentHeard", agent, before }
    },
    AgentSaid: (event) => {
      if (statefulAnswers.has(daemonTag(event.bytes))) this.#agent(event).said.add(this.#answer(event.bytes), event.at)
    },
    ClientConnected: ({ client, connection, sessionId }) => {
      const epoch = ++this.#epochs
      const world = this.#world()
      const user = world.clients.get(client)
      const cluster = user === undefined ? world.defaultCluster : defaultOf(world, user)
      const [said, heard] = [new Sequence(), new Sequence()]
      this.clients.set(connection, { client, connection, sessionId, cluster, epoch, said, heard, open: true })
    },
    ClientLost: ({ connection }) => {
      const known = this.clients.get(connection)
      if (known !== undefined) known.open = false
    },
    // A killed client does not say that it lost its connection.
    ClientEnded: ({ client }) => {
      for (const known of this.clients.values()) if (known.client === client) known.open = false
    }
  }

  #answer(bytes: Uint8Array): Uint8Array {
    return this.#world().plan.branches ? comparableAnswer(bytes) : bytes
  }

  #agent({ agent, cluster, connection }: EventOf<"AgentHeard">): AgentConnection {
    const known = this.agents.get(connection)
    if (known !== undefined) return known
    const [heard, said] = [new Sequence(), new Sequence()]
    const made: AgentConnection = { cluster, agent, connection, heard, said, candidates: [] }
    this.agents.set(connection, made)
    return made
  }
}

const stories = new WeakMap<() => World, StatefulTraffic>()

/** The traffic of one story; the same for every invariant that was begun with the same world. */
export const statefulTraffic = (world: () => World): StatefulTraffic => {
  const known = stories.get(world)
  if (known !== undefined) return known
  const made = new StatefulTraffic(world)
  stories.set(world, made)
  return made
}
