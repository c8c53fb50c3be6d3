import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { chartFolder } from "./chart.ts"
import { asList, asMap, asText, at } from "./json.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string): unknown => parse(readFileSync(join(chartFolder, path), "utf8"))

describe("the chart", () => {
  it("has the package's version, twice", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string }
    expect(read("Chart.yaml")).toMatchObject({ version, appVersion: version })
  })

  it("has the custom resources of crds/ and the tables of its values", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(root, "scripts/generate-chart.mjs"),
      "--check"
    ])
    expect(stdout).toBe("the chart is up to date\n")
  })

  it("describes every value that it knows", () => {
    const undocumented: Array<string> = []
    const readme = readFileSync(join(chartFolder, "README.md"), "utf8")
    const walk = (value: unknown, path: ReadonlyArray<string>): void => {
      const key = path.map((part) => (part.includes(".") ? `"${part}"` : part)).join(".")
      if (readme.includes(`\n| ${key} | `)) return
      if (typeof value === "object" && value !== null && Object.keys(value).length > 0)
        for (const [name, below] of Object.entries(value)) walk(below, [...path, name])
      else undocumented.push(key)
    }
    walk(read("values.yaml"), [])
    expect(undocumented).toEqual([])
  })

  it("names only values that exist as flags of custom resources", () => {
    const values = read("values.yaml")
    for (const [resource, flags] of Object.entries(asMap(read("files/crd-flags.yaml")))) {
      for (const flag of asList(flags))
        expect([resource, flag, typeof at(values, ...asText(flag).split("."))]).toEqual([resource, flag, "boolean"])
    }
  })

  it("knows a flag for each of the published 25 custom resources", () => {
    expect(Object.keys(asMap(read("files/crd-flags.yaml")))).toHaveLength(25)
    expect(readdirSync(join(chartFolder, "files/crds"))).toEqual(readdirSync(join(root, "crds")))
  })
})
