import { readFileSync } from "node:fs"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { ConfigProvider, Effect, Result } from "effect"
import { beforeAll, expect, it } from "vitest"
import { parse } from "yaml"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { readSettings } from "../../src/app/operator/settings.ts"
import { agentFields as knownFields } from "../../src/domain/agents/agent-fields.ts"
import { agentOf } from "./agent-of.ts"
import { changedAt, defaults, leavesOf, manyFeatures, pathOf } from "./chart-values.ts"
import { Chart, chartFolder, type KubernetesObject, Rendered, type RenderOptions } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asText, at } from "./json.ts"
import { merged } from "./merged.ts"
import { settingsOf } from "./operator-settings.ts"

/** Values whose lines of NOTES have a test each in notes.test.ts. */
const withoutEffect = asList(parse(readFileSync(join(chartFolder, "files/values-without-effect.yaml"), "utf8"))).map(
  (row) => asText(at(row, "path"))
)

/** One of these is beside a value that does nothing alone. */
const companies: ReadonlyArray<object> = [
  {},
  manyFeatures,
  { operator: { metrics: true } },
  { dashboard: { enabled: true }, usage: { postgres: { secret: "records" } } },
  { operator: { multiCluster: { enabled: true, managementOnly: false } } },
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

/** The part of an install that each reader gets, by the reader's name. */
type Readings = ReadonlyMap<string, unknown>

const operatorsPod = "Deployment/mirrord/mirrord-operator"
/** The pods that are made from the operator's image. */
const pods = [operatorsPod, "Job/mirrord/mirrord-cleanup", "Pod/mirrord/mirrord-doctor"]

/** Readers that a value must reach, all of them; for any other value one reader is enough. */
const neededReaders = (name: string): ReadonlyArray<string> => {
  if (name === "operator.imagePullSecrets") return [...pods, "agents"]
  if (/^operator\.(image|imageTag|imagePullPolicy|tolerations|nodeSelector)$/u.test(name)) return pods
  if (/^agent\.priorityClass\.(?!name$)/u.test(name)) return ["PriorityClass/mirrord-agent-pod"]
  if (name.startsWith("agent.")) return ["agents"]
  return /^(bounds|targets|operator\.multiCluster)\./u.test(name) ? ["operator"] : []
}

/**
 * An object as its reader in Kubernetes takes it. The operator's files and its variables, but for those of Secrets, are
 * left out: the operator reads them itself, and files and variables for which it does not look have no reader.
 */
const asRead = (name: string, object: KubernetesObject, variables: ReadonlySet<string>): unknown =>
  JSON.parse(
    JSON.stringify(object, (key, value: unknown) => {
      if (key === "checksum/config") return undefined
      if (key === "data" && name.endsWith("/mirrord-configmap")) return undefined
      if (key !== "env") return value
      const known = asList(value).filter((one) => variables.has(asText(at(one, "name"))))
      return name === operatorsPod ? known.filter((one) => at(one, "valueFrom", "secretKeyRef") !== undefined) : known
    })
  )

/** Nobody reads the custom resources' definitions for these values. */
const unread = ["CustomResourceDefinition"]

const readingsOf = async (rendered: Rendered, variables: ReadonlySet<string>): Promise<Readings> =>
  new Map([
    ["operator", Result.getOrThrow(await settingsOf(rendered))],
    ["agents", await agentOf(rendered)],
    ...rendered.objects
      .filter(({ kind }) => !unread.includes(asText(kind)))
      .map((object): [string, unknown] => {
        const name = Rendered.nameOf(object)
        return [name, asRead(name, object, variables)]
      })
  ])

/** Fields of the client's own configuration of agents, which are those of `agent.extraConfig`, with a value each. */
const agentFields: Readonly<Record<string, unknown>> = {
  annotations: { note: "a" },
  check_out_of_pods: true,
  clean_iptables_on_start: true,
  communication_timeout: 5,
  disable_mesh_sidecar_injection: false,
  disabled_capabilities: ["NET_ADMIN"],
  dns: { timeout: 5, attempts: 5 },
  ephemeral: true,
  exclude_from_mesh: true,
  external_ip_fix: false,
  flush_connections: false,
  http_detection_timeout: 5,
  image: "registry.example.com/agent:1",
  image_pull_policy: "Never",
  image_pull_secrets: [{ name: "registry" }],
  inject_headers: false,
  jaq_time_limit: 5,
  json_log: true,
  labels: { team: "a" },
  log_level: "trace",
  max_body_buffer_size: 1_000_000,
  max_body_buffer_timeout: 5,
  metrics: "0.0.0.0:9000",
  namespace: "agents",
  nftables: true,
  node_selector: { pool: "a" },
  override_cache_control: false,
  priority_class: "high",
  priority_class_name: "high",
  privileged: true,
  resources: { limits: { memory: "1Gi" } },
  security_context: { seccomp_profile: { type: "RuntimeDefault" } },
  service_account: "agent",
  startup_timeout: 5,
  tolerations: [{ key: "a", operator: "Exists" }],
  ttl: 5
}
/** Fields of these that act on agents through the operator alone. */
const ofTheOperator = ["check_out_of_pods", "startup_timeout"]
/** Fields that act on ephemeral agents alone. */
const ofEphemeralAgents = ["exclude_from_mesh"]
/** Fields of a pod, or of a Job, which an ephemeral agent does not have. */
const ofJobs = [
  "annotations",
  "check_out_of_pods",
  "disable_mesh_sidecar_injection",
  "image_pull_secrets",
  "labels",
  "namespace",
  "node_selector",
  "priority_class",
  "priority_class_name",
  "resources",
  "security_context",
  "service_account",
  "tolerations",
  "ttl"
]

/** The leaves of the values that have to act. */
const leaves = leavesOf(defaults)
  .map((path) => ({ name: path.join("."), path }))
  .filter(({ name }) => !withoutEffect.some((row) => row === name || name.startsWith(`${row}.`)))

const changedBeside = (company: number, changed: object): RenderOptions => ({
  values: merged(companies[company] ?? {}, changed)
})
const withField = (field: string, value: unknown): RenderOptions => ({
  values: { agent: { extraConfig: { [field]: value } } }
})
const ephemeral: RenderOptions = { values: { agent: { extraConfig: { ephemeral: true } } } }
const ephemeralWith = (field: string, value: unknown): RenderOptions => ({
  values: { agent: { extraConfig: { ephemeral: true, [field]: value } } }
})
const ofEphemeral = Object.entries(agentFields).filter(([field]) => field !== "ephemeral")

describeHelm("a value of the chart that is changed", (helm) => {
  const chart = new Chart(helm)
  let variables: ReadonlySet<string>
  let usual: ReadonlyArray<Readings>
  const read = async (options: RenderOptions): Promise<Readings> => readingsOf(await chart.render(options), variables)

  /** Readers that get something else because of the values, beside a company, one of `companies`; none of a refusal. */
  const readersOf = async (values: object, company = 0): Promise<ReadonlyArray<string>> => {
    const before = usual[company] ?? new Map<string, unknown>()
    const result = await chart.try(changedBeside(company, values))
    if (!(result instanceof Rendered)) return []
    const after = await readingsOf(result, variables)
    const all = new Set([...before.keys(), ...after.keys()])
    return [...all].filter((reader) => !isDeepStrictEqual(before.get(reader), after.get(reader)))
  }
  const isEnough = (name: string, readers: ReadonlyArray<string>): boolean =>
    readers.length > 0 && neededReaders(name).every((reader) => readers.includes(reader))
  /** By the name of a value, its readers beside each company in turn, up to the one beside which it reaches all. */
  const readers = new Map<string, ReadonlyArray<ReadonlyArray<string>>>(leaves.map(({ name }) => [name, []]))
  const tryAll = async (): Promise<void> => {
    for (const company of companies.keys()) {
      const idle = leaves.filter(({ name }) => !isEnough(name, readers.get(name)?.at(-1) ?? []))
      await chart.prepare(idle.map(({ path }) => changedBeside(company, changedAt(path))))
      for (const { name, path } of idle)
        readers.set(name, [...(readers.get(name) ?? []), await readersOf(changedAt(path), company)])
    }
  }

  beforeAll(async () => {
    variables = await readVariables()
    await chart.prepare(companies.map((_, company) => changedBeside(company, {})))
    usual = await Promise.all(companies.map((_, company) => read(changedBeside(company, {}))))
    await tryAll()
    const fields = Object.entries(agentFields).map(([field, value]) => withField(field, value))
    await chart.prepare([...fields, ...ofEphemeral.map(([field, value]) => ephemeralWith(field, value))], {
      notes: true
    })
  })

  it.each(leaves)("$name reaches its readers", ({ name }) => {
    const seen = readers.get(name) ?? []
    if (isEnough(name, seen.at(-1) ?? [])) return
    expect.fail(`${name} must reach ${neededReaders(name).join(", ") || "anybody"}; it reaches ${JSON.stringify(seen)}`)
  })

  it("gives developers rights and reaches nobody else if NOTES name it", async () => {
    const changed = withoutEffect.map((row) => changedAt(pathOf(row))).reduce(merged)
    await chart.prepare(companies.map((_, company) => changedBeside(company, changed)))
    const reached = await Promise.all(companies.map((_, company) => readersOf(changed, company)))
    // The published roles have more rights with some features.
    const roles = ["ClusterRole/mirrord-operator-ci", "ClusterRole/mirrord-operator-user"]
    expect(new Set(reached.flat())).toEqual(new Set(roles))
  })

  it("are tried with every field of the table of agents' settings", () => {
    expect(Object.keys(agentFields)).toEqual(Object.keys(knownFields))
  })

  const readerOf = (field: string): string => (ofTheOperator.includes(field) ? "operator" : "agents")
  /** Whether the reader of a field gets something else with it, and whether NOTES name it. */
  const outcomeOf = async (field: string, without: RenderOptions, with_: RenderOptions) => {
    const [before, after] = [await read(without), await read(with_)]
    return {
      reached: !isDeepStrictEqual(before.get(readerOf(field)), after.get(readerOf(field))),
      noted: (await chart.notes(with_)).includes(`  agent.extraConfig.${field}: `)
    }
  }

  // Each field alone: beside another one any of them would seem to be read.
  it.each(Object.entries(agentFields))(
    "agent.extraConfig.%s reaches agents, or NOTES name it",
    async (field, value) => {
      const isIdle = ofEphemeralAgents.includes(field)
      expect(await outcomeOf(field, { values: {} }, withField(field, value))).toEqual({
        reached: !isIdle,
        noted: isIdle
      })
    }
  )

  it.each(ofEphemeral)("agent.extraConfig.%s reaches ephemeral agents, or NOTES name it", async (field, value) => {
    const { noted, reached } = await outcomeOf(field, ephemeral, ephemeralWith(field, value))
    const isOfJobs = ofJobs.includes(field)
    // The operator reads it, and asks no node for an ephemeral agent.
    expect({ reached: reached && field !== "check_out_of_pods", noted }).toEqual({
      reached: !isOfJobs,
      noted: isOfJobs
    })
  })
})
