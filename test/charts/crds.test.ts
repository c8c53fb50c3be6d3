import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { Chart, chartFolder, type Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asMap, asText, at } from "./json.ts"
import { merged } from "./merged.ts"

const flags = asMap(parse(readFileSync(join(chartFolder, "files/crd-flags.yaml"), "utf8")))
const resources = readdirSync(join(chartFolder, "files/crds")).map((file) => file.replace(/\.yaml$/u, ""))
const flagsOf = (resource: string): ReadonlyArray<string> => asList(flags[resource]).map(asText)
const allFlags = [...new Set(Object.keys(flags).flatMap(flagsOf))].toSorted()

const nested = (path: string, value: unknown): object =>
  path.split(".").reduceRight<unknown>((below, key) => ({ [key]: below }), value) as object
const plurals = (rendered: Rendered): ReadonlyArray<unknown> =>
  rendered
    .ofKind("CustomResourceDefinition")
    .map((crd) => asText(at(crd, "metadata", "name")).replace(/\..*/u, ""))
    .toSorted()

describeHelm("custom resources", (helm) => {
  const chart = new Chart(helm)

  beforeAll(() =>
    chart.prepare([
      {},
      ...allFlags.flatMap((flag) => [true, "false"].map((value) => ({ values: nested(flag, value) })))
    ])
  )

  it("without a flag are always installed, others not by default", async () => {
    expect(plurals(await chart.render({}))).toEqual(
      resources.filter((resource) => flagsOf(resource).length === 0).toSorted()
    )
  })

  describe("are installed with each of their flags, and no others", () => {
    it.each(allFlags)("%s", async (flag) => {
      const wanted = resources
        .filter((resource) => flagsOf(resource).length === 0 || flagsOf(resource).includes(flag))
        .toSorted()
      expect(plurals(await chart.render({ values: nested(flag, true) }))).toEqual(wanted)
      expect(plurals(await chart.render({ values: nested(flag, "false") }))).toEqual(plurals(await chart.render({})))
    })
  })

  it("are those of crds/, but for the annotation that keeps them", async () => {
    const rendered = await chart.render({ values: allFlags.map((flag) => nested(flag, true)).reduce(merged) })
    expect(plurals(rendered)).toEqual(resources.toSorted())
    for (const definition of rendered.ofKind("CustomResourceDefinition")) {
      const file = `${asText(at(definition, "spec", "names", "plural"))}.yaml`
      const original = parse(readFileSync(join(chartFolder, "../../crds", file), "utf8")) as unknown
      expect(definition["spec"]).toEqual(at(original, "spec"))
    }
  })

  it("have no rules for new objects alone before Kubernetes 1.30, which refuses such rules", async () => {
    const specAt = async (version: string): Promise<unknown> => {
      const values = { operator: { pgBranching: true } }
      const definition = (await chart.render({ args: ["--kube-version", version], values })).get(
        "CustomResourceDefinition",
        "branchdatabases.dbs.mirrord.metalbear.co"
      )
      return at(definition, "spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec")
    }
    const { "x-kubernetes-validations": rules, ...others } = asMap(await specAt("1.30.0"))
    expect(rules).toHaveLength(2)
    expect(await specAt("1.29.9")).toEqual(others)
  })
})
