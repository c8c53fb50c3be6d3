/**
 * The bound on connections that have not proved anything yet, and their order. Strangers can make them, and each costs
 * a handshake.
 *
 * Not here: their time, which TLS and HTTP bound (guarded-listener.ts).
 */

export interface DialBounds {
  /** Most connections at a time that have proved nothing and have a place. */
  readonly atOnce: number
  /**
   * Most connections that wait for a place. When a primary's operator starts, all members dial within seconds, and one
   * that is refused comes again much later than one that waits.
   */
  readonly waiting: number
  /** Most connections from one address in a second that prove nothing. */
  readonly perSecond: number
}

export class DialPlaces {
  readonly #bounds: DialBounds
  /** Connections of this second, by address. */
  readonly #recent = new Map<string, number>()
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>()
  #second = 0
  #open = 0

  constructor(bounds: DialBounds) {
    this.#bounds = bounds
  }

  /**
   * Takes a place for a connection, now or when one is free, and calls `begin` then; `undefined` if it is to be
   * refused. The result gives the place back, once, whatever it is called with later. `hasProved`: many members may
   * share one address, so a connection that proved to be one's does not count for it. `now`: in ms, of a clock that
   * never goes back.
   */
  take(address: string, now: number, begin: () => void): ((hasProved: boolean) => void) | undefined {
    const second = Math.floor(now / 1_000)
    if (second !== this.#second) this.#recent.clear()
    this.#second = second
    const recent = this.#recent.get(address) ?? 0
    const isFull = this.#open >= this.#bounds.atOnce && this.#waiting.size >= this.#bounds.waiting
    if (isFull || recent >= this.#bounds.perSecond) return undefined
    this.#recent.set(address, recent + 1)
    const enter = (): void => {
      this.#open++
      begin()
    }
    let isTaken = true
    this.#waiting.add(enter)
    this.#admit()
    return (hasProved) => {
      if (!isTaken) return
      isTaken = false
      if (!this.#waiting.delete(enter)) this.#open--
      if (hasProved && this.#second === second) this.#recent.set(address, (this.#recent.get(address) ?? 1) - 1)
      this.#admit()
    }
  }

  /** Gives free places to the connections that have waited longest. */
  #admit(): void {
    for (const enter of this.#waiting) {
      if (this.#open >= this.#bounds.atOnce) return
      this.#waiting.delete(enter)
      enter()
    }
  }
}
