/**
 * Lets few large answers of one API server be read at a time: after a start hundreds of objects may be read or patched
 * at once, and each answer is the whole object.
 *
 * Not here: reading them, and their bounds (bounded-body.ts).
 */

/** How many large answers of a server are read at a time. */
const maxAtOnce = 4

export class LargeBodies {
  #free = maxAtOnce
  readonly #waiting: Array<() => void> = []

  /** Completes when it is this answer's turn, in the order of asking. The result ends the turn. */
  async enter(): Promise<() => void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    return () => this.#leave()
  }

  /** The turn goes to the next answer. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
