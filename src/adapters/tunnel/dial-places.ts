/**
 * The bound on connections that have not proved anything yet. Strangers can make them, and each costs a handshake.
 *
 * Not here: their time, which TLS and HTTP bound (guarded-listener.ts).
 */

export interface DialBounds {
  /** Most connections at a time that have proved nothing. */
  readonly atOnce: number
  /** Most connections from one address in a second that prove nothing. */
  readonly perSecond: number
}

export class DialPlaces {
  readonly #bounds: DialBounds
  /** Connections of this second, by address. */
  readonly #recent = new Map<string, number>()
  #second = 0
  #open = 0

  constructor(bounds: DialBounds) {
    this.#bounds = bounds
  }

  /**
   * Takes a place for a connection; `undefined` if it is to be refused. The result gives the place back, once, whatever
   * it is called with later. `hasProved`: many members may share one address, so a connection that proved to be one's
   * does not count for it. `now`: in ms, of a clock that never goes back.
   */
  take(address: string, now: number): ((hasProved: boolean) => void) | undefined {
    const second = Math.floor(now / 1_000)
    if (second !== this.#second) this.#recent.clear()
    this.#second = second
    const recent = this.#recent.get(address) ?? 0
    if (this.#open >= this.#bounds.atOnce || recent >= this.#bounds.perSecond) return undefined
    this.#recent.set(address, recent + 1)
    this.#open++
    let isTaken = true
    return (hasProved) => {
      if (!isTaken) return
      isTaken = false
      this.#open--
      if (hasProved && this.#second === second) this.#recent.set(address, (this.#recent.get(address) ?? 1) - 1)
    }
  }
}
