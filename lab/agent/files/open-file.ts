/** An open file of the reference agent, with a position of its own because Node has no `lseek`. */

import * as fs from "node:fs"
import type { SeekFrom } from "../../../src/domain/protocol/file-messages.ts"
import { errno } from "../io-errors.ts"
import { failWith } from "./resolve-in-root.ts"

/** Most bytes that a single read returns, as `read(2)` may; the rest comes with the next read. */
const longestRead = 32n * 1024n * 1024n
/** The largest offset that Node passes on exactly. */
const largestOffset = BigInt(Number.MAX_SAFE_INTEGER)
const largestPosition = (1n << 63n) - 1n

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * An open file. Files without a position (FIFO, socket), or without a useful one (character devices), are read and
 * written at the kernel's position.
 */
export class OpenFile {
  readonly #fd: number
  readonly #append: boolean
  /** Whether positions mean anything. */
  readonly #seekable: boolean
  readonly #pipe: boolean
  #position = 0n

  constructor(fd: number, append: boolean) {
    this.#fd = fd
    this.#append = append
    const stat = fs.fstatSync(fd)
    this.#seekable = stat.isFile() || stat.isBlockDevice()
    this.#pipe = stat.isFIFO() || stat.isSocket()
  }

  /** A path to the open file itself, for calls that Node offers only for paths. */
  get procPath(): string {
    return `/proc/self/fd/${this.#fd}`
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
    if (offset > largestPosition) failWith(errno.EINVAL)
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
    const buffer = new Uint8Array(Number(min(min(size, longestRead), left > 65_536n ? left : 65_536n)))
    const read = fs.readSync(this.#fd, buffer, 0, buffer.length, min(offset, largestPosition - BigInt(buffer.length)))
    return buffer.length - read > 4096 ? buffer.slice(0, read) : buffer.subarray(0, read)
  }

  write(bytes: Uint8Array): number {
    const written = this.#writeAt(bytes, this.#seekable ? this.#position : undefined)
    this.#position = this.#append && this.#seekable ? this.stat().size : this.#position + BigInt(written)
    return written
  }

  /**
   * Writes without moving the position. A file opened for appending grows at its end whatever the offset, as on Linux.
   */
  writeAt(bytes: Uint8Array, offset: bigint): number {
    if (offset > largestPosition) failWith(errno.EINVAL)
    if (this.#pipe) failWith(errno.ESPIPE)
    return this.#writeAt(bytes, this.#seekable ? offset : undefined)
  }

  #writeAt(bytes: Uint8Array, offset: bigint | undefined): number {
    if (offset !== undefined && offset > largestOffset) failWith(errno.EFBIG)
    return fs.writeSync(this.#fd, bytes, 0, bytes.length, offset === undefined ? null : Number(offset))
  }

  seek(to: SeekFrom): bigint {
    if (this.#pipe) failWith(errno.ESPIPE)
    const end = to._tag === "End" && this.#seekable ? this.stat().size : 0n
    const base = to._tag === "Current" ? this.#position : end
    const position = base + to.value
    if (position < 0n || position > largestPosition) failWith(errno.EINVAL)
    if (this.#seekable) this.#position = position
    return this.#position
  }

  truncate(length: bigint): void {
    if (length < 0n) failWith(errno.EINVAL)
    if (length > largestOffset) failWith(errno.EFBIG)
    fs.ftruncateSync(this.#fd, Number(length))
  }

  /** Sets times in seconds, as Node takes them: exact to about a quarter of a microsecond. */
  setTimes(access: number, modification: number): void {
    fs.futimesSync(this.#fd, access, modification)
  }

  chown(owner: number, group: number): void {
    fs.fchownSync(this.#fd, owner, group)
  }

  chmod(mode: number): void {
    fs.fchmodSync(this.#fd, mode & 0o7777)
  }

  close(): void {
    fs.closeSync(this.#fd)
  }
}
