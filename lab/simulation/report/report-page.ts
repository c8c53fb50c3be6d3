/** Puts the report page together: one HTML text that needs nothing else, from no network. */

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { looks } from "../../../src/domain/commands/ui/look.ts"
import { ReportDrawing } from "./page-script.ts"
import { pageStyle } from "./page-style.ts"
import type { ReportModel } from "./report-model.ts"

const require = createRequire(import.meta.url)

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/**
 * A library as the text of a script; no part of it may end the element that holds it. The file is in the folder beside
 * the package's entry.
 */
const library = (name: string, file: string): string =>
  readFileSync(join(dirname(require.resolve(name)), "..", file), "utf8").replaceAll("</script", "<\\/script")

const kinds = ["step", "fault", "session", "operator", "agent", "client", "request", "broken"]

const answers: Readonly<Record<string, string>> = {
  "by-client": "request, answered by a session",
  "by-workload": "request, answered by the workload",
  "by-nobody": "request, answered by nobody",
  "by-pending": "request without an answer",
  fault: "a fault, as long as it lasts",
  messages: "messages per second"
}

const legend = [...Object.entries(looks), ...Object.entries(answers)]
  .map(
    ([name, text]) =>
      `<li><span class="swatch${name.startsWith("by-") ? " dot" : ""}" ` +
      `style="background:var(--${name})"></span>${escaped(text)}</li>`
  )
  .join("")

const button = (view: string, text: string): string => `<button type="button" id="view-${view}">${text}</button>`

/** The page for a model. The chart library (Observable Plot, with d3) is read from node_modules and inlined. */
export const reportPage = (model: ReportModel): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>${escaped(model.title)} – ${model.passed ? "passed" : "failed"}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1>${escaped(model.title)}</h1>
<p id="verdict" class="${model.passed ? "passed" : "failed"}">${escaped(model.verdict)}</p>
<p>Seed <code id="seed">${escaped(model.seed)}</code>, ${model.end.toFixed(0)} virtual seconds;
faults end after ${model.actsEnd.toFixed(0)} s.</p>
</header>
<main>
<section aria-label="Time line">
<div class="tools" role="group" aria-label="What is shown of the time">
${button("acts", "the acts")}${button("whole", "everything")}${button("closer", "closer")}${button("wider", "wider")}
${button("earlier", "← earlier")}${button("later", "later →")}
<span id="shown" aria-live="polite"></span>
</div>
<div id="chart"></div>
<ul id="legend" aria-label="Legend">${legend}
<li><span aria-hidden="true">▲</span> a fault that is over at once</li>
<li><span aria-hidden="true">✕</span> an operator or client ends</li></ul>
<p class="hint">Point at anything, tap it, or go to the chart by Tab and through it by the arrow keys,
to read what it is.</p>
</section>
<details><summary>The story</summary><pre id="story">${escaped(model.story.join("\n"))}</pre></details>
<section aria-label="Events">
<div class="tools">
<label>Filter <input id="filter" type="search" placeholder="words, such as: b parent"></label>
<label>Kind <select id="kind"><option value="">all</option>
${kinds.map((kind) => `<option>${kind}</option>`).join("")}</select></label>
<span id="found" aria-live="polite"></span>
</div>
<table>
<thead><tr><th scope="col">at (s)</th><th scope="col">where</th>
<th scope="col">kind</th><th scope="col">what</th></tr></thead>
<tbody id="events"></tbody></table>
</section>
</main>
<div id="details" role="status" hidden></div>
<script>${library("d3", "dist/d3.min.js")}</script>
<script>${library("@observablehq/plot", "dist/plot.umd.min.js")}</script>
<script id="model" type="application/json">${JSON.stringify(model).replaceAll("<", "\\u003c")}</script>
<script>
const model = JSON.parse(document.getElementById("model").textContent)
new (${ReportDrawing.toString()})(model, Plot, document).begin(window)
</script>
</body>
</html>
`
