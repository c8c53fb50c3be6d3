/**
 * Makes outgoing connections of the reference agent over real sockets: TCP, UDP, unix streams. The clients' side of
 * them is in `agent-outgoing.ts`.
 */

import * as dgram from "node:dgram"
import * as fs from "node:fs"
import * as net from "node:net"
import type { SocketAddress } from "../../../src/domain/protocol/network-messages.ts"
import type { LayerSeqpacket } from "../../../src/domain/protocol/outgoing-messages.ts"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import type { Endpoint } from "../../cluster/network/endpoint.ts"
import { type AgentOutput, err } from "../agent-output.ts"
import { FileFailure, resolveInRoot } from "../files/resolve-in-root.ts"
import { agentError, errno, systemError } from "../io-errors.ts"
import { errnoOf, responseError } from "../node-errors.ts"
import type { Dial, Peer } from "./peer.ts"

/** The place from which connections are made. */
export interface DialSettings {
  /** Folder that is the container's `/`; unix sockets are looked up there. */
  readonly root: string
  /** The pod's own address. */
  readonly podIp: string
  /** The real endpoint of a cluster's address. */
  readonly reach: (endpoint: Endpoint) => Endpoint
}

const isLoopback = (ip: string): boolean => ip.startsWith("127.")

/**
 * The source address of a connection. A pod of the stand-in cluster has a loopback address, which only other loopback
 * addresses can see as the source.
 */
const sourceFor = (podIp: string, destination: string): string | undefined =>
  isLoopback(podIp) && isLoopback(destination) ? podIp : undefined

const failed = (error: ResponseError) => ({ _tag: "Failed" as const, error })
const notStarted = { cancel: () => undefined }
const ipAddress = (ip: string, port: number): SocketAddress => ({ _tag: "Ip", value: { ip, port } })
const unnamed: SocketAddress = { _tag: "Unix", value: { _tag: "Unnamed" } }

/**
 * The address by which the client knows the other side: the address that the system chose for a wildcard, or the
 * requested address if `reach` led elsewhere.
 */
const remoteOf = (requested: Endpoint, real: Endpoint, seen: Endpoint): SocketAddress =>
  requested.ip === real.ip && requested.port === real.port
    ? ipAddress(seen.ip, seen.port)
    : ipAddress(requested.ip, requested.port)

const streamPeer = (socket: net.Socket, remoteAddress: SocketAddress, localAddress: SocketAddress): Peer => {
  let failure: Error | undefined
  socket.on("error", (error) => {
    failure ??= error
  })
  return {
    remoteAddress,
    localAddress,
    start: (events) => {
      socket.on("data", events.data)
      socket.on("end", events.end)
      if (socket.closed) return events.close(failure)
      socket.once("close", () => events.close(failure))
      socket.resume()
    },
    write: (bytes, done) => {
      socket.write(bytes, () => done())
    },
    end: () => {
      socket.end()
    },
    close: () => socket.destroySoon(),
    destroy: (reason) => {
      socket.destroy(reason)
    },
    pause: () => {
      socket.pause()
    },
    resume: () => {
      socket.resume()
    }
  }
}

/** The path or abstract name to connect to; throws if there is none. */
const unixPath = (root: string, address: Extract<SocketAddress, { _tag: "Unix" }>["value"]): string => {
  switch (address._tag) {
    case "Pathname":
      return resolveInRoot(root, address.value, true).host
    case "Abstract":
      return `\0${new TextDecoder("utf-8", { fatal: true }).decode(address.value)}`
    case "Unnamed":
      throw new FileFailure(agentError("Other"))
  }
}

const failureOf = (error: unknown): ResponseError =>
  error instanceof FileFailure ? error.response : responseError(error)

/** Dials TCP and unix stream sockets (pathnames within the container's root, abstract names if they are UTF-8). */
export const dialStream =
  ({ root, podIp, reach }: DialSettings): Dial =>
  (address, result) => {
    let socket: net.Socket
    let describe: () => readonly [remote: SocketAddress, local: SocketAddress]
    try {
      if (address._tag === "Ip") {
        const requested = address.value
        const real = reach(requested)
        const localAddress = sourceFor(podIp, real.ip)
        const opened = net.connect({
          host: real.ip,
          port: real.port,
          allowHalfOpen: true,
          noDelay: true,
          ...(localAddress === undefined ? {} : { localAddress })
        })
        socket = opened
        describe = () => [
          remoteOf(requested, real, { ip: opened.remoteAddress ?? real.ip, port: opened.remotePort ?? real.port }),
          ipAddress(opened.localAddress ?? "0.0.0.0", opened.localPort ?? 0)
        ]
      } else {
        socket = net.connect({ path: unixPath(root, address.value), allowHalfOpen: true })
        describe = () => [address, unnamed]
      }
    } catch (error) {
      result(failed(failureOf(error)))
      return notStarted
    }
    const onError = (error: Error): void => result(failed(responseError(error)))
    socket.once("error", onError)
    socket.once("connect", () => {
      socket.off("error", onError)
      socket.pause()
      result({ _tag: "Open", peer: streamPeer(socket, ...describe()) })
    })
    return {
      cancel: () => {
        socket.on("error", () => undefined)
        socket.destroy()
      }
    }
  }

/**
 * Dials UDP, connected to one peer. Refusals that the network reports for earlier datagrams are ignored, as by the real
 * agent.
 */
export const dialDatagram =
  ({ podIp, reach }: DialSettings): Dial =>
  (address, result) => {
    if (address._tag === "Unix") {
      result(failed(agentError("Other")))
      return notStarted
    }
    const requested = address.value
    if (requested.port === 0) {
      result(failed(systemError(errno.ENOTCONN)))
      return notStarted
    }
    const real = reach(requested)
    const socket = dgram.createSocket(real.ip.includes(":") ? "udp6" : "udp4")
    let settled = false
    let failure: Error | undefined
    socket.on("error", (error) => {
      if (!settled) {
        settled = true
        socket.close()
        result(failed(responseError(error)))
      } else if (errnoOf(error) !== errno.ECONNREFUSED && failure === undefined) {
        failure = error
        shut()
      }
    })
    let closed = false
    const shut = (): void => {
      if (closed) return
      closed = true
      socket.close()
    }
    socket.bind({ port: 0, address: sourceFor(podIp, real.ip) ?? (real.ip.includes(":") ? "::" : "0.0.0.0") }, () =>
      // Node's types do not know that the callback gets the error of a connect that failed; no event tells it then.
      socket.connect(real.port, real.ip, (error?: Error | null) => {
        if (error != null) socket.emit("error", error)
        if (settled) return
        settled = true
        const seen = socket.remoteAddress()
        const local = socket.address()
        const peer: Peer = {
          remoteAddress: remoteOf(requested, real, { ip: seen.address, port: seen.port }),
          localAddress: ipAddress(local.address, local.port),
          start: (events) => {
            socket.on("message", events.data)
            socket.once("close", () => events.close(failure))
          },
          write: (bytes, done) =>
            socket.send(bytes, (error) => {
              done()
              if (error !== null && errnoOf(error) !== errno.ECONNREFUSED) peer.destroy(error)
            }),
          end: () => undefined,
          close: shut,
          destroy: (reason) => {
            failure ??= reason
            shut()
          },
          // Unread datagrams are lost, as everywhere.
          pause: () => undefined,
          resume: () => undefined
        }
        result({ _tag: "Open", peer })
      })
    )
    return { cancel: () => (settled ? undefined : ((settled = true), shut())) }
  }

/**
 * The system's answer to a seqpacket connect, as far as it can be known without such a socket, which Node does not
 * have.
 */
const seqpacketFailure = (root: string, address: SocketAddress): ResponseError => {
  if (address._tag === "Ip" || address.value._tag === "Unnamed") return agentError("Other")
  if (address.value._tag === "Abstract") return agentError("Unsupported")
  try {
    return fs.statSync(resolveInRoot(root, address.value.value, true).host).isSocket()
      ? agentError("Unsupported")
      : systemError(errno.ECONNREFUSED)
  } catch (error) {
    return failureOf(error)
  }
}

/** Answers seqpacket messages. Node has no such sockets, so every connect fails and no other message can follow. */
export const handleSeqpacket = (root: string, message: LayerSeqpacket, output: AgentOutput): void => {
  if (message._tag !== "ConnectV2") return
  const { uid, remoteAddress } = message.value
  output.send({
    _tag: "SeqpacketOutgoing",
    value: { _tag: "ConnectV2", value: { uid, connect: err(seqpacketFailure(root, remoteAddress)) } }
  })
}
