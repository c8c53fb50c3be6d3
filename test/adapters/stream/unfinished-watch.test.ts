import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { UnfinishedWatch } from "../../../src/adapters/stream/unfinished-watch.ts"

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const start = () => {
  const watched = { isUnfinished: true, finished: 0, isExcused: false }
  let givenUp = 0
  const watch = new UnfinishedWatch(watched, () => givenUp++)
  watch.look()
  return { watched, watch, givenUp: () => givenUp }
}

describe("a message that is begun", () => {
  it("is given up 60 to 75 s later, once", () => {
    const { givenUp } = start()
    vi.advanceTimersByTime(60_000)
    expect(givenUp()).toBe(0)
    vi.advanceTimersByTime(15_000)
    expect(givenUp()).toBe(1)
    vi.advanceTimersByTime(3_600_000)
    expect(givenUp()).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it("and finished makes room for the next one, which has as much time", () => {
    const { givenUp, watch, watched } = start()
    for (let i = 0; i < 100; i++) {
      vi.advanceTimersByTime(45_000)
      watched.finished++
      watch.look()
    }
    expect(givenUp()).toBe(0)
    vi.advanceTimersByTime(90_000)
    expect(givenUp()).toBe(1)
  })

  it("has time while the socket is not read", () => {
    const { givenUp, watched } = start()
    vi.advanceTimersByTime(30_000)
    watched.isExcused = true
    vi.advanceTimersByTime(3_600_000)
    watched.isExcused = false
    vi.advanceTimersByTime(15_000)
    expect(givenUp()).toBe(0)
    vi.advanceTimersByTime(30_000)
    expect(givenUp()).toBe(1)
  })

  it("needs no timer when it is finished", () => {
    const { givenUp, watch, watched } = start()
    watched.isUnfinished = false
    vi.advanceTimersByTime(15_000)
    expect(vi.getTimerCount()).toBe(0)
    watch.look()
    expect(vi.getTimerCount()).toBe(0)
    expect(givenUp()).toBe(0)
  })
})
