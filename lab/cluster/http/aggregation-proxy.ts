/**
 * The aggregation layer: sends requests and upgrades of an aggregated group and version to a ready endpoint of its
 * Service, over TLS with the front-proxy certificate, as kube-aggregator does. The endpoint is found in
 * `aggregation.ts`; the availability of a service is decided in `availability.ts`.
 */

import { randomUUID } from "node:crypto"
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http"
import { request as httpsRequest } from "node:https"
import { connect as connectTcp } from "node:net"
import type { Duplex } from "node:stream"
import { type TLSSocket, connect as connectTls } from "node:tls"
import type { ObjectStore } from "../store/object-store.ts"
import { headerKey, headerOfText } from "../wire/header-bytes.ts"
import { refuseUpgradeWithText, sendText } from "../wire/http-io.ts"
import { type AggregatedService, type Backend, resolveBackend, type Unavailable } from "./aggregation.ts"
import type { Connections } from "./connections.ts"
import type { Identity } from "./identity.ts"
import type { KeyPair } from "./pki.ts"

type Address = Extract<Backend, { readonly _tag: "Address" }>

export interface ProxyOptions {
  readonly store: ObjectStore
  readonly random: () => number
  /** The current front-proxy client certificate. */
  readonly identity: () => KeyPair
  readonly connections: Connections
  readonly connectTimeoutMs: number
}

/** Node's 16 KiB are too small: the real client puts connect parameters with whole descriptors into a header. */
export const maxHeaderSize = 1024 * 1024

/** The answer gives no reason; the APIService's condition does. */
const unavailable = "service unavailable\n"

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "upgrade"
])

/** Headers that a real server replaces in plain requests and passes on in upgrades. */
const forwarded = new Set(["x-forwarded-host", "x-forwarded-proto", "x-forwarded-uri"])

const dropped = (name: string): boolean =>
  name === "authorization" ||
  name === "host" ||
  name.startsWith("x-remote-") ||
  name.startsWith("impersonate-") ||
  name === "audit-id"

const pairs = (raw: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> =>
  Array.from({ length: raw.length / 2 }, (_, index) => [raw[index * 2] ?? "", raw[index * 2 + 1] ?? ""])

/** The header's name for a key of `extra`, which loses its case there. */
const extraHeader = (key: string): string => `X-Remote-Extra-${headerKey(key)}`

/** Escapes as Go's `url.QueryEscape`. */
const goEscaped = (form: string): string => form.replaceAll("*", "%2A").replaceAll("%7E", "~")

/** A real server parses a query and writes it again: sorted by key, without unreadable parts (Go's `url.Values`). */
const rewritten = (url: string): string => {
  const [path = "", ...query] = url.split("?")
  const readable = query
    .join("?")
    .split("&")
    .filter((part) => !part.includes(";") && !/%(?![0-9a-f]{2})/i.test(part))
  const values = new URLSearchParams(readable.join("&"))
  values.sort()
  return values.size === 0 ? path : `${path}?${goEscaped(values.toString())}`
}

const untrustedCodes = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
])

/** A certificate for other names than the one that was dialled. */
const isForOthers = (error: NodeJS.ErrnoException): error is NodeJS.ErrnoException & TlsMismatch =>
  error.code === "ERR_TLS_CERT_ALTNAME_INVALID"

interface TlsMismatch {
  readonly host: string
  readonly cert: { readonly subjectaltname?: string }
}

/** The reason that a backend was not reached, in Go's words where we know them: people read it in the condition. */
export const reasonOf = (error: NodeJS.ErrnoException, authority: string): string => {
  if (error.code === "ECONNRESET") return "EOF"
  if (error.code === "ECONNREFUSED") return `dial tcp ${authority}: connect: connection refused`
  if (untrustedCodes.has(error.code ?? ""))
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
  if (isForOthers(error)) {
    const names = [...(error.cert.subjectaltname ?? "").matchAll(/DNS:([^,]+)/gu)].map(([, name]) => name)
    return `tls: failed to verify certificate: x509: certificate is valid for ${names.join(", ")}, not ${error.host}`
  }
  return error.message
}

/** The headers for the backend: the caller's own, plus the identity that the front proxy vouches for. */
const forwardedHeaders = (req: IncomingMessage, who: Identity, authority: string, upgrade: boolean): Array<string> => {
  const kept = pairs(req.rawHeaders).filter(([header]) => {
    const lower = header.toLowerCase()
    return !dropped(lower) && lower !== "x-forwarded-for" && (upgrade || !(hopByHop.has(lower) || forwarded.has(lower)))
  })
  const before = req.headers["x-forwarded-for"]
  const from = req.socket.remoteAddress ?? "127.0.0.1"
  return [
    ["Host", authority] as const,
    ...kept,
    ["X-Forwarded-For", before === undefined ? from : `${String(before)}, ${from}`] as const,
    ["X-Remote-User", headerOfText(who.user)] as const,
    ...(who.uid === undefined ? [] : [["X-Remote-Uid", headerOfText(who.uid)] as const]),
    ...who.groups.map((group) => ["X-Remote-Group", headerOfText(group)] as const),
    ...Object.entries(who.extra).flatMap(([key, values]) =>
      values.map((value) => [extraHeader(key), headerOfText(value)] as const)
    ),
    ["Audit-Id", randomUUID()] as const,
    ...(upgrade
      ? []
      : [
          ["X-Forwarded-Host", authority] as const,
          ["X-Forwarded-Proto", "https"] as const,
          ["X-Forwarded-Uri", req.url?.split("?")[0] ?? ""] as const,
          ["Connection", "close"] as const
        ])
  ].flat()
}

/** A request to upgrade a connection. */
export interface Upgrade {
  readonly req: IncomingMessage
  readonly socket: Duplex
  /** Bytes that the caller has sent after the request. */
  readonly head: Buffer
}

type Done = (status: number) => void

/** A request that goes on to a service. */
interface Forwarded {
  readonly req: IncomingMessage
  readonly service: AggregatedService
  readonly who: Identity
  readonly upgrade: boolean
}

/** Buffers nothing. A tunnel lives as long as both of its sides. */
export class AggregationProxy {
  readonly #options: ProxyOptions

  constructor(options: ProxyOptions) {
    this.#options = options
  }

  /** Answers a plain or streaming request. */
  serve(req: IncomingMessage, res: ServerResponse, service: AggregatedService, who: Identity): void {
    const backend = this.#resolve(service)
    if (backend._tag === "Missing") return sendText(res, 503, unavailable)
    const outgoing = this.#request({ req, service, who, upgrade: false }, backend)
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
      else sendText(res, 503, `error trying to reach service: ${reasonOf(error, backend.authority)}\n`)
    })
    res.on("close", () => {
      if (!res.writableFinished) outgoing.destroy()
    })
    req.on("error", () => outgoing.destroy())
    req.pipe(outgoing)
  }

  /** Passes an upgrade on; `done` receives the status of the backend's answer. */
  serveUpgrade({ head, req, socket }: Upgrade, service: AggregatedService, who: Identity, done: Done): void {
    const refuse = (why: string): void => {
      done(503)
      refuseUpgradeWithText(socket, 503, why)
    }
    const resolved = this.#resolve(service)
    if (resolved._tag === "Missing") return refuse(unavailable)
    const outgoing = this.#request({ req, service, who, upgrade: true }, resolved)
    const left = (): void => void outgoing.destroy()
    socket.on("close", left)
    outgoing.on("upgrade", (answer, backend, backendHead) => {
      socket.off("close", left)
      done(101)
      const lines = pairs(answer.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(
        `HTTP/1.1 ${answer.statusCode ?? 101} ${answer.statusMessage ?? "Switching Protocols"}\r\n${lines.join("")}\r\n`
      )
      if (backendHead.length > 0) socket.write(backendHead)
      if (head.length > 0) backend.write(head)
      this.#tunnel(socket, backend)
    })
    outgoing.on("response", (answer) => {
      socket.off("close", left)
      const status = answer.statusCode ?? 502
      if (status < 400) {
        outgoing.destroy()
        return refuse(`invalid upgrade response: status code ${status}\n`)
      }
      done(status)
      const headers = pairs(answer.rawHeaders).filter(
        ([name]) => !hopByHop.has(name.toLowerCase()) && name.toLowerCase() !== "transfer-encoding"
      )
      const lines = [...headers, ["Connection", "close"] as const].map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`HTTP/1.1 ${status} ${answer.statusMessage ?? ""}\r\n${lines.join("")}\r\n`)
      answer.on("error", () => this.#options.connections.reset(socket))
      answer.pipe(socket)
    })
    outgoing.on("error", (error) => {
      if (socket.destroyed || socket.writableEnded) return
      const reason = reasonOf(error, resolved.authority)
      refuse(reason === "EOF" ? "unexpected EOF\n" : `error dialing backend: ${reason}\n`)
    })
    outgoing.end()
  }

  /** Asks for `/apis/<group>/<version>` as the aggregator itself. Gives the problem, or `undefined` if all is well. */
  probe(service: AggregatedService): Promise<Unavailable | undefined> {
    const backend = resolveBackend(this.#options.store, service, this.#options.random())
    if (backend._tag === "Missing") return Promise.resolve(backend)
    const path = `/apis/${service.group}/${service.version}`
    const url = `https://${backend.authority}${path}`
    const failed = (why: string) => ({
      reason: "FailedDiscoveryCheck",
      message: `failing or missing response from ${url}: ${why}`
    })
    return new Promise((resolve) => {
      const outgoing = httpsRequest({
        method: "GET",
        path,
        headers: [
          "Host",
          backend.authority,
          "Accept",
          "application/json",
          "Connection",
          "close",
          "X-Remote-User",
          "system:kube-aggregator",
          "X-Remote-Group",
          "system:masters"
        ],
        createConnection: () => this.#connect(backend, service, false),
        timeout: this.#options.connectTimeoutMs
      })
      outgoing.on("response", (answer) => {
        answer.resume()
        const status = answer.statusCode ?? 0
        resolve(status >= 200 && status < 300 ? undefined : failed(`bad status from ${url}: ${status}`))
      })
      outgoing.on("timeout", () => outgoing.destroy(new Error("context deadline exceeded")))
      outgoing.on("error", (error) =>
        resolve(failed(`Get ${JSON.stringify(url)}: ${reasonOf(error, backend.authority)}`))
      )
      outgoing.end()
    })
  }

  #resolve(service: AggregatedService): Backend | { readonly _tag: "Missing" } {
    return service.available
      ? resolveBackend(this.#options.store, service, this.#options.random())
      : { _tag: "Missing" }
  }

  #request({ req, service, upgrade, who }: Forwarded, backend: Address): ClientRequest {
    return httpsRequest({
      method: req.method ?? "GET",
      path: rewritten(req.url ?? "/"),
      headers: forwardedHeaders(req, who, backend.authority, upgrade),
      maxHeaderSize,
      createConnection: () => this.#connect(backend, service, upgrade)
    })
  }

  /**
   * Callers pass `createConnection` and no `agent`: with an agent, Node would dial on its own. The timeout of an
   * upgrade covers TCP only, not the TLS handshake (k8s.io/apimachinery `pkg/util/proxy/dial.go`): a backend that hangs
   * there holds the client as long as the client waits.
   */
  #connect({ host, port }: Pick<Address, "host" | "port">, service: AggregatedService, upgrade: boolean): TLSSocket {
    const { connections, connectTimeoutMs } = this.#options
    const identity = this.#options.identity()
    const transport = connectTcp({ host, port, noDelay: true })
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
    const connected = (): void => clearTimeout(timer)
    if (upgrade) transport.on("connect", connected)
    secure.on("secureConnect", connected).on("close", connected)
    return secure
  }

  /**
   * If a side ends or breaks, both are closed after the bytes so far. No half-closed tunnels, and no reset is passed
   * on.
   */
  #tunnel(a: Duplex, b: Duplex): void {
    const close = (): void => {
      for (const side of [a, b]) {
        side.unpipe()
        // A side that takes nothing is not waited for: it might never take anything again.
        if (side.writableNeedDrain) side.destroy()
        else side.end(() => side.destroy())
      }
    }
    for (const [from, to] of [
      [a, b],
      [b, a]
    ] as const) {
      from.pipe(to, { end: false })
      from.on("end", close).on("error", close).on("close", close)
    }
  }
}
