import fc from "fast-check"
import { Result } from "effect"
import { expect, it } from "vitest"
import { type ConfigurationDocument, parseFleetConfiguration } from "../../src/domain/fleet/parse-configuration.ts"
import { sha256Hex } from "../../src/app/sha256-hex.ts"
import { Chart, Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { configurationOf } from "./operator-configuration.ts"
import { credentialsSecretName, clusterName } from "../../src/domain/fleet/cluster-name.ts"
import { at } from "./json.ts"

/** Values of `operator.multiCluster` as far as they decide whether the operator starts. */
interface MultiCluster {
  readonly [field: string]: unknown
  readonly clusters: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const parsed = (value: unknown): ConfigurationDocument => ({ _tag: "Parsed", value })

/** A scalar as the published templates print it in quotes. */
const quoted = (value: unknown): string | undefined => (value === undefined || value === null ? undefined : String(value))
const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== "" && value !== false && value !== 0

/** The two files that the published chart makes of the values, written down once more and without a look at whether they are right. */
const publishedFiles = (multiCluster: MultiCluster): Parameters<typeof parseFleetConfiguration>[0] => {
  const seconds = (value: unknown): unknown => (typeof value === "string" && /^[1-9]\d*$/u.test(value) ? Number(value) : value === "" || value === "0" ? 0 : value)
  const truth = (value: unknown): unknown => (value === "true" ? true : value === "false" || value === "" || value === null ? false : value)
  const entries = Object.entries(multiCluster.clusters).map(([name, cluster]) => ({
    name,
    server: quoted(cluster["server"]),
    authType: quoted(cluster["authType"]),
    ...(isSet(cluster["isDefault"]) ? { isDefault: cluster["isDefault"] } : {})
  }))
  return {
    multiCluster: parsed({
      clusterName: quoted(multiCluster["clusterName"]) || "primary",
      defaultCluster: quoted(multiCluster["defaultCluster"]) ?? "",
      managementOnly: multiCluster["managementOnly"] === undefined ? true : truth(multiCluster["managementOnly"]),
      remoteSessionTimeoutSecs: seconds(multiCluster["remoteSessionTimeoutSecs"]),
      sessionTtlSecs: seconds(multiCluster["sessionTtlSecs"]),
      sessionStart: multiCluster["sessionStart"] === "" ? undefined : multiCluster["sessionStart"]
    }),
    clusters: entries.length === 0 ? { _tag: "Absent" } : parsed({ clusters: entries })
  }
}

const names = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", "b", "hub", "primary", "Prod_EU", "prod_eu", `prod-eu-${sha256Hex("Prod_EU").slice(0, 6)}`, "Zürich", "12", "a.b", "x".repeat(64)) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }) },
  { weight: 1, arbitrary: fc.constantFrom(" ", "\u00a0", "\ufeff", "a\nb", "\u0085", "y".repeat(253), "y".repeat(254), "𝒳".repeat(126), "𝒳".repeat(127), "é".repeat(253)) }
)
const mostly = <A>(usual: fc.Arbitrary<A>, odd: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: odd })
const cluster = fc.record(
  {
    authType: mostly(fc.constantFrom("bearerToken", "eks", "aks", "mtls"), fc.constantFrom("", "token", "EKS", 1, true, null)),
    server: mostly(fc.constantFrom("https://a.example.com", "nowhere"), fc.constantFrom("", " ", "\ufeff", 5, false, null)),
    isDefault: mostly(fc.constantFrom(false, "", null), fc.constantFrom(true, "true", "false", "yes", 1, 0))
  },
  { requiredKeys: ["authType", "server"] }
)
const multiClusters = fc.record(
  {
    clusters: fc.dictionary(names, cluster, { maxKeys: 3 }),
    clusterName: mostly(fc.constantFrom("hub", "Prod_EU", ""), fc.oneof(names, fc.constantFrom(null, 7))),
    defaultCluster: mostly(fc.constantFrom("", "a", "hub"), fc.oneof(names, fc.constantFrom(null, 12))),
    managementOnly: mostly(fc.boolean(), fc.constantFrom("true", "false", "", null, "no", 1, 0)),
    remoteSessionTimeoutSecs: mostly(fc.nat(), fc.constantFrom(0, null, -1, 1.5, "60", "0", "5m", 9007199254740991, 1_000_000)),
    sessionTtlSecs: mostly(fc.nat(100), fc.constantFrom(0, null, -5, 0.1, "", "90", 1e15)),
    sessionStart: mostly(fc.constantFrom("default", "all"), fc.constantFrom("", null, "any"))
  },
  { requiredKeys: ["clusters"] }
)

describeHelm("helm and the operator", (helm) => {
  const chart = new Chart(helm)

  it("refuse the same values, and Secrets are where the operator looks for them", async () => {
    let [accepted, refused] = [0, 0]
    await fc.assert(
      fc.asyncProperty(multiClusters, async (multiCluster) => {
        const wanted = parseFleetConfiguration(publishedFiles(multiCluster as MultiCluster), sha256Hex)
        const withTokens = Object.fromEntries(Object.entries(multiCluster.clusters).map(([name, one]) => [name, { ...one, bearerToken: "token" }]))
        const result = await chart.try({ values: { operator: { multiCluster: { ...multiCluster, enabled: true, clusters: withTokens } } } })
        if (!(result instanceof Rendered)) {
          refused++
          expect(result.sentences.length > 0 ? "sentences" : result.text).toBe("sentences")
          expect(Result.isFailure(wanted) ? "refused" : `started, but helm says: ${result.sentences.join("; ")}`).toBe("refused")
          return
        }
        accepted++
        expect(Result.isFailure(wanted) ? wanted.failure.map(({ message }) => message) : []).toEqual([])
        const files = configurationOf(result)
        const fleet = files === undefined ? undefined : parseFleetConfiguration(files, sha256Hex)
        expect(fleet).toEqual(wanted)
        const secrets = result.ofKind("Secret").map((secret) => at(secret, "metadata", "name"))
        expect(secrets.toSorted()).toEqual(
          Object.keys(multiCluster.clusters)
            .map((name) => credentialsSecretName(clusterName(name), sha256Hex))
            .toSorted()
        )
      }),
      { numRuns: 150 }
    )
    // A generator that makes only one of the two would show nothing.
    expect(Math.min(accepted, refused)).toBeGreaterThan(10)
  })
})
