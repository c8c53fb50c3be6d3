/** The page of spans. */

import { spanCatalogue } from "../../src/domain/tracing/span-catalogue.ts"
import { code, type Page, table } from "./page.ts"

export const spans: Page = {
  file: "spans.md",
  title: "Spans",
  source: "src/domain/tracing/span-catalogue.ts",
  body: [
    "The spans of a session's trace, by the operator that makes them. No span lasts as long as the session, and no " +
      "message makes one.",
    table(
      ["span", "where", "from, to"],
      Object.entries(spanCatalogue).flatMap(([name, rows]) =>
        rows.map(({ lasts, where }) => [code(name), where, lasts])
      )
    )
  ]
}
