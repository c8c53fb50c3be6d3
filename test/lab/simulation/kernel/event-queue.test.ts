/** The order of the event queue, as a property against a sorted list. */

import fc from "fast-check"
import { expect, it } from "vitest"
import { EventQueue, type QueuedEvent } from "../../../../lab/simulation/kernel/event-queue.ts"

interface Event extends QueuedEvent<Event> {
  run: (() => void) | undefined
}

const deed = fc.oneof(
  fc.record({ _tag: fc.constant("Push" as const), delay: fc.oneof(fc.nat(3), fc.constantFrom(0.5, 1.5, Infinity)) }),
  fc.record({ _tag: fc.constant("Cancel" as const), which: fc.nat() }),
  fc.record({ _tag: fc.constant("Pop" as const) }),
  fc.record({ _tag: fc.constant("Pass" as const), time: fc.constantFrom(0.25, 1) })
)

it("gives events by time, those of one time in the order of scheduling, and forgets some that are cancelled", () => {
  fc.assert(
    fc.property(fc.array(deed, { maxLength: 200 }), (deeds) => {
      const queue = new EventQueue<Event>()
      let model: Array<Event> = []
      let now = 0
      /** The next event that is not cancelled, as the kernel looks for it. */
      const pop = (): Event | undefined => {
        let next = queue.pop()
        while (next !== undefined && next.run === undefined) next = queue.pop()
        return next
      }
      for (const [order, act] of deeds.entries()) {
        switch (act._tag) {
          case "Push": {
            const event: Event = { time: now + act.delay, order, run: () => {}, lane: undefined, behind: undefined }
            queue.push(event, act.delay)
            model.push(event)
            break
          }
          case "Cancel": {
            const event = model[act.which % model.length]
            if (event !== undefined) event.run = undefined
            model = model.filter((other) => other !== event)
            break
          }
          case "Pop": {
            model.sort((a, b) => a.time - b.time || a.order - b.order)
            const expected = model.shift()
            expect(pop()).toBe(expected)
            now = Math.max(now, expected?.time ?? now)
            break
          }
          case "Pass":
            now = Math.min(now + act.time, ...model.map(({ time }) => time))
        }
      }
      for (const event of model.toSorted((a, b) => a.time - b.time || a.order - b.order)) expect(pop()).toBe(event)
      expect(pop()).toBeUndefined()
    })
  )
})
