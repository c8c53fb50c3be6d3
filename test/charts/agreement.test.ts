import { Result } from "effect"
import fc from "fast-check"
import { expect, it } from "vitest"
import { stringify } from "yaml"
import { settingCards } from "../../src/app/kernel/setting-values.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { parseAgentConfiguration } from "../../src/domain/agents/agent-configuration.ts"
import { agentFields, type Shape } from "../../src/domain/agents/agent-fields.ts"
import type { Setting } from "../../src/domain/catalogue/setting.ts"
import { parseAccessProviders } from "../../src/domain/fleet/access-providers.ts"
import { credentialsSecretName, clusterName } from "../../src/domain/fleet/cluster-name.ts"
import { type ConfigurationDocument, parseFleetConfiguration } from "../../src/domain/fleet/parse-configuration.ts"
import { clusterProviders } from "../../src/domain/fleet/provided-clusters.ts"
import { asArray, asObject } from "../../src/domain/json.ts"
import { Chart, Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { at } from "./json.ts"
import { settingsFrom, settingsOf } from "./operator-settings.ts"

/** Values of `operator.multiCluster` as far as they decide whether the operator starts. */
interface MultiCluster {
  readonly [field: string]: unknown
  readonly clusters: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const parsed = (value: unknown): ConfigurationDocument => ({ _tag: "Parsed", value })

/** A scalar as the published templates print it in quotes. */
const quoted = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : String(value)
const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== "" && value !== false && value !== 0

/**
 * The two files that the published chart makes of the values, written down once more and without a look at whether they
 * are right.
 */
const publishedFiles = (multiCluster: MultiCluster): Parameters<typeof parseFleetConfiguration>[0] => {
  const seconds = (value: unknown): unknown =>
    typeof value === "string" && /^[1-9]\d*$/u.test(value) ? Number(value) : value === "" || value === "0" ? 0 : value
  const truth = (value: unknown): unknown =>
    value === "true" ? true : value === "false" || value === "" || value === null ? false : value
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
    clusters: entries.length === 0 ? { _tag: "Absent" } : parsed({ clusters: entries }),
    findsClusters: asArray(multiCluster["providers"]).length > 0
  }
}

const names = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      "a",
      "a-refreshed",
      "b",
      "hub",
      "primary",
      "Prod_EU",
      "prod_eu",
      `prod-eu-${sha256Hex("Prod_EU").slice(0, 6)}`,
      "Zürich",
      "12",
      "a.b",
      "x".repeat(64)
    )
  },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      " ",
      "\u00a0",
      "\ufeff",
      "a\nb",
      "\u0085",
      "y".repeat(253),
      "y".repeat(254),
      "𝒳".repeat(126),
      "𝒳".repeat(127),
      "é".repeat(253)
    )
  }
)
const mostly = <A>(usual: fc.Arbitrary<A>, odd: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: odd })
const cluster = fc.record(
  {
    authType: mostly(
      fc.constantFrom("bearerToken", "eks", "aks", "mtls"),
      fc.constantFrom("", "token", "EKS", 1, true, null)
    ),
    server: mostly(fc.constant("https://a.example.com"), fc.constantFrom("", " ", "\ufeff", null)),
    isDefault: mostly(fc.constantFrom(false, "", null), fc.constantFrom(true, "true", "false", "yes", 1, 0))
  },
  { requiredKeys: ["authType", "server"] }
)
const accessProvider = mostly(
  fc.record(
    {
      name: mostly(fc.constantFrom("a", "b"), fc.constantFrom("", null, 7)),
      profileSourcedCLIArgsPolicy: fc.constantFrom(null, "Ignore", "Append"),
      profileSourcedEnvVarsPolicy: fc.constantFrom("Ignore", "Replace"),
      execConfig: mostly(
        fc.record(
          {
            apiVersion: mostly(fc.constant("client.authentication.k8s.io/v1"), fc.constantFrom(null, "v1", 1)),
            command: mostly(fc.constantFrom("/p", "p"), fc.constantFrom("./p", "a/b", "", null, 7)),
            args: mostly(fc.constantFrom(null, [], ["a"], ["1", "yes"]), fc.constantFrom("a", [1], [null])),
            env: mostly(
              fc.constantFrom(null, [], [{ name: "A", value: "1" }], [{ name: "A" }]),
              fc.constantFrom({}, ["A"], [{ name: "A=B", value: "" }], [{ name: "A", value: null }], [{ value: "" }])
            ),
            provideClusterInfo: mostly(fc.constantFrom(true, false, null), fc.constantFrom("true", 1)),
            interactiveMode: mostly(fc.constantFrom("Never", "IfAvailable"), fc.constantFrom("Always", "", 1)),
            config: fc.constant({})
          },
          { requiredKeys: ["apiVersion", "command"] }
        ),
        fc.constantFrom(null, "p", [])
      )
    },
    { requiredKeys: ["name", "execConfig"] }
  ),
  fc.constantFrom("a", null, [])
)
const multiClusters = fc.record(
  {
    clusters: fc.dictionary(names, cluster, { maxKeys: 3 }),
    clusterName: mostly(fc.constantFrom("hub", "Prod_EU", ""), fc.oneof(names, fc.constantFrom(null, 7))),
    defaultCluster: mostly(fc.constantFrom("", "a", "hub"), fc.oneof(names, fc.constantFrom(null, 12))),
    managementOnly: mostly(fc.boolean(), fc.constantFrom("true", "false", "", null, "no", 1, 0)),
    remoteSessionTimeoutSecs: mostly(
      fc.nat(),
      fc.constantFrom(0, null, -1, 1.5, "60", "0", "5m", 9007199254740991, 1_000_000)
    ),
    sessionTtlSecs: mostly(fc.nat(100), fc.constantFrom(0, null, -5, 0.1, "", "90", 1e15)),
    sessionStart: mostly(fc.constantFrom("default", "all"), fc.constantFrom("", null, "any")),
    providers: fc.constantFrom(
      [],
      null,
      ["kubeconfigSecrets"],
      ["clusterApi", "kubeconfigSecrets"],
      ["clusterProfile"]
    ),
    clusterApiNamespace: fc.constantFrom(null, "", "clusters", 7),
    clusterProfileNamespace: fc.constantFrom(null, "", "inventory", 7)
  },
  { requiredKeys: ["clusters"] }
)

const member = { server: "https://a.example.com", authType: "mtls" }
/** Values that are right in `operator.multiCluster`, as far as no variable makes them wrong. */
const rightMultiClusters: ReadonlyArray<MultiCluster> = [
  { enabled: false, clusters: {} },
  { enabled: true, clusters: {} },
  { enabled: true, defaultCluster: "a", clusters: { a: member } },
  { enabled: true, managementOnly: false, defaultCluster: "primary", clusters: { a: member } }
]

const truths = mostly(
  fc.constantFrom("true", "no", "on", "0", true, false, 1),
  fc.constantFrom("True", "maybe", " yes", 2, -1)
)
const addresses = mostly(
  fc.constantFrom("[::]:443", "0.0.0.0:8443", "localhost:0", "[2001:DB8::1]:00443", "a b:65535"),
  fc.constantFrom(
    "somewhere",
    "[::]:65536",
    "0.0.0.0:99999",
    ":443",
    "[::]",
    "[::]:",
    "::1:443",
    "0.0.0.0:443\n",
    443,
    true
  )
)
const ports = mostly(
  fc.constantFrom(1, 8443, "61337", 65535),
  fc.constantFrom(65536, "1e3", "01", "many", -1, 1.5, true, " 443")
)
const leaseTime = (...usual: ReadonlyArray<number | string>) =>
  mostly(
    fc.constantFrom(...usual),
    fc.oneof(
      fc.integer({ min: -1, max: 20 }),
      fc.constantFrom(86400, 86401, "1.5", 0.5, "15s", "NaN", "1e1", "+5", "010", true)
    )
  )
const bounds = mostly(fc.constantFrom(1, "64", 10_000), fc.constantFrom(10_001, "1e3", "01", "many", -1, 1.5, true, 0))
const objectNames = mostly(
  fc.constantFrom("agent", "a.b-c", "5", "x".repeat(253)),
  fc.constantFrom("Agent", "a b", "-a", "a-", "a,b", "../a", "x".repeat(254))
)
const sessionTimes = mostly(
  fc.constantFrom(1, "28800", 315_360_000),
  fc.constantFrom(315_360_001, 0.5, -1, "8h", "08", true, "9999999999")
)
const namespaceNames = mostly(
  fc.constantFrom("kube-system", "a,b", "x".repeat(63)),
  fc.constantFrom("a, b", ",a", "Kube", "a.b", "-a", "x".repeat(64), 1.5)
)
const words = fc.constantFrom("x", "a b", 5, true)
const collectors = mostly(
  fc.constantFrom("http://collector:4318", "https://[::1]/v1/traces?a=b", "HTTP://a.b:65535/", "http://127.0.0.1"),
  fc.constantFrom(
    "collector:4318",
    "http://user:word@collector",
    "http://a:65536",
    "grpc://a",
    "http://",
    "http://a/ b",
    5
  )
)
const namespace = mostly(fc.constantFrom("clusters", "a-1"), fc.constantFrom("a.b", "a,b", "-", true))
/** The texts that people may write for a variable, good and bad, by the form of its setting. */
const texts: Readonly<Record<Setting["form"], fc.Arbitrary<unknown>>> = {
  truth: truths,
  address: addresses,
  port: ports,
  bound: bounds,
  leaseTime: leaseTime(1, 2, 10, 12, 15, "20", "60"),
  seconds: sessionTimes,
  millis: sessionTimes,
  objectName: objectNames,
  objectNames: mostly(
    fc.constantFrom("registry", "registry,mirror.example", "a,b,c"),
    fc.constantFrom("registry, mirror", ",", "a,", "A", "a..b", true, "x".repeat(254))
  ),
  namespace,
  namespaces: namespaceNames,
  words: mostly(
    fc.subarray([...clusterProviders], { minLength: 1, maxLength: 2 }).map((names) => names.join(",")),
    fc.constantFrom("kubeconfigs", "kubeconfigSecrets, clusterApi", ",", true)
  ),
  variables: mostly(
    fc.constantFrom("{}", '{"A":"b"}', ' {"A":1,"B":true,"C":null}', '{"Error":"x"}'),
    fc.constantFrom(
      "[]",
      "A=b",
      '{"A":{}}',
      '{"A":["b"]}',
      '{"A=b":"c"}',
      '{"":"c"}',
      "{",
      "null",
      5,
      '{"AGENT_OPERATOR_CERT_ENV":"x"}'
    )
  ),
  collector: collectors,
  text: words,
  path: words,
  secret: fc.constantFrom("a=b", "a=b,c=d")
}
/**
 * Variables that helm does not judge, or of which it knows one text alone: only paths of the chart's files, since helm
 * does not see others; the operator alone judges those of traces.
 */
const goodTexts: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  OTEL_EXPORTER_OTLP_PROTOCOL: fc.constantFrom("http/json", "http/protobuf"),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: fc.constantFrom("http/json"),
  OTEL_RESOURCE_ATTRIBUTES: fc.constantFrom("a=b"),
  OTEL_TRACES_SAMPLER: fc.constantFrom("always_on", "traceidratio"),
  OTEL_TRACES_SAMPLER_ARG: fc.constantFrom("0.5", 1),
  OPERATOR_AGENT_CONFIG: fc.constantFrom("/mirrord-config/agent-config.yaml"),
  OPERATOR_ACCESS_PROVIDERS: fc.constantFrom("/mirrord-config/access-providers.yaml"),
  MIRRORD_MULTICLUSTER_CONFIG: fc.constantFrom("/mirrord-config/multicluster-config.yaml"),
  MIRRORD_CLUSTERS_CONFIG: fc.constantFrom("/mirrord-config/clusters-config.yaml", "")
}
/** Each variable that a card names, with the texts that people may write for it. */
const variables: Readonly<Record<string, fc.Arbitrary<unknown>>> = Object.fromEntries(
  Object.values(settingCards)
    .flatMap((card) => Object.values(card))
    // The limits of volumes are taken as they are: what is wrong in them fails the branches alone.
    .filter(({ variable }) => !variable.endsWith("_VOLUME_SIZE_LIMIT"))
    .map(({ form, variable }) => [variable, goodTexts[variable] ?? texts[form]])
)
/**
 * Any of them may be not set, or not known to helm; helm then judges lease times and pairs no more, not even their
 * other parts.
 */
const notSet = ["", null]
const elsewhere = fc.constantFrom(...notSet, { valueFrom: { secretKeyRef: { name: "s", key: "k" } } })
const extraEnvs = fc.record(
  Object.fromEntries(
    Object.entries(variables).map(([name, values]): [string, fc.Arbitrary<unknown>] => [
      name,
      /^(MIRRORD_MULTICLUSTER|OPERATOR_AGENT)_CONFIG$/u.test(name)
        ? values
        : fc.oneof(
            { weight: 6, arbitrary: values as fc.Arbitrary<unknown> },
            {
              weight: 1,
              arbitrary: /^OPERATOR_(LEASE|POD|TLS)/u.test(name) ? fc.constantFrom(...notSet) : elsewhere
            }
          )
    ])
  ),
  { requiredKeys: [] }
)

/** Any value that a field of this shape may hold, and now and then some that it may not. */
const ofShape = (shape: Shape): fc.Arbitrary<unknown> => {
  const odd = fc.constantFrom<unknown>("x", "", 5, 1.5, -1, true, ["a"], [{}], { other: "x" }, [null], 5_000_000_000)
  switch (shape.kind) {
    case "text":
      return mostly(fc.constantFrom("a", "", "true"), odd)
    case "name":
      return mostly(fc.constantFrom("a", "a.b", ""), fc.constantFrom("A", "a b", 5, ["a"], {}))
    case "any":
      return odd
    case "truth":
      return mostly(fc.constantFrom(true, false), odd)
    case "quantity":
      return mostly(fc.constantFrom("1Gi", 1, 0.5), odd)
    case "references":
      return mostly(
        fc.constantFrom([{ name: "a" }], []),
        fc.constantFrom([{ name: "A" }], [5], [null], "a", { a: 1 }, {}, "", 0, false)
      )
    case "whole":
      return mostly(fc.integer({ min: shape.least, max: shape.most }), odd)
    case "words":
      return mostly(fc.constantFrom(...shape.words), odd)
    case "list":
      return mostly(fc.array(ofShape(shape.of), { maxLength: 2 }), odd)
    case "map":
      return mostly(fc.dictionary(fc.constantFrom("a", "b.c/d"), ofShape(shape.of), { maxKeys: 2 }), odd)
    case "fields":
    case "image": {
      const parts = Object.entries(shape.fields).map(([name, of]) => [name, fc.oneof(ofShape(of), fc.constant(null))])
      return mostly(
        fc.record(Object.fromEntries(parts) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys: [] }),
        odd
      )
    }
  }
}
const agentFiles = fc
  .tuple(
    fc.record(Object.fromEntries(Object.entries(agentFields).map(([name, shape]) => [name, ofShape(shape)])), {
      requiredKeys: []
    }),
    // A few at a time: among thirty, one is wrong all too often.
    fc.subarray(Object.keys(agentFields), { minLength: 1, maxLength: 4 })
  )
  .map(([all, names]) =>
    Object.fromEntries(
      Object.entries(all as Readonly<Record<string, unknown>>).filter(([name]) => names.includes(name))
    )
  )
/** Scalars where there is to be text, which the chart prints as text. */
const printed = (file: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(
    Object.entries(file).map(([name, value]) => {
      const isText = new Map<string, Shape>(Object.entries(agentFields)).get(name)?.kind
      return [name, (isText === "text" || isText === "name") && typeof value !== "object" ? String(value) : value]
    })
  )

const installations = fc.record({
  multiCluster: fc.constantFrom(...rightMultiClusters),
  port: mostly(fc.constantFrom(443, "8443", 65535, "", null), fc.constantFrom(65536, "http", -1, 1.5, "99999")),
  agentPort: mostly(fc.constantFrom(61337, "8443", 0, "", null), fc.constantFrom(65536, "http", "01", "1e3", true)),
  sessionsPerUser: fc.oneof({ weight: 4, arbitrary: fc.constantFrom("", null) }, { weight: 6, arbitrary: bounds }),
  maxSessionTimeSeconds: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, "", null) },
    { weight: 6, arbitrary: sessionTimes }
  ),
  noPodTargetsSessionTimeoutMillis: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, "", null) },
    { weight: 6, arbitrary: sessionTimes }
  ),
  allowedNamespaces: mostly(
    fc.constantFrom([], null, ["kube-system"], ["a", "b"]),
    fc.constantFrom(["A"], ["a", "b c"], [1.5], [true, "-"])
  ),
  jsonLog: mostly(fc.constantFrom(true, false, "yes", "", null), fc.constantFrom("maybe", "False")),
  requireFrontProxyClientCert: mostly(fc.constantFrom(true, false, "0"), fc.constantFrom("maybe", " true")),
  extraEnv: fc.oneof(
    { weight: 2, arbitrary: extraEnvs },
    // A few at a time: among twenty, one is wrong all too often.
    {
      weight: 3,
      arbitrary: fc
        .tuple(extraEnvs, fc.subarray(Object.keys(variables), { minLength: 1, maxLength: 3 }))
        .map(([all, names]) => Object.fromEntries(names.map((name) => [name, all[name]])))
    }
  )
})
type Values = typeof installations extends fc.Arbitrary<infer One> ? One : never

/**
 * The variables that the published chart makes of the values, as far as the operator reads them, without a look at
 * whether they are right.
 */
const publishedEnvironment = ({
  agentPort,
  allowedNamespaces,
  extraEnv,
  jsonLog,
  maxSessionTimeSeconds,
  multiCluster,
  noPodTargetsSessionTimeoutMillis,
  port,
  requireFrontProxyClientCert,
  sessionsPerUser
}: Values): Readonly<Record<string, unknown>> => {
  const truth = (value: unknown): string => (typeof value === "string" && value !== "" ? value : String(isSet(value)))
  const ofMetrics = /:(\d+)$/u.exec(String(extraEnv["OPERATOR_METRICS_ADDR"] ?? ""))?.[1] ?? "9000"
  const own: Readonly<Record<string, unknown>> = {
    // Without metrics nobody reads it.
    OPERATOR_METRICS_FALLBACK_ADDR: `0.0.0.0:${ofMetrics}`,
    OPERATOR_POD_NAME: { fieldRef: { fieldPath: "metadata.name" } },
    OPERATOR_POD_UID: { fieldRef: { fieldPath: "metadata.uid" } },
    MIRRORD_OPERATOR_NAMESPACE: { fieldRef: { fieldPath: "metadata.namespace" } },
    OPERATOR_ADDR: `[::]:${isSet(port) ? String(port) : "443"}`,
    OPERATOR_FALLBACK_ADDR: `0.0.0.0:${isSet(port) ? String(port) : "443"}`,
    OPERATOR_JSON_LOG: truth(jsonLog),
    OPERATOR_COPY_TARGET_USE_AGENT_IMAGE: "true",
    OPERATOR_INJECT_SESSION_KEY_HEADER: "true",
    OPERATOR_AGENT_CONFIG: "/mirrord-config/agent-config.yaml",
    OPERATOR_OWN_CERTIFICATE: "true",
    OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT: truth(requireFrontProxyClientCert),
    ...(isSet(agentPort) ? { OPERATOR_AGENT_PORT: String(agentPort) } : {}),
    ...(isSet(maxSessionTimeSeconds) ? { OPERATOR_MAX_SESSION_TIME_SECONDS: String(maxSessionTimeSeconds) } : {}),
    ...(isSet(noPodTargetsSessionTimeoutMillis)
      ? { OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS: String(noPodTargetsSessionTimeoutMillis) }
      : {}),
    ...(isSet(sessionsPerUser) || sessionsPerUser === 0 ? { OPERATOR_SESSIONS_PER_USER: String(sessionsPerUser) } : {}),
    ...(asArray(allowedNamespaces).length > 0
      ? { OPERATOR_ALLOWED_TARGET_NAMESPACES: asArray(allowedNamespaces).join(",") }
      : {}),
    ...(multiCluster["enabled"] === true
      ? { MIRRORD_MULTICLUSTER_CONFIG: "/mirrord-config/multicluster-config.yaml" }
      : {}),
    ...(multiCluster["enabled"] === true && Object.keys(multiCluster.clusters).length > 0
      ? { MIRRORD_CLUSTERS_CONFIG: "/mirrord-config/clusters-config.yaml" }
      : {})
  }
  const users = Object.entries(extraEnv).filter(([, value]) => value !== null && value !== undefined)
  return {
    ...own,
    ...Object.fromEntries(users.map(([name, value]) => [name, typeof value === "object" ? value : String(value)]))
  }
}

/** Helm is asked for each run; a landing asks half as often. */
const runs = (most: number): number => (process.env["BRAID_TEST_LONG"] === "true" ? most : most / 2)

describeHelm("helm and the operator", (helm) => {
  const chart = new Chart(helm)

  it("refuse the same values, and Secrets are where the operator looks for them", async () => {
    let [accepted, refused] = [0, 0]
    await fc.assert(
      fc.asyncProperty(multiClusters, async (multiCluster) => {
        const wanted = parseFleetConfiguration(publishedFiles(multiCluster as MultiCluster), sha256Hex)
        // The operator would start without a default cluster and say so; helm refuses it.
        const isUseless = Result.isSuccess(wanted) && wanted.success.defaultCluster === undefined
        const withTokens = Object.fromEntries(
          Object.entries(multiCluster.clusters).map(([name, one]) => [name, { ...one, bearerToken: "token" }])
        )
        const result = await chart.try({
          values: { operator: { multiCluster: { ...multiCluster, enabled: true, clusters: withTokens } } }
        })
        if (!(result instanceof Rendered)) {
          refused++
          expect(result.sentences.length > 0 ? "sentences" : result.text).toBe("sentences")
          const isRefused = Result.isFailure(wanted) || isUseless
          expect(isRefused ? "refused" : `started, but helm says: ${result.sentences.join("; ")}`).toBe("refused")
          return
        }
        accepted++
        const findsClusters = asArray((multiCluster as MultiCluster)["providers"]).length > 0
        expect(isUseless && (findsClusters || Object.keys(multiCluster.clusters).length > 0)).toBe(false)
        expect(Result.isFailure(wanted) ? wanted.failure.map(({ message }) => message) : []).toEqual([])
        expect(Result.map(await settingsOf(result), ({ fleet }) => fleet)).toEqual(wanted)
        const secrets = result.ofKind("Secret").map((secret) => at(secret, "metadata", "name"))
        expect(secrets.toSorted()).toEqual(
          Object.keys(multiCluster.clusters)
            .map((name) => credentialsSecretName(clusterName(name), sha256Hex))
            .toSorted()
        )
      }),
      { numRuns: runs(150), examples: [[{ clusters: {}, defaultCluster: "\u0085\u007f\uffff" }]] }
    )
    // A generator that makes only one of the two would show nothing.
    expect(Math.min(accepted, refused)).toBeGreaterThan(0)
  })

  it("refuse the same environment, and the operator reads the one that helm renders", async () => {
    let [accepted, refused] = [0, 0]
    await fc.assert(
      fc.asyncProperty(installations, async (values) => {
        const { agentPort, allowedNamespaces, multiCluster, sessionsPerUser, ...operator } = values
        const files = publishedFiles(multiCluster)
        const file = (name: string): string | undefined => {
          if (name === "agent-config.yaml") return "inject_headers: true\npriority_class: mirrord-agent-pod\n"
          if (name === "access-providers.yaml") return undefined
          const document = name === "clusters-config.yaml" ? files.clusters : files.multiCluster
          return multiCluster["enabled"] === true && document._tag === "Parsed" ? stringify(document.value) : undefined
        }
        // A wrong value stays one where a variable takes its place.
        const withoutExtra = await settingsFrom(publishedEnvironment({ ...values, extraEnv: {} }), file)
        const wanted = Result.isFailure(withoutExtra)
          ? withoutExtra
          : await settingsFrom(publishedEnvironment(values), file)
        const result = await chart.try({
          values: {
            operator: { ...operator, multiCluster },
            agent: { port: agentPort },
            bounds: { sessionsPerUser },
            targets: { allowedNamespaces }
          }
        })
        if (result instanceof Rendered) {
          accepted++
          expect(Result.isFailure(wanted) ? wanted.failure : "").toBe("")
          expect(await settingsOf(result)).toEqual(wanted)
        } else {
          refused++
          expect(result.sentences.length > 0 ? "sentences" : result.text).toBe("sentences")
          expect(Result.isFailure(wanted) ? "refused" : `started, but helm says: ${result.sentences.join("; ")}`).toBe(
            "refused"
          )
        }
      }),
      { numRuns: runs(80) }
    )
    expect(Math.min(accepted, refused)).toBeGreaterThan(0)
  })

  it("refuse the same access providers, and the operator reads those that helm renders", async () => {
    let [accepted, refused] = [0, 0]
    const lists = mostly(fc.array(accessProvider, { maxLength: 2 }), fc.constantFrom({ a: 1 }, "a", 7))
    await fc.assert(
      fc.asyncProperty(lists, async (accessProviders) => {
        const isNone = Array.isArray(accessProviders) && accessProviders.length === 0
        const wanted = parseAccessProviders(isNone ? { _tag: "Absent" } : parsed({ providers: accessProviders }))
        const multiCluster = { enabled: true, providers: ["clusterProfile"], defaultCluster: "a", accessProviders }
        const result = await chart.try({ values: { operator: { multiCluster } } })
        if (result instanceof Rendered) {
          accepted++
          expect(Result.isFailure(wanted) ? wanted.failure.map(({ message }) => message) : []).toEqual([])
          expect(Result.map(await settingsOf(result), ({ search }) => search.accessProviders)).toEqual(wanted)
        } else {
          refused++
          expect(result.sentences.length > 0 ? "sentences" : result.text).toBe("sentences")
          expect(Result.isFailure(wanted) ? "refused" : `started, but helm says: ${result.sentences.join("; ")}`).toBe(
            "refused"
          )
        }
      }),
      { numRuns: runs(100) }
    )
    expect(Math.min(accepted, refused)).toBeGreaterThan(0)
  })

  it("refuse the same settings of agents, and the operator reads those that helm renders", async () => {
    let [accepted, refused] = [0, 0]
    await fc.assert(
      fc.asyncProperty(agentFiles, async (extraConfig) => {
        const value = { inject_headers: true, priority_class: "mirrord-agent-pod", ...asObject(printed(extraConfig)) }
        if ("priority_class_name" in extraConfig && !("priority_class" in extraConfig)) value.priority_class = ""
        const wanted = parseAgentConfiguration({ _tag: "Parsed", value }, "agent:1")
        const result = await chart.try({ values: { agent: { extraConfig } } })
        if (result instanceof Rendered) {
          accepted++
          expect(Result.isFailure(wanted) ? wanted.failure.map(({ message }) => message) : []).toEqual([])
          const written: unknown = result.fileValue("agent-config.yaml")
          expect(parseAgentConfiguration({ _tag: "Parsed", value: written }, "agent:1")).toEqual(wanted)
          expect(Result.isSuccess(await settingsOf(result))).toBe(true)
        } else {
          refused++
          expect(result.sentences.length > 0 ? "sentences" : result.text).toBe("sentences")
          expect(Result.isFailure(wanted) ? "refused" : `started, but helm says: ${result.sentences.join("; ")}`).toBe(
            "refused"
          )
        }
      }),
      {
        numRuns: runs(100),
        examples: [[{ image_pull_secrets: "a" }], [{ service_account: {} }], [{ image_pull_secrets: "" }]]
      }
    )
    expect(Math.min(accepted, refused)).toBeGreaterThan(0)
  })
})
