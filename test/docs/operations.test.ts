import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { eventCatalogue } from "../../src/domain/events/event-catalogue.ts"
import { metricCatalogue, type MetricFamily } from "../../src/domain/metrics/catalogue.ts"
import { conditionCatalogue } from "./condition-catalogue.ts"

const page = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8")

/** The rows of the table below this header. */
const rowsBelow = (header: string): ReadonlyArray<string> => {
  const lines = page.split("\n")
  const start = lines.indexOf(header)
  expect(start, `docs/operations.md has a table ${header}`).toBeGreaterThanOrEqual(0)
  const end = lines.findIndex((line, i) => i > start && !line.startsWith("|"))
  return lines.slice(start + 2, end)
}

const short = {
  MirrordMultiClusterSession: "parent",
  MirrordClusterSession: "child",
  both: "both",
  MirrordOperator: "operator",
  MirrordCluster: "cluster",
  BranchDatabase: "branch"
} as const

describe("docs/operations.md", () => {
  it("has each Event that the program records", () => {
    const rows = Object.entries(eventCatalogue).map(
      ([reason, { on, type, when }]) => `| \`${reason}\` | ${type} | ${short[on]} | ${when} |`
    )
    expect(rowsBelow("| Event | type | on | when |")).toEqual(rows)
  })
  it("has each metric", () => {
    const rows = Object.entries<MetricFamily>(metricCatalogue).map(([name, { help, labels, type }]) => {
      const listed = labels.map((label) => `\`${label}\``).join(", ")
      return `| \`${name}\` | ${type} | ${listed || "–"} | ${help} |`
    })
    expect(rowsBelow("| metric | type | labels | meaning |")).toEqual(rows)
  })
  it("has each condition that the program sets, with its reasons", () => {
    const rows = conditionCatalogue.map(
      ({ means, on, reason, status, type }) => `| ${short[on]} | \`${type}\` | ${status} | \`${reason}\` | ${means} |`
    )
    expect(rowsBelow("| on | condition | status | reason | means |")).toEqual(rows)
  })
})
