/** A file that is open to be read, with a position of its own because Node has no `lseek`. */

import * as fs from "node:fs"
import type { SeekFrom } from "../../../src/domain/protocol/file-messages.ts"
import { errno } from "../io-errors.ts"
import { failWith } from "./resolve-in-root.ts"

/** Most bytes that a single read returns, as `read(2)` may; the rest comes with the next read. */
const maxRead = 32n * 1024n * 1024n
const maxPosition = (1n << 63n) - 1n

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * An open file. Files without a position (FIFO, socket), or without a useful one (character devices), are read at the
 * kernel's position.
 */
export class OpenFile {
  readonly #fd: number
  /** Whether positions mean anything. */
  readonly #seekable: boolean
  readonly #pipe: boolean
  #position = 0n

  constructor(fd: number) {
    this.#fd = fd
    const stat = fs.fstatSync(fd)
    this.#seekable = stat.isFile() || stat.isBlockDevice()
    this.#pipe = stat.isFIFO() || stat.isSocket()
  }

  stat(): fs.BigIntStats {
    return fs.fstatSync(this.#fd, { bigint: true })
  }

  read(size: bigint): Uint8Array {
    const bytes = this.#seekable ? this.#readAt(size, this.#position) : this.#readNext(size)
    this.#position += BigInt(bytes.length)
    return bytes
  }

  /** Reads without moving the position. */
  readAt(size: bigint, offset: bigint): Uint8Array {
    if (offset > maxPosition) failWith(errno.EINVAL)
    if (this.#pipe) failWith(errno.ESPIPE)
    return this.#seekable ? this.#readAt(size, offset) : this.#readNext(size)
  }

  #readNext(size: bigint): Uint8Array {
    const buffer = new Uint8Array(Number(min(size, 65_536n)))
    return buffer.subarray(0, fs.readSync(this.#fd, buffer, 0, buffer.length, null))
  }

  #readAt(size: bigint, offset: bigint): Uint8Array {
    const left = this.stat().size - offset
    // Files of /proc have size 0 and yet content; of a growing file the rest comes with the next read.
    const buffer = new Uint8Array(Number(min(min(size, maxRead), left > 65_536n ? left : 65_536n)))
    const read = fs.readSync(this.#fd, buffer, 0, buffer.length, min(offset, maxPosition - BigInt(buffer.length)))
    return buffer.length - read > 4096 ? buffer.slice(0, read) : buffer.subarray(0, read)
  }

  seek(to: SeekFrom): bigint {
    if (this.#pipe) failWith(errno.ESPIPE)
    const end = to._tag === "End" && this.#seekable ? this.stat().size : 0n
    const base = to._tag === "Current" ? this.#position : end
    const position = base + to.value
    if (position < 0n || position > maxPosition) failWith(errno.EINVAL)
    if (this.#seekable) this.#position = position
    return this.#position
  }

  close(): void {
    fs.closeSync(this.#fd)
  }
}
