/**
 * Named streams of random numbers. A stream is independent of streams with other names, so a new draw in one place
 * shifts nothing elsewhere, and seeds keep their stories.
 */

import { uniformInt } from "pure-rand/distribution/uniformInt"
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus"

/** FNV-1a of 32 bits over UTF-16 units. It only has to spread names over seeds. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value
}

/** One stream of random numbers. */
export class RandomStream {
  readonly #generator
  readonly #seed: string

  constructor(seed: string) {
    this.#seed = seed
    this.#generator = xoroshiro128plus(hash(seed))
  }

  /** A stream of its own below this stream. The same name gives the same stream, whatever was drawn before. */
  split(name: string): RandomStream {
    return new RandomStream(`${this.#seed}/${name}`)
  }

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return uniformInt(this.#generator, least, most)
  }

  /** A number from 0 (included) to 1 (excluded), in steps of 2⁻³¹. */
  fraction(): number {
    return this.int(0, 0x7fffffff) / 0x80000000
  }

  chance(probability: number): boolean {
    return probability > 0 && this.fraction() < probability
  }

  pick<A>(items: readonly [A, ...ReadonlyArray<A>]): A
  pick<A>(items: ReadonlyArray<A>): A | undefined
  pick<A>(items: ReadonlyArray<A>): A | undefined {
    return items.length === 0 ? undefined : items[this.int(0, items.length - 1)]
  }

  /** A shuffled copy. */
  shuffle<A>(items: ReadonlyArray<A>): Array<A> {
    const left = [...items]
    return items.map(() => left.splice(this.int(0, left.length - 1), 1)).flat()
  }
}
