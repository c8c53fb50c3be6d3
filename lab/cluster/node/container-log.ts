/**
 * The log of one run of a container: the newest lines within a bound. A reader that follows keeps a position, not a
 * queue: a slow reader costs nothing and loses the lines that left the bound meanwhile. Logs are not written to disk.
 */

/** Options of {@link ContainerLog.read}. */
export interface LogReadOptions {
  /** Wait for further lines until the container ends. */
  readonly follow?: boolean
  /** Begin with the last `tailLines` lines of the log. */
  readonly tailLines?: number
  /** Begin with the first line from this time on, epoch ms. */
  readonly since?: number
  /** The time of each line in front of it, in nanoseconds as a kubelet writes it. */
  readonly timestamps?: boolean
}

const defaultCapacity = { lines: 10_000, characters: 1 << 20 }

const stamped = ({ at, text }: StoredLine): string => `${new Date(at).toISOString().replace("Z", "000000Z")} ${text}`

interface StoredLine {
  readonly at: number
  readonly text: string
}

export class ContainerLog {
  readonly #lines: Array<StoredLine> = []
  readonly #now: () => number
  readonly #capacity: { readonly lines: number; readonly characters: number }
  /** Position of `#lines[0]` since the start of the run. */
  #first = 0
  #characters = 0
  #ended = false
  readonly #waiting = new Set<() => void>()

  constructor(now: () => number, capacity: { readonly lines: number; readonly characters: number } = defaultCapacity) {
    this.#now = now
    this.#capacity = capacity
  }

  append(text: string): void {
    if (this.#ended) return
    this.#lines.push({ at: this.#now(), text })
    this.#characters += text.length
    while (this.#lines.length > this.#capacity.lines || this.#characters > this.#capacity.characters) {
      this.#characters -= this.#lines.shift()?.text.length ?? 0
      this.#first++
    }
    this.#wake()
  }

  /** The container ended: followers end after the last line. */
  end(): void {
    this.#ended = true
    this.#wake()
  }

  /** The newest lines, at most so many and with so many characters, as one text with line ends. */
  tail(lines: number, characters: number): string {
    const text = this.#lines
      .slice(-lines)
      .map((line) => `${line.text}\n`)
      .join("")
    return text.slice(-characters)
  }

  read(options: LogReadOptions = {}): AsyncIterable<string> {
    return { [Symbol.asyncIterator]: () => this.#iterate(options) }
  }

  /**
   * No generator: `return()` must end an iterator that waits for a line, and a generator's `return()` would wait too.
   */
  #iterate(options: LogReadOptions): AsyncIterator<string, undefined> {
    const end = this.#first + this.#lines.length
    let position = options.tailLines === undefined ? this.#first : Math.max(this.#first, end - options.tailLines)
    let closed = false
    let cancel: (() => void) | undefined
    const next = async (): Promise<IteratorResult<string, undefined>> => {
      while (!closed) {
        position = Math.max(position, this.#first)
        const line = this.#lines[position - this.#first]
        if (line !== undefined) {
          position++
          if (line.at < (options.since ?? 0)) continue
          return { done: false, value: options.timestamps === true ? stamped(line) : line.text }
        }
        if (this.#ended || options.follow !== true) break
        await new Promise<void>((resolve) => {
          cancel = resolve
          this.#waiting.add(resolve)
        })
      }
      return { done: true, value: undefined }
    }
    return {
      next,
      return: () => {
        closed = true
        if (cancel !== undefined) {
          this.#waiting.delete(cancel)
          cancel()
        }
        return Promise.resolve({ done: true, value: undefined })
      }
    }
  }

  #wake(): void {
    for (const resume of this.#waiting) resume()
    this.#waiting.clear()
  }
}
