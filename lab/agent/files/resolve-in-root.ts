/**
 * Finds a client's path below a container's root, as the kernel would find it inside. Links that change meanwhile can
 * lead outside: this is a stand-in for trusted use, not a sandbox.
 */

import * as fs from "node:fs"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import { errno, agentError, systemError } from "../io-errors.ts"

/** Ends a file operation with an error answer. Caught in `agent-files.ts` and `outgoing/dial.ts`. */
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

/** The place to which a client's path leads. */
export interface Resolved {
  /**
   * Path on this machine. It ends in a slash if the client's path does, because the kernel then insists on a directory.
   */
  readonly host: string
  /** The same place by its path in the container. */
  readonly guest: string
  /** The path's last part: a name, or a part that cannot be renamed or removed. */
  readonly last: "name" | "." | ".." | "/"
}

/** Most links of one path, as in the kernel. */
const mostLinks = 40
const longestPath = 4096

/** `lstat` without an exception for a missing file. */
const lstat = (path: string): fs.Stats | undefined => fs.lstatSync(path, { throwIfNoEntry: false })

/**
 * Finds a path: `..` is the parent of the place to which links have led, absolute links start at the container's root,
 * and at most 40 links are followed. The last part may be missing; `follow` says whether a link in the last place is
 * followed.
 *
 * `..` above the root is "not found" (agent.md §5.3), except on the machine's own root, whose parent is itself.
 * Relative paths count from the root.
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
      rest.unshift(...target.split("/").filter((piece) => piece !== ""))
    } else if (!final && !stat.isDirectory()) {
      failWith(errno.ENOTDIR)
    }
  }
  const guest = `/${at.join("/")}`
  const last = lastPart === "." || lastPart === ".." ? lastPart : at.length === 0 ? "/" : "name"
  return { host: slash && at.length > 0 ? `${hostOf(at)}/` : hostOf(at), guest, last }
}
