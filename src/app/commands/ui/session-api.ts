/**
 * The API of `braid ui` beside its page, in the form of mirrord's own aggregator (mirrord 3.250.0), which its browser
 * extension reads: the sessions of this machine, those of an operator, and what the kubeconfig leads to.
 *
 * Not here: who is answered (domain/commands/ui/admit-api-request.ts), and the news by WebSocket (session-news.ts).
 */

import { Effect, Redacted, Stream } from "effect"
import { HttpMethod, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { OperatorSummary } from "../../../domain/commands/ui/operator-answer.ts"
import { omit } from "../../../domain/json.ts"
import type { LocalSessions } from "./local-sessions.ts"
import type { OperatorReader, Unread } from "./operator-reader.ts"
import type { SocketAnswer, SocketRequest } from "./session-socket.ts"

export interface SessionApi {
  readonly token: Redacted.Redacted
  readonly local: LocalSessions
  readonly operator: OperatorReader
}

/** Pause between two comments that keep a stream of events open, seconds. */
const pingSeconds = 15

const json = (body: unknown, status = 200) => HttpServerResponse.jsonUnsafe(body, { status })
const absent = HttpServerResponse.empty({ status: 404 })

const param = (name: string) => Effect.map(HttpRouter.params, (params) => params[name] ?? "")

const query = (name: string) =>
  Effect.map(
    HttpServerRequest.HttpServerRequest,
    ({ url }) => new URL(url, "http://ui").searchParams.get(name) ?? undefined
  )

const problem = ({ fix, message, status }: Unread) => Effect.succeed(json({ error: `${message} ${fix}` }, status))

/** The sessions of this machine; both versions of the API have them in the same form. */
const sessionsOf = ({ now }: LocalSessions) => Effect.sync(() => json(now()))

const sessionOf = ({ now }: LocalSessions) =>
  Effect.map(param("id"), (id) => {
    const session = now().find(({ session_id: its }) => its === id)
    return session === undefined ? absent : json(session)
  })

const eventsOf = ({ events }: LocalSessions) =>
  Effect.map(param("id"), (id) => {
    const deeds = events(id)
    if (deeds === undefined) return absent
    const pings = Stream.as(Stream.tick(`${pingSeconds} seconds`), ": ping\n\n")
    const told = Stream.map(deeds, (event) => `data: ${JSON.stringify(event)}\n\n`)
    return HttpServerResponse.stream(Stream.encodeText(Stream.merge(told, pings, { haltStrategy: "left" })), {
      contentType: "text/event-stream"
    })
  })

const endOf = ({ end }: LocalSessions) =>
  Effect.flatMap(param("id"), end).pipe(
    Effect.map((answer) => {
      if (answer === undefined) return absent
      return answer.status === 200
        ? json({ status: "ok" })
        : json({ error: `The session's program answered with status ${answer.status}.` }, 500)
    }),
    Effect.catch(() => Effect.succeed(json({ error: "The session's program does not answer." }, 500)))
  )

const passedOn = ({ body, status, type }: SocketAnswer) => HttpServerResponse.text(body, { status, contentType: type })

/** Rules of chaos are the session's own: question and answer are passed on. */
const chaosOf = ({ ask }: LocalSessions, method: SocketRequest["method"]) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const [id, rule] = [yield* param("id"), yield* param("rule")]
    const body = HttpMethod.hasBody(method) ? yield* request.text : undefined
    const path = `/chaos/rules/${encodeURIComponent(rule)}` as const
    const answer = yield* ask(id, { method, path, ...(body !== undefined && { body }) })
    return answer === undefined
      ? HttpServerResponse.text(`Could not find session: session \`${id}\` not found`, { status: 404 })
      : passedOn(answer)
  }).pipe(
    Effect.catch(() =>
      Effect.succeed(
        HttpServerResponse.text("Something went wrong: the session's program does not answer.", { status: 500 })
      )
    )
  )

const localRoutes = (local: LocalSessions) => [
  HttpRouter.route("GET", "/api/sessions", sessionsOf(local)),
  HttpRouter.route("GET", "/api/sessions/:id", sessionOf(local)),
  HttpRouter.route("GET", "/api/sessions/:id/events", eventsOf(local)),
  HttpRouter.route("POST", "/api/sessions/:id/kill", endOf(local)),
  HttpRouter.route("GET", "/api/v2/local/sessions", sessionsOf(local)),
  HttpRouter.route("GET", "/api/v2/local/sessions/:id", sessionOf(local)),
  HttpRouter.route("GET", "/api/v2/local/sessions/:id/events", eventsOf(local)),
  HttpRouter.route("DELETE", "/api/v2/local/sessions/:id", endOf(local)),
  ...(["GET", "POST", "DELETE"] as const).map((method) =>
    HttpRouter.route(method, "/api/chaos/rules/:id", chaosOf(local, method))
  ),
  ...(["GET", "PUT", "DELETE"] as const).map((method) =>
    HttpRouter.route(method, "/api/chaos/rules/:id/:rule", chaosOf(local, method))
  )
]

/** Both versions have the namespaces in the same form. */
const namespacesOf = ({ namespaces }: Pick<OperatorReader, "namespaces">) =>
  query("context").pipe(
    Effect.flatMap((context) =>
      Effect.map(namespaces(context), (names) => json({ context: context ?? null, namespaces: names }))
    ),
    Effect.catch(problem)
  )

/** The first version: of the one context with which `braid ui` was started. */
const firstRoutes = ({ contexts, user, watched, ...operator }: OperatorReader) => [
  HttpRouter.route(
    "GET",
    "/api/operator-sessions",
    Effect.map(watched, ({ answer, status }) => {
      const sessions = answer?.sessions ?? []
      return json({
        by_key: Object.fromEntries(Map.groupBy(sessions, ({ key }) => key)),
        sessions,
        watch_status: status,
        operator_license: answer?.license ?? null
      })
    })
  ),
  HttpRouter.route(
    "GET",
    "/api/contexts",
    contexts.pipe(
      Effect.map(({ contexts: all, current }) =>
        json({ contexts: all.map(({ name }) => name), currentContext: current })
      ),
      Effect.catch(problem)
    )
  ),
  HttpRouter.route("GET", "/api/namespaces", namespacesOf(operator)),
  HttpRouter.route(
    "GET",
    "/api/me",
    Effect.map(Effect.result(user(undefined)), (found) =>
      json(
        found._tag === "Success"
          ? { k8sUsername: found.success, error: null }
          : { k8sUsername: null, error: `${found.failure.message} ${found.failure.fix}` }
      )
    )
  )
]

/** A session of the second version, which leaves age and absent targets out. */
const secondForm = ({ target, ...session }: OperatorSummary) =>
  omit({ ...session, ...(target !== null && { target }) }, "durationSecs")

/** The second version: each request names its context. */
const secondRoutes = ({ contexts, operator, user, ...reader }: OperatorReader) => [
  HttpRouter.route(
    "GET",
    "/api/v2/operator/sessions",
    Effect.gen(function* () {
      const [context, namespace] = [yield* query("context"), yield* query("namespace")]
      const found = yield* Effect.result(operator(context))
      if (found._tag === "Failure") {
        const { fix, message } = found.failure
        return json({ context: context ?? null, status: "unavailable", reason: `${message} ${fix}`, sessions: [] })
      }
      const isAsked = (one: { readonly namespace: string }): boolean =>
        namespace === undefined || one.namespace === namespace
      const previewSessions = found.success.previewSessions.filter(isAsked)
      return json({
        context: context ?? null,
        status: "available",
        sessions: found.success.sessions.filter(isAsked).map(secondForm),
        ...(previewSessions.length > 0 && { previewSessions })
      })
    })
  ),
  HttpRouter.route(
    "GET",
    "/api/v2/operator/license",
    Effect.flatMap(query("context"), operator).pipe(
      Effect.map(({ license }) => json(license)),
      Effect.catch(() => Effect.succeed(json(null)))
    )
  ),
  HttpRouter.route(
    "GET",
    "/api/v2/kube/contexts",
    contexts.pipe(
      Effect.map((found) => json(found)),
      Effect.catch(problem)
    )
  ),
  HttpRouter.route("GET", "/api/v2/kube/namespaces", namespacesOf(reader)),
  HttpRouter.route(
    "GET",
    "/api/v2/kube/user",
    Effect.flatMap(query("context"), user).pipe(
      Effect.catch(() => Effect.succeed(null)),
      Effect.map((username) => json({ username }))
    )
  )
]

const root =
  "This is the API of braid ui, for mirrord's browser extension. The page has a link of its own, which braid ui prints."

/** All routes. */
export const sessionRoutes = ({ local, operator, token }: SessionApi) => {
  const ownToken = json({ token: Redacted.value(token) })
  return HttpRouter.addAll([
    HttpRouter.route("GET", "/health", json({ status: "ok" })),
    HttpRouter.route("GET", "/", HttpServerResponse.text(`${root}\n`)),
    HttpRouter.route("GET", "/api/token", ownToken),
    HttpRouter.route("GET", "/api/v2/token", ownToken),
    ...localRoutes(local),
    ...firstRoutes(operator),
    ...secondRoutes(operator)
  ])
}
