/**
 * The page of `braid ui` as texts: the document that the server gives out, and the same as one file that needs nothing
 * else, to save and to send.
 *
 * Not here: what it draws (page-script.ts), and its style (page-style.ts).
 */

import { type FleetPage, sharedFleetPage } from "../../../domain/commands/ui/fleet-page.ts"
import { pageLibrary } from "./page-library.ts"
import { FleetDrawing } from "./page-script.ts"
import { pageStyle } from "./page-style.ts"

/** Names of the page's parts, in the folder of the page. */
const names = { library: "lit-html.js", script: "page.js", style: "page.css" } as const

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const script = (library: string, isLive: boolean): string =>
  `import * as lit from ${JSON.stringify(library)}\nnew (${FleetDrawing.toString()})(lit, window, ${isLive}).begin()\n`

/** The parts by their paths, each with its type. */
export const pageParts: ReadonlyArray<{ readonly path: `/${string}`; readonly type: string; readonly text: string }> = [
  { path: `/${names.library}`, type: "text/javascript", text: pageLibrary },
  { path: `/${names.script}`, type: "text/javascript", text: script(`./${names.library}`, true) },
  { path: `/${names.style}`, type: "text/css", text: pageStyle }
]

const page = (model: FleetPage, head: string, end: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escaped(model.context)} – braid</title>
${head}
</head>
<body>
<div id="root"></div>
<noscript>This page needs JavaScript; braid status and braid sessions show the same.</noscript>
<script id="model" type="application/json">${JSON.stringify(model).replaceAll("<", "\\u003c")}</script>
${end}
</body>
</html>
`

/** The page that follows the fleet. */
export const livePage = (model: FleetPage): string =>
  page(model, `<link rel="stylesheet" href="${names.style}">`, `<script type="module" src="${names.script}"></script>`)

/** The page as it is now, for others, in one file. No part of it may end the element that holds it. */
export const savedPage = (model: FleetPage): string => {
  const library = `data:text/javascript;base64,${Buffer.from(pageLibrary).toString("base64")}`
  return page(
    sharedFleetPage(model),
    `<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:">
<style>${pageStyle}</style>`,
    `<script type="module">${script(library, false).replaceAll("</script", "<\\/script")}</script>`
  )
}
