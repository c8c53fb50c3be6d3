/** An open directory of the reference agent, read entry by entry or in buffers of `getdents64`. */

import * as fs from "node:fs"
import type { DirEntry } from "../../../src/domain/protocol/file-messages.ts"

const fileType = (entry: fs.Dirent): number => {
  if (entry.isFIFO()) return 1
  if (entry.isCharacterDevice()) return 2
  if (entry.isDirectory()) return 4
  if (entry.isBlockDevice()) return 6
  if (entry.isFile()) return 8
  if (entry.isSymbolicLink()) return 10
  return entry.isSocket() ? 12 : 0
}

const inode = (path: string): bigint => fs.lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? 0n

/** Size of a `linux_dirent64`: a head of 19 bytes, the name with its end, rounded up to 8. */
const recordSize = (entry: DirEntry): number =>
  Math.ceil((19 + new TextEncoder().encode(entry.name).length + 1) / 8) * 8

/**
 * The entries of a directory as they were when it was opened, handed out from front to back; `position` counts from 0.
 */
export class DirectoryStream {
  readonly #entries: ReadonlyArray<DirEntry>
  #next = 0

  /** @param dots whether `.` and `..` come first, as `getdents` gives them; throws what the file system throws */
  constructor(host: string, dots: boolean) {
    const directory = fs.opendirSync(host)
    const entries: Array<Omit<DirEntry, "position">> = dots
      ? [
          { inode: inode(host), name: ".", fileType: 4 },
          { inode: inode(`${host}/..`), name: "..", fileType: 4 }
        ]
      : []
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        entries.push({ inode: inode(`${host}/${entry.name}`), name: entry.name, fileType: fileType(entry) })
      }
    } finally {
      directory.closeSync()
    }
    this.#entries = entries.map((entry, position) => ({ ...entry, position: BigInt(position) }))
  }

  next(): DirEntry | null {
    return this.#entries[this.#next++] ?? null
  }

  batch(amount: bigint): ReadonlyArray<DirEntry> {
    const count = Number(amount < BigInt(this.#entries.length) ? amount : BigInt(this.#entries.length))
    const entries = this.#entries.slice(this.#next, this.#next + count)
    this.#next += entries.length
    return entries
  }

  /** As many entries as fit into a buffer of `getdents64`, and their size there. */
  fill(bufferSize: bigint): { readonly entries: ReadonlyArray<DirEntry>; readonly resultSize: bigint } {
    const entries: Array<DirEntry> = []
    let size = 0
    for (let entry = this.#entries[this.#next]; entry !== undefined; entry = this.#entries[this.#next]) {
      if (BigInt(size + recordSize(entry)) > bufferSize) break
      size += recordSize(entry)
      entries.push(entry)
      this.#next++
    }
    return { entries, resultSize: BigInt(size) }
  }
}
