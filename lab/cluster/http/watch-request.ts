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

/** Sends one JSON event per line until the client leaves or the timeout ends. */
export const serveWatch = (
  context: ServerContext,
  { req, res, query, access }: ResourceRequest,
  info: ResourceInfo
): void => {
  const { store } = context
  const show = represent(info, negotiate(req.headers.accept), context.now, query.get("includeObject") ?? "Metadata")
  const write = (type: string, object: unknown): void => {
    res.write(`${JSON.stringify({ type, object })}\n`)
    if (res.writableLength > maxBuffered) res.destroy()
  }
  const bookmark = (annotations?: Record<string, string>): void => {
    if (query.get("allowWatchBookmarks") !== "true") return
    write("BOOKMARK", {
      kind: info.kind,
      apiVersion: apiVersionOf(info),
      metadata: {
        resourceVersion: store.resourceVersion,
        creationTimestamp: null,
        ...(annotations === undefined ? {} : { annotations })
      }
    })
  }
  const withInitial = query.get("sendInitialEvents") === "true"
  const watch = (listener: (event: StoreEvent) => void): (() => void) =>
    store.watch(
      info,
      {
        namespace: info.namespaced && access.namespace !== "" ? access.namespace : undefined,
        labelSelector: query.get("labelSelector") ?? undefined,
        fieldSelector: [query.get("fieldSelector") ?? "", access.name !== "" ? `metadata.name=${access.name}` : ""]
          .filter(Boolean)
          .join(","),
        resourceVersion: withInitial ? undefined : (query.get("resourceVersion") ?? undefined)
      },
      listener
    )
  // Holds the events of the snapshot until the headers are sent: a bad selector must still become an HTTP error.
  const early: Array<StoreEvent> = []
  let started = false
  const deliver = (event: StoreEvent): void => {
    if (started) write(event.type, show(event.object))
    else early.push(event)
  }
  const start = (): void => {
    started = true
    res.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-cache, private" })
    res.flushHeaders()
  }
  let stop: () => void
  try {
    stop = watch(deliver)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 410) throw error
    start()
    write("ERROR", error.status)
    res.end()
    return
  }
  start()
  for (const event of early) deliver(event)
  if (withInitial) bookmark({ "k8s.io/initial-events-end": "true" })
  const bookmarks = setInterval(bookmark, context.bookmarkIntervalMs)
  const seconds = Number(query.get("timeoutSeconds") ?? defaultTimeoutSeconds)
  const end = setTimeout(
    () => {
      bookmark()
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
