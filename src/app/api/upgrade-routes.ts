/**
 * The paths of the aggregated API that leave HTTP, each with its handler. A new path, such as a tunnel's, is a row of
 * the table. accept-upgrade.ts upgrades the sockets.
 */

import { Effect, Result, type Scope } from "effect"
import { operatorApiRoot } from "../../domain/resources/operator-api.ts"
import type { AuditedCaller } from "../../domain/sessions/session-act.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { audit } from "../kernel/audit.ts"
import { answerPings } from "./answer-pings.ts"
import type { Facade } from "./facade-gate.ts"
import { type RawUpgrade, upgradeProxied } from "./proxy-requests.ts"
import { handshakeProblem, readConnectRequest, targetPath, type UpgradeRequest } from "./read-connect-request.ts"
import { serveConnect } from "./serve-connect.ts"
import { ApiError, badRequest, notFound } from "./status.ts"

/**
 * The purpose of a connection. A link is a primary's, which pings; if it falls silent the link is lost. Pings count as
 * a request of their user until they end; a session has bounds of its own.
 */
export type UpgradedTo = "Session" | "Link" | "Pings"

/** How a waiting client is watched, and upgraded in the end. */
export interface Upgrade extends RawUpgrade {
  /** Answers 101. */
  readonly open: (to: UpgradedTo) => Effect.Effect<FrameChannel>
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
  const to = connect.certificate === undefined ? "Link" : "Session"
  return serveConnect(facade, connect, upgrade.gone, upgrade.open(to))
}

/** `mirrord diagnose latency` (operator-api.md §4.8). */
const ping: UpgradeRoute["accept"] = Effect.fnUntraced(function* (_facade, { gone, open }, { caller, request }) {
  const problem = handshakeProblem(request)
  if (problem !== undefined) return yield* refused(badRequest(problem), caller)
  const channel = yield* Effect.raceFirst(open("Pings"), gone)
  yield* Effect.addFinalizer(() => Effect.sync(channel.close))
  return yield* answerPings(channel)
})

/** `exec`, `attach` and the like in a member. */
const proxied: UpgradeRoute["accept"] = (facade, upgrade, asked) => upgradeProxied(facade, upgrade, asked)

/** The path of pings below the API's root. */
const pingPath = /^\/mirrordoperators\/operator\/ping$/

/** A member's path below the API's root. */
const proxyPath = /^\/mirrordclusters\/[^/]+\/proxy(\/|$)/

const upgradeRoutes: ReadonlyArray<UpgradeRoute> = [
  { path: targetPath, accept: connectToTarget },
  { path: pingPath, accept: ping },
  { path: proxyPath, accept: proxied }
]

const belowRoot = (path: string): string => (path.startsWith(operatorApiRoot) ? path.slice(operatorApiRoot.length) : "")

/** Whether an upgrade is a link if it has no user certificate. */
export const mayBeLink = (path: string): boolean => {
  const below = belowRoot(path)
  return !pingPath.test(below) && !proxyPath.test(below)
}

/** Hands an upgrade to the route of its path. */
export const routeUpgrade = (
  facade: Facade,
  upgrade: Upgrade,
  asked: UpgradeRequest
): Effect.Effect<void, ApiError, Scope.Scope> => {
  const { caller, path } = asked
  const below = belowRoot(path)
  for (const { accept, path: pattern } of upgradeRoutes) {
    const match = pattern.exec(below)
    if (match !== null) return accept(facade, upgrade, asked, match.groups ?? {})
  }
  return refused(notFound(`The operator does not serve upgrades on ${path.slice(0, 200)}.`), caller)
}
