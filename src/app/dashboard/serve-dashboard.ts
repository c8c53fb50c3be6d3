/**
 * Serves the page of use for an ingress: on a port of its own, over plain HTTP as ingresses expect, and only to people
 * who have logged in at the provider. It changes nothing, and holds no state: who a person is stands sealed in a
 * cookie.
 *
 * Not here: who may see it (domain/usage/dashboard-access.ts), and the page.
 */

import http from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Clock, Data, Effect, type Scope, Stream } from "effect"
import { Cookies, HttpBody, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isObject } from "../../domain/json.ts"
import {
  admitDashboard,
  dashboardPaths,
  type DashboardPerson,
  type DashboardRules,
  personOf,
  readPerson,
  whyNotShown
} from "../../domain/usage/dashboard-access.ts"
import type { LoginAttempt, LoginError, LoginProvider, Seal } from "../../ports/login-provider.ts"
import { type ListenAddress, listenAtOneOf, portOf } from "../api/listen.ts"
import { pageHeaders } from "../api/page-headers.ts"
import { routedUrl } from "../api/routed-url.ts"
import { logInfo, logWarning } from "../kernel/log.ts"

/** How long a person stays logged in, and how long a login may take, ms. */
const [personTime, attemptTime] = [8 * 3_600_000, 600_000]
/**
 * How long a stream may last, ms. The page asks for another one by itself, and is judged again: a person may have
 * logged out meanwhile, which a server without state cannot know.
 */
const maxStreamTime = 600_000
/** Connections at once; one more is closed without a word. Ingresses keep some open. */
const maxConnections = 200
/** How long a request may take to arrive, ms. */
const patience = 10_000

export class DashboardError extends Data.TaggedError("DashboardError")<{ readonly detail: string }> {
  override get message(): string {
    return `the page of use cannot be served: ${this.detail}`
  }
}

export interface DashboardOptions {
  readonly listenAt: ListenAddress
  readonly fallback: ListenAddress | undefined
  /** Name of the page's host, as browsers know it. */
  readonly served: string
  readonly rules: DashboardRules
  readonly provider: LoginProvider
  readonly seal: Seal
  /** Answers people who may see the page. */
  readonly page: Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    unknown,
    HttpServerRequest.HttpServerRequest | Scope.Scope
  >
}

type Answer = HttpServerResponse.HttpServerResponse

/** `__Host-`: browsers take such a cookie from this host alone, over HTTPS alone, and send it to no other. */
const cookies = { person: "__Host-braid", attempt: "__Host-braid-login" } as const

const text = (body: string, status: number) => HttpServerResponse.text(`${body}\n`, { status })

const goTo = (url: string) => HttpServerResponse.redirect(url, { status: 303 })

/** `Lax`: the provider leads back to the page, which is a way from another site. `millis` 0: the cookie goes. */
const withCookie = (answer: Answer, name: string, value: string, millis: number): Answer =>
  HttpServerResponse.setCookieUnsafe(answer, name, value, {
    httpOnly: true,
    secure: true,
    sameSite: "lax",
    path: "/",
    maxAge: millis
  })

const readAttempt = (kept: unknown): LoginAttempt | undefined => {
  if (!isObject(kept)) return undefined
  const { nonce, state, verifier } = kept
  return typeof nonce === "string" && typeof state === "string" && typeof verifier === "string"
    ? { nonce, state, verifier }
    : undefined
}

const again = `Try again: ${dashboardPaths.logIn}`

const unlessLoggedIn = ({ message, reason }: LoginError): Effect.Effect<Answer> =>
  Effect.as(
    logWarning("a login for the page of use failed", { reason, problem: message }),
    text(`${message} ${again}`, reason === "Away" ? 503 : 401)
  )

/** Sends the browser to the provider. */
const logIn = ({ provider, seal }: DashboardOptions) =>
  Effect.gen(function* () {
    const { attempt, url } = yield* provider.begin
    const until = (yield* Clock.currentTimeMillis) + attemptTime
    return withCookie(goTo(url), cookies.attempt, yield* seal.close(cookies.attempt, attempt, until), attemptTime)
  }).pipe(Effect.catch(unlessLoggedIn))

/** Takes the provider's answer. A person who may not see the page gets no cookie. */
const loggedIn = ({ provider, rules, seal }: DashboardOptions, search: string, kept: unknown) =>
  Effect.gen(function* () {
    const attempt = readAttempt(kept)
    if (attempt === undefined) return text(`This login has ended, or was begun in another browser. ${again}`, 401)
    const person = personOf(yield* provider.finish(search, attempt), rules)
    const why = whyNotShown(person, rules)
    yield* logInfo("a person logged in for the page of use", { person: person.name, isShown: why === undefined })
    if (why !== undefined) return text(`${why} ${again}`, 403)
    const until = (yield* Clock.currentTimeMillis) + personTime
    return withCookie(
      goTo(dashboardPaths.page),
      cookies.person,
      yield* seal.close(cookies.person, person, until),
      personTime
    )
  }).pipe(
    Effect.catch(unlessLoggedIn),
    Effect.map((answer) => withCookie(answer, cookies.attempt, "", 0))
  )

const logOut = withCookie(text(`You are logged out here. ${again}`, 200), cookies.person, "", 0)

const shown = ({ page }: DashboardOptions) =>
  Effect.catchCause(page, (cause) =>
    HttpServerError.isHttpServerError(Cause.squash(cause))
      ? Effect.succeed(text("The page has no such part.", 404))
      : Effect.as(
          logWarning("the page of use has failed", { problem: Cause.pretty(cause) }),
          text("This cannot be answered; the operator's log says why.", 500)
        )
  )

/** Rules may have changed since a person logged in, so each request is judged by those of now. */
const isShown = (person: DashboardPerson | undefined, { rules }: DashboardOptions): boolean =>
  person !== undefined && whyNotShown(person, rules) === undefined

/** Ends a stream after some ms. Other answers are whole already. */
const endingAfter = (answer: Answer, millis: number): Answer => {
  const { body } = answer
  if (body._tag !== "Stream") return answer
  const stream = Stream.interruptWhen(body.stream, Effect.sleep(millis))
  return HttpServerResponse.setBody(answer, HttpBody.stream(stream, body.contentType))
}

const answer = (options: DashboardOptions) =>
  Effect.gen(function* () {
    const { headers, method, url } = yield* HttpServerRequest.HttpServerRequest
    const given = Cookies.parseHeader(headers["cookie"] ?? "")
    const now = yield* Clock.currentTimeMillis
    const opened = (name: string) => options.seal.open(name, given[name] ?? "", now)
    const login = yield* opened(cookies.person)
    const isOfPerson = isShown(readPerson(login?.contents), options)
    const admission = admitDashboard(
      { method, path: routedUrl(url)?.pathname, host: headers["host"], isOfPerson },
      options.served
    )
    switch (admission._tag) {
      case "Refused":
        return text(admission.message, admission.status)
      case "Healthy":
        return text("ok", 200)
      case "LogIn":
        return yield* logIn(options)
      case "LoggedIn":
        return yield* loggedIn(
          options,
          url.slice(dashboardPaths.loggedIn.length),
          (yield* opened(cookies.attempt))?.contents
        )
      case "LogOut":
        return logOut
      case "Shown":
        return endingAfter(yield* shown(options), Math.min((login?.until ?? now) - now, maxStreamTime))
    }
  }).pipe(Effect.map(HttpServerResponse.setHeaders(pageHeaders)))

const stop = (server: http.Server): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** Serves the page until the scope ends. */
export const serveDashboard = Effect.fnUntraced(function* (
  options: DashboardOptions
): Effect.fn.Return<{ readonly port: number }, DashboardError, Scope.Scope> {
  const scope = yield* Effect.scope
  const handler = yield* NodeHttpServer.makeHandler(answer(options), { scope })
  const server = http.createServer({ requestTimeout: patience, headersTimeout: patience }, handler)
  server.maxConnections = maxConnections
  yield* Effect.acquireRelease(
    Effect.mapError(
      listenAtOneOf(server, options.listenAt, options.fallback),
      ({ message }) => new DashboardError({ detail: message })
    ),
    () => stop(server)
  )
  const port = portOf(server, options.listenAt.port)
  yield* logInfo("the page of use is served", { port, host: options.served })
  return { port }
})
