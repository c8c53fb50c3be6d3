/**
 * The addresses of a node's pods: `127.<subnet>.x.y` without the first and last x. Clients may still hold the address
 * of a pod that is gone, so a free address is used again as late as possible, after all others.
 */

const size = 254 * 256

export class AddressPool {
  readonly #subnet: number
  readonly #held = new Set<string>()
  #next = 0

  constructor(subnet: number) {
    this.#subnet = subnet
  }

  /** A free address; `undefined` if there is none. */
  take(): string | undefined {
    for (let tries = 0; tries < size; tries++) {
      const index = this.#next
      this.#next = (this.#next + 1) % size
      const ip = `127.${this.#subnet}.${1 + Math.floor(index / 256)}.${index % 256}`
      if (this.#held.has(ip)) continue
      this.#held.add(ip)
      return ip
    }
    return undefined
  }

  release(ip: string): void {
    this.#held.delete(ip)
  }
}
