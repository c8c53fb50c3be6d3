import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ConfigProvider, Effect } from "effect"
import { beforeAll, expect, it } from "vitest"
import { parse } from "yaml"
import { readSettings } from "../../src/app/operator/settings.ts"
import { sha256Hex } from "../../src/app/sha256-hex.ts"
import { Chart, chartFolder, type Rendered } from "./chart.ts"
import { another, defaults, leavesOf, manyFeatures, merged, nested, type ValuePath } from "./chart-values.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asText, at } from "./json.ts"

/** Values whose lines of NOTES have a test each in notes.test.ts. */
const withoutEffect = asList(parse(readFileSync(join(chartFolder, "files/values-without-effect.yaml"), "utf8"))).map((row) => asText(at(row, "path")))

/** Another value than the default, where not any value will do. */
const others: Readonly<Record<string, unknown>> = {
  roleNamespaces: ["default"],
  extraObjects: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other" } }],
  "operator.port": 8443,
  "operator.extraEnv": { OPERATOR_ADDR: "0.0.0.0:8443" },
  "operator.multiCluster.defaultCluster": "a",
  "operator.multiCluster.sessionStart": "all",
  "operator.multiCluster.clusters": { b: { server: "https://b.example.com", authType: "mtls" } },
  "agent.port": 5000,
  "agent.extraConfig": { namespace: "agents" }
}

/** One of these is beside a value that does nothing alone. */
const companies: ReadonlyArray<object> = [
  {},
  manyFeatures,
  { tls: { certManager: { enabled: true } } },
  { tls: { data: { "tls.key": "key" } } },
  { tls: { apiService: { insecureSkipTLSVerify: false } } }
]

/** Variables for which the operator looks at its start. */
const readVariables = async (): Promise<ReadonlySet<string>> => {
  const names = new Set<string>()
  const provider = ConfigProvider.make((path) => {
    names.add(path.join("_"))
    return Effect.succeed(undefined)
  })
  await Effect.runPromise(readSettings(sha256Hex).pipe(Effect.provideService(ConfigProvider.ConfigProvider, provider)))
  return names
}

/** What somebody reads of an install: without variables and files that the operator does not look for, kinds and the class that agents do not use. */
const whatIsRead = (rendered: Rendered, variables: ReadonlySet<string>): string => {
  const readFiles = ["multicluster-config.yaml", "clusters-config.yaml"]
  const objects = rendered.objects.filter(({ kind }) => kind !== "PriorityClass" && kind !== "CustomResourceDefinition")
  return JSON.stringify(objects, (key, value: unknown) => {
    if (key === "checksum/config") return undefined
    if (key === "env") return asList(value).filter((variable) => variables.has(asText(at(variable, "name"))))
    if (key === "data") return Object.fromEntries(Object.entries(value ?? {}).filter(([name]) => !name.endsWith("-config.yaml") || readFiles.includes(name)))
    return value
  })
}

describeHelm("a value of the chart that is changed", (helm) => {
  const chart = new Chart(helm)
  let variables: ReadonlySet<string>
  let usual: ReadonlyArray<string>
  const read = async (values: object): Promise<string> => whatIsRead(await chart.render({ values }), variables)
  beforeAll(async () => {
    variables = await readVariables()
    usual = await Promise.all(companies.map(read))
  })

  const changed = (path: ValuePath): object => nested(path, others[path.join(".")] ?? another(at(defaults, ...path)))
  const acts = async (path: ValuePath): Promise<boolean> => {
    for (const [index, company] of companies.entries()) if ((await read(merged(company, changed(path)))) !== usual[index]) return true
    return false
  }

  const leaves = leavesOf(defaults).filter((path) => !withoutEffect.some((row) => row === path.join(".") || path.join(".").startsWith(`${row}.`)))
  it.each(leaves.map((path) => ({ name: path.join("."), path })))("$name changes what is read, or NOTES name it", async ({ name, path }) => {
    expect((await acts(path)) || (await chart.notes({ values: changed(path) })).includes(name)).toBe(true)
  })

  it("is one that there is", () => {
    const names = leaves.map((path) => path.join("."))
    expect(Object.keys(others).filter((name) => !names.includes(name))).toEqual([])
  })
})
