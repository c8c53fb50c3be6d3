/**
 * Requests of people for members' API servers (`mirrordclusters/NAME/proxy`): read, admitted behind the facade, carried
 * on a lane, and noted for the audit. Bodies stream, so these are no routes of routes.ts.
 *
 * Not here: whether a person may (app/operator/admit-person.ts), and the bytes (adapters/kubernetes/carry-request.ts).
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Cause, Clock, Effect, Exit, Result, type Scope } from "effect"
import { askUpgrade, type CarriedRequest, carryRequest, joinUpgrade } from "../../adapters/kubernetes/carry-request.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { kindOf, type PeopleOutcome, type PeopleRequest } from "../../domain/outbound/people-audit.ts"
import { isRequestId, requestIdHeader } from "../../domain/outbound/person.ts"
import { isLasting, readProxied } from "../../domain/outbound/proxied-request.ts"
import { auditBeginning, auditPeople } from "../kernel/audit-people.ts"
import { logError } from "../kernel/log.ts"
import { CurrentPeopleCounts } from "../kernel/people-counts.ts"
import { randomHex } from "../kernel/random-hex.ts"
import { elapsedOf } from "../kernel/term.ts"
import type { CallerResult } from "./caller.ts"
import type { Facade } from "./facade-gate.ts"
import { type TakenByCallers, weightOf } from "./request-bounds.ts"
import { ApiError, badGateway, badRequest, failureBody, internalError, serviceUnavailable } from "./status.ts"

/** A request of a known person. */
interface Asked {
  readonly request: IncomingMessage
  readonly caller: Caller
}

/** The id by which the API server knows the request, or one of our own. */
const idOf = ({ headersDistinct }: IncomingMessage): Effect.Effect<string> => {
  const given = headersDistinct[requestIdHeader]?.[0] ?? ""
  return isRequestId(given) ? Effect.succeed(given) : randomHex(32)
}

const broken = (why: string): ApiError => badGateway(`The request was lost on its way to the member: ${why}.`)

/** The end of a request. `wasAdmitted`: whether it was passed on. */
const outcomeOf = (exit: Exit.Exit<PeopleOutcome, ApiError>, wasAdmitted: boolean): PeopleOutcome => {
  if (Exit.isSuccess(exit)) return exit.value
  const failure = Cause.squash(exit.cause)
  if (!(failure instanceof ApiError)) return { code: undefined, bytes: 0, why: "the operator has ended it" }
  const { code, message: why } = failure
  return wasAdmitted
    ? { code: code === 502 ? code : undefined, bytes: 0, why }
    : { code, bytes: 0, why, isRefused: true }
}

/** A request that is to be carried, and its notes. */
interface Carried {
  readonly about: PeopleRequest
  readonly cluster: ClusterName
  /** Opens its lane, or refuses it. */
  readonly admit: Effect.Effect<Duplex, ApiError>
  readonly carry: (lane: Duplex) => Effect.Effect<PeopleOutcome, ApiError>
}

/** Carries a request, with the notes of its beginning and of its end, however it ends. */
const noted = Effect.fnUntraced(function* (
  facade: Facade,
  { about, admit, carry, cluster }: Carried
): Effect.fn.Return<void, ApiError> {
  const counts = yield* CurrentPeopleCounts
  const elapsed = elapsedOf(yield* Clock.Clock)
  const from = elapsed()
  let wasAdmitted = false
  const carrying = Effect.acquireUseRelease(
    admit,
    (lane) => {
      wasAdmitted = true
      const over = counts.begin(cluster)
      return Effect.ensuring(Effect.andThen(auditBeginning(about), carry(lane)), Effect.sync(over))
    },
    (lane) => Effect.sync(() => lane.destroy())
  )
  yield* Effect.onExit(carrying, (exit) => {
    const outcome = outcomeOf(exit, wasAdmitted)
    // A name that no cluster has is the person's own text, which no label holds.
    const isOfFleet = wasAdmitted ? Effect.succeed(true) : Effect.isSuccess(facade.cluster(cluster))
    return Effect.andThen(auditPeople(about, outcome, elapsed() - from), isOfFleet).pipe(
      Effect.map((isCounted) => {
        if (isCounted) counts.end(cluster, kindOf(about), outcome.code)
      })
    )
  })
})

/** Admits a request, and has it carried on a lane of its own. */
const passOn = Effect.fnUntraced(function* (
  facade: Facade,
  { caller, request }: Asked,
  carry: (carried: CarriedRequest) => Effect.Effect<PeopleOutcome, ApiError>
): Effect.fn.Return<void, ApiError> {
  const { headers, method = "", url = "" } = request
  const read = readProxied({ method, url, isUpgrade: headers.upgrade !== undefined })
  if (Result.isFailure(read)) return yield* badRequest(read.failure)
  const { cluster, isUpgrade, path, target, verb } = read.success
  const id = yield* idOf(request)
  return yield* noted(facade, {
    about: { id, cluster, person: caller, verb, isUpgrade, isLasting: isLasting(target, isUpgrade), path },
    cluster,
    admit: facade.proxy(read.success, caller),
    carry: (lane) => carry({ cluster, target, id, person: caller, lane })
  })
})

/** The parts of a server that requests of people need. */
export interface ProxyServer {
  readonly facade: Facade
  readonly identify: (request: IncomingMessage) => CallerResult
  readonly taken: TakenByCallers
}

const answer = (response: ServerResponse, error: ApiError): void => {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const body = JSON.stringify(failureBody(error))
  response.writeHead(error.code, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...(error.code === 401 ? { connection: "close" } : {})
  })
  response.end(body)
}

const serveAdmitted = Effect.fnUntraced(function* (
  { facade, identify, taken }: ProxyServer,
  request: IncomingMessage,
  response: ServerResponse
): Effect.fn.Return<void, ApiError, Scope.Scope> {
  const caller = yield* Effect.fromResult(identify(request))
  const answered = yield* Effect.fromResult(taken.takeRequest(caller.user, weightOf(request)))
  yield* Effect.addFinalizer(() => Effect.sync(answered))
  const carry = (carried: CarriedRequest) => Effect.mapError(carryRequest(carried, request, response), broken)
  return yield* passOn(facade, { request, caller }, carry)
})

/** Serves a request that stays HTTP. */
export const serveProxied = (
  server: ProxyServer,
  request: IncomingMessage,
  response: ServerResponse
): Effect.Effect<void> =>
  serveAdmitted(server, request, response).pipe(
    Effect.scoped,
    Effect.catchCause((cause) => {
      const failure = Cause.squash(cause)
      if (failure instanceof ApiError) return Effect.sync(() => answer(response, failure))
      if (Cause.hasInterruptsOnly(cause))
        return Effect.sync(() => answer(response, serviceUnavailable("The operator is stopping.")))
      answer(response, internalError("The operator failed to answer; its log says why."))
      return logError("request of a person failed", { cause: Cause.pretty(cause) })
    })
  )

/** A connection that may leave HTTP. */
export interface RawUpgrade {
  /** Fails when the client leaves before its upgrade. */
  readonly gone: Effect.Effect<never, ApiError>
  /** Gives the connection away, with the bytes that came before the answer. The server writes no more to it. */
  readonly take: () => { readonly socket: Duplex; readonly head: Buffer }
}

/** Serves a request that wants to leave HTTP. */
export const upgradeProxied = (
  facade: Facade,
  { gone, take }: RawUpgrade,
  asked: Asked
): Effect.Effect<void, ApiError> =>
  passOn(facade, asked, (carried) =>
    Effect.raceFirst(Effect.mapError(askUpgrade(carried, asked.request), broken), gone).pipe(
      Effect.flatMap((answered) => {
        const { head, socket } = take()
        return joinUpgrade(answered, socket, head)
      })
    )
  )
