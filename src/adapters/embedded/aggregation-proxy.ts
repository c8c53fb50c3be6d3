import { randomUUID } from "node:crypto"
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http"
import { request as httpsRequest } from "node:https"
import { connect as connectTcp } from "node:net"
import type { Duplex } from "node:stream"
import { type TLSSocket, connect as connectTls } from "node:tls"
import { type AggregatedService, resolveBackend } from "./aggregation.ts"
import type { Connections } from "./connections.ts"
import { refuseUpgrade, refuseUpgradeWithText, sendError, sendText } from "./http-io.ts"
import type { Identity } from "./identity.ts"
import type { ObjectStore } from "./object-store.ts"
import type { KeyPair } from "./pki.ts"
import { unavailable } from "./status-error.ts"

export interface ProxyOptions {
  readonly store: ObjectStore
  readonly random: () => number
  /** The front-proxy client certificate of now. */
  readonly identity: () => KeyPair
  readonly connections: Connections
  readonly connectTimeoutMs: number
}

/** Larger than Node's 16 KiB: the real client puts connect parameters with whole descriptors into a header. */
export const maxHeaderSize = 1024 * 1024

/** Why there is none stands in the APIService's condition only. */
const noEndpoint = "service unavailable\n"

const hopByHop = new Set(["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "upgrade"])

const dropped = (name: string): boolean =>
  name === "authorization" || name === "host" || name.startsWith("x-remote-") || name.startsWith("impersonate-") || name === "audit-id"

const pairs = (raw: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> =>
  Array.from({ length: raw.length / 2 }, (_, index) => [raw[index * 2] ?? "", raw[index * 2 + 1] ?? ""])

/** A key of `extra` in a header's name: everything but token characters is percent-encoded, lower case. */
const extraHeader = (key: string): string => `X-Remote-Extra-${encodeURIComponent(key.toLowerCase())}`

/** Headers of the request to the backend: the caller's, with the front proxy's word for who the caller is. */
const forwardedHeaders = (req: IncomingMessage, who: Identity, service: AggregatedService, upgrade: boolean): Array<string> => {
  const { namespace, name } = service.service
  const kept = pairs(req.rawHeaders).filter(([header]) => {
    const lower = header.toLowerCase()
    return !dropped(lower) && lower !== "x-forwarded-for" && (upgrade || !hopByHop.has(lower))
  })
  const before = req.headers["x-forwarded-for"]
  const from = req.socket.remoteAddress ?? "127.0.0.1"
  return [
    ["Host", `${name}.${namespace}.svc`] as const,
    ...kept,
    ["X-Forwarded-For", before === undefined ? from : `${String(before)}, ${from}`] as const,
    ["X-Remote-User", who.user] as const,
    ...(who.uid === undefined ? [] : [["X-Remote-Uid", who.uid] as const]),
    ...who.groups.map((group) => ["X-Remote-Group", group] as const),
    ...Object.entries(who.extra).flatMap(([key, values]) => values.map((value) => [extraHeader(key), value] as const)),
    ["Audit-Id", randomUUID()] as const,
    ...(upgrade ? [] : [["Connection", "close"] as const])
  ].flat()
}

/**
 * The aggregation layer: sends requests and upgrades of an aggregated group and version to a ready endpoint of its Service, over
 * TLS with the front-proxy certificate, as kube-aggregator does. Nothing is buffered; ends, half-closes and resets of one side
 * are passed to the other.
 */
export class AggregationProxy {
  readonly #options: ProxyOptions

  constructor(options: ProxyOptions) {
    this.#options = options
  }

  /** Answers a plain or streaming request. */
  serve(req: IncomingMessage, res: ServerResponse, service: AggregatedService, who: Identity): void {
    const outgoing = this.#request(req, service, who, false)
    if (outgoing === undefined) return sendText(res, 503, noEndpoint)
    outgoing.on("response", (answer) => {
      const headers = pairs(answer.rawHeaders).filter(([name]) => !hopByHop.has(name.toLowerCase()))
      res.writeHead(answer.statusCode ?? 502, headers.flat())
      res.flushHeaders()
      answer.on("error", () => this.#options.connections.reset(req.socket))
      answer.on("close", () => {
        if (!answer.complete) this.#options.connections.reset(req.socket)
      })
      answer.pipe(res)
    })
    outgoing.on("error", (error) => {
      if (res.headersSent) this.#options.connections.reset(req.socket)
      else sendError(res, unavailable(`error trying to reach service: ${error.message}`))
    })
    res.on("close", () => {
      if (!res.writableFinished) outgoing.destroy()
    })
    req.on("error", () => outgoing.destroy())
    req.pipe(outgoing)
  }

  /** Passes an upgrade on; `done` is told the status that the backend gave. */
  serveUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer, service: AggregatedService, who: Identity, done: (status: number) => void): void {
    const outgoing = this.#request(req, service, who, true)
    if (outgoing === undefined) {
      done(503)
      return refuseUpgradeWithText(socket, 503, noEndpoint)
    }
    const left = (): void => void outgoing.destroy()
    socket.on("close", left)
    outgoing.on("upgrade", (answer, backend, backendHead) => {
      socket.off("close", left)
      done(101)
      const lines = pairs(answer.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`HTTP/1.1 ${answer.statusCode ?? 101} ${answer.statusMessage ?? "Switching Protocols"}\r\n${lines.join("")}\r\n`)
      if (backendHead.length > 0) socket.write(backendHead)
      if (head.length > 0) backend.write(head)
      this.#tunnel(socket, backend)
    })
    outgoing.on("response", (answer) => {
      socket.off("close", left)
      done(answer.statusCode ?? 502)
      const headers = pairs(answer.rawHeaders).filter(([name]) => !hopByHop.has(name.toLowerCase()) && name.toLowerCase() !== "transfer-encoding")
      const lines = [...headers, ["Connection", "close"] as const].map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`HTTP/1.1 ${answer.statusCode ?? 502} ${answer.statusMessage ?? ""}\r\n${lines.join("")}\r\n`)
      answer.on("error", () => this.#options.connections.reset(socket))
      answer.pipe(socket)
    })
    outgoing.on("error", (error) => {
      if (socket.destroyed) return
      done(503)
      refuseUpgrade(socket, unavailable(`error trying to reach service: ${error.message}`))
    })
    outgoing.end()
  }

  /** `GET /apis/<group>/<version>` as the aggregator itself; the problem, or `undefined` if the service answers. */
  probe(service: AggregatedService): Promise<{ readonly reason: string; readonly message: string } | undefined> {
    const backend = resolveBackend(this.#options.store, service, this.#options.random())
    if (backend._tag === "Missing") return Promise.resolve(backend)
    const path = `/apis/${service.group}/${service.version}`
    const failed = (why: string) => ({
      reason: "FailedDiscoveryCheck",
      message: `failing or missing response from https://${backend.host}:${backend.port}${path}: ${why}`
    })
    return new Promise((resolve) => {
      const outgoing = httpsRequest({
        method: "GET",
        path,
        headers: ["Host", `${service.service.name}.${service.service.namespace}.svc`, "Accept", "application/json", "Connection", "close",
          "X-Remote-User", "system:kube-aggregator", "X-Remote-Group", "system:masters"],
        createConnection: () => this.#connect(backend.host, backend.port, service),
        timeout: this.#options.connectTimeoutMs
      })
      outgoing.on("response", (answer) => {
        answer.resume()
        const status = answer.statusCode ?? 0
        resolve(status >= 200 && status < 300 ? undefined : failed(`bad status from https://${backend.host}:${backend.port}${path}: ${status}`))
      })
      outgoing.on("timeout", () => outgoing.destroy(new Error("context deadline exceeded")))
      outgoing.on("error", (error) => resolve(failed(error.message)))
      outgoing.end()
    })
  }

  #request(req: IncomingMessage, service: AggregatedService, who: Identity, upgrade: boolean): ClientRequest | undefined {
    const backend = resolveBackend(this.#options.store, service, this.#options.random())
    if (backend._tag === "Missing") return undefined
    return httpsRequest({
      method: req.method ?? "GET",
      path: req.url ?? "/",
      headers: forwardedHeaders(req, who, service, upgrade),
      maxHeaderSize,
      createConnection: () => this.#connect(backend.host, backend.port, service)
    })
  }

  /** No agent may be named beside a `createConnection`: with one, Node dials on its own. */
  #connect(host: string, port: number, service: AggregatedService): TLSSocket {
    const { connections, connectTimeoutMs } = this.#options
    const identity = this.#options.identity()
    const transport = connectTcp({ host, port, allowHalfOpen: true, noDelay: true })
    connections.add(transport)
    const { namespace, name } = service.service
    const secure = connectTls({
      socket: transport,
      servername: `${name}.${namespace}.svc`,
      cert: identity.certPem,
      key: identity.keyPem,
      rejectUnauthorized: !service.insecureSkipTlsVerify,
      ALPNProtocols: ["http/1.1"],
      ...(service.caBundle === undefined ? {} : { ca: service.caBundle })
    })
    connections.join(secure, transport)
    const timer = setTimeout(() => secure.destroy(new Error(`dial tcp ${host}:${port}: i/o timeout`)), connectTimeoutMs)
    transport.on("error", (error) => secure.destroy(error))
    secure.on("secureConnect", () => clearTimeout(timer)).on("close", () => clearTimeout(timer))
    return secure
  }

  #tunnel(a: Duplex, b: Duplex): void {
    const passOn = (from: Duplex, to: Duplex): void => {
      from.pipe(to)
      from.on("error", () => this.#options.connections.reset(to))
      from.on("close", () => {
        if (!from.readableEnded) this.#options.connections.reset(to)
      })
    }
    passOn(a, b)
    passOn(b, a)
  }
}
