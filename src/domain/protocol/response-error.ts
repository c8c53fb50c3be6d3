/**
 * Shapes of the errors in answers (wire.md §4.8). The router adapts errors of subscriptions to what the client can
 * read.
 */

import { HttpFilter, StealType } from "./http-filter-messages.ts"
import { SocketAddress } from "./network-messages.ts"
import {
  bool,
  enumeration,
  fields,
  i32,
  newtype,
  option,
  struct,
  text,
  tuple,
  type TypeOf,
  u16,
  u32,
  u64,
  unitVariant
} from "./shape.ts"

export const ErrorKind = enumeration("ErrorKindInternal", {
  NotFound: unitVariant,
  PermissionDenied: unitVariant,
  ConnectionRefused: unitVariant,
  ConnectionReset: unitVariant,
  HostUnreachable: unitVariant,
  NetworkUnreachable: unitVariant,
  ConnectionAborted: unitVariant,
  NotConnected: unitVariant,
  AddrInUse: unitVariant,
  AddrNotAvailable: unitVariant,
  NetworkDown: unitVariant,
  BrokenPipe: unitVariant,
  AlreadyExists: unitVariant,
  WouldBlock: unitVariant,
  NotADirectory: unitVariant,
  IsADirectory: unitVariant,
  DirectoryNotEmpty: unitVariant,
  ReadOnlyFilesystem: unitVariant,
  FilesystemLoop: unitVariant,
  StaleNetworkFileHandle: unitVariant,
  InvalidInput: unitVariant,
  InvalidData: unitVariant,
  TimedOut: unitVariant,
  WriteZero: unitVariant,
  StorageFull: unitVariant,
  NotSeekable: unitVariant,
  FilesystemQuotaExceeded: unitVariant,
  FileTooLarge: unitVariant,
  ResourceBusy: unitVariant,
  ExecutableFileBusy: unitVariant,
  Deadlock: unitVariant,
  CrossesDevices: unitVariant,
  TooManyLinks: unitVariant,
  InvalidFilename: unitVariant,
  ArgumentListTooLong: unitVariant,
  Interrupted: unitVariant,
  Unsupported: unitVariant,
  UnexpectedEof: unitVariant,
  OutOfMemory: unitVariant,
  Other: unitVariant,
  Unknown: newtype(text)
})
export type ErrorKind = TypeOf<typeof ErrorKind>

export const ResolveErrorKind = enumeration("ResolveErrorKindInternal", {
  Message: newtype(text),
  NoConnections: unitVariant,
  NoRecordsFound: newtype(u16),
  Proto: unitVariant,
  Timeout: unitVariant,
  Unknown: unitVariant,
  NotFound: unitVariant,
  PermissionDenied: unitVariant
})
export type ResolveErrorKind = TypeOf<typeof ResolveErrorKind>

const RemoteError = enumeration("RemoteError", {
  NameserverNotFound: unitVariant,
  AddressParsing: newtype(text),
  InvalidAddress: newtype(SocketAddress),
  ConnectTimedOut: newtype(SocketAddress),
  BadHttpFilterRegex: tuple({ filter: text, message: text }),
  BadHttpFilterExRegex: tuple({ filter: HttpFilter, message: text })
})
export type RemoteError = TypeOf<typeof RemoteError>

export const BlockedAction = enumeration("BlockedAction", {
  Steal: newtype(StealType),
  Mirror: newtype(u16),
  OutgoingTcp: newtype(SocketAddress),
  OutgoingUdp: newtype(SocketAddress)
})
export type BlockedAction = TypeOf<typeof BlockedAction>

/** The error half of every answer (wire.md §4.8). */
export const ResponseError = enumeration("ResponseError", {
  IdsExhausted: newtype(text),
  NotFound: newtype(u64),
  NotDirectory: newtype(u64),
  NotFile: newtype(u64),
  RemoteIO: newtype(struct({ rawOsError: option(i32), kind: ErrorKind })),
  DnsLookup: newtype(struct({ kind: ResolveErrorKind })),
  Remote: newtype(RemoteError),
  PortAlreadyStolen: newtype(u16),
  NotImplemented: unitVariant,
  Forbidden: fields({ blockedAction: BlockedAction, policyName: option(text) }),
  StripPrefix: newtype(text),
  OpenLocal: unitVariant,
  ForbiddenWithReason: fields({ blockedAction: BlockedAction, policyName: option(text), reason: text }),
  SystemFailure: fields({ canRetry: bool, code: u32, message: text })
})
export type ResponseError = TypeOf<typeof ResponseError>
