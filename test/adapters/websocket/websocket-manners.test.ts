import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { WebSocketChannel } from "../../../src/adapters/websocket/websocket-channel.ts"
import { turns } from "../../support/turns.ts"
import { FakeSocket } from "../stream/support/fake-socket.ts"
import { decodeFrames, encodeFrame, type RawFrame } from "./support/raw-peer.ts"

/** Only the clock is faked: the turns of the event loop are real. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }))
afterEach(() => void vi.useRealTimers())

const start = (isServer = true) => {
  const socket = new FakeSocket()
  const channel = new WebSocketChannel(socket, { isServer })
  const heard: Array<string> = []
  channel.open({
    message: (bytes) => void heard.push(`message ${bytes.length}`),
    ended: (reason) => void heard.push(`ended ${reason}`),
    drained: () => void heard.push("drained"),
    ignored: (what) => void heard.push(`ignored ${what}`)
  })
  const receive = (...frames: ReadonlyArray<RawFrame>): void =>
    void socket.push(
      Buffer.concat(frames.map((frame) => encodeFrame(frame, isServer ? Buffer.from([9, 8, 7, 6]) : undefined)))
    )
  return { socket, channel, heard, receive, sent: () => decodeFrames(socket.bytes).frames }
}

const ping = (text: string): RawFrame => ({ opcode: 9, payload: Buffer.from(text) })
const codeOf = (payload: Buffer | undefined): number | undefined => payload?.readUInt16BE(0)

describe("a peer that pings and does not read", () => {
  it("costs a bounded queue, and its latest ping is answered when it reads again", async () => {
    const { channel, receive, sent, socket } = start()
    socket.stall()
    for (let i = 0; i < 2_000; i++) {
      receive(ping(`ping ${i}`.padEnd(100, ".")))
      if (i % 50 === 0) await turns(1)
    }
    await turns(1)
    expect(channel.queuedBytes()).toBeLessThan(20_000)
    socket.flow()
    await turns(3)
    expect(channel.queuedBytes()).toBe(0)
    expect(sent().at(-1)?.payload.toString()).toMatch(/^ping 1999/)
    expect(sent().every(({ opcode }) => opcode === 10)).toBe(true)
    receive(ping("again"))
    await turns(1)
    expect(sent().at(-1)?.payload.toString()).toBe("again")
  })
})

describe("a message that is begun and not finished", () => {
  it.each([
    ["a frame", Buffer.from([0x82, 0xfe, 1, 0, 1, 2, 3, 4, 5])],
    ["a header", Buffer.from([0x82])],
    ["a fragment", encodeFrame({ opcode: 2, fin: false, payload: Buffer.from("x") }, Buffer.alloc(4))],
    ["a text", encodeFrame({ opcode: 1, payload: Buffer.from("text") }, Buffer.alloc(4)).subarray(0, 8)]
  ])("as %s ends the connection, with a reason on both sides", async (_what, bytes) => {
    const { heard, receive, sent, socket } = start()
    receive({ opcode: 2, payload: Buffer.from("whole") })
    socket.push(bytes)
    await turns(2)
    vi.advanceTimersByTime(60_000)
    expect(heard).toEqual(["message 5"])
    vi.advanceTimersByTime(15_000)
    await turns(2)
    expect(heard[1]).toMatch(/^ended a message was begun and not finished within 60 s/)
    expect(sent().map(({ opcode, payload }) => [opcode, codeOf(payload)])).toEqual([[8, 1008]])
    socket.push(null)
    await turns(2)
    expect(vi.getTimerCount()).toBe(0)
  })

  it("control frames do not help", async () => {
    const { heard, receive } = start()
    receive({ opcode: 2, fin: false, payload: Buffer.from("x") })
    for (let i = 0; i < 10; i++) {
      await turns(1)
      vi.advanceTimersByTime(10_000)
      receive({ opcode: 10 })
    }
    expect(heard[0]).toMatch(/not finished within 60 s/)
  })
})

describe("the closing handshake", () => {
  it("is answered with the same code, and the socket ends on this side", async () => {
    const { heard, receive, sent, socket } = start()
    receive({ opcode: 8, payload: Buffer.concat([Buffer.from([0x0f, 0xa0]), Buffer.from("bye")]) })
    await turns(2)
    expect(heard).toEqual(["ended 4000 bye"])
    expect(sent().map(({ opcode, payload }) => [opcode, codeOf(payload)])).toEqual([[8, 4000]])
    expect(socket.writableEnded).toBe(true)
  })

  it("begun here waits for the peer's answer, delivers nothing more, and not for ever", async () => {
    const { channel, heard, receive, sent, socket } = start()
    channel.close()
    receive({ opcode: 2, payload: Buffer.from("late") }, { opcode: 1, payload: Buffer.from("late") }, ping("late"))
    await turns(2)
    expect(sent().map(({ opcode, payload }) => [opcode, codeOf(payload)])).toEqual([[8, 1000]])
    expect([heard, socket.writableEnded, socket.destroyed]).toEqual([[], false, false])
    receive({ opcode: 8, payload: Buffer.from([3, 232]) })
    await turns(2)
    expect([heard, socket.writableEnded, socket.destroyed]).toEqual([[], true, false])
    vi.advanceTimersByTime(10_000)
    expect([heard, socket.destroyed]).toEqual([[], true])
  })

  it("waits for a peer that goes on taking what was queued, however slowly, and gives it all of it", async () => {
    const { channel, sent, socket } = start()
    socket.stall()
    const message = Buffer.alloc(5_000_000, "abc")
    channel.send(message)
    channel.close()
    await turns(2)
    while (channel.queuedBytes() > 0) {
      expect(socket.destroyed).toBe(false)
      vi.advanceTimersByTime(4_900)
      socket.takeOne()
      await turns(2)
    }
    expect(sent().map(({ opcode }) => opcode)).toEqual([2, 8])
    expect(Buffer.compare(sent()[0]?.payload ?? Buffer.alloc(0), message)).toBe(0)
    vi.advanceTimersByTime(10_000)
    expect(socket.destroyed).toBe(true)
  })

  it("does not wait for a peer that takes nothing any more, and not for ever for one that takes little", async () => {
    const [stuck, slow] = [start(), start()]
    for (const { channel, socket } of [stuck, slow]) {
      socket.stall()
      channel.send(Buffer.alloc(50_000_000))
      channel.close()
    }
    await turns(2)
    stuck.socket.takeOne()
    for (let checks = 0; checks < 60; checks++) {
      expect([stuck.socket.destroyed, slow.socket.destroyed]).toEqual([checks > 1, false])
      slow.socket.takeOne()
      await turns(2)
      vi.advanceTimersByTime(5_000)
    }
    expect([slow.socket.destroyed, slow.channel.queuedBytes() > 0]).toEqual([true, true])
    await turns(2)
    expect(vi.getTimerCount()).toBe(0)
  })

  it("says that the server goes away, if it does", async () => {
    const { channel, heard, sent } = start()
    channel.goAway()
    channel.close()
    await turns(2)
    expect(sent().map(({ opcode, payload }) => [opcode, codeOf(payload)])).toEqual([[8, 1001]])
    expect(heard).toEqual([])
  })

  it("that never comes, of a peer that only ends its side, is code 1006", async () => {
    const { heard, socket } = start()
    socket.push(null)
    await turns(2)
    expect(heard).toEqual(["ended code 1006"])
    expect(socket.writableEnded).toBe(true)
  })

  it("nothing is delivered behind a mistake, and the connection is cut in the end", async () => {
    const { heard, receive, sent, socket } = start()
    receive({ opcode: 3 }, { opcode: 2, payload: Buffer.from("late") })
    await turns(2)
    receive({ opcode: 2, payload: Buffer.from("later") })
    await turns(2)
    expect(heard).toEqual([expect.stringMatching(/^ended .*reserved opcode 3/)])
    expect(sent().map(({ opcode, payload }) => [opcode, codeOf(payload)])).toEqual([[8, 1002]])
    vi.advanceTimersByTime(5_000)
    expect(socket.destroyed).toBe(true)
  })
})

describe("a message that is larger than the client's library takes in one frame", () => {
  it.each([true, false])("is sent in frames that it takes (server: %s)", async (isServer) => {
    const { channel, sent } = start(isServer)
    const bytes = Buffer.alloc(33 * 1024 * 1024, Buffer.from([1, 2, 3, 4, 5]))
    channel.send(bytes)
    channel.send(Buffer.from("next"))
    await turns(3)
    const MiB = 1024 * 1024
    expect(sent().map(({ fin, opcode, payload }) => [opcode, fin, payload.length])).toEqual([
      [2, false, 16 * MiB],
      [0, false, 16 * MiB],
      [0, true, MiB],
      [2, true, 4]
    ])
    expect(
      Buffer.compare(
        Buffer.concat(
          sent()
            .slice(0, 3)
            .map(({ payload }) => payload)
        ),
        bytes
      )
    ).toBe(0)
  })

  it("is not judged where it lies, but delivered", async () => {
    const socket = new FakeSocket()
    const channel = new WebSocketChannel(socket, { isServer: false })
    const other = new WebSocketChannel(new FakeSocket(), { isServer: true })
    const heard: Array<number> = []
    channel.open({
      routeOf: () => ({ to: other, idAt: 2, idLength: 1, id: undefined }),
      message: (bytes) => void heard.push(bytes.length),
      ended: () => {},
      drained: () => {},
      ignored: () => {}
    })
    const size = 17 * 1024 * 1024
    const wire = Buffer.concat([100, size].map((length) => encodeFrame({ opcode: 2, payload: Buffer.alloc(length) })))
    for (let at = 0; at < wire.length; at += 1_000_000) socket.push(Buffer.from(wire.subarray(at, at + 1_000_000)))
    await turns(3)
    expect(heard).toEqual([size])
  })
})

describe("memory", () => {
  it("of a message is its own: no view of what was read, and large ones in one buffer of their size", async () => {
    const socket = new FakeSocket()
    const channel = new WebSocketChannel(socket, { isServer: true })
    const kept: Array<Uint8Array> = []
    channel.open({ message: (bytes) => void kept.push(bytes), ended: () => {}, drained: () => {}, ignored: () => {} })
    const sizes = [1, 100, 20_000, 300_000]
    const wire = Buffer.concat(
      sizes.map((size) => encodeFrame({ opcode: 2, payload: Buffer.alloc(size, 7) }, Buffer.from([1, 2, 3, 4])))
    )
    for (let at = 0; at < wire.length; at += 65_536) socket.push(Buffer.from(wire.subarray(at, at + 65_536)))
    await turns(2)
    expect(kept.map(({ length }) => length)).toEqual(sizes)
    for (const bytes of kept) {
      expect(bytes.buffer.byteLength).toBeLessThanOrEqual(bytes.length + 14)
      expect(bytes.every((byte) => byte === 7)).toBe(true)
    }
    socket.destroy()
  })

  it("is not held by connections that are idle again, but for a few buffers that all share", async () => {
    const before = process.memoryUsage().arrayBuffers
    const idle = Array.from({ length: 300 }, () => start())
    for (const { channel, receive, sent, socket } of idle) {
      channel.send(Buffer.from("hello"))
      receive({ opcode: 2, payload: Buffer.from("hello") })
      await turns(1)
      expect(sent()).toHaveLength(1)
      socket.written.length = 0
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 64 * 1024 + 300 * 8 * 1024)
    for (const { socket } of idle) socket.destroy()
  })

  it("of an announced message is not reserved before it comes", async () => {
    const before = process.memoryUsage().arrayBuffers
    const sockets = Array.from({ length: 50 }, () => start())
    // 64 MiB, of which ten bytes come.
    for (const { socket } of sockets)
      socket.push(Buffer.concat([Buffer.from([0x82, 0xff, 0, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4]), Buffer.alloc(10)]))
    await turns(2)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * 24 * 1024)
    for (const { socket } of sockets) socket.destroy()
  })
})
