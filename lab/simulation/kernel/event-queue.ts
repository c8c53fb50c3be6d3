/**
 * The events of virtual time that are still to come, earliest first. Most delays of a world are a few whole numbers,
 * and events of one delay come in the order in which they were scheduled. So each whole delay has a lane, and only the
 * lane's first event is in the heap. A large world has thousands of time-outs under way, of which nearly all are
 * cancelled long before their time; they never get into the heap.
 */

import { EventHeap, type HeapEntry } from "./event-heap.ts"

/** Events of one delay. The first is in the heap, the others wait behind it. */
interface Lane<Event> {
  readonly delay: number
  last: Event
}

/** An event of the queue. Without `run` it is cancelled. `lane` and `behind` are the queue's own. */
export interface QueuedEvent<Event> extends HeapEntry {
  readonly run: (() => void) | undefined
  lane: Lane<Event> | undefined
  /** The next event of the lane. */
  behind: Event | undefined
}

export class EventQueue<Event extends QueuedEvent<Event>> {
  readonly #heap = new EventHeap<Event>()
  /** By delay. A lane is there for as long as it has events. */
  readonly #lanes = new Map<number, Lane<Event>>()

  /** The earliest event; it may be cancelled. */
  peek(): Event | undefined {
    return this.#heap.peek()
  }

  /** Adds an event that is due in `delay`. Of events with the same delay, a later one is never due earlier. */
  push(event: Event, delay: number): void {
    if (!Number.isInteger(delay)) return this.#heap.push(event)
    const lane = this.#lanes.get(delay)
    if (lane === undefined) {
      event.lane = { delay, last: event }
      this.#lanes.set(delay, event.lane)
      return this.#heap.push(event)
    }
    event.lane = lane
    lane.last.behind = event
    lane.last = event
  }

  /** Takes the earliest event away. */
  pop(): Event | undefined {
    const first = this.#heap.pop()
    if (first?.lane === undefined) return first
    const next = firstAlive(first)
    if (next === undefined) this.#lanes.delete(first.lane.delay)
    else this.#heap.push(next)
    return first
  }
}

/** The first event behind this one that is not cancelled. All events before it are taken from one another. */
const firstAlive = <Event extends QueuedEvent<Event>>(event: Event): Event | undefined => {
  let next = event.behind
  event.behind = undefined
  while (next !== undefined && next.run === undefined) {
    const cancelled: Event = next
    next = cancelled.behind
    cancelled.behind = undefined
  }
  return next
}
