import { describe, expect, it } from "vitest"
import { Chart, Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { refusals } from "./refusals.ts"

describeHelm("values that do not install", (helm) => {
  const chart = new Chart(helm)

  it.each(refusals)("$name", async ({ sentences, values }) => {
    const result = await chart.try({ values })
    expect(result instanceof Rendered ? ["it installs"] : result.sentences).toEqual(sentences)
  })

  describe("what may come later, or what is not looked at", () => {
    const bearer = { authType: "bearerToken", server: "https://a.example.com" }
    it.each([
      [
        "no credentials, CA or region",
        {
          clusters: {
            a: bearer,
            b: { ...bearer, authType: "eks" },
            c: { ...bearer, authType: "aks" },
            d: { ...bearer, authType: "mtls" }
          }
        }
      ],
      ["half a key pair", { clusters: { a: { ...bearer, authType: "mtls", tlsCrt: "x" } } }],
      ["a CA that is none", { clusters: { a: { ...bearer, caData: "x" } } }],
      ["a server that is no URL", { clusters: { a: { ...bearer, server: "nowhere" } } }],
      ["a default cluster without clusters", { defaultCluster: "later" }],
      ["no default cluster", { clusters: { a: bearer, b: bearer } }],
      [
        "the primary as default with workloads",
        { managementOnly: false, defaultCluster: "primary", clusters: { a: bearer } }
      ],
      ["isDefault that agrees", { defaultCluster: "a", clusters: { a: { ...bearer, isDefault: true } } }],
      [
        "isDefault: false everywhere",
        { clusters: { a: { ...bearer, isDefault: false }, b: { ...bearer, isDefault: "false" } } }
      ],
      ["unknown keys", { later: 1, clusters: { a: { ...bearer, later: 1 } } }]
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
