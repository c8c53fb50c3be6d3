/** A collector on this machine: takes requests over HTTP and answers as it is told to. */

import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { Effect, type Scope } from "effect"

export interface TakenRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface CollectorStandIn {
  readonly url: string
  readonly requests: ReadonlyArray<TakenRequest>
  /** The status of its answers; `undefined` if it does not answer. */
  answer: number | undefined
  /** Names of all spans that came as JSON. */
  readonly spans: () => ReadonlyArray<Readonly<Record<string, unknown>>>
}

interface TraceData {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Readonly<Record<string, unknown>>> }>
  }>
}

export const collectorStandIn: Effect.Effect<CollectorStandIn, never, Scope.Scope> = Effect.gen(function* () {
  const requests: Array<TakenRequest> = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ path: request.url ?? "", headers: request.headers, body })
      if (collector.answer !== undefined) response.writeHead(collector.answer).end("{}")
    })
  })
  yield* Effect.promise(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)))
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
  )
  const collector: CollectorStandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    requests,
    answer: 200,
    spans: () =>
      requests.flatMap(({ body }) =>
        (JSON.parse(body) as TraceData).resourceSpans.flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans)
        )
      )
  }
  return collector
})
