/**
 * Lets only those in who have the token of the API of `braid ui`.
 *
 * Not here: the decision (domain/commands/ui/admit-api-request.ts), and the answers (session-api.ts).
 */

import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Cause, Effect, Redacted, type Scope } from "effect"
import { Cookies, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { admitApiRequest, type ApiAdmission, redirectTarget } from "../../../domain/commands/ui/admit-api-request.ts"
import { routedUrl } from "../../api/routed-url.ts"
import { isSecret } from "./is-secret.ts"
import { type SessionApi, sessionRoutes } from "./session-api.ts"
import { tellNews } from "./session-news.ts"

const cookieName = "mirrord_token"
const headerName = "x-auth-token"
const socketPath = "/ws"

/** The parts of a request that servers know in the same form. */
interface Asked {
  readonly method: string
  /** Path with its query. */
  readonly url: string
  readonly header: (name: string) => string | undefined
  readonly isUpgrade: boolean
}

const admit = ({ header, isUpgrade, method, url }: Asked, token: Redacted.Redacted, port: number): ApiAdmission => {
  const target = routedUrl(url)
  return admitApiRequest(
    {
      method,
      isUpgrade,
      path: target?.pathname ?? "",
      host: header("host"),
      origin: header("origin"),
      hasToken: isSecret(token, target?.searchParams.get("token") ?? undefined),
      hasCookie: isSecret(token, Cookies.parseHeader(header("cookie") ?? "")[cookieName]),
      hasHeader: isSecret(token, header(headerName))
    },
    port
  )
}

/** The server's part outside of the page's folder. */
export interface GuardedApi {
  readonly answer: Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    never,
    HttpServerRequest.HttpServerRequest | Scope.Scope
  >
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Ends all upgraded connections. */
  readonly goAway: () => void
}

/** The server itself ends no upgraded connection whose other side keeps its half open. */
const refuse = (socket: Duplex, status: string): void =>
  void socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy())

/** Guards the API until the scope ends. `port`: where the server listens. */
export const guardApi = Effect.fnUntraced(function* (
  api: SessionApi,
  port: () => number
): Effect.fn.Return<GuardedApi, never, Scope.Scope> {
  const { token } = api
  const routes = yield* HttpRouter.toHttpEffect(sessionRoutes(api))
  const { goAway, take } = yield* tellNews(api)
  const withCookie = HttpServerResponse.setCookieUnsafe(cookieName, Redacted.value(token), {
    httpOnly: true,
    sameSite: "strict",
    path: "/"
  })
  const answered = Effect.catchCause(routes, (cause) =>
    Effect.succeed(
      HttpServerResponse.empty({ status: HttpServerError.isHttpServerError(Cause.squash(cause)) ? 404 : 500 })
    )
  )
  return {
    goAway,
    answer: Effect.gen(function* () {
      const { headers, method, url } = yield* HttpServerRequest.HttpServerRequest
      const admission = admit({ method, url, header: (name) => headers[name], isUpgrade: false }, token, port())
      switch (admission._tag) {
        case "Refused":
          return HttpServerResponse.empty({ status: admission.status })
        case "LogIn":
          return withCookie(
            HttpServerResponse.redirect(redirectTarget(routedUrl(url)?.searchParams.get("redirect") ?? null), {
              status: 303
            })
          )
        case "Admitted":
          return admission.setsCookie ? withCookie(yield* answered) : yield* answered
      }
    }),
    upgrade: (request, socket, head) => {
      const { headers, method = "", url = "" } = request
      // Without a listener a reset of the connection would end the process.
      socket.on("error", () => socket.destroy())
      const header = (name: string): string | undefined => {
        const value = headers[name]
        return typeof value === "string" ? value : undefined
      }
      const admission = admit({ method, url, header, isUpgrade: true }, token, port())
      if (admission._tag === "Refused")
        return refuse(socket, admission.status === 401 ? "401 Unauthorized" : "403 Forbidden")
      if (routedUrl(url)?.pathname !== socketPath) return refuse(socket, "404 Not Found")
      take(request, socket, head)
    }
  }
})
