/**
 * Handles one upgrade request from its arrival to the end of its connection: identifies the caller, asks the route, and
 * gives the socket its 101 or its refusal, never both. The routes are in upgrade-routes.ts.
 */

import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Cause, Effect, Exit, Result, type Scope } from "effect"
import type { WebSocketAcceptor } from "../../adapters/websocket/accept-websocket.ts"
import type { AuditedCaller } from "../../domain/sessions/session-act.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { logError } from "../kernel/log.ts"
import type { CallerResult } from "./caller.ts"
import type { Facade } from "./facade-gate.ts"
import { endWith, refusalText } from "./raw-answers.ts"
import { type TakenByCallers, weightOf } from "./request-bounds.ts"
import { ApiError, badRequest, internalError } from "./status.ts"
import { mayBeLink, refused, routeUpgrade, type UpgradedTo } from "./upgrade-routes.ts"

/** The parts that all upgrades of a server share. */
export interface Upgrades {
  readonly facade: Facade
  readonly identify: (request: IncomingMessage) => CallerResult
  readonly webSockets: WebSocketAcceptor
  readonly taken: TakenByCallers
  /** Silence after which the link of a primary that used to ping counts as lost, in ms. */
  readonly maxLinkSilence: number
  /** How long a client that was refused may take to read why and to close its side, in ms. */
  readonly patience: number
}

/** A request that wants to leave HTTP. */
interface PendingUpgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** The bytes behind the request that came before it was answered. */
  head: Buffer
  /** Whether 101 was sent: the socket speaks WebSocket then, so no refusal may be written to it any more. */
  isUpgraded: boolean
}

/** The most bytes that a client may send before its request is answered. RFC 6455 §4.1 lets it send none. */
const maxBeforeAnswer = 16 * 1024

const tooEarly = Effect.fail(
  badRequest(
    `The client sent more than ${maxBeforeAnswer} bytes behind its request before the answer came; a WebSocket's ` +
      "client sends nothing until its request is answered."
  )
)

/**
 * Fails when the client leaves, or sends too much, while its request waits. Its bytes are read and kept, since the end
 * of a connection is only heard behind the last of them.
 */
const clientGone = (pending: PendingUpgrade): Effect.Effect<never, ApiError> =>
  Effect.callback<never, ApiError>((resume) => {
    const { socket } = pending
    if (pending.isUpgraded) return undefined
    const left = (): void => resume(Effect.fail(badRequest("The client left while its session was being prepared.")))
    const keep = (bytes: Buffer): void => {
      pending.head = Buffer.concat([pending.head, bytes])
      if (pending.head.length > maxBeforeAnswer) resume(tooEarly)
    }
    if (socket.destroyed) return left()
    socket.on("data", keep).once("close", left).once("end", left).resume()
    return Effect.sync(() => void socket.off("data", keep).off("close", left).off("end", left).pause())
  })

/** Takes the headers out of a request, which may be held until its connection ends: they may have 1 MB. */
const forgetHeaders = (request: IncomingMessage): void => {
  request.rawHeaders = []
  request.headers = {}
  request.headersDistinct = {}
}

const openChannel = (
  { maxLinkSilence, webSockets }: Upgrades,
  pending: PendingUpgrade,
  isLink: boolean
): Effect.Effect<FrameChannel> =>
  Effect.callback<FrameChannel>((resume) => {
    webSockets.accept(pending, isLink ? maxLinkSilence : undefined, (channel) => {
      pending.isUpgraded = true
      forgetHeaders(pending.request)
      resume(Effect.succeed(channel))
    })
  })

/** Holds what a request has taken until the scope ends, or until the returned function is called. */
const held = (
  taken: Result.Result<() => void, ApiError>,
  by: AuditedCaller
): Effect.Effect<() => void, ApiError, Scope.Scope> =>
  Result.isFailure(taken)
    ? refused(taken.failure, by)
    : Effect.as(
        Effect.addFinalizer(() => Effect.sync(taken.success)),
        taken.success
      )

const servePending = Effect.fnUntraced(function* (
  upgrades: Upgrades,
  pending: PendingUpgrade
): Effect.fn.Return<void, ApiError, Scope.Scope> {
  const { facade, identify, taken } = upgrades
  const { request } = pending
  const [path = "", ...query] = (request.url ?? "").split("?")
  const known = identify(request)
  if (Result.isFailure(known))
    return yield* refused(known.failure, { user: "", groups: [], from: request.socket.remoteAddress ?? "" })
  const caller = known.success
  yield* held(taken.takeConnection(), caller)
  // Links of a primary have no user certificate. They all come in one name, and many at once when its leader changes.
  const isLink = request.headers["x-client-der"] === undefined && mayBeLink(path)
  const answered = isLink ? () => {} : yield* held(taken.takeRequest(caller.user, weightOf(request)), caller)
  const open = (to: UpgradedTo): Effect.Effect<FrameChannel> =>
    Effect.tap(openChannel(upgrades, pending, to === "Link"), () => Effect.sync(to === "Pings" ? () => {} : answered))
  const take = () => {
    pending.isUpgraded = true
    forgetHeaders(request)
    answered()
    return pending
  }
  yield* routeUpgrade(
    facade,
    { gone: clientGone(pending), open, take },
    { request, caller, path, query: query.join("?") }
  )
})

/** Tells a client that was not upgraded why, and logs unexpected failures. */
const refuse = (
  { patience }: Upgrades,
  { isUpgraded, socket }: PendingUpgrade,
  cause: Cause.Cause<ApiError>
): Effect.Effect<void> => {
  const isStopping = Cause.hasInterruptsOnly(cause)
  const failure = Cause.squash(cause)
  const problem = isStopping
    ? "The operator is stopping."
    : "The operator failed to open the connection; its log says why."
  const error = failure instanceof ApiError ? failure : internalError(problem)
  if (!isUpgraded) endWith(socket, refusalText(error), patience)
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
    Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : refuse(upgrades, pending, exit.cause))),
    Effect.exit,
    Effect.asVoid
  )
}
