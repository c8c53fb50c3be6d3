import * as fc from "fast-check"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { AgentChannel } from "../../../src/adapters/agents/agent-channel.ts"
import { MessageRoom } from "../../../src/adapters/stream/message-room.ts"
import type { SocketChannel } from "../../../src/adapters/stream/socket-channel.ts"
import { WebSocketChannel } from "../../../src/adapters/websocket/websocket-channel.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { roomWithin } from "../../../src/domain/protocol/message-room.ts"
import { collectGarbage } from "../../support/collect-garbage.ts"
import { turns } from "../../support/turns.ts"
import { until } from "../../support/until.ts"
import { decodeFrames, encodeFrame } from "../websocket/support/raw-peer.ts"
import { FakeSocket } from "./support/fake-socket.ts"

const mebibyte = 1024 * 1024
const maxRead = 64 * 1024
const key = Buffer.alloc(4)

/** Only the clock is faked: the turns of the event loop are real. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }))
afterEach(() => void vi.useRealTimers())

/** Makes a part of what is sent. */
type Wire = (from: number, until: number) => Buffer

/** Sends bytes into a channel, in reads of the system's size, for as long as the channel reads. */
class Sender {
  readonly socket = new FakeSocket()
  readonly channel: SocketChannel
  readonly heard: Array<string> = []
  parts = 0
  #next = 0
  readonly #wire: Wire
  readonly #length: number

  /** `wire` gives `length` bytes, part by part. */
  constructor(make: (socket: FakeSocket) => SocketChannel, length: number, wire: Wire) {
    this.#length = length
    this.#wire = wire
    this.channel = make(this.socket)
    this.channel.open({
      message: ({ length: bytes }) => void this.heard.push(`message ${bytes}`),
      ended: (reason) => void this.heard.push(`ended ${reason}`),
      part: () => this.parts++,
      drained: () => {},
      ignored: () => {}
    })
  }

  /** Sends the next part, if the channel reads. */
  send(): boolean {
    if (this.socket.isPaused() || this.socket.destroyed || this.#next >= this.#length) return false
    const until = Math.min(this.#length, this.#next + maxRead)
    this.socket.push(this.#wire(this.#next, until))
    this.#next = until
    return true
  }
}

const ofBytes = (make: (socket: FakeSocket) => SocketChannel, bytes: Buffer): Sender =>
  new Sender(make, bytes.length, (from, until) => Buffer.from(bytes.subarray(from, until)))

/** Bytes that are missing of an announced message. */
const missing = 1_000

/** A frame that is not finished. */
const announced = (room: MessageRoom, length: number): Sender => {
  const head = encodeFrame({ opcode: 2, payload: new Uint8Array(70_000) }, key).subarray(0, 14)
  head.writeBigUInt64BE(BigInt(length), 2)
  return new Sender(
    (socket) => new WebSocketChannel(socket, { isServer: true, room }),
    head.length + length - missing,
    (from, until) => (from === 0 ? Buffer.concat([head, Buffer.alloc(until - 14)]) : Buffer.alloc(until - from))
  )
}

/** Bytes in buffers, most of which somebody keeps: what nobody keeps is freed in its own time. */
const bufferBytes = (): number => {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

/** Waits until fewer bytes are kept. */
const fewerKeptThan = (bytes: number): Promise<boolean> =>
  until(`less than ${bytes} bytes in buffers`, () => bufferBytes() < bytes || undefined)

const sendAll = async (senders: ReadonlyArray<Sender>): Promise<void> => {
  while (senders.map((sender) => sender.send()).includes(true)) await turns(1)
  // Even if nothing was left to send: the last part may have been sent in this turn.
  await turns(1)
}

describe("the room for the unfinished messages of all connections", () => {
  it("bounds what they hold together, and what does not fit waits until others are finished", async () => {
    const room = new MessageRoom(roomWithin(undefined))
    const before = bufferBytes()
    const senders = Array.from({ length: 6 }, () => announced(room, 64 * mebibyte))
    await sendAll(senders)
    expect(room.taken).toBeLessThanOrEqual(room.size)
    await fewerKeptThan(before + room.size + senders.length * 2 * maxRead + mebibyte)
    // One has come as far as it was sent, and all others wait for its end.
    expect(senders.map(({ channel }) => channel.waitsForRoom())).toEqual([false, true, true, true, true, true])
    // A message that fits passes them all.
    const small = ofBytes(
      (socket) => new WebSocketChannel(socket, { isServer: true, room }),
      encodeFrame({ opcode: 2, payload: Buffer.alloc(100_000) }, key)
    )
    await sendAll([small])
    expect(small.heard).toEqual(["message 100000"])

    // Each that is finished lets another one go on.
    for (const { heard, socket } of senders) {
      expect(heard).toEqual([])
      socket.push(Buffer.alloc(missing))
      await turns(2)
      await sendAll(senders)
    }
    expect(senders.flatMap(({ heard }) => heard)).toEqual(senders.map(() => "message 67108864"))
    expect([room.taken, room.isWanted]).toEqual([0, false])
    for (const { socket } of senders) socket.destroy()
  })

  it("is waited for no longer than a message may take, and the peer is told why", async () => {
    const room = new MessageRoom(roomWithin(undefined))
    const [first, second, third] = [1, 2, 3].map(() => announced(room, 64 * mebibyte))
    if (first === undefined || second === undefined || third === undefined) throw new Error("three were made")
    third.send()
    await turns(1)
    vi.advanceTimersByTime(45_000)
    await sendAll([first])
    await sendAll([second])
    await sendAll([third])
    expect([first, second, third].map(({ channel }) => channel.waitsForRoom())).toEqual([false, false, true])
    vi.advanceTimersByTime(30_000)
    await turns(2)
    expect([first.heard, second.heard]).toEqual([[], []])
    expect(third.heard).toEqual([expect.stringMatching(/^ended a large message found no room within 60 s.* 128 MiB/)])
    expect(decodeFrames(third.socket.bytes).frames[0]?.payload.readUInt16BE(0)).toBe(1013)
    expect(room.isWanted).toBe(false)
    for (const { socket } of [first, second, third]) socket.destroy()
  })

  it("is not kept from others for long by a message that is not read on", async () => {
    const room = new MessageRoom(roomWithin(undefined))
    const [first, second, third] = [1, 2, 3].map(() => announced(room, 64 * mebibyte))
    if (first === undefined || second === undefined || third === undefined) throw new Error("three were made")
    await sendAll([first, second])
    first.channel.pause()
    second.channel.pause()
    vi.advanceTimersByTime(3_610_000)
    expect([first.heard, second.heard]).toEqual([[], []])
    await sendAll([third])
    expect(third.channel.waitsForRoom()).toBe(true)
    vi.advanceTimersByTime(64_000)
    expect([first.heard, second.heard]).toEqual([[], []])
    // That one of the others is given up is enough.
    vi.advanceTimersByTime(1_000)
    await turns(2)
    expect([first.heard.length, second.heard.length]).toEqual([1, 0])
    await sendAll([third])
    third.socket.push(Buffer.alloc(missing))
    await turns(2)
    expect(third.heard).toEqual(["message 67108864"])
    second.socket.destroy()
  })

  const story = fc.record({
    kinds: fc.array(
      fc.record({
        kind: fc.constantFrom("frame", "fragments", "bulk", "cut"),
        sizes: fc.array(fc.integer({ min: 1, max: 2_000_000 }), { minLength: 1, maxLength: 3 })
      }),
      { minLength: 2, maxLength: 6 }
    ),
    turns: fc.array(fc.nat(5), { maxLength: 200 }),
    closes: fc.option(fc.nat(5))
  })

  const wireOf = (kind: string, size: number): Buffer => {
    const payload = Buffer.alloc(size, 7)
    switch (kind) {
      case "frame":
        return encodeFrame({ opcode: 2, payload }, key)
      case "fragments":
        return Buffer.concat([
          encodeFrame({ opcode: 2, fin: false, payload: payload.subarray(0, size >> 1) }, key),
          encodeFrame({ opcode: 0, payload: payload.subarray(size >> 1) }, key)
        ])
      case "bulk":
        return Buffer.from(
          daemonMessage.encode({
            _tag: "TcpSteal",
            value: { _tag: "Data", value: { connectionId: 1n, bytes: payload } }
          })
        )
      default:
        return Buffer.from(daemonMessage.encode({ _tag: "Close", value: payload.toString() }))
    }
  }

  it("is never overdrawn, and every message gets through, whatever waits for whatever", async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ closes, kinds, turns: order }) => {
        // Agents' messages may have 64 MiB, so that only one of unknown length can grow at a time.
        const room = new MessageRoom(roomWithin(0))
        const senders = kinds.map(({ kind, sizes }) =>
          ofBytes(
            (socket) =>
              kind === "frame" || kind === "fragments"
                ? new WebSocketChannel(socket, { isServer: true, room, largest: 3_000_000 })
                : new AgentChannel(socket, room),
            Buffer.concat(sizes.map((size) => wireOf(kind, size)))
          )
        )
        for (const who of order) {
          senders[who % senders.length]?.send()
          if (who === 0) await turns(1)
          expect(room.taken).toBeLessThanOrEqual(room.size)
        }
        const closed = closes === null ? undefined : senders[closes]
        closed?.channel.close()
        await sendAll(senders)
        for (const [index, sender] of senders.entries()) {
          if (sender !== closed) expect(sender.heard).toHaveLength(kinds[index]?.sizes.length ?? 0)
        }
        expect([room.taken, room.isWanted]).toEqual([0, false])
        for (const { socket } of senders) socket.destroy()
      }),
      { numRuns: 30 }
    )
  })

  it("hears from a message that comes part by part that its sender lives", async () => {
    const sender = announced(new MessageRoom(roomWithin(undefined)), mebibyte)
    await sendAll([sender])
    expect(sender.parts).toBe(16)
    sender.socket.push(Buffer.alloc(missing))
    await turns(1)
    expect([sender.parts, sender.heard]).toEqual([16, [`message ${mebibyte}`]])
  })

  it("is given back by a connection that ends, and by one that is closed and goes on sending", async () => {
    const room = new MessageRoom(roomWithin(undefined))
    const [ending, closing] = [announced(room, 64 * mebibyte), announced(room, 64 * mebibyte)]
    for (let i = 0; i < 100; i++) {
      ending.send()
      closing.send()
      await turns(1)
    }
    expect(room.taken).toBeGreaterThan(12 * mebibyte)
    ending.socket.destroy()
    closing.channel.close()
    await turns(1)
    expect(room.taken).toBe(0)
    const before = bufferBytes()
    await sendAll([closing])
    expect(room.taken).toBe(0)
    await fewerKeptThan(before + 16 * mebibyte)
    closing.socket.destroy()
  })
})
