/**
 * File requests of the strict client: one FIFO over all requests that have an answer, and each answer must be of the
 * kind of its request (wire.md §6.6).
 */

import type { FileRequest, FileResponse } from "../../src/domain/protocol/file-messages.ts"
import type { ClientRequest } from "./client-input.ts"
import { event, fatal, notDone, send, speaks, type Turn, update } from "./client-state.ts"

interface Kind {
  /** Kind of the answer; `undefined` if there is none. */
  readonly answer: FileResponse["_tag"] | undefined
  readonly since?: string
  readonly fd?: string
}

const kinds: Readonly<Record<FileRequest["_tag"], Kind>> = {
  Open: { answer: "Open" },
  OpenRelative: { answer: "Open", fd: "relativeFd" },
  Read: { answer: "Read", fd: "remoteFd" },
  ReadLimited: { answer: "ReadLimited", fd: "remoteFd" },
  Seek: { answer: "Seek", fd: "fd" },
  Write: { answer: "Write", fd: "fd" },
  WriteLimited: { answer: "WriteLimited", fd: "remoteFd" },
  Close: { answer: undefined, fd: "fd" },
  Access: { answer: "Access" },
  Xstat: { answer: "Xstat", fd: "fd" },
  XstatFs: { answer: "XstatFs", fd: "fd" },
  FdOpenDir: { answer: "OpenDir", fd: "remoteFd" },
  ReadDir: { answer: "ReadDir", fd: "remoteFd" },
  CloseDir: { answer: undefined, fd: "remoteFd" },
  GetDEnts64: { answer: "GetDEnts64", fd: "remoteFd" },
  ReadLink: { answer: "ReadLink", since: "1.6.0" },
  ReadDirBatch: { answer: "ReadDirBatch", since: "1.9.0", fd: "remoteFd" },
  MakeDir: { answer: "MakeDir", since: "1.13.0" },
  MakeDirAt: { answer: "MakeDir", since: "1.13.0", fd: "dirfd" },
  RemoveDir: { answer: "RemoveDir", since: "1.14.0" },
  Unlink: { answer: "Unlink", since: "1.14.0" },
  UnlinkAt: { answer: "Unlink", since: "1.14.0", fd: "dirfd" },
  StatFs: { answer: "XstatFs", since: "1.16.0" },
  XstatFsV2: { answer: "XstatFsV2", since: "1.18.0", fd: "fd" },
  StatFsV2: { answer: "XstatFsV2", since: "1.18.0" },
  Rename: { answer: "Rename", since: "1.21.0" },
  Ftruncate: { answer: "Ftruncate", since: "1.24.0", fd: "fd" },
  Futimens: { answer: "Futimens", since: "1.24.0", fd: "fd" },
  Fchown: { answer: "Fchown", since: "1.24.0", fd: "fd" },
  Fchmod: { answer: "Fchmod", since: "1.24.0", fd: "fd" }
}

/** The kind of answer that a request waits for; `undefined` if it has none. */
export const answerOf = (request: FileRequest): FileResponse["_tag"] | undefined => kinds[request._tag].answer

/** The request with the agent's own descriptor; `undefined` if the descriptor is of an earlier socket. */
const rebased = (request: FileRequest, offset: bigint): FileRequest | undefined => {
  const field = kinds[request._tag].fd
  if (field === undefined || offset === 0n) return request
  const value: { readonly [name: string]: unknown } = request.value
  const fd = value[field]
  if (typeof fd !== "bigint") return request
  return fd < offset ? undefined : ({ _tag: request._tag, value: { ...value, [field]: fd - offset } } as FileRequest)
}

export const requestFile = (turn: Turn, wanted: ClientRequest, request: FileRequest): void => {
  const { since, answer } = kinds[request._tag]
  if (since !== undefined && !speaks(turn.state, since))
    return notDone(turn, wanted, `NotImplemented: it needs protocol ${since}`)
  const { fdOffset, files } = turn.state
  // An upstream defect that is kept: a descriptor of a later socket is never closed at the agent (wire.md §6.14).
  if (request._tag === "Close" && fdOffset > 0n) return
  const own = rebased(request, fdOffset)
  if (own === undefined) return notDone(turn, wanted, "the descriptor was lost with an earlier connection")
  if (answer !== undefined) update(turn, { files: [...files, request] })
  send(turn, "files", { _tag: "FileRequest", value: own })
}

/** The answer with descriptors as the local programs know them. */
const withOffset = (response: FileResponse, offset: bigint): readonly [FileResponse, bigint | undefined] => {
  switch (response._tag) {
    case "Open":
    case "OpenDir": {
      if (response.value._tag === "Err") return [response, undefined]
      const fd = response.value.value.fd + offset
      return [{ _tag: response._tag, value: { _tag: "Ok", value: { fd } } }, fd]
    }
    case "GetDEnts64":
      if (response.value._tag === "Err") return [response, undefined]
      return [
        {
          _tag: "GetDEnts64",
          value: { _tag: "Ok", value: { ...response.value.value, fd: response.value.value.fd + offset } }
        },
        undefined
      ]
    case "ReadDirBatch":
      if (response.value._tag === "Err") return [response, undefined]
      return [
        {
          _tag: "ReadDirBatch",
          value: { _tag: "Ok", value: { ...response.value.value, fd: response.value.value.fd + offset } }
        },
        undefined
      ]
    default:
      return [response, undefined]
  }
}

export const fileAnswer = (turn: Turn, agentResponse: FileResponse): void => {
  const [request, ...files] = turn.state.files
  if (request === undefined)
    return fatal(turn, "wire.md §6.6 FileRequest", `a surplus answer ${agentResponse._tag}: no file request waits`)
  if (answerOf(request) !== agentResponse._tag) {
    return fatal(turn, "wire.md §6.6 FileRequest", `the answer ${agentResponse._tag} where ${request._tag} waits`)
  }
  const [response, fd] = withOffset(agentResponse, turn.state.fdOffset)
  update(turn, { files, highestFd: fd !== undefined && fd > turn.state.highestFd ? fd : turn.state.highestFd })
  event(turn, { _tag: "FileAnswered", request, response })
}
