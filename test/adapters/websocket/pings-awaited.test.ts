import { EventEmitter } from "node:events"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { awaitPings } from "../../../src/adapters/websocket/pings-awaited.ts"

class Socket extends EventEmitter {
  isPaused = false
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const start = () => {
  const socket = new Socket()
  let lost = 0
  awaitPings(socket, 100_000, () => lost++)
  return { socket, lost: () => lost }
}

describe("pings that are awaited", () => {
  it("time out no peer that has never pinged", () => {
    const { lost, socket } = start()
    socket.emit("message")
    vi.advanceTimersByTime(3_600_000)
    expect(lost()).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it("after the first one, are missed 100 to 125 s later, once", () => {
    const { lost, socket } = start()
    socket.emit("ping")
    vi.advanceTimersByTime(30_000)
    socket.emit("ping")
    vi.advanceTimersByTime(100_000)
    expect(lost()).toBe(0)
    vi.advanceTimersByTime(25_000)
    expect(lost()).toBe(1)
    vi.advanceTimersByTime(3_600_000)
    expect(lost()).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each(["ping", "message"])("each %s begins the silence again", (event) => {
    const { lost, socket } = start()
    socket.emit("ping")
    for (let i = 0; i < 100; i++) {
      vi.advanceTimersByTime(99_000)
      socket.emit(event)
    }
    expect(lost()).toBe(0)
  })

  it("are not missed while the socket is not read, nor at once when it is again", () => {
    const { lost, socket } = start()
    socket.emit("ping")
    socket.isPaused = true
    vi.advanceTimersByTime(3_600_000)
    socket.isPaused = false
    vi.advanceTimersByTime(99_000)
    expect(lost()).toBe(0)
    vi.advanceTimersByTime(26_000)
    expect(lost()).toBe(1)
  })

  it("are not awaited any more when the socket is closed", () => {
    const { lost, socket } = start()
    socket.emit("ping")
    socket.emit("close")
    vi.advanceTimersByTime(3_600_000)
    expect(lost()).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})
