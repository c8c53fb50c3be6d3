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
}

/** Most links of one path, as in the kernel. */
const maxLinks = 40
const maxPath = 4096

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
  if (new TextEncoder().encode(path).length >= maxPath) failWith(errno.ENAMETOOLONG)
  const slash = path.endsWith("/") && /[^/]/.test(path)
  const walk = new Walk(root === "/" ? "" : root.replace(/\/+$/, ""), namesOf(path), follow || slash)
  while (walk.step());
  const { guest, host } = walk
  return { host: slash && guest !== "/" ? `${host}/` : host, guest }
}

const namesOf = (path: string): Array<string> => path.split("/").filter((part) => part !== "")

/** The way along a path, name by name. */
class Walk {
  readonly #base: string
  readonly #rest: Array<string>
  /** Whether a link in the last place is followed. */
  readonly #follow: boolean
  /** The names that lead from the root to the present place. */
  readonly #at: Array<string> = []
  #links = 0
  #missing = false

  constructor(base: string, names: Array<string>, follow: boolean) {
    this.#base = base
    this.#rest = names
    this.#follow = follow
  }

  get host(): string {
    return this.#at.length === 0 ? this.#base || "/" : `${this.#base}/${this.#at.join("/")}`
  }

  get guest(): string {
    return `/${this.#at.join("/")}`
  }

  /** Takes the next name; false at the end of the path. */
  step(): boolean {
    const name = this.#rest.shift()
    if (name === undefined) return false
    if (this.#missing) failWith(errno.ENOENT)
    if (name === "." || name === "..") this.#dots(name)
    else this.#enter(name)
    return true
  }

  #dots(name: "." | ".."): void {
    if (lstat(this.host)?.isDirectory() !== true) failWith(errno.ENOTDIR)
    if (name === ".") return
    if (this.#at.length === 0 && this.#base !== "") throw new FileFailure(agentError("NotFound"))
    this.#at.pop()
  }

  #enter(name: string): void {
    const isLast = this.#rest.length === 0
    this.#at.push(name)
    const stat = lstat(this.host)
    if (stat === undefined) this.#missing = true
    else if (stat.isSymbolicLink() && (!isLast || this.#follow)) this.#followLink()
    else if (!isLast && !stat.isDirectory()) failWith(errno.ENOTDIR)
  }

  #followLink(): void {
    if (++this.#links > maxLinks) failWith(errno.ELOOP)
    const target = fs.readlinkSync(this.host)
    this.#at.pop()
    if (target.startsWith("/")) this.#at.length = 0
    this.#rest.unshift(...namesOf(target))
  }
}
