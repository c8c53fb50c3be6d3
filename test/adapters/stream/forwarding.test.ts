import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { AgentChannel } from "../../../src/adapters/agents/agent-channel.ts"
import type { SocketChannel } from "../../../src/adapters/stream/socket-channel.ts"
import { WebSocketChannel } from "../../../src/adapters/websocket/websocket-channel.ts"
import { daemonBulk } from "../../../src/domain/protocol/bulk.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { FrameChannel, FrameRoute } from "../../../src/ports/frame-channel.ts"
import { turns } from "../../support/turns.ts"
import { decodeFrames, encodeFrame } from "../websocket/support/raw-peer.ts"
import { FakeSocket } from "./support/fake-socket.ts"

/** How messages stand on the wire of a channel's peer. */
interface Kind {
  readonly name: string
  readonly make: (socket: FakeSocket) => SocketChannel
  /** The bytes that the peer writes. */
  readonly encode: (message: Uint8Array, key: Uint8Array) => Buffer
  /** The messages that the peer reads. */
  readonly decode: (bytes: Buffer) => ReadonlyArray<Buffer>
}

/** Cuts a stream of messages by the reference of all readers. */
const cut = (bytes: Buffer): ReadonlyArray<Buffer> => {
  const messages: Array<Buffer> = []
  for (let rest = bytes; rest.length > 0;) {
    const checked = daemonMessage.check(rest)
    if (checked._tag !== "Sound") throw new Error("no message")
    messages.push(rest.subarray(0, checked.used))
    rest = rest.subarray(checked.used)
  }
  return messages
}

const unframed = (isMasked: boolean, bytes: Buffer): ReadonlyArray<Buffer> => {
  const { frames, rest } = decodeFrames(bytes)
  expect(rest).toHaveLength(0)
  let hasBegun = false
  for (const { fin, payload, ...frame } of frames) {
    expect(frame).toEqual({ rsv: 0, opcode: hasBegun ? 0 : 2, isMasked })
    hasBegun = !fin
    if (hasBegun) expect([isMasked, payload.length]).toEqual([false, 0])
  }
  return frames.flatMap(({ fin, payload }) => (fin ? [payload] : []))
}

const kinds: ReadonlyArray<Kind> = [
  {
    name: "a client's WebSocket",
    make: (socket) => new WebSocketChannel(socket, { isServer: true }),
    encode: (message, key) => encodeFrame({ opcode: 2, payload: message }, key),
    decode: (bytes) => unframed(false, bytes)
  },
  {
    name: "a link",
    make: (socket) => new WebSocketChannel(socket, { isServer: false }),
    encode: (message) => encodeFrame({ opcode: 2, payload: message }),
    decode: (bytes) => unframed(true, bytes)
  },
  {
    name: "an agent's stream",
    make: (socket) => new AgentChannel(socket),
    encode: (message) => Buffer.from(message),
    decode: cut
  }
]

const ids = fc.constantFrom(0n, 1n, 250n, 251n, 65_535n, 65_536n, 0xffff_ffffn, 0x1_0000_0000n)
/** Payloads of one length, one behind the other. */
const payloads = fc
  .tuple(
    fc.oneof({ weight: 9, arbitrary: fc.nat(300) }, fc.constantFrom(8_100, 8_192, 16_384, 65_536, 200_000)),
    fc.nat(255),
    fc.integer({ min: 1, max: 4 })
  )
  .map(([length, seed, count]) =>
    Array.from({ length: count }, (_, index) =>
      Uint8Array.from({ length }, (_byte, at) => (at * 31 + seed + index * 7) & 255)
    )
  )
const messages: fc.Arbitrary<ReadonlyArray<DaemonMessage>> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(ids, payloads).map(([connectionId, row]) =>
      row.map((bytes): DaemonMessage => ({
        _tag: "TcpSteal",
        value: { _tag: "Data", value: { connectionId, bytes } }
      }))
    )
  },
  {
    weight: 2,
    arbitrary: fc.tuple(ids, payloads).map(([connectionId, row]) =>
      row.map((bytes): DaemonMessage => ({
        _tag: "TcpOutgoing",
        value: { _tag: "Read", value: { _tag: "Ok", value: { connectionId, bytes } } }
      }))
    )
  },
  { weight: 1, arbitrary: fc.constant<ReadonlyArray<DaemonMessage>>([{ _tag: "Pong" }]) },
  {
    weight: 1,
    arbitrary: fc
      .nat(40_000)
      .map((length): ReadonlyArray<DaemonMessage> => [{ _tag: "Close", value: "x".repeat(length) }])
  }
)

interface Way {
  readonly to: number
  readonly id: bigint | undefined
}
const ways = fc.record<Way>({ to: fc.nat(2), id: fc.option(ids, { nil: undefined }) })

const varint = (value: bigint): Uint8Array =>
  daemonMessage.encode({ _tag: "Tcp", value: { _tag: "Close", value: { connectionId: value } } }).slice(2)

const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constantFrom(1, 2, 1_000, 65_536)), {
  minLength: 1,
  maxLength: 30
})

const story = fc.record({
  messages: fc.array(messages, { maxLength: 20 }).map((rows) => rows.flat()),
  /** The ways of messages, which depend on the id, the length, and how many messages did not pass before. */
  ways: fc.array(ways, { minLength: 1, maxLength: 5 }),
  key: fc.uint8Array({ minLength: 4, maxLength: 4 }),
  /** Whether the targets do not take anything at first. */
  stalls: fc.boolean(),
  /** Whether the targets acknowledge whenever they may. */
  acknowledges: fc.boolean(),
  cuts
})
type Story = typeof story extends fc.Arbitrary<infer S> ? S : never

/** A channel of another technique. */
const stranger = () => {
  const sent: Array<Buffer> = []
  const channel: FrameChannel = {
    send: (bytes) => void sent.push(Buffer.from(bytes)),
    queuedBytes: () => 0,
    pause: () => {},
    resume: () => {},
    close: () => {},
    open: () => {}
  }
  return { channel, sent }
}

const play = async (from: Kind, to: Kind, given: Story): Promise<void> => {
  const socket = new FakeSocket()
  const [a, b] = [new FakeSocket(), new FakeSocket()]
  const other = stranger()
  const targets = [to.make(a), to.make(b), other.channel]
  const expected: ReadonlyArray<Array<Buffer>> = [[], [], []]
  let [delivered, passes, reads] = [0, 0, 0]
  const routeOf = (head: Uint8Array, length: number): FrameRoute | undefined => {
    if (daemonBulk.measure(head, 0, Math.min(head.length, length)) !== length) return undefined
    const way = given.ways[((head[daemonBulk.prefix - 1] ?? 0) + length + delivered) % given.ways.length]
    const target = targets[way?.to ?? 0]
    if (target === undefined) return undefined
    passes++
    return {
      to: target,
      idAt: daemonBulk.idAt,
      idLength: daemonBulk.idLength,
      id: way?.id === undefined ? undefined : varint(way.id)
    }
  }
  const channel = from.make(socket)
  const keyOf = (index: number) => given.key.map((byte) => byte ^ index)
  const wire = Buffer.concat(
    given.messages.map((message, index) => from.encode(daemonMessage.encode(message), keyOf(index)))
  )
  // The messages that ought to come out: each is routed by itself and sent by its bytes.
  for (const message of given.messages) {
    const bytes = Buffer.from(daemonMessage.encode(message))
    const route = routeOf(bytes, bytes.length)
    if (route === undefined) {
      delivered++
      expected[0]?.push(bytes)
    } else {
      const { id, idAt, idLength } = route
      const parts = id === undefined ? [bytes] : [bytes.subarray(0, idAt), id, bytes.subarray(idAt + idLength)]
      expected[targets.indexOf(route.to)]?.push(Buffer.concat(parts))
    }
  }
  const due = passes
  const delivers = delivered
  const tally = { messages: 0, bytes: 0 }
  const wrong: Array<string> = []
  if (given.stalls) for (const target of [a, b]) target.stall()
  delivered = passes = 0
  channel.open({
    routeOf,
    message: (bytes) => {
      delivered++
      targets[0]?.send(bytes)
    },
    tally,
    passed: () => reads++,
    ended: (reason) => wrong.push(reason),
    drained: () => {},
    ignored: (what) => wrong.push(what)
  })
  for (let at = 0, index = 0; at < wire.length; index++) {
    const size = given.cuts[index % given.cuts.length] ?? 1
    // A copy: what was read belongs to the reader, who may write to it.
    socket.push(Buffer.from(wire.subarray(at, at + size * (wire.length > 20_000 ? 50 : 1))))
    at += size * (wire.length > 20_000 ? 50 : 1)
    if (index % 3 === 0) await turns(1)
    if (given.acknowledges) for (const target of targets) target.acknowledge?.()
    if (index % 7 === 0) a.flow()
  }
  for (const target of [a, b]) target.flow()
  await turns(3)
  expect(wrong).toEqual([])
  // A message that goes on with a row is not routed.
  expect(passes).toBeLessThanOrEqual(due)
  expect(passes > 0).toBe(due > 0)
  expect(reads > 0).toBe(due > 0)
  expect([tally.messages, delivered]).toEqual([due, delivers])
  for (const [index, got] of [to.decode(a.bytes), to.decode(b.bytes), other.sent].entries()) {
    const want = expected[index] ?? []
    expect(got.map((bytes) => bytes.length)).toEqual(want.map((bytes) => bytes.length))
    for (const [at, bytes] of got.entries()) expect(Buffer.compare(bytes, want[at] ?? Buffer.alloc(0))).toBe(0)
  }
  for (const one of [socket, a, b]) one.destroy()
}

const pairs = kinds.flatMap((from) => kinds.map((to) => [from.name, to.name, from, to] as const))

describe("messages that pass", () => {
  it.each(pairs)(
    "from %s to %s are what was to be sent, in order, however they are cut",
    async (_from, _to, from, to) => {
      await fc.assert(
        fc.asyncProperty(story, (given) => play(from, to, given)),
        { numRuns: 60 }
      )
    }
  )

  it.each(kinds)("from $name are routed once for each row, and again in the next read", async ({ encode, make }) => {
    const socket = new FakeSocket()
    const channel = make(socket)
    const other = stranger()
    const target = new AgentChannel(new FakeSocket())
    const routed: Array<number> = []
    const routeOf = (head: Uint8Array, length: number): FrameRoute => {
      routed.push(head[3] ?? 0)
      return { to: length === 10 ? target : other.channel, idAt: 2, idLength: 1, id: undefined }
    }
    const nothing = () => {}
    channel.open({ routeOf, message: nothing, ended: nothing, drained: nothing, ignored: nothing })
    const read = (...lengths: ReadonlyArray<number>): void => {
      const all = lengths.map((length) => Uint8Array.of(2, 1, 7, length, ...new Uint8Array(length)))
      socket.push(Buffer.concat(all.map((message) => encode(message, Uint8Array.of(1, 2, 3, 4)))))
    }
    read(6, 6, 6, 5, 6)
    await turns(1)
    expect(routed).toEqual([6, 5, 6])
    read(6)
    await turns(1)
    expect(routed).toEqual([6, 5, 6, 6])
    socket.destroy()
  })
})
