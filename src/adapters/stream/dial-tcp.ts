/**
 * Dials a host over TCP, through a proxy where there is one, for protocols that are not HTTP.
 *
 * Not here: which proxy (domain/fleet/proxy.ts), and TLS.
 */

import http from "node:http"
import https from "node:https"
import { connect, isIPv6, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { SocksClient } from "socks"
import { isSocks, shownProxy, socksAddress } from "./proxy-agent.ts"

/** A host, its name or its address without brackets, and its port. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** The host of a URL as an endpoint has it. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/gu, "")

const dialDirectly = ({ host, port }: Endpoint): Effect.Effect<Socket, string> =>
  Effect.callback((resume) => {
    const socket = connect({ host, port, noDelay: true })
    socket.once("connect", () => resume(Effect.succeed(socket)))
    socket.on("error", ({ message }) => resume(Effect.fail(message)))
    return Effect.sync(() => void socket.destroy())
  })

/** `CONNECT` of HTTP. `https-proxy-agent` does this for requests of HTTP alone. */
const dialByConnect = (proxy: string, { host, port }: Endpoint): Effect.Effect<Duplex, string> =>
  Effect.callback((resume) => {
    const url = new URL(proxy)
    const { password, port: proxyPort, protocol, username } = url
    const target = `${isIPv6(host) ? `[${host}]` : host}:${port}`
    const secret = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")
    const { request: send } = protocol === "https:" ? https : http
    const request = send({
      method: "CONNECT",
      host: hostOf(url),
      port: proxyPort === "" ? undefined : Number(proxyPort),
      path: target,
      agent: false,
      headers: { host: target, ...(username === "" ? {} : { "proxy-authorization": `Basic ${secret}` }) }
    })
    request.once("connect", ({ statusCode, statusMessage }, socket: Duplex) => {
      if (statusCode === 200) return resume(Effect.succeed(socket))
      socket.destroy()
      return resume(Effect.fail(`it answers ${statusCode} ${statusMessage ?? ""}`.trim()))
    })
    request.on("error", ({ message }) => resume(Effect.fail(message)))
    request.end()
    return Effect.sync(() => void request.destroy())
  })

/** `CONNECT` of SOCKS, on a connection that is made here, since the library's own cannot be given up. */
const dialBySocks = (proxy: string, destination: Endpoint, timeout: number): Effect.Effect<Duplex, string> => {
  const { host = "", ...address } = socksAddress(proxy)
  return Effect.flatMap(dialDirectly({ host, port: address.port }), (socket) =>
    Effect.callback((resume) => {
      const client = new SocksClient({ proxy: { ...address, host }, command: "connect", destination, timeout })
      client.once("established", () => resume(Effect.succeed(socket)))
      client.once("error", ({ message }) => resume(Effect.fail(message)))
      client.connect(socket)
      return Effect.sync(() => void socket.destroy())
    })
  )
}

/** Whether the URL, and the user and the password in it, can be read. */
const isReadable = (proxy: string): boolean => {
  try {
    const { password, username } = new URL(proxy)
    decodeURIComponent(`${username} ${password}`)
    return true
  } catch {
    return false
  }
}

const throughProxy = (proxy: string, endpoint: Endpoint, timeout: number): Effect.Effect<Duplex, string> =>
  Effect.suspend(() => {
    if (!isReadable(proxy)) return Effect.fail("its URL cannot be read; a % in its password is written as %25")
    return isSocks(proxy) ? dialBySocks(proxy, endpoint, timeout) : dialByConnect(proxy, endpoint)
  }).pipe(Effect.mapError((problem) => `${problem} (through the proxy ${shownProxy(proxy)})`))

/**
 * Dials; the caller bounds the time, and owns the connection. `proxy`: its URL, of HTTP or SOCKS; `undefined` for none.
 * `timeout`: of a proxy for SOCKS, ms. The failure is a clause.
 */
export const dialTcp = (
  proxy: string | undefined,
  endpoint: Endpoint,
  timeout: number
): Effect.Effect<Duplex, string> =>
  proxy === undefined ? dialDirectly(endpoint) : throughProxy(proxy, endpoint, timeout)
