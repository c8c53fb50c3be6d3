import { Effect, type Scope } from "effect"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { ConnectRequest, OperatorFacade } from "./operator-facade.ts"
import type { ApiError } from "./status.ts"

/**
 * One connect request from its arrival to the connection's end: held until the session is usable, upgraded, served. `gone` fails when
 * the client leaves before it was upgraded; `upgrade` answers 101 and gives the channel.
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
  })
