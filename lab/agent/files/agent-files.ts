/**
 * File requests of one client of the reference agent, which reads and looks only: what writes is refused as on a
 * read-only file system, and directories have no entries. How a path is found below the container's root is in
 * `resolve-in-root.ts`, reading in `open-file.ts`.
 */

import * as fs from "node:fs"
import type { FileRequest, FileResponse, Metadata, OpenOptions } from "../../../src/domain/protocol/file-messages.ts"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import { err, ok } from "../agent-output.ts"
import { agentError, errno, systemError } from "../io-errors.ts"
import { responseError } from "../node-errors.ts"
import { fatalPath } from "./fatal-path.ts"
import { OpenFile } from "./open-file.ts"
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
type Entry = { readonly _tag: "File"; readonly file: OpenFile } | { readonly _tag: "Directory"; readonly guest: string }

type Served = Extract<
  FileRequest,
  { readonly _tag: "Open" | "OpenRelative" | "Read" | "ReadLimited" | "Seek" | "Access" | "Xstat" | "ReadLink" }
>
type Unserved = Exclude<FileRequest, Served | { readonly _tag: "Close" | "CloseDir" }>

/** The answers to requests that this agent does not serve, and whether the request would write. */
const unserved: Readonly<Record<Unserved["_tag"], readonly [answer: FileResponse["_tag"], writes: boolean]>> = {
  Write: ["Write", true],
  WriteLimited: ["WriteLimited", true],
  MakeDir: ["MakeDir", true],
  MakeDirAt: ["MakeDir", true],
  RemoveDir: ["RemoveDir", true],
  Unlink: ["Unlink", true],
  UnlinkAt: ["Unlink", true],
  Rename: ["Rename", true],
  Ftruncate: ["Ftruncate", true],
  Futimens: ["Futimens", true],
  Fchown: ["Fchown", true],
  Fchmod: ["Fchmod", true],
  XstatFs: ["XstatFs", false],
  XstatFsV2: ["XstatFsV2", false],
  StatFs: ["XstatFs", false],
  StatFsV2: ["XstatFsV2", false],
  FdOpenDir: ["OpenDir", false],
  ReadDir: ["ReadDir", false],
  ReadDirBatch: ["ReadDirBatch", false],
  GetDEnts64: ["GetDEnts64", false]
}

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
 * The files of one client connection, with descriptors from 0. Operations run to their end before the next begins, as
 * in the real agent (agent.md §4.2). Unlike there, FIFOs never block.
 */
export class AgentFiles {
  readonly #root: string
  readonly #open = new Map<bigint, Entry>()
  #next = 0n

  constructor(root: string) {
    this.#root = root
  }

  /** Closes all that the client left open. */
  close(): void {
    for (const fd of this.#open.keys()) this.#close(fd)
  }

  handle(request: FileRequest): FileAnswer {
    const problem = fatalPath(request)
    if (problem !== undefined) return { _tag: "EndConnection", reason: problem }
    const response = this.#answer(request)
    return response === undefined ? { _tag: "None" } : { _tag: "Answer", response }
  }

  #answer(request: FileRequest): FileResponse | undefined {
    switch (request._tag) {
      case "Open":
      case "OpenRelative":
      case "Read":
      case "ReadLimited":
      case "Seek":
      case "Access":
      case "Xstat":
      case "ReadLink":
        return this.#serve(request)
      case "Close":
        this.#close(request.value.fd)
        return undefined
      case "CloseDir":
        return undefined
      default: {
        const [_tag, writes] = unserved[request._tag]
        return { _tag, value: err(writes ? systemError(errno.EROFS) : agentError("Unsupported")) }
      }
    }
  }

  #serve(request: Served): FileResponse {
    const { _tag } = request
    switch (_tag) {
      case "Open": {
        const { openOptions, path } = request.value
        return { _tag, value: attempt(() => this.#openPath(this.#nonRoot(path), openOptions)) }
      }
      case "OpenRelative": {
        const { openOptions, path, relativeFd } = request.value
        return { _tag: "Open", value: attempt(() => this.#openPath(this.#relative(relativeFd, path), openOptions)) }
      }
      case "Read": {
        const { bufferSize, remoteFd } = request.value
        return { _tag, value: attempt(() => read(this.#file(remoteFd).read(bufferSize))) }
      }
      case "ReadLimited": {
        const { bufferSize, remoteFd, startFrom } = request.value
        return { _tag, value: attempt(() => read(this.#file(remoteFd).readAt(bufferSize, startFrom))) }
      }
      case "Seek": {
        const { fd, seekFrom } = request.value
        return { _tag, value: attempt(() => ({ resultOffset: this.#file(fd).seek(seekFrom) })) }
      }
      case "Access":
        return { _tag, value: attempt(() => this.#access(request.value.pathname, request.value.mode & 7)) }
      case "Xstat":
        return { _tag, value: attempt(() => ({ metadata: metadata(this.#stat(request.value)) })) }
      case "ReadLink":
        return { _tag, value: attempt(() => ({ path: this.#readLink(request.value.path) })) }
    }
  }

  #entry(fd: bigint): Entry {
    return this.#open.get(fd) ?? fail({ _tag: "NotFound", value: fd })
  }

  #file(fd: bigint): OpenFile {
    const entry = this.#entry(fd)
    return entry._tag === "File" ? entry.file : fail({ _tag: "NotFile", value: fd })
  }

  #directory(fd: bigint): string {
    const entry = this.#entry(fd)
    return entry._tag === "Directory" ? entry.guest : fail({ _tag: "NotDirectory", value: fd })
  }

  #host(guest: string, follow = true): string {
    return resolveInRoot(this.#root, guest, follow).host
  }

  /** To the real agent a path to the root itself is an empty path, which does not exist. */
  #nonRoot(path: string): string {
    return path.split("/").every((part) => part === "" || part === ".") ? failWith(errno.ENOENT) : path
  }

  #relative(fd: bigint, path: string): string {
    const guest = this.#directory(fd)
    return path.startsWith("/") ? path : `${guest === "/" ? "" : guest}/${path}`
  }

  #openPath(path: string, options: OpenOptions): { readonly fd: bigint } {
    const { append, create, createNew, read, truncate, write } = options
    if (write || append || truncate || create || createNew) failWith(errno.EROFS)
    if (!read) fail(agentError("InvalidInput"))
    const { host, guest } = resolveInRoot(this.#root, path, true)
    const opened = fs.openSync(host, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
    if (fs.fstatSync(opened).isDirectory()) {
      fs.closeSync(opened)
      this.#open.set(this.#next, { _tag: "Directory", guest })
    } else {
      this.#open.set(this.#next, { _tag: "File", file: new OpenFile(opened) })
    }
    return { fd: this.#next++ }
  }

  #close(fd: bigint): void {
    const entry = this.#open.get(fd)
    this.#open.delete(fd)
    if (entry?._tag === "File") entry.file.close()
  }

  #access(path: string, mode: number): object {
    const host = this.#host(this.#nonRoot(path))
    fs.accessSync(host, mode)
    return {}
  }

  #stat({ fd, followSymlink, path }: Extract<FileRequest, { _tag: "Xstat" }>["value"]): fs.BigIntStats {
    if (path === null) return fd === null ? fail(agentError("InvalidInput")) : this.#statOpen(fd)
    if (fd !== null) this.#directory(fd)
    if (!path.startsWith("/")) return fail(agentError("InvalidInput"))
    const host = this.#host(this.#nonRoot(path), followSymlink)
    return followSymlink ? fs.statSync(host, { bigint: true }) : fs.lstatSync(host, { bigint: true })
  }

  #statOpen(fd: bigint): fs.BigIntStats {
    const entry = this.#entry(fd)
    return entry._tag === "File" ? entry.file.stat() : fs.statSync(this.#host(entry.guest), { bigint: true })
  }

  #readLink(path: string): string {
    if (!path.startsWith("/")) return fail({ _tag: "StripPrefix", value: "prefix not found" })
    return fs.readlinkSync(this.#host(path, false))
  }
}

const read = (bytes: Uint8Array) => ({ bytes, readAmount: BigInt(bytes.length) })
