import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ConfigProvider, Effect } from "effect"
import { beforeAll, expect, it } from "vitest"
import { parse } from "yaml"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { readSettings } from "../../src/app/operator/settings.ts"
import { changedAt, defaults, leavesOf, manyFeatures, merged, type ValuePath } from "./chart-values.ts"
import { Chart, chartFolder, type Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asText, at } from "./json.ts"

/** Values whose lines of NOTES have a test each in notes.test.ts. */
const withoutEffect = asList(parse(readFileSync(join(chartFolder, "files/values-without-effect.yaml"), "utf8"))).map(
  (row) => asText(at(row, "path"))
)

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

/**
 * The part of an install that is read: without variables and files for which the operator does not look, custom
 * resources, and the class that agents do not use.
 */
const whatIsRead = (rendered: Rendered, variables: ReadonlySet<string>): string => {
  const readFiles = ["multicluster-config.yaml", "clusters-config.yaml"]
  const objects = rendered.objects.filter(({ kind }) => kind !== "PriorityClass" && kind !== "CustomResourceDefinition")
  return JSON.stringify(objects, (key, value: unknown) => {
    if (key === "checksum/config") return undefined
    if (key === "env") return asList(value).filter((variable) => variables.has(asText(at(variable, "name"))))
    if (key === "data")
      return Object.fromEntries(
        Object.entries(value ?? {}).filter(([name]) => !name.endsWith("-config.yaml") || readFiles.includes(name))
      )
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

  const acts = async (path: ValuePath): Promise<boolean> => {
    for (const [index, company] of companies.entries())
      if ((await read(merged(company, changedAt(path)))) !== usual[index]) return true
    return false
  }

  const leaves = leavesOf(defaults).filter(
    (path) => !withoutEffect.some((row) => row === path.join(".") || path.join(".").startsWith(`${row}.`))
  )
  it.each(leaves.map((path) => ({ name: path.join("."), path })))(
    "$name changes what is read, or NOTES name it",
    async ({ name, path }) => {
      expect((await acts(path)) || (await chart.notes({ values: changedAt(path) })).includes(name)).toBe(true)
    }
  )
})
