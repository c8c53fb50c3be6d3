import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { maxMessage } from "../../../src/domain/protocol/frame-cutter.ts"
import { mayGrow, roomWithin } from "../../../src/domain/protocol/message-room.ts"

const mebibyte = 1024 * 1024

describe("the room for unfinished messages", () => {
  it("is a quarter of the memory, and never less than one message of the largest size needs", () => {
    expect(Math.floor(roomWithin(512 * mebibyte) / mebibyte)).toBe(128)
    expect(Math.floor(roomWithin(1024 * mebibyte) / mebibyte)).toBe(256)
    expect(Math.floor(roomWithin(undefined) / mebibyte)).toBe(128)
    fc.assert(
      fc.property(fc.nat(2 ** 40), (limit) => {
        expect(roomWithin(limit)).toBeGreaterThan(maxMessage)
        expect(roomWithin(limit)).toBeLessThanOrEqual(maxMessage + mebibyte + limit / 4)
      })
    )
  })

  const story = fc.record({
    size: fc.integer({ min: 1, max: 100 }),
    /** The most bytes that each message may have, and those that it has. */
    messages: fc.array(
      fc
        .tuple(fc.integer({ min: 1, max: 120 }), fc.nat(120))
        .map(([most, length]) => ({ most, length: length % most })),
      { minLength: 1, maxLength: 8 }
    ),
    /** The message that asks next, and by how much it wants to grow. */
    turns: fc.array(fc.record({ who: fc.nat(7), by: fc.integer({ min: 1, max: 40 }) }), { maxLength: 100 })
  })

  it("is never overdrawn, and whatever waits, some message can always be finished", () => {
    fc.assert(
      fc.property(story, ({ messages, size, turns }) => {
        let free = size
        const held = messages.map(() => 0)
        const done = messages.map(() => false)
        /** Grows a message, or ends it. Says whether anything has changed. */
        const ask = (who: number, by: number): boolean => {
          const { length, most } = messages[who] ?? { length: 0, most: 0 }
          const now = held[who] ?? 0
          if (done[who] === true) return false
          // No message holds more than there is, so that a lone one can be finished.
          const wanted = Math.min(size, length, now + by)
          if (wanted > now && !mayGrow(size, free, { held: now, wanted, most })) return false
          free -= wanted - now
          held[who] = wanted
          expect(free).toBeGreaterThanOrEqual(0)
          if (wanted < Math.min(size, length)) return true
          done[who] = true
          free += wanted
          return true
        }
        for (const { by, who } of turns) ask(who % messages.length, by)
        // From wherever that has led, the smallest steps lead to the end.
        while (messages.some((_, who) => ask(who, 1)));
        expect(done.every(Boolean)).toBe(true)
        expect(free).toBe(size)
      })
    )
  })

  it("keeps a message from growing that could not be finished beside the others", () => {
    const rest = { wanted: 20, most: 100 }
    expect(mayGrow(150, 90, { ...rest, held: 10 })).toBe(true)
    expect(mayGrow(150, 89, { ...rest, held: 10 })).toBe(false)
    // A read may bring more than the length that was announced.
    expect(mayGrow(150, 19, { held: 0, wanted: 20, most: 10 })).toBe(false)
    // Alone, also a message that could get larger than the room may grow.
    expect(mayGrow(50, 40, { ...rest, held: 10 })).toBe(true)
  })
})
