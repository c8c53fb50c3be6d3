// @ts-check
// Writes what of the chart is made from elsewhere: its copy of the custom resources, and the tables of its README.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { isMap, isScalar, parse, parseDocument, stringify } from "yaml"

if (process.argv.includes("--help")) {
  console.log(`node scripts/generate-chart.mjs [--check]

Copies crds/*.yaml into the chart, each with the annotation that keeps Helm from deleting it, and writes the tables of the chart's
README from the comments in values.yaml and from files/values-without-effect.yaml. --check only compares; exit code 1 names the files
that differ.`)
  process.exit(0)
}

const root = new URL("..", import.meta.url)
const chart = new URL("charts/mirrord-operator/", root)
/** @param {URL} file */
const read = (file) => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}
/** @param {URL} folder */
const yamlFiles = (folder) => {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".yaml"))
  } catch {
    return []
  }
}

/** Path from the root to text; `undefined`: the file must not be there. @type {Map<string, string | undefined>} */
const wanted = new Map()

const crds = new URL("crds/", root)
const copies = new URL("files/crds/", chart)
const flags = parse(read(new URL("files/crd-flags.yaml", chart)))
for (const name of yamlFiles(copies)) wanted.set(`charts/mirrord-operator/files/crds/${name}`, undefined)
for (const name of yamlFiles(crds)) {
  const plural = name.replace(/\.yaml$/u, "")
  if (!(plural in flags)) {
    console.error(`crds/${name} has no row in charts/mirrord-operator/files/crd-flags.yaml; write there which values install it`)
    process.exit(1)
  }
  const definition = parse(read(new URL(name, crds)))
  definition.metadata.annotations = { ...definition.metadata.annotations, "helm.sh/resource-policy": "keep" }
  const header = `# Copied by scripts/generate-chart.mjs from crds/${name}. Kept when its feature is turned off and when the release goes: with it all its\n# objects would go.\n`
  wanted.set(`charts/mirrord-operator/files/crds/${name}`, header + stringify(definition, { lineWidth: 120, aliasDuplicateObjects: false }))
}

/** A row of a Markdown table. @param {ReadonlyArray<string>} cells */
const row = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`

/** helm-docs' words for types. @param {unknown} value */
const typeOf = (value) => {
  if (value === null || typeof value === "string") return "string"
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float"
  if (typeof value === "boolean") return "bool"
  return Array.isArray(value) ? "list" : "object"
}

/** Rows of values with a comment `# -- text`, sorted by key as helm-docs does. @param {string} text */
const valueRows = (text) => {
  /** @type {Array<{ key: string, cells: ReadonlyArray<string> }>} */
  const rows = []
  /**
   * @param {import("yaml").YAMLMap} map
   * @param {ReadonlyArray<string>} path
   */
  const walk = (map, path) => {
    for (const [index, pair] of map.items.entries()) {
      if (!isScalar(pair.key)) continue
      const name = String(pair.key.value)
      const key = [...path, name.includes(".") ? `"${name}"` : name]
      // The comment of a map's first key hangs at the map.
      const comment = pair.key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? ""
      const lines = comment.split("\n").map((line) => line.trim())
      const start = lines.findLastIndex((line) => line.startsWith("-- "))
      if (start >= 0) {
        const value = pair.value === null ? null : /** @type {import("yaml").Node} */ (pair.value).toJSON()
        const description = [lines[start]?.slice(3), ...lines.slice(start + 1)].join(" ").trim()
        rows.push({ key: key.join("."), cells: [key.join("."), typeOf(value), `\`${JSON.stringify(value)}\``, description] })
      } else if (isMap(pair.value)) walk(pair.value, key)
    }
  }
  const document = parseDocument(text)
  if (isMap(document.contents)) walk(document.contents, [])
  return rows.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ cells }) => row(cells))
}

/** @type {ReadonlyArray<{ path: string, why: string }>} */
const withoutEffect = parse(read(new URL("files/values-without-effect.yaml", chart)))
const tables = {
  values: ["| Key | Type | Default | Description |", "|-----|------|---------|-------------|", ...valueRows(read(new URL("values.yaml", chart)))],
  "values without effect": [
    "| Key | Why |",
    "|-----|-----|",
    ...withoutEffect.map(({ path, why }) => row([path, why])),
    row(["agent.extraConfig.*", "settings of agents are not built yet, but for those that its row names"])
  ]
}
let readme = read(new URL("README.md", chart))
for (const [name, lines] of Object.entries(tables)) {
  const [start, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
  const [from, to] = [readme.indexOf(start), readme.indexOf(end)]
  if (from < 0 || to < from) {
    console.error(`charts/mirrord-operator/README.md has no ${start} … ${end}`)
    process.exit(1)
  }
  readme = `${readme.slice(0, from + start.length)}\n${lines.join("\n")}\n${readme.slice(to)}`
}
wanted.set("charts/mirrord-operator/README.md", readme)

const stale = [...wanted].filter(([path, text]) => read(new URL(path, root)) !== (text ?? ""))
if (process.argv.includes("--check")) {
  if (stale.length > 0) {
    console.error(`Out of date: ${stale.map(([path]) => path).join(", ")}. Run: node scripts/generate-chart.mjs`)
    process.exit(1)
  }
} else {
  mkdirSync(copies, { recursive: true })
  for (const [path, text] of stale) {
    if (text === undefined) rmSync(new URL(path, root))
    else writeFileSync(new URL(path, root), text)
  }
}
console.log(stale.length === 0 ? "the chart is up to date" : `written: ${stale.map(([path]) => path).join(", ")}`)
