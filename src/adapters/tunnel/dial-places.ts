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
  /** Those that wait, in the order in which they came, with their addresses. */
  readonly #waiting = new Map<() => void, string>()
  /** Connections that have a place, by address. */
  readonly #openOf = new Map<string, number>()
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
      this.#count(address, 1)
      begin()
    }
    let isTaken = true
    this.#waiting.set(enter, address)
    this.#admit()
    return (hasProved) => {
      if (!isTaken) return
      isTaken = false
      if (!this.#waiting.delete(enter)) this.#count(address, -1)
      if (hasProved && this.#second === second) this.#recent.set(address, (this.#recent.get(address) ?? 1) - 1)
      this.#admit()
    }
  }

  #count(address: string, change: 1 | -1): void {
    this.#open += change
    const open = (this.#openOf.get(address) ?? 0) + change
    if (open === 0) this.#openOf.delete(address)
    else this.#openOf.set(address, open)
  }

  /**
   * Gives free places to the addresses that have the fewest, and among their connections to the first: one address
   * whose connections prove nothing does not hold up the others.
   */
  #admit(): void {
    while (this.#open < this.#bounds.atOnce) {
      let [next, fewest] = [undefined as (() => void) | undefined, Infinity]
      for (const [enter, address] of this.#waiting) {
        const open = this.#openOf.get(address) ?? 0
        if (open < fewest) [next, fewest] = [enter, open]
      }
      if (next === undefined) return
      this.#waiting.delete(next)
      next()
    }
  }
}
