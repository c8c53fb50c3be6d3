/**
 * Handles one upgrade request from its arrival to the end of its connection: identifies the caller, asks the route, and
 * gives the socket its 101 or its refusal, never both. The routes are in upgrade-routes.ts.
 */

import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Cause, Effect, Exit, Result } from "effect"
import { WebSocketServer } from "ws"
import { socketChannel } from "../../adapters/websocket/socket-channel.ts"
import { connectSubprotocol } from "../../domain/resources/operator-api.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { logError } from "../kernel/log.ts"
import type { CallerResult } from "./caller.ts"
import type { Facade } from "./facade-gate.ts"
import { ApiError, badRequest, internalError, statusBody } from "./status.ts"
import { refused, routeUpgrade } from "./upgrade-routes.ts"

/** Largest message that a client may send, in bytes. The client itself has no limit (wire.md §1.2). */
const largestClientMessage = 128 * 1024 * 1024

/** Answers 101 and speaks WebSocket from then on. */
export const makeWebSocketServer = (): WebSocketServer =>
  new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: largestClientMessage,
    handleProtocols: (offered) => (offered.has(connectSubprotocol) ? connectSubprotocol : false)
  })

/** The parts that all upgrades of a server share. */
export interface Upgrades {
  readonly facade: Facade
  readonly identify: (request: IncomingMessage) => CallerResult
  readonly webSockets: WebSocketServer
  /** Silence after which the link of a primary that used to ping counts as lost, in ms. */
  readonly longestLinkSilence: number
}

/** A request that wants to leave HTTP. */
interface PendingUpgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  /** Whether 101 was sent: the socket speaks WebSocket then, so no refusal may be written to it any more. */
  isUpgraded: boolean
}

const clientGone = ({ socket }: PendingUpgrade): Effect.Effect<never, ApiError> =>
  Effect.callback<never, ApiError>((resume) => {
    const left = (): void => resume(Effect.fail(badRequest("The client left while its session was being prepared.")))
    if (socket.destroyed) return left()
    socket.once("close", left)
    socket.once("end", left)
    return Effect.sync(() => void socket.off("close", left).off("end", left))
  })

/**
 * Makes the channel inside of the callback: from the next tick on the client may send or leave, and a listener must be
 * there by then.
 */
const openChannel = (
  { longestLinkSilence, webSockets }: Upgrades,
  pending: PendingUpgrade,
  isLink: boolean
): Effect.Effect<FrameChannel> =>
  Effect.callback<FrameChannel>((resume) => {
    const { head, request, socket } = pending
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      pending.isUpgraded = true
      resume(Effect.succeed(socketChannel(webSocket, isLink ? longestLinkSilence : undefined)))
    })
  })

const servePending = (upgrades: Upgrades, pending: PendingUpgrade) => {
  const { request } = pending
  const caller = upgrades.identify(request)
  if (Result.isFailure(caller))
    return refused(caller.failure, { user: "", groups: [], from: request.socket.remoteAddress ?? "" })
  const [path = "", ...query] = (request.url ?? "").split("?")
  return routeUpgrade(
    upgrades.facade,
    { gone: clientGone(pending), open: (isLink) => openChannel(upgrades, pending, isLink) },
    { request, caller: caller.success, path, query: query.join("?") }
  )
}

/** The bytes of a refusal. No router writes them, because the socket has left it. */
const refusalText = (error: ApiError): string => {
  const body = JSON.stringify(statusBody(error.code, error.reason, error.message))
  return [
    `HTTP/1.1 ${error.code} ${error.reason}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body
  ].join("\r\n")
}

/** Tells a client that was not upgraded why, and logs unexpected failures. */
const refuse = ({ isUpgraded, socket }: PendingUpgrade, cause: Cause.Cause<ApiError>): Effect.Effect<void> => {
  const isStopping = Cause.hasInterruptsOnly(cause)
  const failure = Cause.squash(cause)
  const problem = isStopping
    ? "The operator is stopping."
    : "The operator failed to open the connection; its log says why."
  const error = failure instanceof ApiError ? failure : internalError(problem)
  if (!isUpgraded) socket.end(refusalText(error))
  return isStopping || failure instanceof ApiError
    ? Effect.void
    : logError("connect failed", { cause: Cause.pretty(cause) })
}

export const acceptUpgrade = (
  upgrades: Upgrades,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer
): Effect.Effect<void> => {
  const pending: PendingUpgrade = { request, socket, head, isUpgraded: false }
  return Effect.suspend(() => servePending(upgrades, pending)).pipe(
    Effect.scoped,
    Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : refuse(pending, exit.cause))),
    Effect.exit,
    Effect.asVoid
  )
}
