/**
 * The rules of policies about files: which requests name a path, what they do with it, and what is answered where they
 * may not.
 *
 * Not here: the order of answers (answer-order.ts).
 */

import type { FileRequest, FileResponse } from "../protocol/file-messages.ts"
import type { ResponseError } from "../protocol/response-error.ts"
import { type Effort, newEffort, type Regex } from "../regex.ts"
import type { PolicyRules } from "./policy-rules.ts"

/** The longest path that the system opens, in bytes; counted in UTF-16 code units here, which are never more. */
export const maxPath = 4_096

/** The use that a request makes of a file. A directory is moved with everything below it. */
type FileUse = "Open" | "OpenToWrite" | "Look" | "Change" | "Move"

/**
 * A path in a request: below the directory of an open file, if it names one. `path` is `undefined` for the file itself.
 */
export interface NamedFile {
  readonly below: bigint | undefined
  readonly path: string | undefined
  readonly use: FileUse
}

const named = (path: string, use: FileUse, below?: bigint): ReadonlyArray<NamedFile> => [{ below, path, use }]
const opened = (fd: bigint): ReadonlyArray<NamedFile> => [{ below: fd, path: undefined, use: "Change" }]

/** Bit of `access` that asks for the right to write. */
const mayWrite = 2

/** The file that is opened. */
const openedFile = (
  request: Extract<FileRequest, { readonly _tag: "Open" | "OpenRelative" }>
): ReadonlyArray<NamedFile> => {
  const { append, create, createNew, truncate, write } = request.value.openOptions
  const use = write || append || truncate || create || createNew ? "OpenToWrite" : "Open"
  return named(request.value.path, use, request._tag === "Open" ? undefined : request.value.relativeFd)
}

/** Files that are changed, by path or by descriptor. */
const changedFiles = (request: FileRequest): ReadonlyArray<NamedFile> => {
  switch (request._tag) {
    case "MakeDir":
    case "RemoveDir":
    case "Unlink":
      return named(request.value.pathname, "Change")
    case "MakeDirAt":
      return named(request.value.pathname, "Change", request.value.dirfd)
    case "UnlinkAt":
      return named(request.value.pathname, "Change", request.value.dirfd ?? undefined)
    case "Rename":
      return [...named(request.value.oldPath, "Move"), ...named(request.value.newPath, "Move")]
    case "Ftruncate":
    case "Futimens":
    case "Fchown":
    case "Fchmod":
      return opened(request.value.fd)
    default:
      return []
  }
}

/** The files that a request names, and the use of them; none for what is done with files that were opened. */
export const namedFiles = (request: FileRequest): ReadonlyArray<NamedFile> => {
  switch (request._tag) {
    case "Open":
    case "OpenRelative":
      return openedFile(request)
    case "Access":
      return named(request.value.pathname, (request.value.mode & mayWrite) === 0 ? "Look" : "Change")
    case "Xstat":
      return request.value.path === null ? [] : named(request.value.path, "Look", request.value.fd ?? undefined)
    case "ReadLink":
    case "StatFs":
    case "StatFsV2":
      return named(request.value.path, "Look")
    default:
      return changedFiles(request)
  }
}

/** Answers to requests that name a file. Each has the same form of an error. */
const answerOf: { readonly [K in FileRequest["_tag"]]?: FileResponse["_tag"] } = {
  Open: "Open",
  OpenRelative: "Open",
  Access: "Access",
  Xstat: "Xstat",
  ReadLink: "ReadLink",
  StatFs: "XstatFs",
  StatFsV2: "XstatFsV2",
  MakeDir: "MakeDir",
  MakeDirAt: "MakeDir",
  RemoveDir: "RemoveDir",
  Unlink: "Unlink",
  UnlinkAt: "Unlink",
  Rename: "Rename",
  Ftruncate: "Ftruncate",
  Futimens: "Futimens",
  Fchown: "Fchown",
  Fchmod: "Fchmod"
}

/** The refusal of a request; `undefined` for requests that {@link namedFiles} finds no file in. */
export const refusal = (request: FileRequest, error: ResponseError): FileResponse | undefined => {
  const tag = answerOf[request._tag]
  return tag === undefined ? undefined : { _tag: tag, value: { _tag: "Err", error } }
}

/** Whether a request is answered at all. */
export const isAnswered = ({ _tag }: FileRequest): boolean => _tag !== "Close" && _tag !== "CloseDir"

/** Whether the segments are a path of `/proc` that leads back to the root: `/proc/1/root/etc` is `/etc`. */
const isRoot = (segments: ReadonlyArray<string>): boolean => {
  if (segments[0] !== "proc" || segments.at(-1) !== "root") return false
  return segments.length === 3 || (segments.length === 5 && segments[2] === "task")
}

/** The path from the root without detours, as far as it is known without looking at links. */
export const plainPath = (path: string): string => {
  const segments: Array<string> = []
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop()
    else if (segment !== "" && segment !== ".") segments.push(segment)
    // At once: a `..` behind it goes up from the root, and not from `/proc/1`.
    if (isRoot(segments)) segments.length = 0
  }
  return `/${segments.join("/")}`
}

/** A file that is kept from a session. `how` is a part of a sentence for the user. */
export interface KeptFile {
  readonly policy: string
  readonly how: "local" | "not found" | "read-only"
  readonly error: ResponseError
}

const ioError = (rawOsError: number, kind: "NotFound" | "PermissionDenied"): ResponseError => ({
  _tag: "RemoteIO",
  value: { rawOsError, kind: { _tag: kind } }
})
/** ENOENT and EACCES. */
const notThere = ioError(2, "NotFound")
const mayNot = ioError(13, "PermissionDenied")

const isChange = (use: FileUse): boolean => use === "Change" || use === "Move"
const isWrite = (use: FileUse): boolean => use === "OpenToWrite" || isChange(use)
const isOpen = (use: FileUse): boolean => use === "OpenToWrite" || use === "Open"

const errorFor = (how: KeptFile["how"], use: FileUse): ResponseError | undefined => {
  switch (how) {
    case "local":
      if (isOpen(use)) return { _tag: "OpenLocal" }
      return isChange(use) ? mayNot : undefined
    case "not found":
      return notThere
    case "read-only":
      return isWrite(use) ? mayNot : undefined
  }
}

/** The lists in the order in which they count, the published one. */
const lists = [
  ["local", "local"],
  ["not found", "notFound"],
  ["read-only", "readOnly"]
] as const

/** The forms in which a path is compared. A directory that is moved counts as what is below it, as in `^/etc/`. */
const formsOf = (path: string, use: FileUse): ReadonlyArray<string> => {
  const plain = plainPath(path)
  return [...new Set([path, plain, ...(use === "Move" ? [`${plain}/`] : [])])]
}

/** True where no effort is left. */
const matchesAny = (patterns: ReadonlyArray<Regex>, forms: ReadonlyArray<string>, effort: Effort): boolean =>
  patterns.some((pattern) => forms.some((form) => pattern.matches(form, effort, true)))

/**
 * Whether the policies keep a file from a session. `path`: as the request names it, from the root; `undefined` if it
 * lies below a directory that was not seen being opened, so any pattern may be meant.
 */
export const keptFile = (
  policies: ReadonlyArray<PolicyRules>,
  path: string | undefined,
  use: FileUse
): KeptFile | undefined => {
  const isTooLong = path !== undefined && path.length > maxPath
  const forms = path === undefined || isTooLong ? [] : formsOf(path, use)
  const effort = newEffort()
  for (const [how, list] of lists) {
    const error = errorFor(how, use)
    if (error === undefined) continue
    for (const { files, name } of policies) {
      const patterns = files[list]
      if (patterns.length === 0) continue
      // Where a pattern cannot be asked, opening the file on the user's machine would be a guess: it is not there.
      const isKept = forms.length > 0 && matchesAny(patterns, forms, effort)
      if (forms.length === 0 || effort.left <= 0) return { policy: name, how: "not found", error: notThere }
      if (isKept) return { policy: name, how, error }
    }
  }
  return undefined
}
