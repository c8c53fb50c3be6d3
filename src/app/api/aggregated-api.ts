/**
 * The aggregated API as an HTTPS server: listens, keeps its certificate and the front proxy's authorities up to date,
 * and stops in order. The answers are in routes.ts and upgrade-routes.ts.
 */

import type { IncomingMessage } from "node:http"
import https from "node:https"
import type { Server } from "node:net"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Data, Effect, FiberSet, Redacted, type Scope } from "effect"
import { HttpRouter } from "effect/http"
import type { WebSocketServer } from "ws"
import { longestSilence } from "../../adapters/websocket/pings-awaited.ts"
import { logInfo } from "../kernel/log.ts"
import { acceptUpgrade, makeWebSocketServer } from "./accept-upgrade.ts"
import { callerOf, type CallerResult, type FrontProxySource } from "./caller.ts"
import { OperatorFacade } from "./operator-facade.ts"
import { Authenticator, orStatus, routes } from "./routes.ts"
import type { ServingCertificateSource } from "./served-certificate.ts"

/** Connect parameters may travel in a header, protobuf descriptors and all (operator-api.md §2.3). Bytes. */
const largestHeaders = 1024 * 1024
/**
 * How long an idle connection is kept, in ms: longer than the API server keeps it (90 s), or a request would meet a
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

/** A server with everything that has to end before it may. */
interface RunningServer {
  readonly server: https.Server
  readonly webSockets: WebSocketServer
  /** Sockets that left the HTTP server, which does not know them any more. */
  readonly upgraded: Set<Duplex>
  /** Upgrade requests from their arrival to the end of their connection. */
  readonly connections: FiberSet.FiberSet<void>
}

const secureContextOf = ({ certificate, frontProxy }: ApiServerOptions) => {
  const { certificatePem, keyPem } = certificate.known()
  return {
    key: Redacted.value(keyPem),
    cert: certificatePem,
    // Without this, whoever a public CA vouches for would be trusted while the front proxy's is not known.
    ca: frontProxy.known()?.certificateAuthority ?? []
  }
}

const makeServer = (options: ApiServerOptions): https.Server =>
  https.createServer({
    ...secureContextOf(options),
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    maxHeaderSize: largestHeaders,
    keepAliveTimeout: idleBound
  })

/** Answers what stays HTTP. */
const makeRequestHandler = (identify: (request: IncomingMessage) => CallerResult) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const app = orStatus(yield* HttpRouter.toHttpEffect(routes))
    return yield* NodeHttpServer.makeHandler(app, { scope })
  }).pipe(Effect.provideService(Authenticator, { identify }))

/** Takes care of an upgrade's socket, which nobody else does from now on. */
const adopt = ({ upgraded }: RunningServer, socket: Duplex): void => {
  // Without a listener a reset at this point would end the process.
  socket.on("error", () => socket.destroy())
  upgraded.add(socket)
  socket.once("close", () => upgraded.delete(socket))
}

/** Requests that are held get their refusal, sessions end in order. After a while the rest is cut off. */
const stopServer = (
  { connections, server, upgraded, webSockets }: RunningServer,
  run: (act: Effect.Effect<void>) => unknown
): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeIdleConnections()
    for (const client of webSockets.clients) client.close(1001)
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

const portOf = (server: https.Server, { port }: ListenAddress): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : port
}

/**
 * Serves the aggregated API over HTTPS until the scope ends; then open connections are closed and it waits for them
 * shortly.
 */
export const serveApi = (
  options: ApiServerOptions
): Effect.Effect<{ readonly port: number }, ServerError, OperatorFacade | Scope.Scope> =>
  Effect.gen(function* () {
    const { certificate, fallback, frontProxy, longestLinkSilence = longestSilence, requireFrontProxy } = options
    const facade = yield* OperatorFacade
    const identify = (request: IncomingMessage) => callerOf(request, frontProxy.known(), requireFrontProxy)
    const handler = yield* makeRequestHandler(identify)
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const connections = yield* FiberSet.make<void>()
    const runConnection = yield* FiberSet.runtime(connections)<never>()
    const server = makeServer(options)
    const webSockets = makeWebSocketServer()
    const running: RunningServer = { server, webSockets, upgraded: new Set(), connections }
    const upgrades = { facade, identify, webSockets, longestLinkSilence }
    const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      adopt(running, socket)
      runConnection(acceptUpgrade(upgrades, request, socket, head))
    }
    yield* Effect.acquireRelease(
      Effect.suspend(() => {
        server.on("request", handler).on("upgrade", onUpgrade)
        return listenAtOneOf(server, options, fallback)
      }),
      () => stopServer(running, run)
    )
    // For connections from now on. Of those that stand, a request decides: one that is refused is the last on its
    // connection.
    for (const source of [frontProxy, certificate]) {
      source.listen(() => server.setSecureContext(secureContextOf(options)))
    }
    return { port: portOf(server, options) }
  })
