/**
 * Serves `GET /metrics` on a port of its own, over plain HTTP and to whoever reaches it, as Prometheus expects: the
 * NetworkPolicy of the chart says who that is. Nothing else is served there.
 */

import http from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Data, Effect, type Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { type ListenAddress, listenAtOneOf, portOf } from "../api/listen.ts"
import { logInfo } from "../kernel/log.ts"
import { exposition } from "./exposition.ts"
import { showKnownCounters } from "./known-counters.ts"
import { measureProcess } from "./process-samples.ts"

/** Most scrapers at once; one more is closed without a word. */
const maxScrapers = 20
const defaultPatience = 5_000

export class MetricsError extends Data.TaggedError("MetricsError")<{ readonly detail: string }> {
  override get message(): string {
    return `metrics cannot be served: ${this.detail}`
  }
}

export interface MetricsServerOptions extends ListenAddress {
  /** Used if this machine does not have the address `host` and `port`. */
  readonly fallback: ListenAddress | undefined
  /** Whether this replica leads now. */
  readonly leads: () => boolean
  /** How long a request may take to arrive, and how long a connection may be still, in ms; 5,000 unless given. */
  readonly patience?: number
}

const route = HttpRouter.add(
  "GET",
  "/metrics",
  Effect.map(exposition, (body) =>
    HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
  )
)

const stop = (server: http.Server): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** Serves metrics until the scope ends. */
export const serveMetrics = Effect.fnUntraced(function* (
  options: MetricsServerOptions
): Effect.fn.Return<{ readonly port: number }, MetricsError, Scope.Scope> {
  yield* measureProcess(options.leads)
  yield* showKnownCounters
  const scope = yield* Effect.scope
  const app = yield* HttpRouter.toHttpEffect(route)
  const handler = yield* NodeHttpServer.makeHandler(app, { scope })
  const { patience = defaultPatience } = options
  const server = http.createServer(
    { requestTimeout: patience, headersTimeout: patience, connectionsCheckingInterval: patience / 5 },
    handler
  )
  // Ends connections that nothing comes from and nothing goes to: a scraper that does not read holds its place.
  server.timeout = patience
  server.maxConnections = maxScrapers
  yield* Effect.acquireRelease(
    Effect.mapError(
      listenAtOneOf(server, options, options.fallback),
      ({ message }) => new MetricsError({ detail: message })
    ),
    () => stop(server)
  )
  const port = portOf(server, options.port)
  yield* logInfo("metrics are served", { port })
  return { port }
})
