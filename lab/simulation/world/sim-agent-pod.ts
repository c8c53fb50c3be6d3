/**
 * The surroundings of a simulated agent, in and around its pod: environment, names, peers, files. Everything names its
 * cluster, so that an answer from the wrong cluster is noticed. Failures can be had on purpose: host names below
 * `.invalid` and files whose name is `missing` do not exist, port 1 refuses connections, 192.0.2.0/24 (RFC 5737) never
 * answers.
 */

import type { AddressFamily } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { FileRequest, FileResponse } from "../../../src/domain/protocol/file-messages.ts"
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

/** Runs work of a peer after a while, in order. */
export type Later = (run: () => void) => void

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

/** The outcome of a file request; `undefined` if there is no answer. */
export type SimFileAnswer =
  | { readonly _tag: "Answer"; readonly response: FileResponse }
  | { readonly _tag: "EndConnection"; readonly reason: string }
  | undefined

const ok = <A>(value: A) => ({ _tag: "Ok", value }) as const
const err = (error: ResponseError) => ({ _tag: "Err", error }) as const

/**
 * The descriptors of one client in a file system in which every absolute path is a file with the text `file of
 * <cluster>` and a line end. The programs of stories read whole files and no more: all else is unsupported.
 */
export class SimAgentFiles {
  readonly #content: Uint8Array
  /** Descriptor → position. */
  readonly #open = new Map<bigint, number>()
  #next = 0n

  constructor(cluster: string) {
    this.#content = encoder.encode(`file of ${cluster}\n`)
  }

  handle(request: FileRequest): SimFileAnswer {
    const reason = fatalPath(request)
    if (reason !== undefined) return { _tag: "EndConnection", reason }
    const response = this.#answer(request)
    return response === undefined ? undefined : { _tag: "Answer", response }
  }

  #answer(request: FileRequest): FileResponse | undefined {
    switch (request._tag) {
      case "Open":
        if (request.value.path.endsWith("/missing")) return { _tag: "Open", value: err(systemError(errno.ENOENT)) }
        this.#open.set(this.#next, 0)
        return { _tag: "Open", value: ok({ fd: this.#next++ }) }
      case "Read": {
        const { bufferSize, remoteFd } = request.value
        const from = this.#open.get(remoteFd)
        if (from === undefined) return { _tag: "Read", value: err({ _tag: "NotFound", value: remoteFd }) }
        const bytes = this.#content.subarray(from, from + Number(bufferSize))
        this.#open.set(remoteFd, from + bytes.length)
        return { _tag: "Read", value: ok({ bytes, readAmount: BigInt(bytes.length) }) }
      }
      case "Close":
        this.#open.delete(request.value.fd)
        return undefined
      default: {
        const kind = answerOf(request)
        return kind === undefined ? undefined : { _tag: kind, value: err(agentError("Unsupported")) }
      }
    }
  }
}
