import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { EventBuffer, maxCharacters } from "../../../src/domain/relay/event-buffer.ts"

describe("the events that a reader has not taken", () => {
  it("are taken in order, each once", () => {
    const buffer = new EventBuffer()
    for (const event of ["a", "b"]) buffer.add(event)
    expect(buffer.takeAll()).toEqual({ dropped: 0, events: ["a", "b"] })
    expect(buffer.takeAll()).toEqual({ dropped: 0, events: [] })
  })

  it("are counted when they are dropped, until the reader has been told", () => {
    const buffer = new EventBuffer()
    for (let i = 0; i < 2_050; i++) buffer.add(String(i))
    buffer.add("x".repeat(maxCharacters + 1))
    expect(buffer.takeAll()).toEqual({ dropped: 2_051, events: [] })
    buffer.add("a")
    expect(buffer.takeAll()).toEqual({ dropped: 0, events: ["a"] })
  })

  it("are at most 2048 and 1 MiB: the newest stay, and older ones go, in any story", () => {
    const size = fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: maxCharacters + 1 }))
    const burst = fc.record({ events: fc.integer({ min: 1, max: 2_500 }), size, taken: fc.boolean() })
    fc.assert(
      fc.property(fc.array(burst, { maxLength: 3 }), (bursts) => {
        const buffer = new EventBuffer()
        let waiting: ReadonlyArray<number> = []
        for (const { events, size: length, taken } of bursts) {
          const count = length > 400 ? 3 : events
          const event = "x".repeat(length)
          for (let i = 0; i < count; i++) buffer.add(event)
          waiting = [...waiting, ...Array.from({ length: count }, () => length)]
          const { characters, events: kept } = buffer.size
          expect(kept).toBeLessThanOrEqual(2_048)
          expect(characters).toBeLessThanOrEqual(maxCharacters)
          // The newest stay, and the next older one would be too much.
          const lengths = waiting.slice(waiting.length - kept)
          expect(lengths.reduce((sum, one) => sum + one, 0)).toBe(characters)
          const older = waiting[waiting.length - kept - 1]
          if (older !== undefined) expect(kept === 2_048 || characters + older > maxCharacters).toBe(true)
          if (!taken) {
            waiting = older === undefined ? waiting : lengths
            continue
          }
          const all = buffer.takeAll()
          expect(all.events.map((one) => one.length)).toEqual(lengths)
          expect(buffer.size).toEqual({ events: 0, characters: 0 })
          waiting = []
        }
      }),
      { numRuns: 30 }
    )
  })
})
