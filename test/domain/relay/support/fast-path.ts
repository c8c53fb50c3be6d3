/**
 * Plays random messages, many of them bulk and some of them broken, to two routers: `step` decides everything for the
 * first, and the second routes messages by their head wherever that is possible (learnt-routes.ts). Both must do the
 * same, byte for byte.
 */

import { RandomStream } from "../../../../lab/simulation/kernel/random-stream.ts"
import { BulkRow } from "../../../../src/domain/protocol/bulk-row.ts"
import { headLength } from "../../../../src/domain/protocol/bulk.ts"
import { type ClientMessage, clientMessage } from "../../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import { LearntRoutes, type Route } from "../../../../src/domain/relay/learnt-routes.ts"
import { type MemberName, memberName } from "../../../../src/domain/relay/member.ts"
import {
  makeRouter,
  restsUntil,
  type RouterInput,
  type RouterOutput,
  type RouterState,
  step
} from "../../../../src/domain/relay/router.ts"

const members = ["cluster-a", "cluster-b", "cluster-c"].map(memberName)
const [defaultMember] = members

/** An input without its time. */
type Event = RouterInput extends infer I ? (I extends { readonly now: number } ? Omit<I, "now"> : never) : never

/** Numbers at the borders of the varint's lengths, and small ones, which the connections of the story have. */
const numberOf = (random: RandomStream): number =>
  random.pick([random.int(0, 4), random.int(0, 300), 250, 251, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 40])

/** A varint, now and then longer than it must be. */
const varint = (random: RandomStream, value: number): ReadonlyArray<number> => {
  const beyond = [0xfb, 0x1_0000, 0x1_0000_0000].filter((border) => value >= border)
  const shortest = [1, 3, 5, 9][beyond.length] ?? 9
  const size = random.chance(0.03) ? random.pick([3, 5, 9].filter((longer) => longer >= shortest)) : shortest
  if (size === undefined || size === 1) return [value]
  const digits = Array.from({ length: size - 1 }, (_, at) => Math.floor(value / 256 ** at) % 256)
  return [0xfb + [3, 5, 9].indexOf(size), ...digits]
}

const payload = (random: RandomStream): ReadonlyArray<number> => {
  const length = random.pick([0, random.int(1, 8), 250, 251, 300])
  // A single draw, since drawing every byte is most of the time; each byte differs from its neighbours.
  const first = random.int(0, 255)
  return [...varint(random, length), ...Array.from({ length }, (_, at) => (first + 31 * at) % 256)]
}

const idAndPayload = (random: RandomStream): ReadonlyArray<number> => [
  ...varint(random, numberOf(random)),
  ...payload(random)
]

/** The tags of messages that are bulk, or look like it. */
const bulkTags = {
  client: [
    [2, 3],
    [3, 1],
    [4, 1],
    [16, 0],
    [2, 1],
    [3, 2]
  ],
  member: [
    [1, 1],
    [2, 1],
    [2, 1],
    [3, 1, 0],
    [4, 1, 0],
    [3, 1, 1]
  ]
} as const

/** Cut, too long, or with another byte: what no program of upstream sends. */
const broken = (random: RandomStream, message: ReadonlyArray<number>): Uint8Array => {
  const bytes = [...message]
  switch (random.int(0, 2)) {
    case 0:
      return Uint8Array.from(bytes.slice(0, random.int(0, bytes.length)))
    case 1:
      return Uint8Array.from([...bytes, random.int(0, 255)])
    default:
      bytes[random.int(0, bytes.length - 1)] = random.int(0, 255)
      return Uint8Array.from(bytes)
  }
}

const fromClient = (message: ClientMessage): Event => ({ _tag: "FromClient", bytes: clientMessage.encode(message) })
const fromMember = (member: MemberName, message: DaemonMessage): Event => ({
  _tag: "FromMember",
  member,
  bytes: daemonMessage.encode(message)
})

/** Something other than bulk: connections come and go, members too, and answers are owed. */
const other = (random: RandomStream): ReadonlyArray<Event> => {
  const member = random.pick(members) ?? memberName("cluster-a")
  const channel = random.pick(["Tcp", "TcpSteal"] as const)
  const connectionId = BigInt(random.int(0, 4))
  switch (random.int(0, 9)) {
    case 0:
    case 1:
    case 2: {
      const addresses = { remoteAddress: "10.0.0.9", destinationPort: 80, sourcePort: 51_000, localAddress: "10.0.0.5" }
      const value = { _tag: "NewConnectionV1", value: { connectionId, ...addresses } } as const
      return [fromMember(member, { _tag: channel, value })]
    }
    case 3:
      return [fromMember(member, { _tag: channel, value: { _tag: "Close", value: { connectionId } } })]
    case 4:
      return [fromClient({ _tag: channel, value: { _tag: "ConnectionUnsubscribe", value: connectionId } })]
    case 5:
      return [fromClient({ _tag: "Ping" })]
    case 6:
      return [fromMember(member, { _tag: "Pong" })]
    case 7:
      return [{ _tag: "Tick" }]
    case 8:
      // The default's loss would end the story.
      return member === defaultMember ? [] : [{ _tag: "MemberLost", member, reason: "gone" }]
    default:
      return [
        { _tag: "MemberConnected", member: member === defaultMember ? memberName("cluster-b") : member },
        fromMember(member, { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" })
      ]
  }
}

/** The share of broken messages. The client's and the default's end their session, so that most sessions are long. */
const brokenShare = (isEnd: boolean): number => (isEnd ? 0.002 : 0.03)

/** A row of messages with the same tags, and mostly the same id. */
const row = (random: RandomStream): ReadonlyArray<Event> => {
  const isClients = random.chance(0.5)
  const tags: ReadonlyArray<number> =
    random.pick<ReadonlyArray<number>>(bulkTags[isClients ? "client" : "member"]) ?? []
  const member = random.pick(members) ?? memberName("cluster-a")
  const id = varint(random, numberOf(random))
  return Array.from({ length: random.int(1, 12) }, () => {
    const rest = random.chance(0.9) ? [...id, ...payload(random)] : idAndPayload(random)
    const message = [...tags, ...rest]
    const isBroken = random.chance(brokenShare(isClients || member === defaultMember))
    const bytes = isBroken ? broken(random, message) : Uint8Array.from(message)
    return isClients ? { _tag: "FromClient", bytes } : { _tag: "FromMember", member, bytes }
  })
}

const start: ReadonlyArray<Event> = [
  ...members.map((member): Event => ({ _tag: "MemberConnected", member })),
  fromClient({ _tag: "SwitchProtocolVersion", value: "1.29.0" }),
  ...members.map((member) => fromMember(member, { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" })),
  fromClient({ _tag: "ReadyForLogs" }),
  fromClient({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } }),
  fromClient({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 81 } })
]

type Sent = Extract<RouterInput, { readonly _tag: "FromClient" | "FromMember" }>

/** A router whose bulk messages are routed by their head, and within a row of one sender not even asked about. */
class FastRouter {
  state: RouterState
  /** How many messages were not given to `step`. */
  passed = 0
  /** How many of these were not asked about, because they went on with a row. */
  repeated = 0
  readonly #client = new LearntRoutes<Route>("client")
  readonly #members = new Map<MemberName, LearntRoutes<Route>>()
  readonly #head = new Uint8Array(headLength)
  readonly #row = new BulkRow()
  #rowFrom: MemberName | undefined
  #rowAt = 0
  #rowWay: Route | undefined

  constructor(state: RouterState) {
    this.state = state
  }

  feed(input: RouterInput): ReadonlyArray<RouterOutput> {
    const before = this.state
    if (input._tag !== "FromClient" && input._tag !== "FromMember") return this.#step(input)
    const { bytes } = input
    const route = this.#repeat(input) ?? this.#routeOf(input, before)
    if (route !== undefined) {
      this.passed++
      return [outputOf(route, bytes)]
    }
    const outputs = this.#step(input)
    this.#knownOf(input).learn(before, bytes, [this.state, outputs], (learnt) => learnt)
    return outputs
  }

  /** The route of the row, which belongs to one read: to one sender and one moment. */
  #repeat(input: Sent): Route | undefined {
    const { bytes, now } = input
    if (now !== this.#rowAt || senderOf(input) !== this.#rowFrom) return undefined
    if (!this.#row.goesOn(bytes, 0, bytes.length, 0)) return undefined
    this.repeated++
    return this.#rowWay
  }

  #routeOf(input: Sent, before: RouterState): Route | undefined {
    const { bytes, now } = input
    this.#row.end()
    // The rest of the head is what an earlier message has left there.
    this.#head.set(bytes.subarray(0, headLength))
    if (now >= restsUntil(before)) return undefined
    const route = this.#knownOf(input).routeOf(before, this.#head, bytes.length)
    if (route === undefined) return undefined
    this.#row.begin(this.#head, bytes.length, route.idAt + route.idLength)
    this.#rowFrom = senderOf(input)
    this.#rowAt = now
    this.#rowWay = route
    return route
  }

  #knownOf(input: Sent): LearntRoutes<Route> {
    return input._tag === "FromClient" ? this.#client : this.#of(input.member)
  }

  #of(member: MemberName): LearntRoutes<Route> {
    const known = this.#members.get(member) ?? new LearntRoutes<Route>("member")
    this.#members.set(member, known)
    return known
  }

  #step(input: RouterInput): ReadonlyArray<RouterOutput> {
    this.#row.end()
    const [state, outputs] = step(this.state, input)
    this.state = state
    return outputs
  }
}

/** Undefined: the client. */
const senderOf = (input: Sent): MemberName | undefined => (input._tag === "FromClient" ? undefined : input.member)

const outputOf = ({ id, idAt, idLength, member }: Route, bytes: Uint8Array): RouterOutput => {
  const passed =
    id === undefined ? bytes : Uint8Array.of(...bytes.subarray(0, idAt), ...id, ...bytes.subarray(idAt + idLength))
  return member === undefined ? { _tag: "ToClient", bytes: passed } : { _tag: "ToMember", member, bytes: passed }
}

/** Outputs as text, since comparing texts is fast. */
const pictured = (outputs: ReadonlyArray<RouterOutput>): string =>
  outputs
    .map((output) => ("bytes" in output ? { ...output, bytes: Buffer.from(output.bytes).toString("hex") } : output))
    .map((output) => JSON.stringify(output))
    .join("\n")

export interface Comparison {
  readonly messages: number
  /** How many of the messages were routed. */
  readonly passed: number
  /** How many of these went on with a row. */
  readonly repeated: number
}

/** One session's routers, which play until the session ends or enough was played. */
const compareSession = (random: RandomStream, messages: number, seed: string): Comparison => {
  const options = { members, defaultMember: memberName("cluster-a"), memberKind: "cluster", mergeBound: 2_000 } as const
  const pingMembersEvery = random.pick([undefined, 15_000])
  let reference = makeRouter({ ...options, pingMembersEvery })
  const fast = new FastRouter(makeRouter({ ...options, pingMembersEvery }))
  let now = 1_700_000_000_000
  let played = 0
  const play = (events: ReadonlyArray<Event>): void => {
    for (const event of events) {
      const input = { ...event, now } as RouterInput
      const [next, expected] = step(reference, input)
      reference = next
      const found = pictured(fast.feed(input))
      if (found !== pictured(expected)) {
        const what = "bytes" in event ? `${event._tag} ${Buffer.from(event.bytes).toString("hex")}` : event._tag
        throw new Error(`message ${played} of seed ${seed}, ${what}: step says\n${pictured(expected)}\nnot\n${found}`)
      }
      played++
    }
  }
  play(start)
  while (played < messages && !reference.ended) {
    play(random.chance(0.75) ? row(random) : other(random))
    if (random.chance(0.05)) now += random.pick([1, 500, 2_000, 15_000])
  }
  return { messages: played, passed: fast.passed, repeated: fast.repeated }
}

/**
 * Plays at least so many messages, in as many sessions as they need: a broken message ends its session. Throws at the
 * first message about which the two routers differ.
 */
export const compareFastPath = (seed: string, messages: number): Comparison => {
  const random = new RandomStream(seed)
  let [played, passed, repeated] = [0, 0, 0]
  while (played < messages) {
    const compared = compareSession(random, messages - played, seed)
    played += compared.messages
    passed += compared.passed
    repeated += compared.repeated
  }
  return { messages: played, passed, repeated }
}
