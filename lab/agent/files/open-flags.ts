/**
 * The flags of `open(2)` for Rust's `OpenOptions`; `undefined` for combinations that Rust refuses. A FIFO never blocks.
 */

import { constants } from "node:fs"
import type { OpenOptions } from "../../../src/domain/protocol/file-messages.ts"

export const openFlags = (options: OpenOptions): number | undefined => {
  const { read, write, append, truncate, create, createNew } = options
  if (!read && !write && !append) return undefined
  if (append ? truncate && !createNew : !write && (truncate || create || createNew)) return undefined
  const access = write || append ? (read ? constants.O_RDWR : constants.O_WRONLY) : constants.O_RDONLY
  const creation = createNew
    ? constants.O_CREAT | constants.O_EXCL
    : (create ? constants.O_CREAT : 0) | (truncate ? constants.O_TRUNC : 0)
  return access | (append ? constants.O_APPEND : 0) | creation | constants.O_NONBLOCK
}
