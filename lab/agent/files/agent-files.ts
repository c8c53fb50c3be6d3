/**
 * File requests of one client of the reference agent: descriptors and all operations. How a path is found below the
 * container's root is in `resolve-in-root.ts`, reading and writing in `open-file.ts`.
 */

import * as fs from "node:fs"
import type { FileRequest, FileResponse, Metadata, OpenOptions } from "../../../src/domain/protocol/file-messages.ts"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import { err, ok } from "../agent-output.ts"
import { agentError, errno } from "../io-errors.ts"
import { responseError } from "../node-errors.ts"
import { DirectoryStream } from "./directory-stream.ts"
import { fatalPath } from "./fatal-path.ts"
import { OpenFile } from "./open-file.ts"
import { openFlags } from "./open-flags.ts"
import { FileFailure, failWith, resolveInRoot } from "./resolve-in-root.ts"

/**
 * The outcome of a file request. `Close` and `CloseDir` have no answer; some mistakes end the connection (wire.md
 * §7.4).
 */
export type FileAnswer =
  | { readonly _tag: "Answer"; readonly response: FileResponse }
  | { readonly _tag: "None" }
  | { readonly _tag: "EndConnection"; readonly reason: string }

/**
 * An open file or directory. A directory is only a path, which is looked up again for every use, as in the real agent.
 */
type Entry =
  | { readonly _tag: "File"; readonly file: OpenFile }
  | { readonly _tag: "Directory"; readonly guest: string; dents: DirectoryStream | undefined }

interface Timespec {
  readonly tvSec: bigint
  readonly tvNsec: bigint
}

const AT_REMOVEDIR = 0x200
const UTIME_NOW = 0x3fffffffn
const UTIME_OMIT = 0x3ffffffen

const fail = (response: ResponseError): never => {
  throw new FileFailure(response)
}

/** The answer of a failed request. */
const failure = (error: unknown): ResponseError =>
  error instanceof FileFailure ? error.response : responseError(error)

const attempt = <A>(run: () => A) => {
  try {
    return ok(run())
  } catch (error) {
    return err(failure(error))
  }
}

/**
 * For requests that answer a path with a NUL by the system's EINVAL; other requests answer it without an error number.
 */
const nulIsEinval = <A>(path: string, run: () => A): A => (path.includes("\0") ? failWith(errno.EINVAL) : run())

/** The time fields hold only their nanosecond part (wire.md §4.7). */
const metadata = (stat: fs.BigIntStats): Metadata => ({
  deviceId: stat.dev,
  inode: stat.ino,
  mode: Number(stat.mode),
  hardLinks: stat.nlink,
  userId: Number(stat.uid),
  groupId: Number(stat.gid),
  rdeviceId: stat.rdev,
  size: stat.size,
  accessTime: stat.atimeNs % 1_000_000_000n,
  modificationTime: stat.mtimeNs % 1_000_000_000n,
  creationTime: stat.ctimeNs % 1_000_000_000n,
  blockSize: stat.blksize,
  blocks: stat.blocks
})

/**
 * The files of one client connection. Files and directory streams share one counter of descriptors, from 0. Operations
 * run to their end before the next begins, as in the real agent (agent.md §4.2).
 *
 * Four deliberate differences from the real agent: FIFOs never block; `UnlinkAt` relative to a directory and `Futimens`
 * with given times work (the real agent fails with an unrelated error); times are exact to a microsecond only; and
 * `XstatFsV2` and `StatFsV2` say 0 for file system id and flags, 255 for the name length, and the block size for the
 * fragment size, because Node's `statfs` does not tell them.
 */
export class AgentFiles {
  readonly #root: string
  /** Seconds since the epoch, for `Futimens` without times. */
  readonly #now: () => number
  readonly #open = new Map<bigint, Entry>()
  readonly #streams = new Map<bigint, DirectoryStream>()
  #next = 0n

  constructor(root: string, now: () => number) {
    this.#root = root
    this.#now = now
  }

  /** Closes all that the client left open. */
  close(): void {
    for (const fd of [...this.#open.keys()]) this.#close(fd)
    this.#streams.clear()
  }

  handle(request: FileRequest): FileAnswer {
    const problem = fatalPath(request)
    if (problem !== undefined) return { _tag: "EndConnection", reason: problem }
    const response = this.#answer(request)
    return response === undefined ? { _tag: "None" } : { _tag: "Answer", response }
  }

  #answer(request: FileRequest): FileResponse | undefined {
    const { _tag } = request
    switch (_tag) {
      case "Open":
        return {
          _tag: "Open",
          value: attempt(() => this.#openPath(this.#nonRoot(request.value.path), request.value.openOptions))
        }
      case "OpenRelative":
        return {
          _tag: "Open",
          value: attempt(() =>
            this.#openPath(this.#relative(request.value.relativeFd, request.value.path), request.value.openOptions)
          )
        }
      case "Read":
        return { _tag, value: attempt(() => read(this.#file(request.value.remoteFd).read(request.value.bufferSize))) }
      case "ReadLimited": {
        const { remoteFd, bufferSize, startFrom } = request.value
        return { _tag, value: attempt(() => read(this.#file(remoteFd).readAt(bufferSize, startFrom))) }
      }
      case "Seek":
        return {
          _tag,
          value: attempt(() => ({ resultOffset: this.#file(request.value.fd).seek(request.value.seekFrom) }))
        }
      case "Write":
        return { _tag, value: attempt(() => written(this.#file(request.value.fd).write(request.value.writeBytes))) }
      case "WriteLimited": {
        const { remoteFd, startFrom, writeBytes } = request.value
        return { _tag, value: attempt(() => written(this.#file(remoteFd).writeAt(writeBytes, startFrom))) }
      }
      case "Close":
        this.#close(request.value.fd)
        return undefined
      case "CloseDir":
        this.#streams.delete(request.value.remoteFd)
        return undefined
      case "Access":
        return {
          _tag,
          value: attempt(() => {
            fs.accessSync(this.#host(this.#nonRoot(request.value.pathname)), request.value.mode & 7)
            return {}
          })
        }
      case "Xstat":
        return { _tag, value: attempt(() => ({ metadata: metadata(this.#stat(request.value)) })) }
      case "XstatFs":
        return { _tag, value: attempt(() => ({ metadata: this.#statfs(this.#hostOfFd(request.value.fd)) })) }
      case "XstatFsV2":
        return { _tag, value: attempt(() => ({ metadata: this.#statfs(this.#hostOfFd(request.value.fd)) })) }
      case "StatFs":
        return { _tag: "XstatFs", value: attempt(() => this.#statfsOfPath(request.value.path)) }
      case "StatFsV2":
        return { _tag: "XstatFsV2", value: attempt(() => this.#statfsOfPath(request.value.path)) }
      case "FdOpenDir":
        return {
          _tag: "OpenDir",
          value: attempt(() => {
            const stream = new DirectoryStream(this.#host(this.#directory(request.value.remoteFd).guest), false)
            this.#streams.set(this.#next, stream)
            return { fd: this.#next++ }
          })
        }
      case "ReadDir":
        return { _tag, value: attempt(() => ({ direntry: this.#stream(request.value.remoteFd).next() })) }
      case "ReadDirBatch": {
        const { remoteFd: fd, amount } = request.value
        return { _tag, value: attempt(() => ({ fd, dirEntries: this.#stream(fd).batch(amount) })) }
      }
      case "GetDEnts64": {
        const { remoteFd: fd, bufferSize } = request.value
        return {
          _tag,
          value: attempt(() => {
            const directory = this.#directory(fd)
            directory.dents ??= new DirectoryStream(this.#host(directory.guest), true)
            return { fd, ...directory.dents.fill(bufferSize) }
          })
        }
      }
      case "ReadLink":
        return { _tag, value: attempt(() => ({ path: this.#readLink(request.value.path) })) }
      case "MakeDir":
        return { _tag, value: attempt(() => this.#makeDir(request.value.pathname, request.value.mode)) }
      case "MakeDirAt": {
        const { dirfd, pathname, mode } = request.value
        return { _tag: "MakeDir", value: attempt(() => this.#makeDir(this.#relative(dirfd, pathname), mode)) }
      }
      case "RemoveDir":
        return { _tag, value: attempt(() => this.#removeDir(request.value.pathname)) }
      case "Unlink":
        return { _tag, value: attempt(() => this.#unlink(request.value.pathname)) }
      case "UnlinkAt": {
        const { dirfd, pathname, flags } = request.value
        return {
          _tag: "Unlink",
          value: attempt(() => {
            const path = nulIsEinval(pathname, () => (dirfd === null ? pathname : this.#relative(dirfd, pathname)))
            if ((flags & ~AT_REMOVEDIR) !== 0) failWith(errno.EINVAL)
            return flags === 0 ? this.#unlink(path) : this.#removeDir(path)
          })
        }
      }
      case "Rename":
        return { _tag, value: attempt(() => this.#rename(request.value.oldPath, request.value.newPath)) }
      case "Ftruncate":
        return { _tag, value: attempt(() => done(this.#file(request.value.fd).truncate(request.value.length))) }
      case "Futimens":
        return { _tag, value: attempt(() => done(this.#setTimes(this.#file(request.value.fd), request.value.times))) }
      case "Fchown": {
        const { fd, owner, group } = request.value
        return { _tag, value: attempt(() => done(this.#file(fd).chown(owner, group))) }
      }
      case "Fchmod":
        return { _tag, value: attempt(() => done(this.#file(request.value.fd).chmod(request.value.mode))) }
    }
  }

  #entry(fd: bigint): Entry {
    return this.#open.get(fd) ?? fail({ _tag: "NotFound", value: fd })
  }

  #file(fd: bigint): OpenFile {
    const entry = this.#entry(fd)
    return entry._tag === "File" ? entry.file : fail({ _tag: "NotFile", value: fd })
  }

  #directory(fd: bigint): Extract<Entry, { _tag: "Directory" }> {
    const entry = this.#entry(fd)
    return entry._tag === "Directory" ? entry : fail({ _tag: "NotDirectory", value: fd })
  }

  #stream(fd: bigint): DirectoryStream {
    return this.#streams.get(fd) ?? fail({ _tag: "NotFound", value: fd })
  }

  #host(guest: string, follow = true): string {
    return resolveInRoot(this.#root, guest, follow).host
  }

  /** To the real agent a path to the root itself is an empty path, which does not exist. */
  #nonRoot(path: string): string {
    return path.split("/").every((part) => part === "" || part === ".") ? failWith(errno.ENOENT) : path
  }

  #nonEmpty(path: string): string {
    return path === "" ? failWith(errno.ENOENT) : nulIsEinval(path, () => path)
  }

  #relative(fd: bigint, path: string): string {
    const { guest } = this.#directory(fd)
    return path.startsWith("/") ? path : `${guest === "/" ? "" : guest}/${path}`
  }

  #openPath(path: string, options: OpenOptions): { readonly fd: bigint } {
    const flags = openFlags(options) ?? fail(agentError("InvalidInput"))
    const { host, guest } = resolveInRoot(this.#root, path, !options.createNew)
    const opened = fs.openSync(host, flags, 0o666)
    if (fs.fstatSync(opened).isDirectory()) {
      fs.closeSync(opened)
      this.#open.set(this.#next, { _tag: "Directory", guest, dents: undefined })
    } else {
      this.#open.set(this.#next, { _tag: "File", file: new OpenFile(opened, options.append) })
    }
    return { fd: this.#next++ }
  }

  #close(fd: bigint): void {
    const entry = this.#open.get(fd)
    this.#open.delete(fd)
    if (entry?._tag === "File") entry.file.close()
  }

  #stat(request: Extract<FileRequest, { _tag: "Xstat" }>["value"]): fs.BigIntStats {
    const { path, fd, followSymlink } = request
    if (path === null) {
      if (fd === null) return fail(agentError("InvalidInput"))
      const entry = this.#entry(fd)
      return entry._tag === "File" ? entry.file.stat() : fs.statSync(this.#host(entry.guest), { bigint: true })
    }
    if (fd !== null) this.#directory(fd)
    if (!path.startsWith("/")) return fail(agentError("InvalidInput"))
    const host = this.#host(this.#nonRoot(path), followSymlink)
    return followSymlink ? fs.statSync(host, { bigint: true }) : fs.lstatSync(host, { bigint: true })
  }

  /** The path by which the descriptor's file system can be asked about. */
  #hostOfFd(fd: bigint): string {
    const entry = this.#entry(fd)
    return entry._tag === "Directory" ? this.#host(entry.guest) : entry.file.procPath
  }

  #statfsOfPath(path: string) {
    return { metadata: this.#statfs(this.#host(this.#nonEmpty(path))) }
  }

  #statfs(host: string) {
    const stat = fs.statfsSync(host, { bigint: true })
    return {
      filesystemType: stat.type,
      blockSize: stat.bsize,
      blocks: stat.blocks,
      blocksFree: stat.bfree,
      blocksAvailable: stat.bavail,
      files: stat.files,
      filesFree: stat.ffree,
      filesystemId: [0, 0] as const,
      nameLen: 255n,
      fragmentSize: stat.bsize,
      flags: 0n
    }
  }

  #readLink(path: string): string {
    if (!path.startsWith("/")) return fail({ _tag: "StripPrefix", value: "prefix not found" })
    return fs.readlinkSync(this.#host(path, false))
  }

  #makeDir(path: string, mode: number): null {
    fs.mkdirSync(this.#host(this.#nonEmpty(path), false), { mode: mode & 0o7777 })
    return null
  }

  #removeDir(path: string): null {
    if (path === "") return failWith(errno.ENOENT)
    const bare = withoutSlash(path)
    const { host, last } = resolveInRoot(this.#root, bare, false)
    if (last === ".") return failWith(errno.EINVAL)
    if (last === "..") return failWith(errno.ENOTEMPTY)
    if (last === "/") return failWith(errno.EBUSY)
    fs.rmdirSync(host)
    return null
  }

  #unlink(path: string): null {
    const { host, last } = resolveInRoot(this.#root, withoutSlash(this.#nonEmpty(path)), false)
    if (last !== "name" || fs.lstatSync(host).isDirectory()) return failWith(errno.EISDIR)
    if (path.endsWith("/")) return failWith(errno.ENOTDIR)
    fs.unlinkSync(host)
    return null
  }

  #rename(from: string, to: string): null {
    if (from === "" || to === "") return failWith(errno.ENOENT)
    const [source, target] = [resolveInRoot(this.#root, from, false), resolveInRoot(this.#root, to, false)]
    if (source.last !== "name" || target.last !== "name") return failWith(errno.EBUSY)
    fs.renameSync(source.host, target.host)
    return null
  }

  #setTimes(file: OpenFile, times: readonly [Timespec, Timespec] | null): void {
    const now = this.#now()
    if (times === null) return file.setTimes(now, now)
    const stat = file.stat()
    const seconds = ({ tvSec, tvNsec }: Timespec, kept: bigint): number => {
      if (tvNsec === UTIME_NOW) return now
      if (tvNsec === UTIME_OMIT) return Number(kept) / 1e9
      if (tvNsec < 0n || tvNsec >= 1_000_000_000n) return failWith(errno.EINVAL)
      return Number(tvSec) + Number(tvNsec) / 1e9
    }
    file.setTimes(seconds(times[0], stat.atimeNs), seconds(times[1], stat.mtimeNs))
  }
}

/** The last part of these paths is never followed, not even with a slash at the end. */
const withoutSlash = (path: string): string => path.replace(/(.)\/+$/, "$1")

const read = (bytes: Uint8Array) => ({ bytes, readAmount: BigInt(bytes.length) })
const written = (amount: number) => ({ writtenAmount: BigInt(amount) })
/** The answer of requests that report nothing but success. */
const done = (_result: void): null => null
