import { readFileSync } from "node:fs"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { programsOf } from "../../src/adapters/engines/programs.ts"
import { branchPod } from "../../src/domain/branches/branch-pod.ts"
import { readBranchRequest } from "../../src/domain/branches/branch-request.ts"
import { engines } from "../../src/domain/branches/engines.ts"
import { asObjects, at } from "../../src/domain/json.ts"
import type { BranchDatabaseSpec } from "../../src/domain/resources/branches/branch-database.ts"
import { branchEngines, type BranchEngine } from "../../src/domain/resources/chart-switches.ts"
import { bareBranchSpec } from "../support/branch-spec.ts"

const security = readFileSync(new URL("../../docs/operating/security.md", import.meta.url), "utf8")
const page = readFileSync(new URL("../../docs/operating/branching.md", import.meta.url), "utf8")
const crd: unknown = parse(readFileSync(new URL("../../crds/branchdatabases.yaml", import.meta.url), "utf8"))

const settings = { imagePullSecrets: [], labels: {}, annotations: {}, dataLimit: "1Gi", stagingLimit: "1Gi" }
const owner = { apiVersion: "v1", kind: "BranchDatabase", name: "b", uid: "u" }
const spec: BranchDatabaseSpec = {
  ...bareBranchSpec,
  dynamodbOptions: { copy: { mode: "empty" } }
}

/** The row of an engine, as the page has it. */
const rowOf = (engine: BranchEngine): string => {
  const { block, dialect, modes, name } = engines[engine]
  const made = dialect === undefined ? "refused" : `\`${dialect.repository}:${dialect.version}\``
  const cells = [name, `\`${engine}\``, `\`${block}\``, modes.map((mode) => `\`${mode}\``).join(", "), made]
  return `| ${cells.join(" | ")} |`
}

/** The modes that the API server lets a field have; `undefined` if the engine copies nothing. */
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

describe("the NetworkPolicy of branches", () => {
  it("chooses their pods by the labels that these have", () => {
    const [, policy = ""] = /^### Branches of databases$.*?^```yaml$(.*?)^```$/msu.exec(security) ?? []
    const selector = at(parse(policy), "spec", "podSelector")
    const request = Result.getOrThrow(readBranchRequest(spec))
    const pod = Result.getOrThrow(
      branchPod(settings, {
        name: "b",
        namespace: "shop",
        owner,
        request,
        programs: programsOf(request.dialect),
        digest: "",
        template: {},
        container: undefined
      })
    )
    const labels = at(pod, "metadata", "labels")
    expect(labels).toMatchObject(at(selector, "matchLabels") as object)
    for (const { key } of asObjects(at(selector, "matchExpressions"))) expect(labels).toHaveProperty([String(key)])
  })
})
