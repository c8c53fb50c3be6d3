import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Cause, ConfigProvider, Effect, Exit, Redacted, Result } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { defaultRequestBounds } from "../../../src/app/api/request-bounds.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { readSettings, RefusedConfiguration, type Settings } from "../../../src/app/operator/settings.ts"
import { defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"

const folder = mkdtempSync(join(tmpdir(), "braid-settings-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const read = (env: Readonly<Record<string, string>>): Promise<Exit.Exit<Settings, unknown>> =>
  Effect.runPromiseExit(
    readSettings(sha256Hex).pipe(Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })))
  )

/** Reads one of the settings. */
const settingOf =
  <K extends keyof Settings>(name: K) =>
  async (env: Readonly<Record<string, string>>): Promise<Settings[K]> => {
    const exit = await read(env)
    if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
    return exit.value[name]
  }

const refusal = async (env: Readonly<Record<string, string>>): Promise<RefusedConfiguration> => {
  const exit = await read(env)
  const refused = Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit
  if (!(refused instanceof RefusedConfiguration)) throw refused
  return refused
}

const multiCluster =
  "clusterName: primary\ndefaultCluster: a\nmanagementOnly: true\nremoteSessionTimeoutSecs: 300\nsessionTtlSecs: 60\n"

describe("settings", () => {
  it("are those of a single operator without any variable", async () => {
    const exit = await read({})
    expect(Exit.isSuccess(exit) && exit.value).toMatchObject({
      host: "::",
      port: 443,
      namespace: "mirrord",
      fleet: undefined,
      requireFrontProxy: true
    })
  })

  it("have a fallback address where one is given, in the same form", async () => {
    const fallbackOf = settingOf("fallback")
    expect(await fallbackOf({})).toBeUndefined()
    expect(await fallbackOf({ OPERATOR_FALLBACK_ADDR: "0.0.0.0:8443" })).toEqual({ host: "0.0.0.0", port: 8443 })
  })

  it("share members among replicas that know their pods, where that is wanted", async () => {
    const sharding = { OPERATOR_MULTI_CLUSTER_SHARDING: "true" }
    const pod = { OPERATOR_POD_NAME: "operator-0", OPERATOR_POD_UID: "u0" }
    const valuesOf = settingOf("values")
    expect(await valuesOf({})).toMatchObject({ sharding: false })
    expect(await valuesOf({ ...sharding, ...pod })).toMatchObject({ sharding: true })
    expect((await refusal({ OPERATOR_SQS_SPLITTING_SHARDING: "true" })).message).toMatch(/^OPERATOR_SQS_SPLITTING_SH/u)
    expect((await refusal(sharding)).message).toBe(
      "OPERATOR_MULTI_CLUSTER_SHARDING is true, but the replica does not know its pod; " +
        "set OPERATOR_POD_NAME and OPERATOR_POD_UID."
    )
  })

  it("elect a leader where the pod is known, with client-go's times unless others are given", async () => {
    const candidacyOf = settingOf("candidacy")
    const pod = { OPERATOR_POD_NAME: "mirrord-operator-0", OPERATOR_POD_UID: "u" }
    expect(await candidacyOf({})).toBeUndefined()
    expect(await candidacyOf({ OPERATOR_POD_NAME: "", OPERATOR_POD_UID: "" })).toBeUndefined()
    expect(await candidacyOf(pod)).toEqual({
      pod: { name: "mirrord-operator-0", uid: "u" },
      times: { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 }
    })
    expect(
      await candidacyOf({ ...pod, OPERATOR_LEASE_DURATION_SECS: "60", OPERATOR_LEASE_RENEW_DEADLINE_SECS: "40" })
    ).toMatchObject({ times: { leaseDuration: 60_000, renewDeadline: 40_000, retryPeriod: 2_000 } })
    const { message } = await refusal({ ...pod, OPERATOR_LEASE_DURATION_SECS: "8" })
    expect(await candidacyOf({ ...pod, OPERATOR_LEASE_DURATION_SECS: "" })).toMatchObject({
      times: { leaseDuration: 15_000 }
    })
    expect(message).toMatch(
      /OPERATOR_LEASE_DURATION_SECS.* do not fit together: the lease duration is 8 s; it must be longer than the renew deadline of 10 s/
    )
  })

  it("refuse ways to find clusters by files that are not said to be anywhere", async () => {
    const { message } = await refusal({ OPERATOR_MULTI_CLUSTER_PROVIDERS: "kubeconfigFile,kubeconfigDirectory" })
    for (const [provider, variable] of [
      ["kubeconfigFile", "OPERATOR_KUBECONFIG_FILE"],
      ["kubeconfigDirectory", "OPERATOR_KUBECONFIG_DIRECTORY"]
    ] as const)
      expect(message).toContain(
        `OPERATOR_MULTI_CLUSTER_PROVIDERS has ${provider}, but ${variable} is not set; write its path.`
      )
  })

  it("refuse metrics on the port of the API, unless the system chooses both", async () => {
    const both = (address: string) => ({ OPERATOR_METRICS_ENABLED: "true", OPERATOR_METRICS_ADDR: address })
    const { message } = await refusal({ ...both("[::]:9000"), OPERATOR_ADDR: "0.0.0.0:9000" })
    expect(message).toContain(
      "OPERATOR_METRICS_ADDR and OPERATOR_ADDR have the same port, 9000; give metrics another port."
    )
    expect(Exit.isSuccess(await read({ ...both("127.0.0.1:0"), OPERATOR_ADDR: "127.0.0.1:0" }))).toBe(true)
    expect(Exit.isSuccess(await read({ OPERATOR_ADDR: "0.0.0.0:9000" }))).toBe(true)
  })

  it("refuse a cell on a port that is taken, and a member that is to dial nobody and to let in masters", async () => {
    const cell = { OPERATOR_CELL: "true", OPERATOR_ADDR: "[::]:8443" }
    const member = { OPERATOR_MULTI_CLUSTER_MEMBER: "true", OPERATOR_OUTBOUND: "true" }
    const people = { OPERATOR_OUTBOUND_PROXY_GROUPS: "dev,system:masters", OPERATOR_OUTBOUND_PROXY_PREFIX: "-" }
    const { message } = await refusal({ ...cell, OPERATOR_CELL_BOOTSTRAP_PORT: "8443", ...member, ...people })
    expect(message.split("\n").map((sentence) => sentence.split(";")[0])).toEqual([
      "OPERATOR_CELL_PORT and OPERATOR_ADDR have the same port, 8443",
      "OPERATOR_CELL_BOOTSTRAP_PORT and OPERATOR_CELL_PORT have the same port, 8443",
      "OPERATOR_OUTBOUND is true, but OPERATOR_OUTBOUND_CELL is not set",
      "OPERATOR_OUTBOUND_PROXY_GROUPS has system:masters, but group system:masters is this cluster's own"
    ])
    expect(Exit.isSuccess(await read({ ...cell, OPERATOR_CELL: "false" }))).toBe(true)
  })

  it("refuse a database's URL that is none, and do not repeat it", async () => {
    const { message } = await refusal({ OPERATOR_USAGE_DATABASE_URL: "db.example.com:5432?password=secret" })
    expect(message).toContain("OPERATOR_USAGE_DATABASE_URL is not the URL of a PostgreSQL database; write")
    expect(message).not.toContain("secret")
    expect(Exit.isSuccess(await read({ OPERATOR_USAGE_DATABASE_URL: "postgres://a:b@c/d" }))).toBe(true)
  })

  it("refuse a page of use that lacks what a login needs, or whose port is taken", async () => {
    const page = { OPERATOR_DASHBOARD_INGRESS: "true", OPERATOR_DASHBOARD_PORT: "8443", OPERATOR_ADDR: "[::]:8443" }
    const { message } = await refusal(page)
    expect(message.split("\n").map((sentence) => sentence.split(";")[0])).toEqual([
      "OPERATOR_DASHBOARD_PORT and OPERATOR_ADDR have the same port, 8443",
      ...["HOST", "OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_GROUPS"].map(
        (name) => `OPERATOR_DASHBOARD_INGRESS is true, but OPERATOR_DASHBOARD_${name} is not set`
      ),
      "OPERATOR_DASHBOARD_INGRESS is true, but OPERATOR_USAGE_ENABLED is not set"
    ])
    const whole = {
      ...page,
      OPERATOR_DASHBOARD_PORT: "8050",
      OPERATOR_DASHBOARD_HOST: "mirrord.example.com",
      OPERATOR_DASHBOARD_OIDC_ISSUER: "https://login.example.com",
      OPERATOR_DASHBOARD_OIDC_CLIENT_ID: "braid",
      OPERATOR_DASHBOARD_OIDC_CLIENT_SECRET: "secret",
      OPERATOR_DASHBOARD_OIDC_EMAILS: "jane@example.com",
      OPERATOR_USAGE_ENABLED: "true"
    }
    expect(Exit.isSuccess(await read(whole))).toBe(true)
    const clear = { ...whole, OPERATOR_DASHBOARD_OIDC_ISSUER: "http://login.example.com" }
    expect(Exit.isSuccess(await read(clear))).toBe(false)
  })

  it("say how agents' pods run and are pulled, and refuse names that no object can have", async () => {
    const agentsOf = settingOf("agents")
    expect(await agentsOf({})).toMatchObject({ serviceAccount: undefined, imagePullSecrets: [] })
    expect(
      await agentsOf({ MIRRORD_AGENT_SERVICE_ACCOUNT: "agent", MIRRORD_AGENT_IMAGE_PULL_SECRETS: "registry,mirror.b" })
    ).toMatchObject({ serviceAccount: "agent", imagePullSecrets: ["registry", "mirror.b"] })
    for (const [name, value] of [
      ["MIRRORD_AGENT_SERVICE_ACCOUNT", "a,b"],
      ["MIRRORD_AGENT_SERVICE_ACCOUNT", "../default"],
      ["MIRRORD_AGENT_IMAGE_PULL_SECRETS", "a,"],
      ["MIRRORD_AGENT_IMAGE_PULL_SECRETS", "a, b"]
    ] as const)
      expect(Exit.isFailure(await read({ [name]: value }))).toBe(true)
  })

  it.each([
    [{}, undefined],
    [{ OPERATOR_SQS_SPLITTING_LINGER_TIMEOUT: "5000", OPERATOR_ISOLATE_PODS_RESTART: "false" }, undefined],
    [{ OPERATOR_SQS_SPLITTING: "true" }, { lingerSeconds: 60, isolatesPods: true, waitsForPods: true }],
    [
      { OPERATOR_SQS_SPLITTING: "true", OPERATOR_SQS_SPLITTING_LINGER_TIMEOUT: "5000" },
      { lingerSeconds: 5, isolatesPods: true, waitsForPods: true }
    ],
    [
      { OPERATOR_SQS_SPLITTING: "true", OPERATOR_ISOLATE_PODS_RESTART: "false" },
      { lingerSeconds: 60, isolatesPods: false, waitsForPods: true }
    ],
    [
      { OPERATOR_SQS_SPLITTING: "true", OPERATOR_QUEUE_SPLITTING_WAIT_FOR_READY_TARGET: "false" },
      { lingerSeconds: 60, isolatesPods: true, waitsForPods: false }
    ]
  ])("say by %j how queues are split", async (env, splitting) => {
    expect(await settingOf("splitting")(env)).toEqual(splitting)
  })

  it("give copies of targets the agent's image, unless they keep their own", async () => {
    const imageOf = settingOf("copyImage")
    expect(await imageOf({ MIRRORD_AGENT_IMAGE: "agent:9" })).toMatchObject({ image: "agent:9", imagePullSecrets: [] })
    expect(await imageOf({ OPERATOR_COPY_TARGET_USE_AGENT_IMAGE: "false" })).toBeUndefined()
    expect(Exit.isFailure(await read({ OPERATOR_COPY_TARGET_USE_AGENT_IMAGE: "maybe" }))).toBe(true)
  })

  it("leave users out of pods only where they are told to", async () => {
    for (const users of ["true", "false"]) {
      const exit = await read({ OPERATOR_PG_BRANCHING: "true", OPERATOR_POD_USERS: users })
      const { branchSettings, copyImage } = Exit.isSuccess(exit) ? exit.value : expect.fail(String(exit.cause))
      const { pod } = Result.getOrThrow(branchSettings.pg ?? expect.fail("no engine"))
      expect([pod.leavesUsersOut, copyImage?.leavesUsersOut]).toEqual([users === "false", users === "false"])
    }
  })

  it("of agents are those of the environment, else those of their file", async () => {
    const path = file(
      "agent-config.yaml",
      "image: {tag: 4.0.0}\nlog_level: debug\nnamespace: agents\nservice_account: filed\nttl: 5\n" +
        "image_pull_policy: Never\nimage_pull_secrets: [{name: filed}]\nstartup_timeout: 90\njson_log: true\n"
    )
    const agentsOf = async (env: Readonly<Record<string, string>>) => {
      const exit = await read({ OPERATOR_AGENT_CONFIG: path, ...env })
      if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
      return exit.value.agents
    }
    expect(await agentsOf({})).toMatchObject({
      image: "ghcr.io/metalbear-co/mirrord:4.0.0",
      imagePullPolicy: "Never",
      imagePullSecrets: ["filed"],
      namespace: "agents",
      serviceAccount: "filed",
      startupTimeoutSecs: 90,
      ttlSecs: 5,
      variables: { RUST_LOG: "debug", MIRRORD_AGENT_JSON_LOG: "true" },
      extraEnv: {}
    })
    expect(
      await agentsOf({
        MIRRORD_AGENT_IMAGE: "own:1",
        MIRRORD_AGENT_IMAGE_PULL_POLICY: "Always",
        MIRRORD_AGENT_IMAGE_PULL_SECRETS: "own",
        MIRRORD_AGENT_NAMESPACE: "own",
        MIRRORD_AGENT_SERVICE_ACCOUNT: "own",
        MIRRORD_AGENT_RUST_LOG: "warn",
        OPERATOR_AGENT_EXTRA_ENV: '{"A":"b"}'
      })
    ).toMatchObject({
      image: "own:1",
      imagePullPolicy: "Always",
      imagePullSecrets: ["own"],
      namespace: "own",
      serviceAccount: "own",
      ttlSecs: 5,
      variables: { RUST_LOG: "warn", MIRRORD_AGENT_JSON_LOG: "true" },
      extraEnv: { A: "b" }
    })
    expect((await refusal({ OPERATOR_AGENT_CONFIG: file("wrong.yaml", "ttl: long\n") })).message).toBe(
      'agent-config.yaml, ttl: it must be a whole number from 0 to 65535 (found "long"); write it without quotes.'
    )
  })

  it("refuse half of a pair, with the name of the half that is missing", async () => {
    const tls = "set both, or neither for a certificate that is made at each start"
    const pod = "set both, or neither for an operator that elects no leader"
    expect((await refusal({ OPERATOR_TLS_CERT_PATH: "/tls/tls.crt" })).message).toBe(
      `OPERATOR_TLS_CERT_PATH is set, but OPERATOR_TLS_KEY_PATH is not; ${tls}.`
    )
    expect((await refusal({ OPERATOR_TLS_CERT_PATH: "", OPERATOR_TLS_KEY_PATH: "/tls/tls.key" })).message).toBe(
      `OPERATOR_TLS_KEY_PATH is set, but OPERATOR_TLS_CERT_PATH is not; ${tls}.`
    )
    expect(
      (await refusal({ OPERATOR_POD_NAME: "mirrord-operator-0", OPERATOR_TLS_CERT_PATH: "/tls/tls.crt" })).mistakes
    ).toMatchObject([{ field: "OPERATOR_TLS_KEY_PATH" }, { field: "OPERATOR_POD_UID", cure: pod }])
    const exit = await read({ OPERATOR_TLS_CERT_PATH: "/tls/tls.crt", OPERATOR_TLS_KEY_PATH: "/tls/tls.key" })
    expect(Exit.isSuccess(exit) && exit.value.certificate).toEqual({
      certificatePath: "/tls/tls.crt",
      keyPath: "/tls/tls.key"
    })
    const neither = await read({ OPERATOR_TLS_CERT_PATH: "" })
    expect(Exit.isSuccess(neither) && neither.value.certificate).toBeUndefined()
  })

  it("have the usual bounds and protected namespaces, unless others are given", async () => {
    const limitsOf = async (env: Readonly<Record<string, string>>) => {
      const exit = await read(env)
      if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
      return {
        bounds: exit.value.bounds,
        longest: exit.value.maxSessionSecs,
        podless: exit.value.podlessMillis,
        ttl: exit.value.sessionTtlSecs,
        namespaces: [...exit.value.protectedNamespaces.keys()].toSorted()
      }
    }
    expect(await limitsOf({})).toEqual({
      bounds: defaultBounds,
      longest: undefined,
      podless: 60_000,
      ttl: 60,
      namespaces: ["kube-system", "mirrord"]
    })
    expect(
      await limitsOf({
        MIRRORD_AGENT_NAMESPACE: "agents",
        OPERATOR_ALLOWED_TARGET_NAMESPACES: "kube-system,other",
        OPERATOR_MAX_SESSION_TIME_SECONDS: "28800",
        OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS: "90000",
        OPERATOR_SESSION_TTL_SECONDS: "20",
        OPERATOR_SESSIONS_PER_USER: "1",
        OPERATOR_SESSIONS: "2",
        OPERATOR_CONNECTIONS_PER_SESSION: "3",
        OPERATOR_AGENTS_PER_USER: "4",
        OPERATOR_AGENTS: "10000",
        OPERATOR_BRANCHES_PER_NAMESPACE: "5",
        OPERATOR_BRANCHES: "6"
      })
    ).toEqual({
      bounds: {
        sessionsPerUser: 1,
        sessions: 2,
        connectionsPerSession: 3,
        agentsPerUser: 4,
        agents: 10_000,
        branchesPerNamespace: 5,
        branches: 6
      },
      longest: 28_800,
      podless: 90_000,
      ttl: 20,
      namespaces: ["agents", "mirrord"]
    })
  })

  it("read a primary's files", async () => {
    const exit = await read({
      OPERATOR_ADDR: "127.0.0.1:3000",
      MIRRORD_MULTICLUSTER_CONFIG: file("good.yaml", multiCluster),
      MIRRORD_CLUSTERS_CONFIG: file(
        "clusters.yaml",
        "clusters:\n  - {name: a, server: 'https://a', authType: bearerToken}\n"
      )
    })
    expect(Exit.isSuccess(exit) && exit.value).toMatchObject({
      host: "127.0.0.1",
      port: 3000,
      fleet: { clusterName: "primary", defaultCluster: "a", managementOnly: true, members: [{ name: "a" }] }
    })
  })

  it("tell the mistakes of all files and of the variables together", async () => {
    const { mistakes } = await refusal({
      MIRRORD_MULTICLUSTER_CONFIG: file("bad-ttl.yaml", `${multiCluster.replace("60", "soon")}`),
      OPERATOR_LEASE_DURATION_SECS: "1",
      OPERATOR_POD_NAME: "mirrord-operator-0",
      OPERATOR_AGENT_CONFIG: file("bad-agents.yaml", "nftables: maybe\n"),
      OPERATOR_ACCESS_PROVIDERS: file("bad-providers.yaml", "providers: 1\n")
    })
    expect(mistakes.map(({ field }) => field)).toEqual([
      "sessionTtlSecs",
      expect.stringContaining("OPERATOR_LEASE_DURATION_SECS"),
      "OPERATOR_POD_UID",
      "providers",
      "nftables"
    ])
  })

  it("have the programs that give credentials, and the namespaces of the clusters that are found", async () => {
    const searchOf = settingOf("search")
    const text = "providers: [{name: p, execConfig: {apiVersion: client.authentication.k8s.io/v1, command: /p}}]\n"
    expect(
      await searchOf({
        OPERATOR_MULTI_CLUSTER_PROVIDERS: "clusterProfile",
        OPERATOR_CLUSTER_PROFILE_NAMESPACE: "inventory",
        OPERATOR_ACCESS_PROVIDERS: file("providers.yaml", text)
      })
    ).toMatchObject({
      providers: ["clusterProfile"],
      clusterApiNamespace: "mirrord",
      clusterProfileNamespace: "inventory",
      accessProviders: [{ name: "p", execConfig: { command: "/p" } }]
    })
    expect(await searchOf({})).toMatchObject({ clusterProfileNamespace: "mirrord", accessProviders: [] })
  })

  it("let PRIMARY_MANAGEMENT_ONLY replace the file's managementOnly, and check the outcome", async () => {
    const managementOnly = async (env: Readonly<Record<string, string>>, text = multiCluster) => {
      const exit = await read({ MIRRORD_MULTICLUSTER_CONFIG: file("overridden.yaml", text), ...env })
      return Exit.isSuccess(exit) ? exit.value.fleet?.managementOnly : exit
    }
    expect(await managementOnly({})).toBe(true)
    expect(await managementOnly({ PRIMARY_MANAGEMENT_ONLY: "" })).toBe(true)
    for (const no of ["false", "no", "off", "0", "n"])
      expect(await managementOnly({ PRIMARY_MANAGEMENT_ONLY: no })).toBe(false)
    const withWorkloads = "managementOnly: false\ndefaultCluster: primary\n"
    for (const yes of ["true", "yes", "on", "1", "y"])
      expect(await managementOnly({ PRIMARY_MANAGEMENT_ONLY: yes }, "managementOnly: false\n")).toBe(true)
    const { message } = await refusal({
      MIRRORD_MULTICLUSTER_CONFIG: file("own.yaml", withWorkloads),
      PRIMARY_MANAGEMENT_ONLY: "true"
    })
    expect(message).toContain("cannot be its own default")
  })

  it("have bounds of requests, of which some may be given", async () => {
    const bounds = settingOf("requestBounds")
    expect(await bounds({})).toEqual(defaultRequestBounds)
    expect(await bounds({ OPERATOR_CONNECTIONS: "10000", OPERATOR_REQUESTS_PER_USER: "" })).toEqual({
      ...defaultRequestBounds,
      connections: 10_000
    })
    expect(await bounds({ OPERATOR_REQUESTS_PER_USER: "1" })).toEqual({ ...defaultRequestBounds, requestsPerUser: 1 })
  })

  it("refuse what is no YAML, and a file that is not there", async () => {
    const noYaml = await refusal({ MIRRORD_MULTICLUSTER_CONFIG: file("no.yaml", "clusterName: [") })
    expect(noYaml.message).toContain("multicluster-config.yaml")
    const missing = await refusal({ MIRRORD_MULTICLUSTER_CONFIG: join(folder, "absent.yaml") })
    expect(missing.message).toContain("cannot be read")
  })

  it.each([
    ["OPERATOR_AGENT_PORT", "many"],
    ["OPERATOR_ADDR", "somewhere"],
    ["PRIMARY_MANAGEMENT_ONLY", "maybe"],
    ["OPERATOR_AGENT_EXTRA_ENV", "A=b"],
    ["OPERATOR_CONNECTIONS", "10001"],
    ["OPERATOR_REQUESTS_PER_USER", "many"],
    ["OPERATOR_LEASE_RENEW_DEADLINE_SECS", "9.5"],
    ["OPERATOR_SESSIONS", "10001"],
    ["OPERATOR_MAX_SESSION_TIME_SECONDS", "315360001"],
    ["OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS", "1m"],
    ["OPERATOR_CONNECTIONS_PER_SESSION", "few"],
    ["OPERATOR_BRANCHES", "0"],
    ["OPERATOR_ALLOWED_TARGET_NAMESPACES", "kube-system, other"]
  ])("say that %s is malformed: %s", async (name, value) => {
    const exit = await read({ [name]: value })
    const problem = String(Exit.isFailure(exit) ? exit.cause : "")
    for (const part of name.split("_").slice(0, 2)) expect(problem).toContain(part)
  })
})

describe("settings of traces", () => {
  const tracing = async (env: Readonly<Record<string, string>>) => {
    const exit = await read(env)
    if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
    return exit.value.tracing
  }
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }

  it("are none without an address, with an empty one, and where OpenTelemetry is off", async () => {
    expect(await tracing({})).toBeUndefined()
    expect(await tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: "", OTEL_TRACES_SAMPLER: "nonsense" })).toBeUndefined()
    expect(await tracing({ ...endpoint, OTEL_SDK_DISABLED: "true" })).toBeUndefined()
  })

  it("have the usual values of OpenTelemetry", async () =>
    expect(await tracing(endpoint)).toEqual({
      otlp: {
        url: "http://collector:4318/v1/traces",
        headers: Redacted.make({}),
        protocol: "http/protobuf",
        resource: {}
      },
      sampler: { followsParent: true, ratio: 1 }
    }))

  it("take the address for traces as it is, before the published chart's and the common one", async () => {
    const url = async (env: Readonly<Record<string, string>>) => (await tracing({ ...endpoint, ...env }))?.otlp.url
    const all = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://t/x", OTLP_TRACES_URL: "http://p:4318" }
    expect(await url(all)).toBe("https://t/x")
    expect(await url({ OTLP_TRACES_URL: "http://p:4318" })).toBe("http://p:4318/v1/traces")
    expect(await url({ OTLP_TRACES_URL: "http://p:4318/own" })).toBe("http://p:4318/own")
    expect(await url({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c/base/" })).toBe("http://c/base/v1/traces")
  })

  it("read headers, attributes, protocol and sampler", async () => {
    const found = await tracing({
      ...endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20word",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_SERVICE_NAME: "mirror",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,service.name=other",
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.1"
    })
    expect(found).toMatchObject({
      otlp: { protocol: "http/json", resource: { "deployment.environment.name": "test", "service.name": "mirror" } },
      sampler: { followsParent: true, ratio: 0.1 }
    })
    expect(found === undefined ? undefined : Redacted.value(found.otlp.headers)).toEqual({
      authorization: "Bearer word"
    })
    expect(JSON.stringify(found)).not.toContain("word")
  })

  it("are refused with a sentence for each mistake, which repeats no secret", async () => {
    const { message } = await refusal({
      ...endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: "secret",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_RESOURCE_ATTRIBUTES: "=",
      OTEL_TRACES_SAMPLER: "jaeger_remote"
    })
    expect(message.split("\n")).toEqual([
      "OTEL_EXPORTER_OTLP_HEADERS is no list of headers; set it to name=value pairs with commas between them.",
      'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"; set it to http/protobuf or http/json.',
      "OTEL_RESOURCE_ATTRIBUTES is no list of attributes; set it to name=value pairs with commas between them.",
      'OTEL_TRACES_SAMPLER is "jaeger_remote"; name one of always_on, always_off, traceidratio, ' +
        "parentbased_always_on, parentbased_always_off, parentbased_traceidratio."
    ])
    const { message: address } = await refusal({ OTLP_TRACES_URL: "http://user:secret@collector" })
    expect(address).toBe(
      "OTLP_TRACES_URL is no address of a collector; set it to an http or https URL without a user, such as " +
        "http://collector:4318."
    )
  })
})
