import { readFileSync } from "node:fs"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { servedFields } from "../../src/domain/branches/branch-settings.ts"
import { clusterFields } from "../../src/domain/fleet/configuration-fields.ts"
import { allChanged, another, defaults, nested, pathOf } from "./chart-values.ts"
import { Chart, chartFolder } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asText, at } from "./json.ts"
import { merged } from "./merged.ts"

const withoutEffect = asList(parse(readFileSync(join(chartFolder, "files/values-without-effect.yaml"), "utf8")))

/** The default of a value; nothing for one that is empty. */
const shownDefault = (path: string): unknown => {
  const found = at(defaults, ...path.split("."))
  const isEmpty = [undefined, null, "", [], {}].some((empty) => isDeepStrictEqual(found, empty))
  return isEmpty ? undefined : found
}

describeHelm("NOTES", (helm) => {
  const chart = new Chart(helm)

  it("say nothing about values that nobody set", async () => {
    const notes = await chart.notes({ sample: "plain" })
    expect(notes).toContain("in namespace mirrord: single cluster.")
    expect(notes).not.toMatch(/To do|without effect|token/u)
  })

  describe("name each value without effect that is set", () => {
    const rows = withoutEffect.map((row) => {
      const path = asText(at(row, "path"))
      const values = nested(pathOf(path), another(at(defaults, ...path.split("."))))
      return { path, values, why: asText(at(row, "why")) }
    })
    beforeAll(() => chart.prepare(rows, { notes: true }))

    it.each(rows)("$path", async ({ path, values, why }) => {
      expect(await chart.notes({ values })).toContain(`\n  ${path}: ${why}`)
    })
  })

  it("know the defaults of values without effect", () => {
    for (const row of withoutEffect) {
      const path = asText(at(row, "path"))
      expect([path, shownDefault(path)]).toEqual([path, at(row, "default")])
    }
  })

  it("name values that do not exist, with the one that is meant", async () => {
    const values = {
      opertor: { replicas: 2 },
      replicas: 2,
      multiClusterMember: true,
      tls: { data: { "tls.kye": "x" } },
      agent: { colour: "blue" },
      operator: {
        replcas: 2,
        multiClusterMembr: true,
        pgBranchingg: true,
        injectSesionKeyHeader: false,
        requests: { memroy: "1Gi" },
        multiCluster: { enabld: true },
        extraEnv: { HTTPS_PROXY: "x" },
        podLabels: { any: "x" }
      },
      global: { any: "x" }
    }
    const of = (path: string, meant?: string) =>
      `  ${path}: there is no such value${meant === undefined ? "" : `, did you mean ${meant}?`}`
    const lines = [
      of("agent.colour"),
      of("multiClusterMember", "operator.multiClusterMember"),
      of("operator.injectSesionKeyHeader", "operator.injectSessionKeyHeader"),
      of("operator.multiCluster.enabld", "operator.multiCluster.enabled"),
      of("operator.multiClusterMembr", "operator.multiClusterMember"),
      of("operator.pgBranchingg", "operator.pgBranching"),
      of("operator.replcas", "operator.replicas"),
      of("operator.requests.memroy", "operator.requests.memory"),
      of("opertor", "operator"),
      of("replicas", "operator.replicas"),
      of('tls.data."tls.kye"', 'tls.data."tls.key"')
    ]
    const notes = await chart.notes({ values })
    expect(notes.split("\n").filter((line) => line.includes("no such value"))).toEqual(lines)
    // The doctor tells the same.
    const told = (await chart.render({ values })).file("unused-values.txt")
    expect(told?.split("\n")).toEqual(lines.map((line) => line.trim()))
    const restart = async (more: object) => {
      const pod = (await chart.render({ values: more })).get("Deployment", "mirrord-operator")
      return at(pod, "spec", "template", "metadata", "annotations", "checksum/config")
    }
    expect(await restart({ opertor: {} })).toBe(await restart({}))
  })

  it("name no value of the published chart as one that does not exist", async () => {
    const known = withoutEffect
      .map((row) => asText(at(row, "path")))
      .map((path) => nested(pathOf(path), another(at(defaults, ...path.split(".")))))
      .reduce(merged)
    const values = merged(allChanged, known)
    for (const one of [values, merged(values, { operator: { multiCluster: { enabled: false } } })])
      expect(await chart.notes({ values: one })).not.toContain("there is no such value")
    expect((await chart.render({ sample: "plain" })).file("unused-values.txt")).toBe(undefined)
  })

  describe("name values that cannot act", () => {
    const cluster = { server: "https://a.example.com", authType: "bearerToken" }
    const primary = { enabled: true, defaultCluster: "a", clusters: { a: cluster } }
    const roles = {
      single: {},
      member: { multiClusterMember: true },
      "primary with workloads, databases elsewhere": { multiCluster: { ...primary, managementOnly: false } },
      "primary that is its own default": {
        multiCluster: { ...primary, managementOnly: false, defaultCluster: "primary" }
      },
      "management-only primary": { multiCluster: primary },
      "management-only primary that is a member too": { multiCluster: primary, multiClusterMember: true }
    }
    const ofPrimary = ["clusterName", "sessionStart", "sharding"].map((name) => `operator.multiCluster.${name}`)
    const ofAgents = [
      "agent.extraConfig",
      "agent.extraEnv",
      "agent.image",
      "agent.injectHeaders",
      "agent.port",
      "agent.tls",
      "bounds.agents",
      "bounds.agentsPerUser",
      "networkPolicy.agents",
      "operator.copyTarget.useAgentImage",
      "operator.multiClusterMemberRequirePrimary",
      "operator.noPodTargetsSessionTimeoutMillis",
      "operator.sqsSplitting",
      "targets.allowedNamespaces"
    ]
    const ofBranches = ["operator.dbBranching.initPodVolumeLimit", "operator.pgBranchConfig"]
    const set = {
      agent: {
        extraConfig: { ttl: 5 },
        extraEnv: { A: "b" },
        image: "agent:1",
        injectHeaders: false,
        port: 7000,
        tls: true
      },
      bounds: { agents: 5, agentsPerUser: 5 },
      networkPolicy: { agents: false },
      targets: { allowedNamespaces: ["kube-system"] },
      rbac: { publishedWidth: true },
      operator: {
        copyTarget: { useAgentImage: false },
        multiClusterMemberRequirePrimary: true,
        noPodTargetsSessionTimeoutMillis: 5,
        sessionTtlSeconds: 5,
        sqsSplitting: true,
        isolatePodsRestart: false,
        pgBranching: true,
        pgBranchConfig: { dbPod: { allowedImages: [] } },
        dbBranching: { initPodVolumeLimit: "2Gi" },
        multiCluster: { clusterName: "primary", sessionStart: "all", sharding: true }
      }
    }
    const width = "rbac.publishedWidth"
    const ttl = "operator.sessionTtlSeconds"
    const expected: Readonly<Record<keyof typeof roles, ReadonlyArray<string>>> = {
      single: [...ofPrimary, width],
      member: ofPrimary,
      "primary with workloads, databases elsewhere": [...ofBranches, ttl, width],
      "primary that is its own default": [ttl, width],
      "management-only primary": [...ofAgents, ...ofBranches, ttl, width],
      "management-only primary that is a member too": [...ofBranches, ttl]
    }
    beforeAll(async () => {
      await chart.prepare(Object.values(roles).map((operator) => ({ values: merged(set, { operator }) })))
      await chart.prepare(
        Object.values(roles).map((operator) => ({ values: { operator } })),
        { notes: true }
      )
    })

    it.each(Object.entries(expected))("in a %s", async (role, paths) => {
      const operator = roles[role as keyof typeof roles]
      const rendered = await chart.render({ values: merged(set, { operator }) })
      const lines = (rendered.file("unused-values.txt") ?? "").split("\n")
      expect(lines.map((line) => line.split(":")[0])).toEqual(paths.toSorted())
      expect(await chart.notes({ values: { operator } })).not.toContain("without effect")
    })

    it("because of another value", async () => {
      const values = {
        networkPolicy: { from: [{}], egress: [{}] },
        tls: {
          useExistingSecret: true,
          certManager: { enabled: true },
          data: { "tls.key": "x", "tls.crt": "x" }
        },
        operator: {
          pgBranchConfig: { dbPod: {} },
          isolatePodsRestart: false,
          queueSplittingWaitForReadyTarget: false,
          sqsSplittingLingerTimeout: 5
        }
      }
      expect((await chart.render({ values })).file("unused-values.txt")?.split("\n")).toEqual([
        "networkPolicy.egress: networkPolicy.enabled is off, so nothing is limited",
        "networkPolicy.from: networkPolicy.enabled is off, so nothing is limited",
        "operator.isolatePodsRestart: operator.sqsSplitting is off, so no queue is split",
        "operator.queueSplittingWaitForReadyTarget: operator.sqsSplitting is off, so no queue is split",
        "operator.sqsSplittingLingerTimeout: operator.sqsSplitting is off, so no queue is split",
        "tls.certManager.enabled: tls.useExistingSecret is on, and wins over it",
        'tls.data."tls.key": tls.useExistingSecret is on, and wins over it',
        "operator.pgBranchConfig: operator.pgBranching is off"
      ])
    })

    it("and know their defaults", () => {
      const rows = asList(parse(readFileSync(join(chartFolder, "files/values-by-role.yaml"), "utf8")))
      expect(rows.map((row) => [at(row, "path"), at(row, "default")])).toEqual(
        rows.map((row) => [at(row, "path"), shownDefault(asText(at(row, "path")))])
      )
    })
  })

  it.each([
    [{ operator: { sqsSplitting: true } }, true],
    [{ operator: { sqsSplitting: true }, sa: { roleArn: "arn" } }, false],
    [{ operator: { sqsSplitting: true, multiCluster: { enabled: true } } }, false]
  ])("ask for %j for an AWS identity to split queues: %s", async (values, isAsked) => {
    expect((await chart.notes({ values })).includes("To do for queues of SQS")).toBe(isAsked)
  })

  it("list per cluster what is still to do", async () => {
    const cluster = (authType: string, more: object = {}): object => ({
      authType,
      server: "https://x.example.com",
      ...more
    })
    const notes = await chart.notes({
      values: {
        namespace: "tools",
        operator: {
          multiCluster: {
            enabled: true,
            clusterName: "hub",
            defaultCluster: "done",
            clusters: {
              done: cluster("bearerToken", { bearerToken: "x", caData: "-----BEGIN" }),
              Token_A: cluster("bearerToken", { namespace: "there" }),
              pair: cluster("mtls", { caData: "-----BEGIN", tlsCrt: "half" }),
              amazon: cluster("eks", { caData: "-----BEGIN" }),
              azure: cluster("aks", { caData: "-----BEGIN" })
            }
          }
        }
      }
    })
    expect(notes).toContain("primary hub.")
    expect(notes).not.toContain("cluster done")
    expect(notes).toMatch(
      /cluster Token_A, unless it is done:\n {2}- its token, as bearerToken in a Secret mirrord-cluster-token-a-[0-9a-f]{6} here; make the token there:\n.*kubectl -n there create token/u
    )
    expect(notes).toContain(
      "cluster pair, unless it is done:\n  - a client certificate, as tls.crt and tls.key in a Secret " +
        "mirrord-cluster-pair here\n"
    )
    expect(notes).toContain("label operator.metalbear.co/remote-cluster-credentials=true and the namespace tools")
    expect(notes).toContain(
      "- region, the AWS region of the EKS cluster\n  - an AWS identity of the operator: sa.roleArn, or an EKS " +
        "Pod Identity\n  - an access entry in the EKS cluster amazon for the operator's role, with the group that is " +
        "operator.multiClusterMemberIamGroup there\n"
    )
    expect(notes).toContain(
      "- an Azure identity of the operator: sa.azureClientId\n  - a federated credential of that Azure identity for " +
        "system:serviceaccount:tools:mirrord-operator, with the audience api://AzureADTokenExchange\n  - that Azure " +
        "identity in an Entra group, whose object id is operator.multiClusterMemberAzureGroup there\n"
    )
  })

  it("give a member the line that makes the primary's token, unless it has groups", async () => {
    expect(await chart.notes({ sample: "multicluster_member_custom_namespace" })).toContain(
      "kubectl -n elsewhere create token mirrord-operator-envoy --duration=24h"
    )
    expect(await chart.notes({ sample: "multicluster_member_iam" })).not.toContain("create token")
  })

  it("say that a group without multiClusterMember gets nothing", async () => {
    expect(await chart.notes({ sample: "multicluster_group_without_member" })).toContain(
      "operator.multiClusterMember is off"
    )
  })

  it("say that a primary without clusters runs no sessions", async () => {
    expect(await chart.notes({ sample: "multicluster_empty_clusters" })).toContain(
      "operator.multiCluster.clusters is empty, so no session can run."
    )
  })

  it("say the first steps: the image in the first line, the test, the role and the session", async () => {
    const usual = await chart.notes({})
    expect(usual).toMatch(/^The image ghcr\.io\/braid-operator\/braid:\S+ is not published yet, .+\n\nbraid /u)
    const steps = [
      "\n  helm test braid --namespace default\n  kubectl --namespace mirrord logs mirrord-doctor\n",
      "--clusterrole=mirrord-operator-user --group=GROUP",
      "\n  mirrord exec --target deployment/NAME --target-namespace NAMESPACE -- COMMAND"
    ]
    expect(steps.map((step) => usual.indexOf(step) > 0)).toEqual(steps.map(() => true))
    const own = { createNamespace: false, operator: { image: "registry.example.com/braid", multiClusterMember: true } }
    const member = await chart.notes({ namespace: "mirrord", values: own })
    // Helm looks for the log in the namespace of the release.
    expect(member).toContain("\n  helm test braid --namespace mirrord --logs\n")
    expect(member).toContain("Sessions begin at the primary")
    expect(member).not.toMatch(/not published|mirrord exec|goes with the release/u)
    expect(usual).toContain("The namespace mirrord goes with the release, and with it all that is in there")
  })

  it("say that the namespace stays where the records of use are in it, and it does", async () => {
    const values = { dashboard: { enabled: true } }
    const notes = await chart.notes({ values })
    expect(notes).toContain("The namespace mirrord and the records of use in it stay. If you want neither")
    expect(notes).not.toContain("goes with the release")
    expect(notes).toContain("does not start without the volume of the records, of the default StorageClass. If")
    const annotations = async (given: object) =>
      at((await chart.render({ values: given })).get("Namespace", "mirrord"), "metadata", "annotations")
    expect(await annotations(values)).toEqual({ "helm.sh/resource-policy": "keep" })
    expect(await annotations({})).toBeUndefined()
  })

  it("name the Secret of records in PostgreSQL, which have no volume and any number of pods", async () => {
    const usage = { postgres: { secret: "records", key: "uri", caKey: "ca.crt" } }
    const values = { dashboard: { enabled: true }, usage, operator: { replicas: 2 } }
    const notes = await chart.notes({ values })
    expect(notes).toContain("kubectl -n mirrord get secret records\n")
    expect(notes).not.toContain("volume")
    const rendered = await chart.render({ values })
    expect(rendered.objects.filter(({ kind }) => kind === "PersistentVolumeClaim")).toEqual([])
    const deployment = rendered.get("Deployment", "mirrord-operator")
    expect(at(deployment, "spec", "strategy", "type")).toBe("RollingUpdate")
    expect(JSON.stringify(at(deployment, "spec", "template"))).not.toContain("/usage")
    expect(rendered.env["OPERATOR_USAGE_DATABASE_URL"]).toEqual({ secretKeyRef: { name: "records", key: "uri" } })
    expect(rendered.env["OPERATOR_USAGE_DATABASE_CA"]).toEqual({ secretKeyRef: { name: "records", key: "ca.crt" } })
  })

  it("say what helps when the hook's pod cannot run", async () => {
    const notes = await chart.notes({
      namespace: "releases",
      values: { operator: { image: "registry.example.com/braid", imageTag: "7" } }
    })
    expect(notes).toContain("a pod of registry.example.com/braid:7 ends all sessions first")
    expect(notes).toContain(
      "\n  braid cleanup --copies --apply\n  helm uninstall braid --namespace releases --no-hooks\n"
    )
  })

  it("warn of the published operator's image", async () => {
    expect(
      await chart.notes({ values: { operator: { image: "mirror.example.com/metalbear-co/operator" } } })
    ).toContain("is the published operator")
  })

  describe("warn of agents that nothing protects", () => {
    const open = { networkPolicy: { agents: false } }
    const ephemeral = { extraConfig: { ephemeral: true } }
    const manages = { operator: { multiCluster: { enabled: true } } }
    const byAll = "Agents serve everybody who can reach them"
    const byPolicy = "networkPolicy.agents does not cover it. Set agent.tls."
    const rows = [
      { name: "the default policy protects them", values: {}, warnings: [] },
      { name: "no policy", values: open, warnings: [byAll] },
      { name: "TLS protects them", values: { ...open, agent: { tls: true } }, warnings: [] },
      {
        name: "TLS by the variable",
        values: { ...open, operator: { extraEnv: { OPERATOR_AGENT_CONNECTION_TLS: "yes" } } },
        warnings: []
      },
      { name: "there are none", values: { ...open, ...manages }, warnings: [] },
      { name: "a policy cannot protect ephemeral ones", values: { agent: ephemeral }, warnings: [byPolicy] },
      { name: "ephemeral ones without a policy", values: { ...open, agent: ephemeral }, warnings: [byPolicy] },
      { name: "ephemeral ones with TLS", values: { agent: { ...ephemeral, tls: true } }, warnings: [] },
      { name: "there are no ephemeral ones", values: { agent: ephemeral, ...manages }, warnings: [] }
    ]
    beforeAll(() => chart.prepare(rows, { notes: true }))

    it.each(rows)("$name", async ({ values, warnings }) => {
      const notes = await chart.notes({ values })
      expect([byAll, byPolicy].filter((warning) => notes.includes(warning))).toEqual(warnings)
    })
  })

  it("name fields of branches without effect, also those of a profile, and none that the operator knows", async () => {
    const known = { ...Object.fromEntries(servedFields.map((name) => [name, "x"])), tls: true }
    const pgBranchConfig = { dbPod: known, profiles: { small: { dbPod: known }, none: {} }, other: 1 }
    const notes = await chart.notes({ values: { operator: { pgBranching: true, pgBranchConfig } } })
    const why = "branches have no such setting yet"
    expect(notes.split("\n").filter((line) => line.includes("BranchConfig"))).toEqual([
      `  operator.pgBranchConfig.other: ${why}`,
      `  operator.pgBranchConfig.dbPod.tls: ${why}`,
      `  operator.pgBranchConfig.profiles.small.dbPod.tls: ${why}`
    ])
  })

  it("say what an API server before Kubernetes 1.30 does not ask, where there are branches", async () => {
    const multiCluster = { enabled: true, managementOnly: true }
    const notes = (version: string, operator: object) =>
      chart.notes({ args: ["--kube-version", version], values: { operator } })
    const warning = "Before 1.30 an API server cannot ask whether a user who orders a branch"
    expect(await notes("1.29.1", { pgBranching: true })).toContain(warning)
    const ofPrimary = await notes("1.29.1", { pgBranching: true, multiCluster })
    expect(ofPrimary).toContain("create branchdatabases in namespace mirrord can have one made of any workload of the")
    expect(await notes("1.30.0", { pgBranching: true, multiCluster })).not.toContain(warning)
    expect(await notes("1.29.1", {})).not.toContain(warning)
  })

  it("name settings of agents that there are not, once each", async () => {
    const extraConfig = { namespace: "x", startup_timeout: 1, startup_timeuot: 1, exclude_from_mesh: true }
    const notes = await chart.notes({ values: { agent: { extraConfig } } })
    expect(notes.split("\n").filter((line) => line.includes("agent.extraConfig"))).toEqual([
      "  agent.extraConfig.exclude_from_mesh: only agents as ephemeral containers have it",
      "  agent.extraConfig.startup_timeuot: agents have no such setting, did you mean startup_timeout?"
    ])
  })

  it("name fields of clusters that nobody knows, with the one that is meant", async () => {
    const known = Object.fromEntries(
      [...Object.keys(clusterFields), "bearerToken", "tlsCrt", "tlsKey"].map((field) => [field, ""])
    )
    const cluster = {
      ...known,
      server: "https://a.example.com",
      authType: "bearerToken",
      bearertoken: "t",
      "tls-crt": "c",
      colour: "blue"
    }
    const notes = await chart.notes({
      values: { operator: { multiCluster: { enabled: true, defaultCluster: "a", clusters: { a: cluster } } } }
    })
    const at = "operator.multiCluster.clusters.a"
    expect(notes.split("\n").filter((line) => line.includes("no such field"))).toEqual([
      `  ${at}.bearertoken: a cluster has no such field, did you mean bearerToken?`,
      `  ${at}.colour: a cluster has no such field`,
      `  ${at}.tls-crt: a cluster has no such field, did you mean tlsCrt?`
    ])
  })

  it("say which secrets are in the release's history", async () => {
    const clusters = {
      a: { server: "https://a.example.com", authType: "bearerToken", bearerToken: "x" },
      b: { server: "https://b.example.com", authType: "mtls", tlsCrt: "x", tlsKey: "x" },
      c: { server: "https://c.example.com", authType: "bearerToken" }
    }
    const notes = await chart.notes({
      values: {
        tls: { data: { "tls.key": "x", "tls.crt": "x" } },
        operator: { multiCluster: { enabled: true, defaultCluster: "a", clusters } }
      }
    })
    expect(notes).toContain(`leave them out:
  operator.multiCluster.clusters.a.bearerToken
  operator.multiCluster.clusters.b.tlsKey
  tls.data."tls.key"`)
    expect(await chart.notes({ sample: "multicluster_bearer_token" })).not.toContain("Secrets in the values")
  })

  it("never show a credential", async () => {
    for (const sample of ["multicluster_rfc", "multicluster_mtls", "operator_license_key_and_pem"]) {
      expect(await chart.notes({ sample })).not.toMatch(/eyJ|a2V5|secret-key|also-not/u)
    }
  })
})
