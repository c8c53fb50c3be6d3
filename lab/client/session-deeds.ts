/**
 * The deeds of a local program in the words of mirrord's session sockets: what it asks for, never what it gets.
 *
 * Not here: the socket that tells them (session-monitor.ts).
 */

import type { SessionEvent } from "../../src/domain/commands/ui/session-event.ts"
import type { FileRequest } from "../../src/domain/protocol/file-messages.ts"
import type { SocketAddress } from "../../src/domain/protocol/network-messages.ts"
import type { ClientRequest } from "./client-input.ts"
import type { ClientEvent } from "./client-output.ts"

/** The word for an operation; operations of one meaning have one word. */
const operations: Readonly<Record<FileRequest["_tag"], string>> = {
  Open: "open",
  OpenRelative: "open",
  Read: "read",
  ReadLimited: "read",
  Seek: "seek",
  Write: "write",
  WriteLimited: "write",
  Close: "close",
  Access: "access",
  Xstat: "stat",
  XstatFs: "statfs",
  FdOpenDir: "opendir",
  ReadDir: "readdir",
  CloseDir: "closedir",
  GetDEnts64: "getdents64",
  ReadLink: "readlink",
  ReadDirBatch: "readdir",
  MakeDir: "mkdir",
  MakeDirAt: "mkdir",
  RemoveDir: "rmdir",
  Unlink: "unlink",
  UnlinkAt: "unlink",
  StatFs: "statfs",
  XstatFsV2: "statfs",
  StatFsV2: "statfs",
  Rename: "rename",
  Ftruncate: "ftruncate",
  Futimens: "futimens",
  Fchown: "fchown",
  Fchmod: "fchmod"
}

const pathOf = ({ value }: FileRequest): string | null => {
  if ("path" in value) return value.path ?? null
  if ("pathname" in value) return value.pathname
  return "oldPath" in value ? value.oldPath : null
}

const outgoing = (address: SocketAddress): SessionEvent => {
  if (address._tag === "Unix") {
    const path = address.value._tag === "Pathname" ? `<UNIX-PATH> ${address.value.value}` : "<UNIX-UNNAMED>"
    return { type: "outgoing_connection", address: path, port: 0 }
  }
  const { ip, port } = address.value
  const host = ip.includes(":") ? `[${ip}]` : ip
  return { type: "outgoing_connection", address: `${host}:${port}`, port }
}

/** A wish as a deed; `undefined` for what sockets do not tell. */
export const deedOfRequest = (request: ClientRequest): SessionEvent | undefined => {
  switch (request._tag) {
    case "File":
      return { type: "file_op", path: pathOf(request.request), operation: operations[request.request._tag] }
    case "Resolve":
      return { type: "dns_query", host: request.node }
    case "Connect":
      return outgoing(request.remoteAddress)
    case "Steal": {
      const { type } = request
      return { type: "port_subscription", port: type._tag === "All" ? type.value : type.port, mode: "steal" }
    }
    case "Mirror":
      return { type: "port_subscription", port: request.port, mode: "mirror" }
    case "FetchEnv":
      return { type: "env_var", vars: [...request.selection.select, ...request.selection.filter] }
    default:
      return undefined
  }
}

/** A request that came in as a deed; `undefined` for every other event. */
export const deedOfEvent = (event: ClientEvent): SessionEvent | undefined => {
  if (event._tag !== "HttpRequest") return undefined
  const { pathname } = new URL(event.uri, "http://local")
  const host = event.headers.find(([name]) => name.toLowerCase() === "host")?.[1]
  return {
    type: "incoming_request",
    method: event.method,
    path: pathname,
    host: host === undefined ? "" : new TextDecoder().decode(host)
  }
}
