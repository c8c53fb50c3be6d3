/**
 * Answers watch requests: events as JSON lines, bookmarks, initial events, timeouts. Selecting events is the store's
 * part.
 */

import { type KubeObject, type StoreEvent, apiVersionOf } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import { type Representation, negotiate } from "../wire/http-io.ts"
import { ApiError } from "../wire/status-error.ts"
import type { ResourceRequest, ServerContext } from "./server-context.ts"
import { partialMetadata, toTable } from "./tables.ts"

const defaultTimeoutSeconds = 1800
/** A client with more unread bytes than this is disconnected, as a real server's watch cache does. */
const maxBuffered = 16 * 1024 * 1024

const represent = (info: ResourceInfo, representation: Representation, now: () => number, includeObject: string) => {
  let first = true
  return (object: KubeObject): unknown => {
    switch (representation) {
      case "object":
        return object
      case "metadata":
        return partialMetadata(object)
      case "table": {
        const metadata = { resourceVersion: object.metadata.resourceVersion }
        const table = toTable(info, [object], { now: now(), includeObject, metadata, withHeader: first })
        first = false
        return table
      }
    }
  }
}

/** Follows the objects that a request selects. Throws `ApiError`. */
const follow = (
  { store }: ServerContext,
  { access, query }: ResourceRequest,
  info: ResourceInfo,
  listener: (event: StoreEvent) => void
): (() => void) =>
  store.watch(
    info,
    {
      namespace: info.namespaced && access.namespace !== "" ? access.namespace : undefined,
      labelSelector: query.get("labelSelector") ?? undefined,
      fieldSelector: [query.get("fieldSelector") ?? "", access.name !== "" ? `metadata.name=${access.name}` : ""]
        .filter(Boolean)
        .join(","),
      resourceVersion: isWithInitial(query) ? undefined : (query.get("resourceVersion") ?? undefined)
    },
    listener
  )

const isWithInitial = (query: URLSearchParams): boolean => query.get("sendInitialEvents") === "true"

/** The answer to a watch. */
class EventLines {
  readonly #request: ResourceRequest
  readonly #info: ResourceInfo
  readonly #context: ServerContext
  readonly #show: (object: KubeObject) => unknown
  /** The events of the snapshot are held until the headers are sent: a bad selector must still become an HTTP error. */
  #early: Array<StoreEvent> | undefined = []

  constructor(context: ServerContext, request: ResourceRequest, info: ResourceInfo) {
    const { query, req } = request
    this.#context = context
    this.#request = request
    this.#info = info
    const includeObject = query.get("includeObject") ?? "Metadata"
    this.#show = represent(info, negotiate(req.headers.accept), context.now, includeObject)
  }

  readonly deliver = (event: StoreEvent): void => {
    if (this.#early === undefined) this.write(event.type, this.#show(event.object))
    else this.#early.push(event)
  }

  /** Sends the headers, and the events so far. */
  start(): void {
    const { res } = this.#request
    const early = this.#early ?? []
    this.#early = undefined
    res.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-cache, private" })
    res.flushHeaders()
    for (const event of early) this.deliver(event)
  }

  write(type: string, object: unknown): void {
    const { res } = this.#request
    res.write(`${JSON.stringify({ type, object })}\n`)
    if (res.writableLength > maxBuffered) res.destroy()
  }

  bookmark(annotations?: Record<string, string>): void {
    if (this.#request.query.get("allowWatchBookmarks") !== "true") return
    this.write("BOOKMARK", {
      kind: this.#info.kind,
      apiVersion: apiVersionOf(this.#info),
      metadata: {
        resourceVersion: this.#context.store.resourceVersion,
        creationTimestamp: null,
        ...(annotations === undefined ? {} : { annotations })
      }
    })
  }
}

/** Sends one JSON event per line until the client leaves or the timeout ends. */
export const serveWatch = (context: ServerContext, request: ResourceRequest, info: ResourceInfo): void => {
  const { query, res } = request
  const lines = new EventLines(context, request, info)
  let stop: () => void
  try {
    stop = follow(context, request, info, lines.deliver)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 410) throw error
    lines.start()
    lines.write("ERROR", error.status)
    res.end()
    return
  }
  lines.start()
  if (isWithInitial(query)) lines.bookmark({ "k8s.io/initial-events-end": "true" })
  const bookmarks = setInterval(() => lines.bookmark(), context.bookmarkIntervalMs)
  const seconds = Number(query.get("timeoutSeconds") ?? defaultTimeoutSeconds)
  const end = setTimeout(
    () => {
      lines.bookmark()
      // A slow client takes a while to close, and nothing may be written meanwhile.
      stop()
      clearInterval(bookmarks)
      res.end()
    },
    Math.max(1, Number.isFinite(seconds) ? seconds : defaultTimeoutSeconds) * 1000
  )
  res.on("close", () => {
    stop()
    clearInterval(bookmarks)
    clearTimeout(end)
  })
}
