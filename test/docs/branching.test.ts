import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { engines } from "../../src/domain/branch/engines.ts"
import { asObjects, at } from "../../src/domain/json.ts"
import { branchEngines, type BranchEngine } from "../../src/domain/resources/chart-switches.ts"

const page = readFileSync(new URL("../../docs/branching.md", import.meta.url), "utf8")
const crd: unknown = parse(readFileSync(new URL("../../crds/branchdatabases.yaml", import.meta.url), "utf8"))

/** The row of an engine, as the page has it. */
const rowOf = (engine: BranchEngine): string => {
  const { block, dialect, modes, name } = engines[engine]
  const made = dialect === undefined ? "refused" : `\`${dialect.repository}:${dialect.version}\``
  const cells = [name, `\`${engine}\``, `\`${block}\``, modes.map((mode) => `\`${mode}\``).join(", "), made]
  return `| ${cells.join(" | ")} |`
}

/** The modes that the API server lets a field have; nothing: the engine copies nothing. */
const modesInCrd = (block: string): unknown => {
  const [version] = asObjects(at(crd, "spec", "versions"))
  const spec = at(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", block)
  return at(spec, "properties", "copy", "properties", "mode", "enum")
}

describe("the table of engines", () => {
  it("has each engine as the operator knows it", () => {
    const rows = page.split("\n").filter((line) => /^\| [^|]+ \| `[a-z]+` \| `[a-z]+Options` \|/u.test(line))
    expect(rows).toEqual(branchEngines.map(rowOf))
  })

  it.each(branchEngines)("has no copies of %s that the resource definition refuses", (engine) => {
    const { block, modes } = engines[engine]
    expect(modesInCrd(block) ?? ["empty"]).toEqual(expect.arrayContaining([...modes]))
  })
})
