/**
 * Takes a connect request from the facade to the socket: held, upgraded, served, and audited if it is refused.
 * accept-upgrade.ts performs the upgrade of the socket.
 */

import { Effect, Result, type Scope } from "effect"
import { parentName } from "../../domain/sessions/names.ts"
import { parseSessionIdHeader } from "../../domain/sessions/session-id.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { audit } from "../kernel/audit.ts"
import { askedBy } from "./asked-by.ts"
import type { ConnectRequest, OperatorFacade } from "./operator-facade.ts"
import type { ApiError } from "./status.ts"

/** Name of the multi-cluster session, or the text that the client sent as a session's id. */
const sessionOf = ({ sessionId }: ConnectRequest): string | undefined => {
  const id = parseSessionIdHeader(sessionId)
  return Result.isSuccess(id) ? parentName(id.success) : sessionId
}

/**
 * Handles one connect request from its arrival to the connection's end: held until the session is usable, upgraded,
 * served. `gone` fails when the client leaves before the upgrade; `upgrade` answers 101 and gives the channel.
 */
export const serveConnect = (
  facade: OperatorFacade["Service"],
  request: ConnectRequest,
  gone: Effect.Effect<never, ApiError>,
  upgrade: Effect.Effect<FrameChannel>
): Effect.Effect<void, ApiError, Scope.Scope> =>
  Effect.gen(function* () {
    const connection = yield* Effect.raceFirst(facade.connect(request), gone)
    const channel = yield* Effect.raceFirst(upgrade, gone)
    yield* Effect.addFinalizer(() => Effect.sync(channel.close))
    yield* connection.serve(channel)
  }).pipe(
    Effect.tapError(({ code, message, reason }) => {
      const session = sessionOf(request)
      return audit({
        act: "refused",
        ...askedBy(request),
        ...(session === undefined ? {} : { session }),
        namespace: request.namespace,
        target: request.target,
        code,
        reason,
        message
      })
    })
  )
