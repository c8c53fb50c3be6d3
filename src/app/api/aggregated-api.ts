/**
 * The aggregated API as an HTTPS server: listens, keeps its certificate and the front proxy's authorities up to date,
 * and stops in order. The answers are in routes.ts and upgrade-routes.ts.
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import https from "node:https"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Data, Effect, FiberSet, Redacted, type Scope } from "effect"
import { HttpRouter } from "effect/http"
import type { MessageRoom } from "../../adapters/stream/message-room.ts"
import { makeWebSocketAcceptor, type WebSocketAcceptor } from "../../adapters/websocket/accept-websocket.ts"
import { maxSilence } from "../../adapters/websocket/pings-awaited.ts"
import { isProxied } from "../../domain/outbound/proxied-request.ts"
import { acceptUpgrade } from "./accept-upgrade.ts"
import { callerOf, type CallerResult, type FrontProxySource, isFrontProxy } from "./caller.ts"
import { type ListenAddress, listenAtOneOf, portOf } from "./listen.ts"
import { OperatorFacade } from "./operator-facade.ts"
import { serveProxied } from "./proxy-requests.ts"
import { type RequestBounds, TakenByCallers, defaultRequestBounds } from "./request-bounds.ts"
import { asAuthorised, Authenticator, orStatus, routes } from "./routes.ts"
import type { ServingCertificateSource } from "./served-certificate.ts"
import { answerUnread } from "./unread-requests.ts"
import { divertStrangers, maxStrangers, type Strangers } from "./unverified-connections.ts"

/**
 * Largest headers of a request of the front proxy, in bytes: they may hold connect parameters with protobuf descriptors
 * (operator-api.md §2.3). An API server takes no larger headers itself.
 */
const maxHeaders = 1024 * 1024
/** How long a request may take to arrive, in ms; an API server gives its users no longer either. */
const maxRequest = 60_000
/** Most connections beside those that are upgraded and those of strangers. */
const maxPlainConnections = 1_000
/** How long connections may stay that are not the front proxy's, or that were refused, in ms. */
const defaultPatience = 5_000
/** Silence after which TCP asks whether the other side is still there, in ms. */
const keepAliveAfter = 30_000
/**
 * How long an idle connection is kept, in ms: longer than by the API server (90 s), or a request could meet a
 * connection that is just being closed.
 */
const idleBound = 120_000
/** How long open connections may take to end when the operator stops, in ms. */
const stopGrace = 5_000

export class ServerError extends Data.TaggedError("ServerError")<{ readonly detail: string }> {
  override get message(): string {
    return `the operator's API cannot be served: ${this.detail}`
  }
}

export interface ApiServerOptions extends ListenAddress {
  /** Used if this machine does not have the address `host` and `port`, such as `[::]` without IPv6. */
  readonly fallback?: ListenAddress | undefined
  readonly certificate: ServingCertificateSource
  readonly frontProxy: FrontProxySource
  /** The setting `requireFrontProxyClientCert`. */
  readonly requireFrontProxy: boolean
  /**
   * Silence after which the link of a primary that used to ping counts as lost, in ms; {@link maxSilence} by default.
   */
  readonly maxLinkSilence?: number
  /** {@link defaultRequestBounds} by default. */
  readonly bounds?: RequestBounds
  /** For unfinished messages of clients; without it they are bounded one by one only. */
  readonly room?: MessageRoom
  /** How long a connection that is not served, or not any more, may stay, in ms; {@link defaultPatience} by default. */
  readonly patience?: number
}

/** A server, and everything that has to end before it. */
interface RunningServer {
  readonly server: https.Server
  readonly strangers: Strangers
  readonly webSockets: WebSocketAcceptor
  /** Upgraded sockets, which the HTTP server does not know any more. */
  readonly upgraded: Set<Duplex>
  /** Upgrade requests from their arrival to the end of their connection. */
  readonly connections: FiberSet.FiberSet<void>
}

const secureContextOf = ({ certificate, frontProxy }: ApiServerOptions) => {
  const { certificatePem, keyPem } = certificate.known()
  return {
    key: Redacted.value(keyPem),
    cert: certificatePem,
    // Never `undefined`: Node would then trust every public CA while the front proxy's CA is unknown.
    ca: frontProxy.known()?.certificateAuthority ?? []
  }
}

const makeServer = (options: ApiServerOptions, { connections }: RequestBounds): https.Server => {
  const server = https.createServer({
    ...secureContextOf(options),
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    // Nothing here depends on it, and Node would refuse a request without it in words of its own.
    requireHostHeader: false,
    maxHeaderSize: maxHeaders,
    requestTimeout: maxRequest,
    keepAliveTimeout: idleBound,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveAfter
  })
  // Bounded in bytes alone: a user of thousands of groups has as many headers.
  server.maxHeadersCount = 0
  // Far beyond the callers' own bound, whose refusal gives a reason; connections over this bound are closed without
  // one.
  server.maxConnections = connections + maxPlainConnections + maxStrangers
  return server
}

/** Answers requests that are not upgraded. */
const makeRequestHandler = (identify: (request: IncomingMessage) => CallerResult, taken: TakenByCallers) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const app = orStatus(asAuthorised(yield* HttpRouter.toHttpEffect(routes)))
    return yield* NodeHttpServer.makeHandler(app, { scope })
  }).pipe(Effect.provideService(Authenticator, { identify, taken }))

/** Takes over the socket of an upgrade, which has no other owner from now on. */
const adopt = ({ upgraded }: RunningServer, socket: Duplex): void => {
  // Without a listener a reset of the connection would end the process.
  socket.on("error", () => socket.destroy())
  upgraded.add(socket)
  socket.once("close", () => upgraded.delete(socket))
}

/**
 * Stops a server: held requests are refused, sessions end in order. After a while all other connections are cut off.
 */
const stopServer = (
  { connections, server, strangers, upgraded, webSockets }: RunningServer,
  run: (act: Effect.Effect<void>) => unknown
): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeIdleConnections()
    strangers.endAll()
    webSockets.goAway()
    run(FiberSet.clear(connections))
  }).pipe(
    Effect.timeoutOrElse({
      duration: stopGrace,
      orElse: () =>
        Effect.sync(() => {
          for (const socket of upgraded) socket.destroy()
          server.closeAllConnections()
        })
    })
  )

/**
 * Serves the aggregated API over HTTPS until the scope ends; then it closes open connections and waits for them
 * shortly.
 */
export const serveApi = Effect.fnUntraced(function* (
  options: ApiServerOptions
): Effect.fn.Return<{ readonly port: number }, ServerError, OperatorFacade | Scope.Scope> {
  const { bounds = defaultRequestBounds, certificate, frontProxy, requireFrontProxy } = options
  const { maxLinkSilence = maxSilence, patience = defaultPatience, room } = options
  const facade = yield* OperatorFacade
  // Members believe a primary whoever it says that a person is.
  const identify = (request: IncomingMessage) =>
    callerOf(request, frontProxy.known(), requireFrontProxy || isProxied(request.url ?? ""))
  const taken = new TakenByCallers(bounds)
  const handler = yield* makeRequestHandler(identify, taken)
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const connections = yield* FiberSet.make<void>()
  const runConnection = yield* FiberSet.runtime(connections)<never>()
  const server = makeServer(options, bounds)
  const strangers = divertStrangers(server, {
    isFrontProxy: (socket) => !requireFrontProxy || isFrontProxy(socket, frontProxy.known()),
    patience
  })
  const webSockets = makeWebSocketAcceptor({ room })
  const running: RunningServer = { server, strangers, webSockets, upgraded: new Set(), connections }
  const upgrades = { facade, identify, taken, webSockets, maxLinkSilence, patience }
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (isProxied(request.url ?? "")) runConnection(serveProxied({ facade, identify, taken }, request, response))
    else handler(request, response)
  }
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    adopt(running, socket)
    runConnection(acceptUpgrade(upgrades, request, socket, head))
  }
  yield* Effect.acquireRelease(
    Effect.suspend(() => {
      for (const one of [server, strangers.server]) {
        answerUnread(one, patience)
        one.on("request", onRequest).on("upgrade", onUpgrade)
      }
      return Effect.mapError(
        listenAtOneOf(server, options, options.fallback),
        ({ message }) => new ServerError({ detail: message })
      )
    }),
    () => stopServer(running, run)
  )
  // Holds for new connections only. On a standing connection each request is judged again, and a refused request is
  // its last.
  for (const source of [frontProxy, certificate]) {
    source.listen(() => server.setSecureContext(secureContextOf(options)))
  }
  return { port: portOf(server, options.port) }
})
