/**
 * The events that a reader has not taken yet, within bounds: of a slow reader the oldest events are dropped, and it is
 * told how many.
 *
 * Not here: the readers (app/relay/interceptions.ts).
 */

/** Most events of one reader, as in the published operator. */
const maxEvents = 2_048
/** Most characters of them together. */
export const maxCharacters = 1024 * 1024

export class EventBuffer {
  #events: Array<string> = []
  #characters = 0
  #dropped = 0

  /** Events that wait, and characters of them. */
  get size(): { readonly events: number; readonly characters: number } {
    return { events: this.#events.length, characters: this.#characters }
  }

  /** Adds an event. An event that is larger than the whole buffer counts as dropped. */
  add(event: string): void {
    this.#events.push(event)
    this.#characters += event.length
    while (this.#events.length > maxEvents || this.#characters > maxCharacters) {
      this.#characters -= this.#events.shift()?.length ?? 0
      this.#dropped++
    }
  }

  /** Everything that waits, in order, and how many older events were dropped before it. */
  takeAll(): { readonly dropped: number; readonly events: ReadonlyArray<string> } {
    const taken = { dropped: this.#dropped, events: this.#events }
    this.#events = []
    this.#characters = 0
    this.#dropped = 0
    return taken
  }
}
