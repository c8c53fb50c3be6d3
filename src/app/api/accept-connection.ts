/**
 * A connect request between the facade and the socket: held, upgraded, served, and audited if it is refused. How the
 * socket is upgraded is accept-upgrade.ts's.
 */

import { Effect, Result, type Scope } from "effect"
import { parentName } from "../../domain/session/names.ts"
import { parseSessionIdHeader } from "../../domain/session/session-id.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { audit } from "../kernel/audit.ts"
import { askedBy } from "./asked-by.ts"
import type { ConnectRequest, OperatorFacade } from "./operator-facade.ts"
import type { ApiError } from "./status.ts"

/** Name of the multi-cluster session, or of what the client took for a session's id. */
const sessionOf = ({ sessionId }: ConnectRequest): string | undefined => {
  const id = parseSessionIdHeader(sessionId)
  return Result.isSuccess(id) ? parentName(id.success) : sessionId
}

/**
 * One connect request from its arrival to the connection's end: held until the session is usable, upgraded, served.
 * `gone` fails when the client leaves before it was upgraded; `upgrade` answers 101 and gives the channel.
 */
export const acceptConnection = (
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
