import { readFileSync } from "node:fs"
import { beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { memoryProblem } from "../../src/domain/server/memory-limit.ts"
import { nested } from "./chart-values.ts"
import { Chart, Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { merged } from "./merged.ts"
import { advisedLeaves } from "./values-schema.ts"

interface Refusal {
  readonly name: string
  readonly values: object
  /** All that helm has to say about the values, in its order. */
  readonly sentences: ReadonlyArray<string>
}
const refusals = parse(readFileSync(new URL("refusals.yaml", import.meta.url), "utf8")) as ReadonlyArray<Refusal>

const mebibyte = 1_048_576

describeHelm("values that do not install", (helm) => {
  const chart = new Chart(helm)

  beforeAll(() => chart.prepare(refusals))

  it.each(refusals)("$name", async ({ sentences, values }) => {
    const result = await chart.try({ values })
    expect(result instanceof Rendered ? ["it installs"] : result.sentences).toEqual(sentences)
  })

  it("are refused by helm template alone and by helm lint as well, with the same sentences", async () => {
    for (const { sentences, values } of refusals.filter(({ name }) => /many mistakes|wrong kind/u.test(name))) {
      expect(await new Chart(helm).try({ values })).toMatchObject({ sentences })
      expect(await chart.lint(values)).toEqual({ failed: true, sentences })
    }
    expect(await chart.lint({})).toEqual({ failed: false, sentences: [] })
  })

  it("are any values of a wrong kind, and the schema advises against the same", async () => {
    const odd = [{ a: 1 }, [{ a: 1 }], "no such thing!", -1, 0.5, "", 7, true]
    let refused = 0
    // Records of use in PostgreSQL, whose Secret is named here as well, have no claim.
    const together = advisedLeaves.filter(({ path }) => path.join(".") !== "usage.persistence.existingClaim")
    for (const value of odd) {
      const judged = together.map((leaf) => ({ ...leaf, isRight: leaf.advises(value) }))
      const wrong = judged.filter(({ isRight }) => !isRight).map(({ path }) => path.join("."))
      const result = await chart.try({ values: judged.map(({ path }) => nested(path, value)).reduce(merged) })
      const sentences = result instanceof Rendered ? [] : result.sentences
      const paths = new Set(sentences.map((sentence) => sentence.split(": ")[0]?.replaceAll('"', "") ?? ""))
      expect([value, [...paths].toSorted()]).toEqual([value, wrong.toSorted()])
      refused += wrong.length
    }
    expect(refused).toBeGreaterThan(300)
  })

  it.each([
    ["128Mi", 128 * mebibyte],
    ["127.999Mi", 127.999 * mebibyte],
    ["131072Ki", 128 * mebibyte],
    ["131071Ki", 131_071 * 1_024],
    [".125Gi", 128 * mebibyte],
    ["0.12Gi", 0.12 * 1_024 * mebibyte],
    ["135M", 135e6],
    ["134M", 134e6],
    ["134217.728k", 128 * mebibyte],
    ["0.1G", 1e8],
    ["1T", 1e12],
    ["1E", 1e18],
    ["2e8", 2e8],
    ["1E8", 1e8],
    ["134217728", 128 * mebibyte],
    ["134217727000m", 134_217_727],
    [134_217_727, 134_217_727],
    [134_217_728, 128 * mebibyte],
    [512, 512]
  ])("a memory limit of %s is refused by the chart where the operator would refuse it", async (memory, bytes) => {
    const result = await chart.try({ values: { operator: { limits: { memory } } } })
    expect(result instanceof Rendered).toBe(memoryProblem(bytes) === undefined)
  })

  describe("what may come later, or what is not looked at", () => {
    const bearer = { authType: "bearerToken", server: "https://a.example.com" }
    it.each([
      [
        "no credentials, CA or region",
        {
          defaultCluster: "a",
          clusters: {
            a: bearer,
            b: { ...bearer, authType: "eks" },
            c: { ...bearer, authType: "aks" },
            d: { ...bearer, authType: "mtls" }
          }
        }
      ],
      ["half a key pair", { defaultCluster: "a", clusters: { a: { ...bearer, authType: "mtls", tlsCrt: "x" } } }],
      ["a default cluster without clusters", { defaultCluster: "later" }],
      ["no cluster", {}],
      [
        "the primary as default with workloads",
        { managementOnly: false, defaultCluster: "primary", clusters: { a: bearer } }
      ],
      ["isDefault that agrees", { defaultCluster: "a", clusters: { a: { ...bearer, isDefault: true } } }],
      [
        "isDefault: false everywhere",
        { defaultCluster: "a", clusters: { a: { ...bearer, isDefault: false }, b: { ...bearer, isDefault: "false" } } }
      ],
      ["unknown keys", { later: 1, defaultCluster: "a", clusters: { a: { ...bearer, later: 1 } } }]
    ])("%s installs", async (_, multiCluster) => {
      expect(
        await chart.try({ values: { operator: { multiCluster: { enabled: true, ...multiCluster } } } })
      ).toBeInstanceOf(Rendered)
    })

    it("mistakes of a primary that is off install", async () => {
      expect(
        await chart.try({
          values: { operator: { multiCluster: { enabled: false, clusters: { a: { authType: "x" } } } } }
        })
      ).toBeInstanceOf(Rendered)
    })

    it("every conflict of licence values installs", async () => {
      const license = {
        key: "a",
        keyRef: "b",
        keyGsmRef: "c",
        pemRef: "d",
        pemGsmRef: "e",
        gsmRef: "f",
        file: { data: { "license.pem": "g" } }
      }
      expect(
        await chart.try({ values: { license, cloud: { apiKey: { key: "a", keyRef: "b", gsmRef: "c" } } } })
      ).toBeInstanceOf(Rendered)
    })
  })
})
