/**
 * The pages of `braid ui` as texts: the documents that the server gives out, and the live page as one file that needs
 * nothing else, to save and to send.
 *
 * Not here: what they draw (page-parts.ts, page-script.ts, usage-script.ts), and their style (page-style.ts).
 */

import { type FleetPage, sharedFleetPage } from "../../../domain/commands/ui/fleet-page.ts"
import type { UsageFrame } from "../../../domain/commands/ui/usage-page.ts"
import { usageTools } from "../../../domain/commands/ui/usage-tools.ts"
import { pageLibrary } from "./page-library.ts"
import { PageParts } from "./page-parts.ts"
import { FleetDrawing } from "./page-script.ts"
import { pageStyle } from "./page-style.ts"
import { UsageDrawing } from "./usage-script.ts"

/** Names of the pages' parts, in the folder of the pages. */
const names = { library: "lit-html.js", script: "page.js", usageScript: "usage.js", style: "page.css" } as const

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** A script that makes the common parts, and begins a page with them. `page`: the page by `parts`. */
const script = (library: string, page: string): string =>
  `import * as lit from ${JSON.stringify(library)}\n` +
  `const parts = new (${PageParts.toString()})(lit, window)\n${page}.begin()\n`

const fleetScript = (library: string, isLive: boolean): string =>
  script(library, `new (${FleetDrawing.toString()})(parts, ${isLive})`)

/** Functions of the domain as the text of an object: each uses nothing from outside of itself. */
const toolsText = `{ ${Object.entries(usageTools)
  .map(([name, tool]) => `${name}: ${tool.toString()}`)
  .join(",\n")} }`

const ownLibrary = `./${names.library}`
const javaScript = "text/javascript"

/** The parts by their paths, each with its type. */
export const pageFiles: ReadonlyArray<{ readonly path: `/${string}`; readonly type: string; readonly text: string }> = [
  { path: `/${names.library}`, type: javaScript, text: pageLibrary },
  { path: `/${names.script}`, type: javaScript, text: fleetScript(ownLibrary, true) },
  {
    path: `/${names.usageScript}`,
    type: javaScript,
    text: script(ownLibrary, `new (${UsageDrawing.toString()})(parts, ${toolsText})`)
  },
  { path: `/${names.style}`, type: "text/css", text: pageStyle }
]

interface Document {
  readonly title: string
  /** The data that the script draws at first. */
  readonly model: object
  readonly head: string
  readonly end: string
  /** The commands that show the same without a script. */
  readonly otherwise: string
}

const page = ({ end, head, model, otherwise, title }: Document): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escaped(title)} – braid</title>
${head}
</head>
<body>
<div id="root"></div>
<noscript>This page needs JavaScript; ${otherwise} the same.</noscript>
<script id="model" type="application/json">${JSON.stringify(model).replaceAll("<", "\\u003c")}</script>
${end}
</body>
</html>
`

const fleetDocument = (model: FleetPage, head: string, end: string): string =>
  page({ title: model.context, model, head, end, otherwise: "braid status and braid sessions show" })

const styleLink = `<link rel="stylesheet" href="${names.style}">`
const scriptLink = (name: string): string => `<script type="module" src="${name}"></script>`

/** The page of the use of sessions, which asks for its report by itself. */
export const usageDocument = (model: UsageFrame): string =>
  page({
    title: `Use of ${model.context}`,
    model,
    head: styleLink,
    end: scriptLink(names.usageScript),
    otherwise: "braid usage shows"
  })

/** The page that follows the fleet. */
export const livePage = (model: FleetPage): string => fleetDocument(model, styleLink, scriptLink(names.script))

/** The page as it is now, for others, in one file. No part of it may end the element that holds it. */
export const savedPage = (model: FleetPage): string => {
  const library = `data:text/javascript;base64,${Buffer.from(pageLibrary).toString("base64")}`
  return fleetDocument(
    sharedFleetPage(model),
    `<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:">
<style>${pageStyle}</style>`,
    `<script type="module">${fleetScript(library, false).replaceAll("</script", "<\\/script")}</script>`
  )
}
