import { Duplex } from "node:stream"

/** A socket whose other end is the test. Written bytes are copied at once, as by a kernel. */
export class FakeSocket extends Duplex {
  readonly written: Array<Buffer> = []
  /** How many writes the network has been given. */
  writes = 0
  /** Whether the network takes anything. */
  #isTaking = true
  #waiting: (() => void) | undefined

  constructor() {
    super({ allowHalfOpen: true, highWaterMark: 64 * 1024 })
    this.on("error", () => {})
  }

  get bytes(): Buffer {
    return Buffer.concat(this.written)
  }

  stall(): void {
    this.#isTaking = false
  }

  /** Takes what waited, and everything that comes. */
  flow(): void {
    this.#isTaking = true
    this.takeOne()
  }

  /** Takes the write that waits. */
  takeOne(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.()
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this._writev([{ chunk }], done)
  }

  override _writev(chunks: ReadonlyArray<{ readonly chunk: Buffer }>, done: () => void): void {
    this.writes++
    const take = (): void => {
      for (const { chunk } of chunks) this.written.push(Buffer.from(chunk))
      done()
    }
    if (this.#isTaking) take()
    else this.#waiting = take
  }

  override _final(done: () => void): void {
    done()
  }
}
