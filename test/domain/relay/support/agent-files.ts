import type { FileRequest, FileResponse } from "../../../../src/domain/protocol/file-messages.ts"
import type { ResponseError } from "../../../../src/domain/protocol/response-error.ts"

const failed: { readonly _tag: "Err"; readonly error: ResponseError } = {
  _tag: "Err",
  error: { _tag: "NotImplemented" }
}
const nothing = { _tag: "Ok", value: null } as const

/**
 * Which answer belongs to which request: written down a second time, so that the strict client is checked too (wire.md
 * §3.8).
 */
const kinds: Readonly<Record<FileRequest["_tag"], FileResponse["_tag"] | undefined>> = {
  Open: "Open",
  OpenRelative: "Open",
  Read: "Read",
  ReadLimited: "ReadLimited",
  Seek: "Seek",
  Write: "Write",
  WriteLimited: "WriteLimited",
  Close: undefined,
  Access: "Access",
  Xstat: "Xstat",
  XstatFs: "XstatFs",
  FdOpenDir: "OpenDir",
  ReadDir: "ReadDir",
  CloseDir: undefined,
  GetDEnts64: "GetDEnts64",
  ReadLink: "ReadLink",
  ReadDirBatch: "ReadDirBatch",
  MakeDir: "MakeDir",
  MakeDirAt: "MakeDir",
  RemoveDir: "RemoveDir",
  Unlink: "Unlink",
  UnlinkAt: "Unlink",
  StatFs: "XstatFs",
  XstatFsV2: "XstatFsV2",
  StatFsV2: "XstatFsV2",
  Rename: "Rename",
  Ftruncate: "Ftruncate",
  Futimens: "Futimens",
  Fchown: "Fchown",
  Fchmod: "Fchmod"
}

/** An answer of the right kind that names the agent where there is room, else an error; `undefined`: there is none. */
export const fileAnswer = (request: FileRequest, name: string, newFd: () => bigint): FileResponse | undefined => {
  const kind = kinds[request._tag]
  if (kind === undefined) return undefined
  switch (kind) {
    case "Open":
    case "OpenDir":
      return { _tag: kind, value: { _tag: "Ok", value: { fd: newFd() } } }
    case "Read":
    case "ReadLimited": {
      const bytes = new TextEncoder().encode(name)
      return { _tag: kind, value: { _tag: "Ok", value: { bytes, readAmount: BigInt(bytes.length) } } }
    }
    case "ReadLink":
      return { _tag: kind, value: { _tag: "Ok", value: { path: `/${name}` } } }
    case "Access":
      return { _tag: kind, value: { _tag: "Ok", value: {} } }
    case "MakeDir":
    case "RemoveDir":
    case "Unlink":
    case "Rename":
    case "Ftruncate":
    case "Futimens":
    case "Fchown":
    case "Fchmod":
      return { _tag: kind, value: nothing }
    default:
      return { _tag: kind, value: failed }
  }
}
