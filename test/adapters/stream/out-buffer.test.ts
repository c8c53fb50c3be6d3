import { describe, expect, it, vi } from "vitest"
import { OutBuffer } from "../../../src/adapters/stream/out-buffer.ts"
import { WebSocketChannel } from "../../../src/adapters/websocket/websocket-channel.ts"
import { turns } from "../../support/turns.ts"
import { decodeFrames } from "../websocket/support/raw-peer.ts"
import { FakeSocket } from "./support/fake-socket.ts"

const make = () => {
  const socket = new FakeSocket()
  const write = vi.spyOn(socket, "write")
  const emptied: Array<boolean> = []
  return { socket, write, emptied, out: new OutBuffer(socket, (wasFull) => emptied.push(wasFull)) }
}

describe("bytes on their way out", () => {
  it("of one turn leave as one write, in order", async () => {
    const { out, socket, write } = make()
    for (let i = 0; i < 200; i++) out.append(Buffer.from([i, i, i]), 0, 3, 0)
    expect(write).toHaveBeenCalledTimes(0)
    expect(out.queued).toBe(600)
    await turns(1)
    expect(write).toHaveBeenCalledTimes(1)
    expect([...socket.bytes]).toEqual(Array.from({ length: 600 }, (_, at) => Math.floor(at / 3)))
  })

  it("leave in order when small and large ones are mixed, and the large ones without a copy", async () => {
    const { out, socket, write } = make()
    const large = new Uint8Array(70_000).fill(1)
    out.append(Buffer.from([0]), 0, 1, 0)
    out.write(large)
    out.append(Buffer.from([2]), 0, 1, 0)
    await turns(1)
    expect(write).toHaveBeenCalledTimes(3)
    expect(socket.writes).toBe(1)
    expect(Buffer.compare(socket.bytes, Buffer.concat([Buffer.from([0]), large, Buffer.from([2])]))).toBe(0)
  })

  it("are not changed by what comes while the network does not take them", async () => {
    const { out, socket } = make()
    socket.stall()
    for (let turn = 0; turn < 300; turn++) {
      out.append(Buffer.alloc(1_000, turn), 0, 1_000, 0)
      if (turn % 10 === 0) await turns(1)
    }
    socket.flow()
    await turns(2)
    expect(socket.bytes.every((byte, at) => byte === (Math.floor(at / 1_000) & 255))).toBe(true)
    expect(socket.bytes).toHaveLength(300_000)
  })

  it("are given to the socket little by little, whatever their number, and the end comes behind them", async () => {
    const { out, socket } = make()
    socket.stall()
    const pieces = Array.from({ length: 40 }, (_, at) => new Uint8Array(at % 3 === 0 ? 1_000_000 : 50).fill(at))
    for (const piece of pieces) {
      if (piece.length > 50) out.write(piece)
      else out.append(piece, 0, piece.length, 0)
    }
    const all = Buffer.concat(pieces)
    expect(out.queued).toBe(all.length)
    out.end()
    let most = 0
    while (out.queued > 0) {
      await turns(1)
      expect(socket.writableEnded).toBe(out.queued === socket.writableLength)
      most = Math.max(most, socket.writableLength)
      socket.takeOne()
      await turns(1)
    }
    expect(most).toBeLessThanOrEqual(256 * 1024)
    expect([socket.writableFinished, Buffer.compare(socket.bytes, all)]).toEqual([true, 0])
  })

  it("say when all are taken, and whether the socket had asked to wait", async () => {
    const { emptied, out, socket } = make()
    out.append(Buffer.from([1]), 0, 1, 0)
    await turns(1)
    expect(emptied).toEqual([false])
    socket.stall()
    out.write(new Uint8Array(100_000))
    await turns(1)
    expect([emptied.length, out.queued]).toEqual([1, 100_000])
    socket.flow()
    await turns(1)
    expect([emptied, out.queued]).toEqual([[false, true], 0])
  })
})

describe("a queue of tiny messages for a peer that does not read", () => {
  it("costs little more than their bytes, however many turns they take", async () => {
    const socket = new FakeSocket()
    const write = vi.spyOn(socket, "write")
    socket.stall()
    const channel = new WebSocketChannel(socket, { isServer: true })
    const count = 60_000
    for (let sent = 0; sent < count; sent++) {
      channel.send(Buffer.from("hello"))
      if (sent % 50 === 0) await turns(1)
    }
    // Each write keeps an object and a callback of its own: there are as many as there is memory, not messages.
    expect(write.mock.calls.length).toBeLessThan(20)
    expect(channel.queuedBytes()).toBe(count * 7)
    socket.flow()
    await turns(2)
    expect(channel.queuedBytes()).toBe(0)
    expect(decodeFrames(socket.bytes).frames).toHaveLength(count)
  })
})
