/**
 * The surroundings of a simulated agent, in and around its pod: environment, names, peers, files. Everything names its
 * cluster, so that an answer from the wrong cluster is noticed. Failures can be had on purpose: host names below
 * `.invalid` and files whose name is `missing` do not exist, port 1 refuses connections, 192.0.2.0/24 (RFC 5737) never
 * answers.
 */

import type { AddressFamily } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { FileRequest, FileResponse, SeekFrom } from "../../../src/domain/protocol/file-messages.ts"
import type { SocketAddress } from "../../../src/domain/protocol/network-messages.ts"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import { dnsError, families, noData, noSuchName, question } from "../../agent/dns/dns-names.ts"
import { fatalPath } from "../../agent/files/fatal-path.ts"
import { agentError, errno, systemError } from "../../agent/io-errors.ts"
import type { Dial, Peer, PeerEvents } from "../../agent/outgoing/peer.ts"
import { answerOf } from "../../client/file-requests.ts"

const encoder = new TextEncoder()

export const podIp = "10.0.0.5"

/** `more`: variables beside those of every pod. */
export const podEnvironment = (
  cluster: string,
  pod: string,
  more: Readonly<Record<string, string>>
): ReadonlyMap<string, string> =>
  new Map([
    ...Object.entries(more),
    ["CLUSTER", cluster],
    ["POD", pod],
    ["HOSTNAME", pod],
    // Never answered, because it describes the remote runtime (agent.md §5.2).
    ["PATH", "/usr/bin:/bin"],
    ["PORT", "8080"]
  ])

/** Every name has one IPv4 address and no IPv6 address; the answered name ends in the cluster's name. */
export const lookUp = (cluster: string, node: string, family: AddressFamily["_tag"]): DaemonMessage => {
  const asked = question(node)
  switch (asked._tag) {
    case "Answered":
      return { _tag: "GetAddrInfoResponse", value: { _tag: "Ok", value: asked.records } }
    case "Refused":
      return { _tag: "GetAddrInfoResponse", value: { _tag: "Err", error: dnsError(asked.kind) } }
    case "Ask": {
      const missing = asked.name.endsWith(".invalid")
      if (missing || !families(family).ask.includes(4)) {
        return { _tag: "GetAddrInfoResponse", value: { _tag: "Err", error: dnsError(missing ? noSuchName : noData) } }
      }
      const name = `${asked.answerName}${cluster}.`
      return { _tag: "GetAddrInfoResponse", value: { _tag: "Ok", value: [{ name, ip: "10.0.0.10" }] } }
    }
  }
}

export const lookUpAddress = (cluster: string, ip: string): DaemonMessage => {
  const hostname = `${ip.replaceAll(/[.:]/g, "-")}.${cluster}`
  return { _tag: "ReverseDnsLookup", value: { _tag: "Ok", value: { hostname: { _tag: "Ok", value: hostname } } } }
}

/** Runs work of a peer after a while, in order. */
export type Later = (run: () => void) => void

const nothing = new Uint8Array(0)

/**
 * Peers that greet with `hello from <cluster>` and echo all they hear. `connecting` takes the time of a connection
 * attempt, `talking` the time of an answer.
 */
export const dialEcho = (cluster: string, connecting: Later, talking: Later): Dial => {
  const greeting = encoder.encode(`hello from ${cluster}`)
  return (remoteAddress, result) => {
    let cancelled = false
    const ip = remoteAddress._tag === "Ip" ? remoteAddress.value : undefined
    if (ip?.ip.startsWith("192.0.2.") !== true) {
      connecting(() => {
        if (cancelled) return
        if (ip?.port === 1) result({ _tag: "Failed", error: systemError(errno.ECONNREFUSED) })
        else result({ _tag: "Open", peer: echoPeer(remoteAddress, greeting, talking) })
      })
    }
    return {
      cancel: () => {
        cancelled = true
      }
    }
  }
}

const echoPeer = (remoteAddress: SocketAddress, greeting: Uint8Array, talking: Later): Peer => {
  let events: PeerEvents | undefined
  let paused = false
  const held: Array<() => void> = []
  /** Keeps the order: messages wait while the agent does not read. */
  const tell = (run: (to: PeerEvents) => void): void =>
    talking(() => {
      const say = (): void => {
        if (events !== undefined) run(events)
      }
      if (paused || held.length > 0) held.push(say)
      else say()
    })
  const gone = (): void => {
    events = undefined
  }
  return {
    remoteAddress,
    localAddress:
      remoteAddress._tag === "Ip"
        ? { _tag: "Ip", value: { ip: podIp, port: 50_000 } }
        : { _tag: "Unix", value: { _tag: "Unnamed" } },
    start: (given) => {
      events = given
      tell((to) => to.data(greeting))
    },
    write: (bytes, done) => {
      done()
      tell((to) => to.data(bytes))
    },
    end: () => {
      tell((to) => {
        to.end()
        to.close(undefined)
      })
    },
    close: gone,
    destroy: gone,
    pause: () => {
      paused = true
    },
    resume: () => {
      paused = false
      while (!paused) {
        const next = held.shift()
        if (next === undefined) return
        next()
      }
    }
  }
}

/** The outcome of a file request, as in `AgentFiles` of lab/agent. */
export type SimFileAnswer =
  | { readonly _tag: "Answer"; readonly response: FileResponse }
  | { readonly _tag: "None" }
  | { readonly _tag: "EndConnection"; readonly reason: string }

const readOnlyFilesystem = 30
const ok = <A>(value: A) => ({ _tag: "Ok", value }) as const
const err = (error: ResponseError) => ({ _tag: "Err", error }) as const
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * The descriptors of one client in a read-only file system: every absolute path is a file with the text `file of
 * <cluster>` and a line end. Writing requests fail as on a read-only file system; there are no directories; the rest is
 * unsupported.
 */
export class SimAgentFiles {
  readonly #content: Uint8Array
  /** Descriptor → position. */
  readonly #open = new Map<bigint, bigint>()
  #next = 0n

  constructor(cluster: string) {
    this.#content = encoder.encode(`file of ${cluster}\n`)
  }

  handle(request: FileRequest): SimFileAnswer {
    const problem = fatalPath(request)
    if (problem !== undefined) return { _tag: "EndConnection", reason: problem }
    const response = this.#answer(request)
    return response === undefined ? { _tag: "None" } : { _tag: "Answer", response }
  }

  #answer(request: FileRequest): FileResponse | undefined {
    switch (request._tag) {
      case "Open": {
        const {
          path,
          openOptions: { write, append, truncate, create, createNew }
        } = request.value
        if (write || append || truncate || create || createNew) {
          return { _tag: "Open", value: err(systemError(readOnlyFilesystem)) }
        }
        if (isMissing(path)) return { _tag: "Open", value: err(systemError(errno.ENOENT)) }
        this.#open.set(this.#next, 0n)
        return { _tag: "Open", value: ok({ fd: this.#next++ }) }
      }
      case "Read": {
        const { remoteFd, bufferSize } = request.value
        const position = this.#open.get(remoteFd)
        if (position === undefined) return { _tag: "Read", value: err({ _tag: "NotFound", value: remoteFd }) }
        const bytes = this.#read(bufferSize, position)
        this.#open.set(remoteFd, position + BigInt(bytes.length))
        return { _tag: "Read", value: ok({ bytes, readAmount: BigInt(bytes.length) }) }
      }
      case "ReadLimited": {
        const { remoteFd, bufferSize, startFrom } = request.value
        if (!this.#open.has(remoteFd)) return { _tag: "ReadLimited", value: err({ _tag: "NotFound", value: remoteFd }) }
        const bytes = this.#read(bufferSize, startFrom)
        return { _tag: "ReadLimited", value: ok({ bytes, readAmount: BigInt(bytes.length) }) }
      }
      case "Seek": {
        const { fd, seekFrom } = request.value
        const position = this.#open.get(fd)
        if (position === undefined) return { _tag: "Seek", value: err({ _tag: "NotFound", value: fd }) }
        const target = this.#target(position, seekFrom)
        if (target < 0n) return { _tag: "Seek", value: err(systemError(errno.EINVAL)) }
        this.#open.set(fd, target)
        return { _tag: "Seek", value: ok({ resultOffset: target }) }
      }
      case "Close":
        this.#open.delete(request.value.fd)
        return undefined
      case "Access": {
        const { pathname, mode } = request.value
        if (isMissing(pathname)) return { _tag: "Access", value: err(systemError(errno.ENOENT)) }
        return { _tag: "Access", value: (mode & 2) === 0 ? ok({}) : err(systemError(readOnlyFilesystem)) }
      }
      default: {
        const kind = answerOf(request)
        return kind === undefined ? undefined : { _tag: kind, value: err(this.#failure(request)) }
      }
    }
  }

  #failure(request: FileRequest): ResponseError {
    const { value } = request
    const fd = "fd" in value ? value.fd : "remoteFd" in value ? value.remoteFd : undefined
    if (typeof fd === "bigint" && !this.#open.has(fd)) return { _tag: "NotFound", value: fd }
    switch (request._tag) {
      case "Write":
      case "WriteLimited":
        return systemError(errno.EBADF)
      case "FdOpenDir":
      case "ReadDir":
      case "ReadDirBatch":
      case "GetDEnts64":
        return { _tag: "NotDirectory", value: request.value.remoteFd }
      case "OpenRelative": {
        const { relativeFd } = request.value
        return { _tag: this.#open.has(relativeFd) ? "NotDirectory" : "NotFound", value: relativeFd }
      }
      case "ReadLink":
        return systemError(errno.EINVAL)
      case "MakeDir":
      case "MakeDirAt":
      case "RemoveDir":
      case "Unlink":
      case "UnlinkAt":
      case "Rename":
        return systemError(readOnlyFilesystem)
      default:
        return agentError("Unsupported")
    }
  }

  #read(size: bigint, from: bigint): Uint8Array {
    const length = BigInt(this.#content.length)
    if (from >= length) return nothing
    return this.#content.subarray(Number(from), Number(least(length, from + size)))
  }

  #target(position: bigint, seek: SeekFrom): bigint {
    switch (seek._tag) {
      case "Start":
        return seek.value
      case "End":
        return BigInt(this.#content.length) + seek.value
      case "Current":
        return position + seek.value
    }
  }
}

const isMissing = (path: string): boolean => path.endsWith("/missing")
