import { describe, expect, it } from "vitest"
import { WebSocketChannel } from "../../../src/adapters/websocket/websocket-channel.ts"
import { type FrameHandlers } from "../../../src/ports/frame-channel.ts"
import { turns } from "../../support/turns.ts"
import { encodeFrame } from "../websocket/support/raw-peer.ts"
import { FakeSocket } from "./support/fake-socket.ts"

const key = new Uint8Array([1, 2, 3, 4])
const ping = 9

/**
 * A client whose reads are timed, and a link to which its messages go: routed by their head, or one by one. `times`:
 * the numbers of the reads of which messages were taken.
 */
const start = (way: "routed" | "delivered" = "delivered") => {
  const [clientSocket, linkSocket] = [new FakeSocket(), new FakeSocket()]
  const client = new WebSocketChannel(clientSocket, { isServer: true })
  const link = new WebSocketChannel(linkSocket, { isServer: false })
  const times: Array<number> = []
  let reads = 0
  let isTimed = true
  const handlers: FrameHandlers = {
    message: (bytes) => (bytes[0] === 0 ? client : link).send(bytes),
    ended: () => {},
    drained: () => {},
    ignored: () => {},
    timeRead: () => {
      const read = ++reads
      return isTimed ? () => void times.push(read) : undefined
    },
    ...(way === "routed" ? { routeOf: () => ({ to: link, idAt: 0, idLength: 0, id: undefined }) } : {})
  }
  client.open(handlers)
  link.open({ ...handlers, message: () => {}, timeRead: () => undefined })
  return {
    linkSocket,
    link,
    times,
    time: (whether: boolean) => (isTimed = whether),
    /** The client sends frames, in one read. */
    read: async (...frames: ReadonlyArray<{ readonly opcode: number; readonly payload: Uint8Array }>) => {
      clientSocket.push(Buffer.concat(frames.map((frame) => encodeFrame(frame, key))))
      await turns(2)
    }
  }
}
/** A message for the link. */
const message = (length = 10) => ({ opcode: 2, payload: new Uint8Array(length).fill(1) })

describe("a read that is timed", () => {
  it.each(["routed", "delivered"] as const)("ends when the network has taken its messages (%s)", async (way) => {
    const { linkSocket, read, times } = start(way)
    await read(message(), message())
    expect(times).toEqual([1])
    linkSocket.stall()
    await read(message())
    await read(message(100_000))
    expect(times).toEqual([1])
    linkSocket.takeOne()
    await turns(2)
    expect(times).toEqual([1, 2])
    linkSocket.flow()
    await turns(4)
    expect(times).toEqual([1, 2, 3])
  })

  it("waits for what is queued before it, and for all of a long message", async () => {
    const { link, linkSocket, read, time, times } = start()
    linkSocket.stall()
    time(false)
    for (let i = 0; i < 20; i++) await read(message(60_000))
    time(true)
    await read(message(300_000))
    while (link.queuedBytes() > 0) {
      expect(times).toEqual([])
      linkSocket.takeOne()
      await turns(2)
    }
    expect(times).toEqual([21])
  })

  it("has no end by what its own sender gets, or without a message", async () => {
    const { read, times } = start()
    await read({ opcode: 2, payload: new Uint8Array(10) })
    await read({ opcode: ping, payload: new Uint8Array(5) })
    expect(times).toEqual([])
    await read({ opcode: ping, payload: new Uint8Array(5) }, message())
    expect(times).toEqual([3])
  })

  it("passes its time on to no other read", async () => {
    const { read, time, times } = start()
    await read({ opcode: ping, payload: new Uint8Array(5) })
    time(false)
    await read(message())
    expect(times).toEqual([])
  })

  it("has no end when the other side is gone", async () => {
    const { linkSocket, read, times } = start()
    linkSocket.stall()
    await read(message())
    linkSocket.destroy()
    await turns(2)
    linkSocket.flow()
    await turns(2)
    expect(times).toEqual([])
  })

  it("has no end by a write that fails", async () => {
    const { linkSocket, read, times } = start()
    Object.assign(linkSocket, {
      _write: (_chunk: unknown, _encoding: string, done: (error: Error) => void) => done(new Error("write EPIPE"))
    })
    await read(message())
    expect([times, linkSocket.destroyed]).toEqual([[], true])
  })
})
