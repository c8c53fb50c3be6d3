/**
 * The routes of the usage page, which `braid ui`, `braid dashboard` and an operator at an ingress serve, and the
 * answers of all pages.
 *
 * Not here: what the page says (page.ts), and who may see it.
 */

import { Effect, Stream } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { FleetPage } from "../../../domain/commands/ui/fleet-page.ts"
import type { UsageFrame, UsagePage } from "../../../domain/commands/ui/usage-page.ts"
import { dashboardPaths } from "../../../domain/usage/dashboard-access.ts"
import type { UsageWish } from "../overview/read-usage.ts"
import type { UsageFileFormat } from "../overview/usage-command.ts"
import { pageFiles, usageDocument } from "./page.ts"
import type { WatchedUsage } from "./watch-usage.ts"

/** The page of the use, in the folder of the pages. */
export const usagePath = dashboardPaths.page

/** One line of text. */
export const text = (body: string, status: number) => HttpServerResponse.text(`${body}\n`, { status })

/** Sends each page as a message of an event stream. */
export const news = (pages: Stream.Stream<FleetPage | UsagePage>) =>
  HttpServerResponse.stream(
    pages.pipe(
      // A page that reads slowly gets the latest.
      Stream.buffer({ capacity: 1, strategy: "sliding" }),
      Stream.map((page) => `data: ${JSON.stringify(page)}\n\n`),
      Stream.changes,
      Stream.encodeText
    ),
    { contentType: "text/event-stream" }
  )

export const html = (body: string, more: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.text(body, { contentType: "text/html; charset=utf-8", headers: more })

/** The headers by which a browser saves an answer. */
export const download = (name: string): Readonly<Record<string, string>> => ({
  "content-disposition": `attachment; filename="${name}"`
})

/** Scripts and styles of the pages. */
export const fileRoutes = pageFiles.map(({ path, text: body, type }) =>
  HttpRouter.route("GET", path, HttpServerResponse.text(body, { contentType: `${type}; charset=utf-8` }))
)

/** The report that a request of the usage page asks for. */
const wished = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }): UsageWish => {
  const { searchParams } = new URL(url, "http://ui")
  return {
    from: searchParams.get("from") ?? undefined,
    to: searchParams.get("to") ?? undefined,
    by: searchParams.get("by") ?? "machine_id"
  }
})

const fileTypes = {
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  csv: "text/csv; charset=utf-8",
  json: "application/json"
} as const

const usageFileRoute = (format: UsageFileFormat, { file }: WatchedUsage) =>
  HttpRouter.route(
    "GET",
    `/usage.${format}`,
    Effect.flatMap(wished, (wish) => file(format, wish)).pipe(
      Effect.map((content) =>
        HttpServerResponse.uint8Array(typeof content === "string" ? new TextEncoder().encode(content) : content, {
          contentType: fileTypes[format],
          headers: download(`braid-usage.${format}`)
        })
      ),
      Effect.catch(({ fix, message }) => Effect.succeed(text(`${message} ${fix}`, 502)))
    )
  )

export interface UsageRoutesOptions extends UsageFrame {
  readonly usage: WatchedUsage
}

/** The page of the use, its news and its files. */
export const usageRoutes = ({ usage, ...frame }: UsageRoutesOptions) => [
  HttpRouter.route(
    "GET",
    usagePath,
    Effect.sync(() => html(usageDocument(frame)))
  ),
  HttpRouter.route(
    "GET",
    "/api/usage/events",
    Effect.map(wished, (wish) => news(usage.pages(wish)))
  ),
  usageFileRoute("xlsx", usage),
  usageFileRoute("csv", usage),
  usageFileRoute("json", usage)
]
