import * as fs from "node:fs"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import { errno, agentError, systemError } from "../io-errors.ts"

/** A file operation that ends in an error answer. Never leaves the file room. */
export class FileFailure extends Error {
  readonly response: ResponseError

  constructor(response: ResponseError) {
    super(response._tag)
    this.response = response
  }
}

export const failWith = (rawOsError: number): never => {
  throw new FileFailure(systemError(rawOsError))
}

/** Where a client's path leads. */
export interface Resolved {
  /** Path on this machine, with a slash at the end if the client's had one (the kernel then insists on a directory). */
  readonly host: string
  /** The same place as the container names it. */
  readonly guest: string
  /** The path's last part: a name, or one of the two that cannot be renamed or removed. */
  readonly last: "name" | "." | ".." | "/"
}

/** As the kernel's. */
const mostLinks = 40
const longestPath = 4096

/** `lstat` without exceptions for what is simply not there. */
const lstat = (path: string): fs.Stats | undefined => fs.lstatSync(path, { throwIfNoEntry: false })

/**
 * Finds a client's path in a container whose `/` is the folder `root`, as the kernel would inside: `..` is the parent
 * of where links have led, absolute links start at the container's root, at most 40 links. The last part may be
 * missing; whether a link in the last place is followed is the caller's choice.
 *
 * `..` above the root is "not found" (agent.md §5.3), except where the root is the machine's own, whose parent is
 * itself. Relative paths count from the root. Links that change while this runs can lead outside: this is a stand-in
 * among friends.
 *
 * @throws FileFailure
 */
export const resolveInRoot = (root: string, path: string, follow: boolean): Resolved => {
  if (path.includes("\0")) throw new FileFailure(agentError("InvalidInput"))
  if (new TextEncoder().encode(path).length >= longestPath) failWith(errno.ENAMETOOLONG)
  const base = root === "/" ? "" : root.replace(/\/+$/, "")
  const hostOf = (parts: ReadonlyArray<string>): string =>
    parts.length === 0 ? base || "/" : `${base}/${parts.join("/")}`
  const slash = path.endsWith("/") && /[^/]/.test(path)
  const rest = path.split("/").filter((part) => part !== "")
  const lastPart = rest.at(-1)
  const at: Array<string> = []
  let links = 0
  let missing = false
  while (rest.length > 0) {
    const part = rest.shift() ?? ""
    if (missing) failWith(errno.ENOENT)
    const final = rest.length === 0
    if (part === "." || part === "..") {
      if (lstat(hostOf(at))?.isDirectory() !== true) failWith(errno.ENOTDIR)
      if (part === "..") {
        if (at.length === 0 && base !== "") throw new FileFailure(agentError("NotFound"))
        at.pop()
      }
      continue
    }
    at.push(part)
    const stat = lstat(hostOf(at))
    if (stat === undefined) {
      missing = true
    } else if (stat.isSymbolicLink() && (!final || follow || slash)) {
      if (++links > mostLinks) failWith(errno.ELOOP)
      const target = fs.readlinkSync(hostOf(at))
      at.pop()
      if (target.startsWith("/")) at.length = 0
      rest.unshift(...target.split("/").filter((one) => one !== ""))
    } else if (!final && !stat.isDirectory()) {
      failWith(errno.ENOTDIR)
    }
  }
  const guest = `/${at.join("/")}`
  const last = lastPart === "." || lastPart === ".." ? lastPart : at.length === 0 ? "/" : "name"
  return { host: slash && at.length > 0 ? `${hostOf(at)}/` : hostOf(at), guest, last }
}
