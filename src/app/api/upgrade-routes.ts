/**
 * The paths of the aggregated API that leave HTTP, each with its handler. A new path, such as a tunnel's, is a row of
 * the table. accept-upgrade.ts upgrades the sockets.
 */

import { Effect, Result, type Scope } from "effect"
import { operatorApiRoot } from "../../domain/resources/operator-api.ts"
import type { AuditedCaller } from "../../domain/session/session-act.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { audit } from "../kernel/audit.ts"
import type { Facade } from "./facade-gate.ts"
import { readConnectRequest, targetPath, type UpgradeRequest } from "./read-connect-request.ts"
import { serveConnect } from "./serve-connect.ts"
import { ApiError, notFound } from "./status.ts"

/** How a waiting client is watched, and upgraded in the end. */
export interface Upgrade {
  /** Fails when the client leaves before its upgrade. */
  readonly gone: Effect.Effect<never, ApiError>
  /**
   * Answers 101. `isLink`: the client is the operator of a primary, which pings; if it falls silent the link is lost.
   */
  readonly open: (isLink: boolean) => Effect.Effect<FrameChannel>
}

interface UpgradeRoute {
  /** Matches paths below the API's root. */
  readonly path: RegExp
  /** Runs the connection to its end. `parts`: the named groups of the path. */
  readonly accept: (
    facade: Facade,
    upgrade: Upgrade,
    asked: UpgradeRequest,
    parts: Readonly<Record<string, string | undefined>>
  ) => Effect.Effect<void, ApiError, Scope.Scope>
}

/** Refuses a request that never got as far as the operator. */
export const refused = ({ code, message, reason }: ApiError, by: AuditedCaller): Effect.Effect<never, ApiError> =>
  Effect.andThen(audit({ act: "refused", by, code, reason, message }), () =>
    Effect.fail(new ApiError({ code, reason, message }))
  )

const connectToTarget: UpgradeRoute["accept"] = (facade, upgrade, asked, parts) => {
  const read = readConnectRequest(asked, parts)
  if (Result.isFailure(read)) return refused(read.failure, asked.caller)
  const connect = read.success
  // Without a certificate the client is the operator of a primary, or it will be refused.
  return serveConnect(facade, connect, upgrade.gone, upgrade.open(connect.certificate === undefined))
}

const upgradeRoutes: ReadonlyArray<UpgradeRoute> = [{ path: targetPath, accept: connectToTarget }]

/** Hands an upgrade to the route of its path. */
export const routeUpgrade = (
  facade: Facade,
  upgrade: Upgrade,
  asked: UpgradeRequest
): Effect.Effect<void, ApiError, Scope.Scope> => {
  const { caller, path } = asked
  const below = path.startsWith(operatorApiRoot) ? path.slice(operatorApiRoot.length) : ""
  for (const { accept, path: pattern } of upgradeRoutes) {
    const match = pattern.exec(below)
    if (match !== null) return accept(facade, upgrade, asked, match.groups ?? {})
  }
  return refused(notFound(`The operator does not serve upgrades on ${path.slice(0, 200)}.`), caller)
}
