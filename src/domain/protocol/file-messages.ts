/**
 * Shapes of file operations and their results (wire.md §3.8, §4.6). The router forwards them between client and
 * default.
 */

import { ResponseError } from "./response-error.ts"
import {
  bool,
  bytes,
  enumeration,
  i32,
  i64,
  list,
  newtype,
  option,
  pair,
  path,
  result,
  struct,
  text,
  type TypedShape,
  type TypeOf,
  u32,
  u64,
  u8,
  unit,
  usize
} from "./shape.ts"

const OpenOptions = struct({ read: bool, write: bool, append: bool, truncate: bool, create: bool, createNew: bool })
export type OpenOptions = TypeOf<typeof OpenOptions>

const SeekFrom = enumeration("SeekFrom", { Start: newtype(u64), End: newtype(i64), Current: newtype(i64) })
export type SeekFrom = TypeOf<typeof SeekFrom>

/**
 * Client to agent (wire.md §3.8). All are answered by one {@link FileResponse}, except `Close` and `CloseDir`.
 */
export const FileRequest = enumeration("FileRequest", {
  Open: newtype(struct({ path, openOptions: OpenOptions })),
  OpenRelative: newtype(struct({ relativeFd: u64, path, openOptions: OpenOptions })),
  Read: newtype(struct({ remoteFd: u64, bufferSize: u64 })),
  ReadLimited: newtype(struct({ remoteFd: u64, bufferSize: u64, startFrom: u64 })),
  Seek: newtype(struct({ fd: u64, seekFrom: SeekFrom })),
  Write: newtype(struct({ fd: u64, writeBytes: bytes })),
  WriteLimited: newtype(struct({ remoteFd: u64, startFrom: u64, writeBytes: bytes })),
  Close: newtype(struct({ fd: u64 })),
  Access: newtype(struct({ pathname: path, mode: u8 })),
  Xstat: newtype(struct({ path: option(path), fd: option(u64), followSymlink: bool })),
  XstatFs: newtype(struct({ fd: u64 })),
  FdOpenDir: newtype(struct({ remoteFd: u64 })),
  ReadDir: newtype(struct({ remoteFd: u64 })),
  CloseDir: newtype(struct({ remoteFd: u64 })),
  GetDEnts64: newtype(struct({ remoteFd: u64, bufferSize: u64 })),
  ReadLink: newtype(struct({ path })),
  ReadDirBatch: newtype(struct({ remoteFd: u64, amount: usize })),
  MakeDir: newtype(struct({ pathname: path, mode: u32 })),
  MakeDirAt: newtype(struct({ dirfd: u64, pathname: path, mode: u32 })),
  RemoveDir: newtype(struct({ pathname: path })),
  Unlink: newtype(struct({ pathname: path })),
  UnlinkAt: newtype(struct({ dirfd: option(u64), pathname: path, flags: u32 })),
  StatFs: newtype(struct({ path })),
  XstatFsV2: newtype(struct({ fd: u64 })),
  StatFsV2: newtype(struct({ path })),
  Rename: newtype(struct({ oldPath: path, newPath: path })),
  Ftruncate: newtype(struct({ fd: u64, length: i64 })),
  Futimens: newtype(struct({ fd: u64, times: option(pair(struct({ tvSec: i64, tvNsec: i64 }))) })),
  Fchown: newtype(struct({ fd: u64, owner: u32, group: u32 })),
  Fchmod: newtype(struct({ fd: u64, mode: u32 }))
})
export type FileRequest = TypeOf<typeof FileRequest>

/** The three times hold only their nanosecond part, an upstream defect that is kept (wire.md §4.7). */
const Metadata = struct({
  deviceId: u64,
  inode: u64,
  mode: u32,
  hardLinks: u64,
  userId: u32,
  groupId: u32,
  rdeviceId: u64,
  size: u64,
  accessTime: i64,
  modificationTime: i64,
  creationTime: i64,
  blockSize: u64,
  blocks: u64
})
export type Metadata = TypeOf<typeof Metadata>

const fsMetadata = {
  filesystemType: i64,
  blockSize: i64,
  blocks: u64,
  blocksFree: u64,
  blocksAvailable: u64,
  files: u64,
  filesFree: u64
}
const FsMetadata = struct(fsMetadata)
const FsMetadataV2 = struct({
  ...fsMetadata,
  filesystemId: pair(i32),
  nameLen: i64,
  fragmentSize: i64,
  flags: i64
})
export type FsMetadataV2 = TypeOf<typeof FsMetadataV2>

const DirEntry = struct({ inode: u64, position: u64, name: text, fileType: u8 })
export type DirEntry = TypeOf<typeof DirEntry>

const answer = <T>(shape: TypedShape<T>) => newtype(result(shape, ResponseError))
const opened = answer(struct({ fd: u64 }))
const read = answer(struct({ bytes, readAmount: u64 }))
const written = answer(struct({ writtenAmount: u64 }))
const done = answer(unit)

/** Agent to client (wire.md §4.6); the order differs from that of the requests. */
export const FileResponse = enumeration("FileResponse", {
  Open: opened,
  Read: read,
  ReadLimited: read,
  Write: written,
  WriteLimited: written,
  Seek: answer(struct({ resultOffset: u64 })),
  Access: answer(struct({})),
  Xstat: answer(struct({ metadata: Metadata })),
  XstatFs: answer(struct({ metadata: FsMetadata })),
  ReadDir: answer(struct({ direntry: option(DirEntry) })),
  OpenDir: opened,
  GetDEnts64: answer(struct({ fd: u64, entries: list(DirEntry), resultSize: u64 })),
  ReadLink: answer(struct({ path })),
  ReadDirBatch: answer(struct({ fd: u64, dirEntries: list(DirEntry) })),
  MakeDir: done,
  RemoveDir: done,
  Unlink: done,
  XstatFsV2: answer(struct({ metadata: FsMetadataV2 })),
  Rename: done,
  Ftruncate: done,
  Futimens: done,
  Fchown: done,
  Fchmod: done
})
export type FileResponse = TypeOf<typeof FileResponse>
