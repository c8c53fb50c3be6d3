// @ts-check
/**
 * Writes the generated parts of the chart: its copies of the custom resources and of the table of agents' settings, the
 * rules of its roles, the tables of its README, the tree of its values, and their schema. Templates and values are
 * written by hand.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import * as Schema from "effect/Schema"
import { isMap, isScalar, parse, parseDocument, stringify } from "yaml"
import { settingCards } from "../src/app/kernel/setting-values.ts"
import { agentFields } from "../src/domain/agents/agent-fields.ts"
import { formOf, forms } from "../src/domain/catalogue/setting.ts"
import { clusterFields, primaryFields } from "../src/domain/fleet/configuration-fields.ts"
import { chartRights } from "./chart-rights.mjs"

if (process.argv.includes("--help")) {
  console.log(`node scripts/generate-chart.mjs [--check]

Copies crds/*.yaml into the chart, each with the annotation that keeps Helm from deleting it, and the table of agents'
settings by which the templates judge agent.extraConfig, and the tree of values by which they name unknown ones. Writes
the rules of the roles from the cards of rights (src/domain/*/rights.ts), the tables of the chart's README from the
comments in values.yaml and from files/values-without-effect.yaml, and values.schema.json from those comments and from
the schemas by which the operator reads its files. --check only compares; exit code 1 names the files that differ.`)
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
    console.error(
      `crds/${name} has no row in charts/mirrord-operator/files/crd-flags.yaml; write there which values install it`
    )
    process.exit(1)
  }
  const definition = parse(read(new URL(name, crds)))
  definition.metadata.annotations = { ...definition.metadata.annotations, "helm.sh/resource-policy": "keep" }
  const header =
    `# Copied by scripts/generate-chart.mjs from crds/${name}. Kept when its feature is turned off and when the ` +
    `release goes: with it all its\n# objects would go.\n`
  wanted.set(
    `charts/mirrord-operator/files/crds/${name}`,
    header + stringify(definition, { lineWidth: 120, aliasDuplicateObjects: false })
  )
}

wanted.set(
  "charts/mirrord-operator/files/agent-fields.yaml",
  "# Written by scripts/generate-chart.mjs from src/domain/agents/agent-fields.ts: what agent.extraConfig may hold.\n" +
    stringify(agentFields, { lineWidth: 120, aliasDuplicateObjects: false })
)

/**
 * The settings of the operator's environment. @type
 * {ReadonlyArray<import("../src/domain/catalogue/setting.ts").Setting>}
 */
const settings = Object.values(settingCards).flatMap((card) => Object.values(card))

const values = parse(read(new URL("values.yaml", chart)))

/** The default of a value of the chart; `undefined` if it is empty. @param {string} path */
const shownDefault = (path) => {
  const found = path.split(".").reduce((value, key) => value?.[key], values)
  return ["null", '""', "[]", "{}"].includes(JSON.stringify(found)) ? undefined : found
}

/**
 * A form as the templates read it, with one pattern for the words.
 *
 * @param {import("../src/domain/catalogue/setting.ts").Form | undefined} form
 */
const helmRule = (form) => {
  if (form === undefined) return {}
  const { number, pattern, words, ...rest } = form
  return {
    pattern: pattern?.source ?? `^(${words?.join("|")})$`,
    ...(number === undefined ? {} : { number: number.source }),
    ...rest
  }
}

wanted.set(
  "charts/mirrord-operator/files/settings.yaml",
  "# Written by scripts/generate-chart.mjs from the cards of settings in src/domain: the texts that each variable\n" +
    "# may hold, the value that sets it, and where that acts (files/roles.yaml).\n" +
    stringify(
      Object.fromEntries(
        settings.map((setting) => {
          const { form, isUnsetBy0, value, variable, where } = setting
          const rule = helmRule(formOf(setting))
          const byRole = value === undefined || where === undefined ? {} : { where, default: shownDefault(value) }
          const isOnByDefault = form === "truth" && shownDefault(value ?? "") === true ? true : undefined
          return [
            variable,
            { form, ...rule, ...(value === undefined ? {} : { value, ...byRole, isUnsetBy0, isOnByDefault }) }
          ]
        })
      ),
      { lineWidth: 0, aliasDuplicateObjects: false, sortMapEntries: false, keepUndefined: false }
    )
)

wanted.set(
  "charts/mirrord-operator/files/rights.yaml",
  "# Written by scripts/generate-chart.mjs from the cards of rights, src/domain/*/rights.ts: the rules of roles by\n" +
    "# holder and scope. A rule with `when` is there only while all these conditions hold (templates/_rights.tpl),\n" +
    "# one with `whileOn` while that value is on.\n" +
    chartRights()
)

/** A row of a Markdown table. @param {ReadonlyArray<string>} cells */
const row = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`

/** helm-docs' words for types. @param {unknown} value */
const typeOf = (value) => {
  if (value === null || typeof value === "string") return "string"
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float"
  if (typeof value === "boolean") return "bool"
  return Array.isArray(value) ? "list" : "object"
}

/**
 * A value with a comment `# -- text`.
 *
 * @typedef {{ readonly path: ReadonlyArray<string>; readonly value: unknown; readonly description: string }} Described
 */

/** @param {string} text @returns {ReadonlyArray<Described>} */
const describedValues = (text) => {
  /** @type {Described[]} */
  const found = []
  /**
   * @param {import("yaml").YAMLMap} map
   * @param {ReadonlyArray<string>} parent
   */
  const walk = (map, parent) => {
    for (const [index, pair] of map.items.entries()) {
      if (!isScalar(pair.key)) continue
      const path = [...parent, String(pair.key.value)]
      // The comment of a map's first key hangs at the map.
      const comment = pair.key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? ""
      const lines = comment.split("\n").map((line) => line.trim())
      const start = lines.findLastIndex((line) => line.startsWith("-- "))
      if (start >= 0) {
        const value = pair.value === null ? null : /** @type {import("yaml").Node} */ (pair.value).toJSON()
        found.push({ path, value, description: [lines[start]?.slice(3), ...lines.slice(start + 1)].join(" ").trim() })
      } else if (isMap(pair.value)) walk(pair.value, path)
    }
  }
  const document = parseDocument(text)
  if (isMap(document.contents)) walk(document.contents, [])
  return found
}

/** Rows of the README, sorted by key as helm-docs does. @param {ReadonlyArray<Described>} described */
const valueRows = (described) =>
  described
    .map(({ path, value, description }) => ({
      key: path.map((name) => (name.includes(".") ? `"${name}"` : name)).join("."),
      value,
      description
    }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ key, value, description }) => row([key, typeOf(value), `\`${JSON.stringify(value)}\``, description]))

/** @type {ReadonlyArray<{ path: string; why: string }>} */
const withoutEffect = parse(read(new URL("files/values-without-effect.yaml", chart)))

/**
 * Kinds of values that their defaults do not show. `own`: _validate.tpl has rules of its own for the value.
 *
 * @type {Readonly<Record<string, string>>}
 */
const kinds = parse(read(new URL("files/value-kinds.yaml", chart)))

/** @param {string} path @param {unknown} value */
const kindOf = (path, value) => {
  if (withoutEffect.some((row) => path === row.path || path.startsWith(`${row.path}.`))) return "any"
  const [, kind] = Object.entries(kinds).find(([key]) => path === key || path.startsWith(`${key}.`)) ?? []
  if (kind !== undefined) return kind
  const setting = settings.find((one) => one.value === path)
  if (setting !== undefined && setting.form in formSchemas) return setting.form
  if (value === null || typeof value === "string") return "text"
  if (typeof value === "boolean") return "truth"
  if (typeof value === "number") return "whole"
  return Array.isArray(value) ? "list" : "map"
}

const name = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
const scalar = ["string", "number", "boolean"]
/** @param {number} minimum */
const quantitySchema = (minimum) => ({
  type: ["number", "string"],
  minimum,
  pattern: "^(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([numkKMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?)?$"
})
/** @param {number} minimum @param {number} maximum @param {string} pattern */
const wholeSchema = (minimum, maximum, pattern) => ({ type: ["integer", "string"], minimum, maximum, pattern })
/** @param {ReadonlyArray<string>} words */
const wordsSchema = (words) => ({ enum: [...words, ""] })

/** Forms of text that the schema checks. @type {ReadonlyArray<string>} */
const textForms = ["cellAddress", "userPrefix"]

/** Values that set a number or a text of its own kind, by the form of their setting. */
const formSchemas = Object.fromEntries(
  settings.flatMap((setting) => {
    const { max, pattern } = formOf(setting) ?? {}
    const isText = textForms.includes(setting.form)
    if ((max === undefined && !isText) || setting.value === undefined || pattern === undefined) return []
    const source = `(${pattern.source})|^$`
    /** @type {object} */
    const schema = isText
      ? { type: "string", pattern: source }
      : wholeSchema(setting.isUnsetBy0 === true ? 0 : 1, max ?? 0, source)
    return [[setting.form, schema]]
  })
)

/**
 * Values of each kind, as a schema. `own` has none: of these the schema advises only for the fields of the operator's
 * files.
 *
 * @type {Readonly<Record<string, object>>}
 */
const kindSchemas = {
  ...formSchemas,
  text: { type: scalar },
  name: { type: scalar, minimum: 0, maxLength: 253, pattern: `^(${name}(\\.${name})*)?$` },
  namespace: { type: ["string", "integer", "boolean"], minimum: 0, pattern: `^(${name})?$` },
  truth: { enum: [true, false, "true", "false", ""] },
  switch: { enum: [true, false, ...["true", "yes", "on", "1", "y", "false", "no", "off", "0", "n"], ""] },
  whole: wholeSchema(0, 2_147_483_647, "^(0|[1-9][0-9]{0,9})$"),
  share: wholeSchema(0, 999_999_999, "^(0|[1-9][0-9]{0,8}|[1-9]?[0-9]%|100%)$"),
  priority: wholeSchema(-2_147_483_648, 1_000_000_000, "^(0|-?[1-9][0-9]{0,9})$"),
  port: wholeSchema(0, 65_535, "^([1-9][0-9]{0,4})?$"),
  address: { type: "string", pattern: "^((\\[[0-9a-fA-F:.]+\\]|[^:[\\]]+):[0-9]{1,5})?$" },
  cellAddress: { type: "string", pattern: `(${forms.cellAddress.pattern.source})|^$` },
  quantity: quantitySchema(0),
  operatorMemory: quantitySchema(134_217_728),
  pull: wordsSchema(["Always", "IfNotPresent", "Never"]),
  preemption: wordsSchema(["PreemptLowerPriority", "Never"]),
  list: { type: "array" },
  namespaces: { type: "array", items: { type: scalar, pattern: `^${name}$` } },
  map: { type: "object" }
}

/**
 * The schema only advises: it tells editors what a value should be, and leaves refusals to the templates. Helm checks
 * values against the schema before it renders, and says less about a mistake than the templates do.
 *
 * @param {Readonly<Record<string, import("effect/Schema").Constraint>>} fields
 */
const advice = (fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const { description, ...rest } = /** @type {Record<string, unknown>} */ (
        Schema.toJsonSchemaDocument(field).schema
      )
      return [name, { description, anyOf: [rest, {}] }]
    })
  )

/**
 * The chart asks more of a cluster than the operator, which reports a server or CA that it cannot use as that
 * cluster's.
 */
const httpsServer = {
  type: "string",
  pattern: "^\\s*[hH][tT][tT][pP][sS]://([0-9A-Za-z_.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/[!-~]*)?\\s*$"
}
/** PEM, or base64 of it: the first line of a certificate, at each of the three places where it may begin in base64. */
const certificate = { type: "string", pattern: "-----BEGIN|LS0tLS1CRUdJT|0tLS0tQkVHSU|tLS0tLUJFR0lO|^$" }

/** @param {ReadonlyArray<Described>} described */
const valuesSchema = (described) => {
  const schema = { $schema: "http://json-schema.org/draft-07/schema#", title: "Values of the chart mirrord-operator" }
  for (const { path, value, description } of described) {
    /** @type {Record<string, any>} */
    let node = schema
    for (const name of path) {
      node["properties"] ??= {}
      node = node["properties"][name] ??= {}
    }
    const advised = kindSchemas[kindOf(path.join("."), value)]
    Object.assign(node, { description, default: value }, advised === undefined ? {} : { anyOf: [advised, {}] })
  }
  const multiCluster = /** @type {any} */ (schema).properties.operator.properties.multiCluster.properties
  for (const [name, field] of Object.entries(advice(primaryFields))) Object.assign(multiCluster[name], field)
  const ofCluster = /** @type {any} */ (advice(clusterFields))
  ofCluster.server.anyOf[0] = httpsServer
  ofCluster.caData.anyOf[0] = certificate
  multiCluster.clusters.additionalProperties = { properties: ofCluster }
  return schema
}

const described = describedValues(read(new URL("values.yaml", chart)))

/** The keys of values.yaml and of the published chart as a tree, with the kind of each value. */
const knownValues = () => {
  /** @type {Record<string, any>} */
  const tree = {}
  /** @param {ReadonlyArray<string>} path @param {string} kind */
  const add = (path, kind) => {
    let node = tree
    for (const name of path.slice(0, -1)) node = node[name] ??= {}
    node[path.at(-1) ?? ""] ??= kind
  }
  for (const { path, value } of described) add(path, kindOf(path.join("."), value))
  for (const { path } of withoutEffect) add(path.split("."), "any")
  return tree
}
wanted.set(
  "charts/mirrord-operator/files/known-values.yaml",
  "# Written by scripts/generate-chart.mjs: the values that there are, and of which kind each is.\n" +
    stringify(knownValues(), { lineWidth: 120 })
)

wanted.set("charts/mirrord-operator/values.schema.json", `${JSON.stringify(valuesSchema(described), null, 2)}\n`)

const tables = {
  values: ["| Key | Type | Default | Description |", "|-----|------|---------|-------------|", ...valueRows(described)],
  "values without effect": [
    "| Key | Why |",
    "|-----|-----|",
    ...withoutEffect.map(({ path, why }) => row([path, why])),
    row(["agent.extraConfig.*", "agents have no other settings than those that its row names"])
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
