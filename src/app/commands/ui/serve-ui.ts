/**
 * The server of `braid ui` and `braid dashboard`: the pages, their parts, their news, files of the use, and the stop of
 * a session, on the loopback of this machine alone.
 *
 * Not here: which request is answered (domain/commands/ui/admit-request.ts), and what the pages say.
 */

import http from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Clock, Effect, Redacted, type Scope } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { admitRequest, authPath } from "../../../domain/commands/ui/admit-request.ts"
import { listenAtOneOf, portOf } from "../../api/listen.ts"
import { pageHeaders } from "../../api/page-headers.ts"
import { guardApi } from "./guard-api.ts"
import { isSecret } from "./is-secret.ts"
import { livePage, savedPage } from "./page.ts"
import type { SessionApi } from "./session-api.ts"
import { download, fileRoutes, html, news, text, usagePath, usageRoutes } from "./usage-routes.ts"
import type { WatchedFleet } from "./watch-fleet.ts"
import type { WatchedUsage } from "./watch-usage.ts"

/** The answer to a request to stop a session, as a sentence. */
export interface StopAnswer {
  readonly stopped: boolean
  readonly message: string
}

export interface UiTokens {
  /** Of the link that is printed. */
  readonly link: Redacted.Redacted
  /** Of the link that the program opens a browser with; it counts once, since others see arguments of programs. */
  readonly once: Redacted.Redacted
  /** Of the cookie that a link is exchanged for. */
  readonly cookie: Redacted.Redacted
}

export interface UiServerOptions {
  /** Port 0: any free port. */
  readonly port: number
  /** Name of the context that the pages are about. */
  readonly context: string
  /** `undefined` for a person who may not see the fleet: then there is the page of its use alone. */
  readonly fleet: WatchedFleet | undefined
  readonly usage: WatchedUsage
  readonly stop: (session: string) => Effect.Effect<StopAnswer>
  readonly tokens: UiTokens
  /**
   * The folder of the page, `/` and a random name: a browser sends the cookies of a host to all of its ports, but those
   * of a folder to that folder alone, and no other server knows the name.
   */
  readonly folder: `/${string}`
  /** The API outside of that folder; `undefined` for none. */
  readonly api?: SessionApi | undefined
}

const cookieName = "braid_ui"
/** How long the browser that the program opens may take to follow its link, ms. */
const browserTime = 30_000
/** How long a page may leave its news unread, ms, until its connection is ended. */
const unreadTime = 60_000

const fileName = (time: string): string => `braid-${time.replaceAll(/[ :]/gu, "-")}.html`

const fleetRoutes = (fleet: WatchedFleet) => [
  HttpRouter.route(
    "GET",
    "/",
    Effect.map(fleet.page, (page) => html(livePage(page)))
  ),
  HttpRouter.route(
    "GET",
    "/api/fleet",
    Effect.map(fleet.page, (page) => HttpServerResponse.jsonUnsafe(page))
  ),
  HttpRouter.route(
    "GET",
    "/api/fleet/events",
    Effect.sync(() => news(fleet.pages))
  ),
  HttpRouter.route(
    "GET",
    "/report.html",
    Effect.map(fleet.page, (page) => html(savedPage(page), download(fileName(page.time))))
  )
]

const routes = ({ context, fleet, stop, usage }: UiServerOptions) =>
  HttpRouter.addAll([
    ...fileRoutes,
    ...(fleet === undefined ? [] : fleetRoutes(fleet)),
    ...usageRoutes({ context, usage, hasFleet: fleet !== undefined }),
    HttpRouter.route(
      "POST",
      "/api/sessions/:name/stop",
      Effect.gen(function* () {
        const { name = "" } = yield* HttpRouter.params
        return HttpServerResponse.jsonUnsafe(yield* stop(name))
      })
    )
  ])

/** Exchanges the link for the cookie. `url`: of the link, which may name the page of the use. */
const logIn = ({ fleet, folder, tokens }: UiServerOptions, url: URL | undefined) =>
  HttpServerResponse.setCookieUnsafe(
    HttpServerResponse.redirect(
      `${folder}${fleet === undefined || url?.searchParams.get("page") === "usage" ? usagePath : "/"}`,
      { status: 303 }
    ),
    cookieName,
    Redacted.value(tokens.cookie),
    { httpOnly: true, sameSite: "strict", path: `${folder}/` }
  )

/** Tells the token of a link; that of a single use is spent by any, and ends at `until`, epoch ms. */
const makeLinks = ({ link, once }: UiTokens, until: number) => {
  let isSpent = false
  return (token: string | undefined, now: number): boolean => {
    const isLink = isSecret(link, token)
    const isOnce = isSecret(once, token) && !isSpent && now < until
    isSpent ||= isLink || isOnce
    return isLink || isOnce
  }
}

/** The path below the page's folder with its query; `undefined` for all that is elsewhere, or is no URL. */
const below = (folder: string, url: string): URL | undefined =>
  url.startsWith(`${folder}/`) && URL.canParse(url.slice(folder.length), "http://ui")
    ? new URL(url.slice(folder.length), "http://ui")
    : undefined

/** The answer of the page itself. */
const answered = <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.catchCause(app, (cause) =>
    Effect.succeed(
      HttpServerError.isHttpServerError(Cause.squash(cause))
        ? text("The page has no such part.", 404)
        : text("This cannot be answered; the page goes on.", 500)
    )
  )

/** Answers only those who have a link or its cookie, and says nothing of what there is to others. */
const guarded = <E, R>(
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  options: UiServerOptions,
  { isLink, port }: { readonly isLink: ReturnType<typeof makeLinks>; readonly port: () => number }
) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const now = yield* Clock.currentTimeMillis
    const url = below(options.folder, request.url)
    const token = url?.pathname === authPath ? url.searchParams.get("token") : null
    const admission = admitRequest(
      {
        method: request.method,
        path: url?.pathname ?? "",
        host: request.headers["host"],
        origin: request.headers["origin"],
        hasToken: token !== null && isLink(token, now),
        hasCookie: url !== undefined && isSecret(options.tokens.cookie, request.cookies[cookieName])
      },
      port()
    )
    switch (admission._tag) {
      case "Refused":
        return text(admission.message, admission.status)
      case "LogIn":
        return logIn(options, url)
      case "Admitted":
        return yield* answered(app).pipe(
          Effect.provideService(
            HttpServerRequest.HttpServerRequest,
            request.modify({ url: request.url.slice(options.folder.length) })
          )
        )
    }
  })

const close = (server: http.Server): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** A page that a link opens. */
export type UiPageName = "fleet" | "usage"

/** Serves the pages until the scope ends, and gives the link to a page for a token. Fails if the port is taken. */
export const serveUi = Effect.fnUntraced(function* (
  options: UiServerOptions
): Effect.fn.Return<
  { readonly link: (token: Redacted.Redacted, page?: UiPageName) => string },
  NodeJS.ErrnoException,
  Scope.Scope
> {
  const scope = yield* Effect.scope
  const server = http.createServer()
  const port = (): number => portOf(server, options.port)
  server.setTimeout(unreadTime)
  const app = yield* HttpRouter.toHttpEffect(routes(options))
  const isLink = makeLinks(options.tokens, (yield* Clock.currentTimeMillis) + browserTime)
  const page = guarded(app, options, { isLink, port })
  const api = options.api && (yield* guardApi(options.api, port))
  const both = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
    api === undefined || below(options.folder, url) !== undefined ? page : api.answer
  ).pipe(Effect.map(HttpServerResponse.setHeaders(pageHeaders)))
  server.on("request", yield* NodeHttpServer.makeHandler(both, { scope }))
  if (api !== undefined) server.on("upgrade", api.upgrade)
  yield* Effect.acquireRelease(listenAtOneOf(server, { host: "127.0.0.1", port: options.port }, undefined), () =>
    Effect.andThen(
      Effect.sync(() => api?.goAway()),
      close(server)
    )
  )
  const login = (token: Redacted.Redacted): string =>
    `http://127.0.0.1:${port()}${options.folder}${authPath}?token=${Redacted.value(token)}`
  return { link: (token, page) => `${login(token)}${page === "usage" ? "&page=usage" : ""}` }
})
