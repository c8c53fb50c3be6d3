/**
 * Turns Linux error numbers into the protocol's errors, as the real agent words them. Errors of Node are first read in
 * `node-errors.ts`.
 */

import type { ErrorKind, ResponseError } from "../../src/domain/protocol/response-error.ts"

/** The kinds of errors that carry no text. */
type PlainKind = Exclude<ErrorKind, { readonly _tag: "Unknown" }>

/**
 * Kind by Linux error number, as Rust's standard library maps it to `io::ErrorKind`, and mirrord-protocol to its own
 * enum. Kinds that Rust has not stabilised reach the wire as `Unknown` with their description (seen with the real
 * agent: ELOOP, EBADF).
 */
const kindOfErrno: ReadonlyMap<number, PlainKind> = new Map([
  [1, { _tag: "PermissionDenied" }],
  [2, { _tag: "NotFound" }],
  [4, { _tag: "Interrupted" }],
  [7, { _tag: "ArgumentListTooLong" }],
  [11, { _tag: "WouldBlock" }],
  [12, { _tag: "OutOfMemory" }],
  [13, { _tag: "PermissionDenied" }],
  [16, { _tag: "ResourceBusy" }],
  [17, { _tag: "AlreadyExists" }],
  [18, { _tag: "CrossesDevices" }],
  [20, { _tag: "NotADirectory" }],
  [21, { _tag: "IsADirectory" }],
  [22, { _tag: "InvalidInput" }],
  [26, { _tag: "ExecutableFileBusy" }],
  [27, { _tag: "FileTooLarge" }],
  [28, { _tag: "StorageFull" }],
  [29, { _tag: "NotSeekable" }],
  [30, { _tag: "ReadOnlyFilesystem" }],
  [31, { _tag: "TooManyLinks" }],
  [32, { _tag: "BrokenPipe" }],
  [35, { _tag: "Deadlock" }],
  [36, { _tag: "InvalidFilename" }],
  [38, { _tag: "Unsupported" }],
  [39, { _tag: "DirectoryNotEmpty" }],
  [95, { _tag: "Unsupported" }],
  [98, { _tag: "AddrInUse" }],
  [99, { _tag: "AddrNotAvailable" }],
  [100, { _tag: "NetworkDown" }],
  [101, { _tag: "NetworkUnreachable" }],
  [103, { _tag: "ConnectionAborted" }],
  [104, { _tag: "ConnectionReset" }],
  [107, { _tag: "NotConnected" }],
  [110, { _tag: "TimedOut" }],
  [111, { _tag: "ConnectionRefused" }],
  [113, { _tag: "HostUnreachable" }],
  [116, { _tag: "StaleNetworkFileHandle" }],
  [122, { _tag: "FilesystemQuotaExceeded" }]
])

const unstable: ReadonlyMap<number, string> = new Map([
  [40, "filesystem loop or indirection limit (e.g. symlink loop)"],
  [115, "in progress"]
])

/** Linux error numbers that the reference agent itself decides on. */
export const errno = {
  ENOENT: 2,
  ENXIO: 6,
  EBADF: 9,
  EBUSY: 16,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  EFBIG: 27,
  ESPIPE: 29,
  EROFS: 30,
  ENAMETOOLONG: 36,
  ENOTEMPTY: 39,
  ELOOP: 40,
  EMSGSIZE: 90,
  EPROTOTYPE: 91,
  ECONNRESET: 104,
  ENOTCONN: 107,
  ECONNREFUSED: 111
} as const

/** The answer for a system call that failed with a (positive, Linux) error number. */
export const systemError = (rawOsError: number): ResponseError => {
  const kind = kindOfErrno.get(rawOsError)
  return {
    _tag: "RemoteIO",
    value: {
      rawOsError,
      kind: kind === undefined ? { _tag: "Unknown", value: unstable.get(rawOsError) ?? "uncategorized error" } : kind
    }
  }
}

/** The answer for a failure that the agent found without a system call. */
export const agentError = (
  kind: "NotFound" | "InvalidInput" | "TimedOut" | "Unsupported" | "Other"
): ResponseError => ({
  _tag: "RemoteIO",
  value: { rawOsError: null, kind: { _tag: kind } }
})
