import type { IncomingMessage } from "node:http"
import https from "node:https"
import type { Server } from "node:net"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Data, Effect, Exit, FiberSet, Redacted, Result, type Scope } from "effect"
import { HttpRouter } from "effect/http"
import { WebSocketServer } from "ws"
import { longestSilence } from "../../adapters/websocket/pings-awaited.ts"
import { socketChannel } from "../../adapters/websocket/socket-channel.ts"
import { decodeBase64Text } from "../../domain/credentials/base64.ts"
import type { Caller } from "../../domain/credentials/front-proxy.ts"
import type { AuditedCaller } from "../../domain/session/session-act.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { audit } from "../kernel/audit.ts"
import { logError, logInfo } from "../kernel/log.ts"
import { acceptConnection } from "./accept-connection.ts"
import { callerOf, type FrontProxySource } from "./caller.ts"
import { type ConnectRequest, OperatorFacade } from "./operator-facade.ts"
import { Authenticator, orStatus, refusal, routes } from "./routes.ts"
import type { ServingCertificateSource } from "./served-certificate.ts"
import { ApiError, badRequest, internalError, notFound, unauthorized } from "./status.ts"

/** Largest message that a client may send, in bytes. The client itself has no limit (wire.md §1.2). */
const largestClientMessage = 128 * 1024 * 1024
/** Connect parameters may travel in a header, protobuf descriptors and all (operator-api.md §2.3). Bytes. */
const largestHeaders = 1024 * 1024
/**
 * How long an idle connection is kept, in ms: longer than the API server keeps it (90 s), or a request would meet a
 * connection that is just being closed.
 */
const idleBound = 120_000
/** How long open connections may take to end when the operator stops, in ms. */
const stopGrace = 5_000
const subprotocol = "v4.channel.k8s.io"

export class ServerError extends Data.TaggedError("ServerError")<{ readonly detail: string }> {
  override get message(): string {
    return `the operator's API cannot be served: ${this.detail}`
  }
}

/** Where to listen. Port 0: any that is free. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface ApiServerOptions extends ListenAddress {
  /** Instead of `host` and `port` where this machine does not have such an address, such as `[::]` without IPv6. */
  readonly fallback?: ListenAddress | undefined
  readonly certificate: ServingCertificateSource
  readonly frontProxy: FrontProxySource
  /** Setting `requireFrontProxyClientCert`. */
  readonly requireFrontProxy: boolean
  /**
   * ms of silence after which the link of a primary that used to ping counts as lost. Usually {@link longestSilence}.
   */
  readonly longestLinkSilence?: number
}

const single = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headersDistinct[name]?.[0]
  // Some clients send a header twice, joined on the way (operator-api.md §2.2).
  return value?.split(",")[0]?.trim()
}

const connectPath =
  /^\/apis\/operator\.metalbear\.co\/v1\/(proxy\/)?namespaces\/([^/]+)\/(targets|copytargets)\/([^/]+)$/

/**
 * What a WebSocket handshake must have, so that nothing is prepared for one that cannot succeed (operator-api.md §7.3).
 */
const handshakeProblem = (request: IncomingMessage): string | undefined => {
  const { headers, method } = request
  if (method !== "GET") return `The method is ${method}; a connect request is a GET.`
  if (headers.upgrade?.toLowerCase() !== "websocket")
    return `The header Upgrade is ${JSON.stringify(headers.upgrade ?? "")}; it must be websocket.`
  if (headers["sec-websocket-version"] !== "13") return "The header Sec-WebSocket-Version must be 13."
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? ""))
    return "The header Sec-WebSocket-Key must be base64 of 16 bytes."
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((one) => one.trim())
  return offered.includes(subprotocol) ? undefined : `The header Sec-WebSocket-Protocol must offer ${subprotocol}.`
}

const decodePart = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Reads an upgrade request, or says what is wrong with it. */
const readConnectRequest = (request: IncomingMessage, caller: Caller): ConnectRequest | ApiError => {
  const [path = "", ...query] = (request.url ?? "").split("?")
  const match = connectPath.exec(path)
  if (match === null) return notFound(`The operator does not serve upgrades on ${path.slice(0, 200)}.`)
  const [, proxyPrefix, namespaceText = "", collection, targetText = ""] = match
  if (collection === "copytargets")
    return badRequest("Copy targets are not supported yet; connect to the target itself.")
  const namespace = decodePart(namespaceText)
  const target = decodePart(targetText)
  if (namespace === undefined || target === undefined)
    return badRequest(`The path ${path.slice(0, 200)} is not percent-encoded UTF-8.`)
  const problem = handshakeProblem(request)
  if (problem !== undefined) return badRequest(problem)
  const packed = single(request, "x-mirrord-connect-params")
  const unpacked = packed === undefined ? Result.succeed(query.join("?")) : decodeBase64Text(packed)
  if (Result.isFailure(unpacked)) {
    return badRequest(
      `The header x-mirrord-connect-params cannot be used: ${unpacked.failure}; it must be standard base64 of ` +
        "the query string."
    )
  }
  return {
    caller,
    checked: proxyPrefix === undefined ? "get" : "proxy",
    namespace,
    target,
    sessionId: single(request, "x-session-id"),
    certificate: single(request, "x-client-der"),
    clientVersion: single(request, "x-mirrord-cli-version"),
    clientName: request.headersDistinct["x-client-name"]?.[0],
    clientHostname: request.headersDistinct["x-client-hostname"]?.[0],
    term: single(request, "x-braid-term"),
    query: unpacked.success
  }
}

/** Refuses a request that never got as far as to the operator. */
const refused = ({ code, message, reason }: ApiError, by: AuditedCaller): Effect.Effect<never, ApiError> =>
  Effect.andThen(audit({ act: "refused", by, code, reason, message }), () =>
    Effect.fail(new ApiError({ code, reason, message }))
  )

const listen = (server: Server, { host, port }: ListenAddress): Effect.Effect<void, NodeJS.ErrnoException> =>
  Effect.callback((resume) => {
    server.once("error", (error) => resume(Effect.fail(error)))
    server.listen(port, host, () => resume(Effect.void))
  })

const isAddressAbsent = ({ code }: NodeJS.ErrnoException): boolean =>
  code === "EAFNOSUPPORT" || code === "EADDRNOTAVAIL"

const listenAtOneOf = (
  server: Server,
  first: ListenAddress,
  fallback: ListenAddress | undefined
): Effect.Effect<void, ServerError> =>
  listen(server, first).pipe(
    Effect.catch((error) =>
      fallback !== undefined && isAddressAbsent(error)
        ? Effect.andThen(
            logInfo("the address to listen on is not there; the fallback is used", {
              problem: error.message,
              ...fallback
            }),
            listen(server, fallback)
          )
        : Effect.fail(error)
    ),
    Effect.mapError((error) => new ServerError({ detail: error.message }))
  )

/**
 * Serves the aggregated API over HTTPS until the scope ends; then open connections are closed and it waits for them
 * shortly.
 */
export const serveApi = (
  options: ApiServerOptions
): Effect.Effect<{ readonly port: number }, ServerError, OperatorFacade | Scope.Scope> =>
  Effect.gen(function* () {
    const facade = yield* OperatorFacade
    const { longestLinkSilence = longestSilence } = options
    const scope = yield* Effect.scope
    const identify = (request: IncomingMessage) =>
      callerOf(request, options.frontProxy.known(), options.requireFrontProxy)
    const app = orStatus(
      yield* HttpRouter.toHttpEffect(routes).pipe(Effect.provideService(Authenticator, { identify }))
    )
    const handler = yield* NodeHttpServer.makeHandler(app, { scope }).pipe(
      Effect.provideService(Authenticator, { identify })
    )
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const connections = yield* FiberSet.make<void>()
    const runConnection = yield* FiberSet.runtime(connections)<never>()

    const secure = () => {
      const { certificatePem, keyPem } = options.certificate.known()
      return {
        key: Redacted.value(keyPem),
        cert: certificatePem,
        // Without this, whoever a public CA vouches for would be trusted while the front proxy's is not known.
        ca: options.frontProxy.known()?.certificateAuthority ?? []
      }
    }
    const server = https.createServer({
      ...secure(),
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      maxHeaderSize: largestHeaders,
      keepAliveTimeout: idleBound
    })
    const sockets = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      maxPayload: largestClientMessage,
      handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false)
    })

    const accept = (request: IncomingMessage, socket: Duplex, head: Buffer): Effect.Effect<void> => {
      // After 101 the socket speaks WebSocket: no refusal may be written to it any more.
      let upgraded = false
      const gone = Effect.callback<never, ApiError>((resume) => {
        const left = (): void =>
          resume(Effect.fail(badRequest("The client left while its session was being prepared.")))
        if (socket.destroyed) return left()
        socket.once("close", left)
        socket.once("end", left)
        return Effect.sync(() => void socket.off("close", left).off("end", left))
      })
      // Made inside of the callback: whatever the client says or does from the next tick on must find somebody who
      // listens. Without a certificate it is the operator of a primary, or it would have been refused.
      const upgrade = ({ certificate }: ConnectRequest) =>
        Effect.callback<FrameChannel>((resume) => {
          sockets.handleUpgrade(request, socket, head, (webSocket) => {
            upgraded = true
            resume(Effect.succeed(socketChannel(webSocket, certificate === undefined ? longestLinkSilence : undefined)))
          })
        })
      return Effect.gen(function* () {
        const caller = identify(request)
        const nobody = { user: "", groups: [], from: request.socket.remoteAddress ?? "" }
        if ("refused" in caller)
          return yield* refused(unauthorized(`Access is through the API server only: ${caller.refused}.`), nobody)
        const wanted = readConnectRequest(request, caller)
        if (wanted instanceof ApiError) return yield* refused(wanted, caller)
        yield* acceptConnection(facade, wanted, gone, upgrade(wanted))
      }).pipe(
        Effect.scoped,
        Effect.onExit((exit) => {
          if (Exit.isSuccess(exit)) return Effect.void
          const isStopping = Cause.hasInterruptsOnly(exit.cause)
          const failure = Cause.squash(exit.cause)
          const problem = isStopping
            ? "The operator is stopping."
            : "The operator failed to open the connection; its log says why."
          const error = failure instanceof ApiError ? failure : internalError(problem)
          if (!upgraded) socket.end(refusal(error))
          return isStopping || failure instanceof ApiError
            ? Effect.void
            : logError("connect failed", { cause: Cause.pretty(exit.cause) })
        }),
        Effect.exit,
        Effect.asVoid
      )
    }

    /** Sockets that left the HTTP server, which does not know them any more. */
    const upgrades = new Set<Duplex>()
    const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      // Without a listener a reset at this point would end the process.
      socket.on("error", () => socket.destroy())
      upgrades.add(socket)
      socket.once("close", () => upgrades.delete(socket))
      runConnection(accept(request, socket, head))
    }

    yield* Effect.acquireRelease(
      Effect.suspend(() => {
        server.on("request", handler).on("upgrade", onUpgrade)
        return listenAtOneOf(server, options, options.fallback)
      }),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeIdleConnections()
          // Requests that are held get their refusal, sessions end in order.
          for (const client of sockets.clients) client.close(1001)
          run(FiberSet.clear(connections))
        }).pipe(
          Effect.timeoutOrElse({
            duration: stopGrace,
            orElse: () =>
              Effect.sync(() => {
                for (const socket of upgrades) socket.destroy()
                server.closeAllConnections()
              })
          })
        )
    )
    // For connections from now on. Of those that stand, a request decides: one that is refused is the last on its
    // connection.
    for (const source of [options.frontProxy, options.certificate])
      source.listen(() => server.setSecureContext(secure()))
    const address = server.address()
    return { port: typeof address === "object" && address !== null ? address.port : options.port }
  })
