import { Ajv } from "ajv"
import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { parseFleetConfiguration } from "../../src/domain/fleet/parse-configuration.ts"
import { asMap, at } from "./json.ts"
import { advised, valuesSchema } from "./values-schema.ts"

const multiCluster = asMap(at(valuesSchema, "properties", "operator", "properties", "multiCluster", "properties"))
const primaryFields = [
  "clusterName",
  "defaultCluster",
  "managementOnly",
  "remoteSessionTimeoutSecs",
  "sessionTtlSecs",
  "sessionStart"
]
const clusterFields = ["authType", "isDefault"]

const refusedFields = (multiClusterFile: object, entry: object): ReadonlyArray<string> => {
  const files = {
    multiCluster: { _tag: "Parsed", value: multiClusterFile },
    clusters: { _tag: "Parsed", value: { clusters: [entry] } }
  } as const
  const fleet = parseFleetConfiguration(files, sha256Hex)
  return Result.isFailure(fleet) ? fleet.failure.map(({ field }) => field) : []
}

const scalars = fc.oneof(
  fc.constantFrom<unknown>(
    "default",
    "all",
    "All",
    "bearerToken",
    "mtls",
    "eks",
    "aks",
    "EKS",
    "true",
    "false",
    "yes",
    "",
    " ",
    "\ufeff",
    "https://a.example.com",
    1,
    300,
    -1,
    0.5,
    true,
    false
  ),
  fc.jsonValue({ maxDepth: 1 })
)
/** Null and 0 mean "not set", and names have rules of their own. */
const isSet = (value: unknown): boolean => value !== null && value !== 0 && !Object.is(value, -0)

describe("values.schema.json", () => {
  it("advises for a primary's fields exactly what the operator takes", () => {
    const cluster = { name: "a", server: "https://a.example.com", authType: "mtls" }
    for (const field of primaryFields) {
      const isAdvised = advised(multiCluster[field])
      fc.assert(
        fc.property(scalars.filter(isSet), (value) => {
          fc.pre(!(typeof value === "string" && /Cluster|clusterName/u.test(field)))
          expect(refusedFields({ [field]: value }, cluster).includes(field)).toBe(!isAdvised(value))
        })
      )
    }
  })

  it("advises for a cluster's fields exactly what the operator takes", () => {
    for (const field of clusterFields) {
      const isAdvised = advised(at(multiCluster["clusters"], "additionalProperties", "properties", field))
      fc.assert(
        fc.property(
          scalars.filter((value) => value !== null),
          (value) => {
            const entry = { name: "a", server: "https://a.example.com", authType: "mtls", [field]: value }
            expect(refusedFields({}, entry).includes(`clusters[0].${field}`)).toBe(!isAdvised(value))
          }
        )
      )
    }
  })

  it("advises servers with https and certificates, as the templates want them", () => {
    const field = (name: string) => advised(at(multiCluster["clusters"], "additionalProperties", "properties", name))
    const [server, caData] = [field("server"), field("caData")]
    for (const right of ["https://a.example.com", " HTTPS://[::1]:6443/path"]) expect(server(right)).toBe(true)
    for (const wrong of ["http://a", "a:6443", "https://user@a", "https://", "", 5, {}])
      expect(server(wrong)).toBe(false)
    const pem = "-----BEGIN CERTIFICATE-----"
    for (const text of [pem, `# note\n${pem}`, `#\n${pem}`, `##\n${pem}`]) {
      expect(caData(text)).toBe(true)
      expect(caData(Buffer.from(text).toString("base64"))).toBe(true)
    }
    for (const wrong of ["not base64 at all!", "bm90IGEgY2VydGlmaWNhdGU=", 5, []]) expect(caData(wrong)).toBe(false)
  })

  it("refuses nothing by itself, as the templates say more about a mistake", () => {
    const validate = new Ajv({ strict: false }).compile(asMap(valuesSchema))
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...primaryFields), scalars),
        fc.dictionary(fc.constantFrom("server", "caData", ...clusterFields), scalars),
        (primary, cluster) => {
          expect(validate({ operator: { multiCluster: { ...primary, clusters: { a: cluster } } } })).toBe(true)
        }
      )
    )
  })
})
