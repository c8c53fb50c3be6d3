/**
 * Takes a socket back from a library that has listened to it: the listeners that were added since a moment are removed,
 * those from before stay.
 */

import type { EventEmitter } from "node:events"

/** Notes the listeners of now, and gives the function that removes all later ones. */
export const noteListeners = (emitter: EventEmitter): (() => void) => {
  const before = new Map(emitter.eventNames().map((event) => [event, emitter.rawListeners(event)]))
  return () => {
    for (const event of emitter.eventNames()) {
      const kept = [...(before.get(event) ?? [])]
      for (const listener of emitter.rawListeners(event)) {
        const at = kept.indexOf(listener)
        if (at < 0) emitter.off(event, listener as (...given: Array<unknown>) => void)
        else kept.splice(at, 1)
      }
    }
  }
}
