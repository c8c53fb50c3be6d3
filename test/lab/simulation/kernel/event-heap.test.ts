/** The order of the event heap, as a property. */

import fc from "fast-check"
import { expect, it } from "vitest"
import { EventHeap } from "../../../../lab/simulation/kernel/event-heap.ts"

it("gives entries by time, those of one time in the order of scheduling, whatever is mixed in between", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20)), { maxLength: 200 }), (deeds) => {
      const heap = new EventHeap<{ readonly time: number; readonly order: number }>()
      const model: Array<{ readonly time: number; readonly order: number }> = []
      for (const [order, time] of deeds.entries()) {
        if (time !== null) {
          heap.push({ time, order })
          model.push({ time, order })
          model.sort((a, b) => a.time - b.time || a.order - b.order)
        } else {
          expect(heap.pop()).toEqual(model.shift())
        }
        expect(heap.size).toBe(model.length)
        expect(heap.peek()).toEqual(model[0])
      }
      while (model.length > 0) expect(heap.pop()).toEqual(model.shift())
      expect(heap.pop()).toBeUndefined()
    })
  )
})
