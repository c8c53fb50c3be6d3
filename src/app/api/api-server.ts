import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Clock, Data, Effect, Exit, FiberSet, type Scope } from "effect"
import { HttpRouter } from "effect/http"
import type { IncomingMessage } from "node:http"
import https from "node:https"
import type { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import { socketChannel } from "../../adapters/websocket/socket-channel.ts"
import { type Caller, callerOf, type FrontProxy } from "./caller.ts"
import { type ConnectRequest, OperatorFacade } from "./operator-facade.ts"
import { Authenticator, refusal, routes } from "./routes.ts"
import { ApiError, badRequest, internalError, notFound, unauthorized } from "./status.ts"

/** Largest message that a client may send, in bytes. The client itself has no limit (wire-protocol §2.1). */
const largestClientMessage = 128 * 1024 * 1024
/** Connect parameters may travel in a header, protobuf descriptors and all (operator-api §1.2.1). Bytes. */
const largestHeaders = 1024 * 1024
/** How long open connections may take to end when the operator stops, in ms. */
const stopGrace = 5_000
const subprotocol = "v4.channel.k8s.io"

export class ServerError extends Data.TaggedError("ServerError")<{ readonly detail: string }> {
  override get message(): string {
    return `the operator's API cannot be served: ${this.detail}`
  }
}

export interface ApiServerOptions {
  readonly host: string
  readonly port: number
  readonly certificatePem: string
  readonly keyPem: string
  /** What is known of the API server's front proxy; read anew for each request. */
  readonly frontProxy: () => FrontProxy | undefined
  /** Setting `requireFrontProxyClientCert`. */
  readonly requireFrontProxy: boolean
}

const single = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headersDistinct[name]?.[0]
  // Some clients send a header twice, joined on the way (operator-api §1.2.1).
  return value?.split(",")[0]?.trim()
}

const connectPath = /^\/apis\/operator\.metalbear\.co\/v1\/(?:proxy\/)?namespaces\/([^/]+)\/(targets|copytargets)\/([^/]+)$/

/** Reads an upgrade request, or says what is wrong with it. */
export const readConnectRequest = (request: IncomingMessage, caller: Caller): ConnectRequest | ApiError => {
  const url = new URL(request.url ?? "/", "https://operator")
  const match = connectPath.exec(url.pathname)
  if (match === null) return notFound(`The operator does not serve upgrades on ${url.pathname}.`)
  const [, namespace = "", collection, target = ""] = match
  if (collection === "copytargets") return badRequest("Copy targets are not supported yet; connect to the target itself.")
  const packed = single(request, "x-mirrord-connect-params")
  if (packed !== undefined && !/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) {
    return badRequest("The header x-mirrord-connect-params is not standard base64.")
  }
  return {
    caller,
    namespace: decodeURIComponent(namespace),
    target: decodeURIComponent(target),
    sessionId: single(request, "x-session-id"),
    certificate: single(request, "x-client-der"),
    clientVersion: single(request, "x-mirrord-cli-version"),
    clientName: request.headersDistinct["x-client-name"]?.[0],
    clientHostname: request.headersDistinct["x-client-hostname"]?.[0],
    query: packed === undefined ? url.search.slice(1) : Buffer.from(packed, "base64").toString("utf8")
  }
}

/** Serves the aggregated API over HTTPS until the scope ends; then open connections are closed and it waits for them shortly. */
export const serveApi = (options: ApiServerOptions): Effect.Effect<{ readonly port: number }, ServerError, OperatorFacade | Scope.Scope> =>
  Effect.gen(function* () {
    const facade = yield* OperatorFacade
    const scope = yield* Effect.scope
    const identify = (request: IncomingMessage) => callerOf(request, options.frontProxy(), options.requireFrontProxy)
    const app = yield* HttpRouter.toHttpEffect(routes).pipe(Effect.provideService(Authenticator, { identify }))
    const handler = yield* NodeHttpServer.makeHandler(app, { scope }).pipe(Effect.provideService(Authenticator, { identify }))
    const run = yield* FiberSet.makeRuntime<never>()

    let certificateAuthority = options.frontProxy()?.certificateAuthority
    const secure = () => ({
      key: options.keyPem,
      cert: options.certificatePem,
      ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority })
    })
    const server = https.createServer({
      ...secure(),
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      maxHeaderSize: largestHeaders
    })
    const sockets = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      maxPayload: largestClientMessage,
      handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false)
    })

    const accept = (request: IncomingMessage, socket: Duplex, head: Buffer): Effect.Effect<void> =>
      Effect.gen(function* () {
        const caller = identify(request)
        if ("refused" in caller) return yield* unauthorized(`Access is through the API server only: ${caller.refused}.`)
        const wanted = readConnectRequest(request, caller)
        if (wanted instanceof ApiError) return yield* wanted
        const gone = Effect.callback<never, ApiError>((resume) => {
          const left = (): void => resume(Effect.fail(badRequest("The client left while its session was being prepared.")))
          socket.once("close", left)
          socket.once("end", left)
          return Effect.sync(() => void socket.off("close", left).off("end", left))
        })
        const connection = yield* Effect.raceFirst(facade.connect(wanted), gone)
        const channel = yield* Effect.callback<ReturnType<typeof socketChannel>>((resume) => {
          sockets.handleUpgrade(request, socket, head, (webSocket) => resume(Effect.succeed(socketChannel(webSocket))))
        })
        yield* connection.serve(channel)
      }).pipe(
        Effect.scoped,
        Effect.exit,
        Effect.flatMap((exit) => {
          if (Exit.isSuccess(exit)) return Effect.void
          const failure = Cause.squash(exit.cause)
          const error = failure instanceof ApiError ? failure : internalError("The operator failed to open the connection; its log says why.")
          socket.end(refusal(error))
          return failure instanceof ApiError
            ? Effect.logInfo("connect refused", { code: error.code, reason: error.reason, message: error.message })
            : Effect.logError("connect failed", Cause.pretty(exit.cause))
        })
      )

    const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      // Without a listener a reset at this point would end the process.
      socket.on("error", () => socket.destroy())
      run(accept(request, socket, head))
    }

    yield* Effect.acquireRelease(
      Effect.callback<void, ServerError>((resume) => {
        server.once("error", (error) => resume(Effect.fail(new ServerError({ detail: error.message }))))
        server.on("request", handler).on("upgrade", onUpgrade)
        server.listen(options.port, options.host, () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          for (const client of sockets.clients) client.close(1001)
          server.close(() => resume(Effect.void))
          server.closeIdleConnections()
        }).pipe(
          Effect.timeoutOrElse({
            duration: stopGrace,
            orElse: () =>
              Effect.sync(() => {
                for (const client of sockets.clients) client.terminate()
                server.closeAllConnections()
              })
          })
        )
    )
    yield* Clock.currentTimeMillis.pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          const known = options.frontProxy()?.certificateAuthority
          if (known === certificateAuthority) return
          certificateAuthority = known
          server.setSecureContext(secure())
        })
      ),
      Effect.andThen(Effect.sleep("1 second")),
      Effect.forever,
      Effect.forkScoped
    )
    const address = server.address()
    return { port: typeof address === "object" && address !== null ? address.port : options.port }
  })
