import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse, stringify } from "yaml"
import type { EmbeddedCluster } from "../../../../lab/cluster/embedded-cluster.ts"
import type { Playground } from "../../../../lab/playground/local-cluster.ts"
import { mergedKubeconfig } from "../../../../lab/playground/merged-kubeconfig.ts"
import { startPlayground } from "../../../../lab/playground/playground.ts"
import { topology } from "../../../../lab/playground/topology.ts"
import { makeTunnelAuthority } from "../../../../src/adapters/x509/tunnel-certificates.ts"
import { encodeBase64Text } from "../../../../src/domain/fleet/credentials/base64.ts"
import { asObjects, asString, at } from "../../../../src/domain/json.ts"
import { subnetOf } from "../../../address-plan.ts"
import { ApiClient, type Credentials } from "../../../lab/cluster/api-client.ts"
import { quietNode } from "../../../support/quiet-node.ts"
import { type BraidRun, runBraid } from "../../../support/run-braid.ts"
import { tunnelLife } from "../../../support/tunnels.ts"

/** However slow this machine is, ms. */
const patience = 600_000
const namespace = "mirrord"
const configMap = "/api/v1/namespaces/mirrord/configmaps/mirrord-configmap"
const secretsOf = "/api/v1/namespaces/mirrord/secrets"
const secretOf = (cluster: string) => `${secretsOf}/mirrord-cluster-${cluster}`

const clientOf = ({ caPem, kubeconfigPath, server }: EmbeddedCluster): ApiClient => {
  const user = at(asObjects(at(parse(readFileSync(kubeconfigPath, "utf8")), "users"))[0], "user")
  const pem = (field: string) => Buffer.from(asString(at(user, field)) ?? "", "base64").toString("utf8")
  const credentials: Credentials = { cert: pem("client-certificate-data"), key: pem("client-key-data") }
  return new ApiClient(server, caPem, credentials)
}

const rbac = "rbac.authorization.k8s.io"
const rule = (group: string, resources: ReadonlyArray<string>, verbs: ReadonlyArray<string>): object => ({
  apiGroups: [group],
  resources,
  verbs
})
const boundTo = (user: string, role: string): object => ({
  apiVersion: `${rbac}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: user },
  roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
  subjects: [{ kind: "User", name: user, apiGroup: rbac }]
})
/** A user with exactly some rights. */
const roleOf = (user: string, rules: ReadonlyArray<object>): ReadonlyArray<object> => [
  { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name: user }, rules },
  boundTo(user, user)
]

describe("a cluster joins a fleet that runs", () => {
  let directory = ""
  let kubeconfig = ""
  let playground: Playground
  let primary: ApiClient
  const scope = Scope.makeUnsafe()
  const cluster = (name: string): EmbeddedCluster => {
    const found = playground.clusters.find(({ description }) => description.name === name)
    if (found === undefined) throw new Error(`no cluster ${name}`)
    return found.cluster
  }
  const braid = (...args: ReadonlyArray<string>): Promise<BraidRun> =>
    runBraid([...args, "--kubeconfig", kubeconfig, "--context", "primary"])
  const joining = (...args: ReadonlyArray<string>): Promise<BraidRun> =>
    braid("join", "cluster-b", "--timeout-secs", "300", ...args)
  const text = async (key: string): Promise<string> =>
    asString(at((await primary.get(configMap)).body, "data", key)) ?? ""

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "braid-join-"))
    playground = await Effect.runPromise(
      startPlayground({
        topology: topology("management", subnetOf("clusters that join")),
        directory,
        sessionTtlSecs: 3_600,
        remoteSessionTimeoutSecs: 60,
        progress: () => Effect.void
      }).pipe(Scope.provide(scope), Effect.provide(quietNode))
    )
    kubeconfig = mergedKubeconfig(
      join(directory, "all.kubeconfig"),
      playground.clusters.map(({ cluster: { kubeconfigPath, name } }) => ({ name, kubeconfigPath }))
    )
    await Effect.runPromise(playground.setMembers(["cluster-a"]))
    primary = clientOf(cluster("primary"))
    expect((await primary.call("DELETE", secretOf("cluster-b"))).code).toBe(200)
  }, patience)
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true })
  }, patience)

  it(
    "is tried and told all that is needed, and nothing is written or secret",
    async () => {
      const before = await text("clusters-config.yaml")
      const run = await joining()
      expect(run.errors).toBe("")
      expect(run.output).toContain("  ok    operator        The upgrade of a link reaches the operator.\n")
      expect(run.output).toContain(
        "Nothing was written. --apply does this:\n" +
          "  making Secret mirrord/mirrord-cluster-cluster-b\n" +
          "  adding cluster cluster-b to clusters-config.yaml of ConfigMap mirrord/mirrord-configmap\n"
      )
      expect(run.output).toContain('\n  bearerToken: ""\n')
      expect(run.code).toBe(0)
      expect(await text("clusters-config.yaml")).toBe(before)
      expect((await primary.get(secretOf("cluster-b"))).code).toBe(404)
    },
    patience
  )

  it(
    "is told as YAML with its credentials if that is asked for, and they work",
    async () => {
      const run = await joining("--show-secrets", "-o", "yaml")
      const told = parse(run.output) as unknown
      const token = Buffer.from(asString(at(told, "manifest", "data", "bearerToken")) ?? "", "base64").toString("utf8")
      const { caPem, server } = cluster("cluster-b")
      expect(at(told, "values", "primary", "operator", "multiCluster", "clusters", "cluster-b")).toEqual({
        server,
        caData: Buffer.from(caPem).toString("base64"),
        authType: "bearerToken"
      })
      const seen = await new ApiClient(server, caPem, { token }).get("/api/v1/namespaces/kube-system")
      expect(seen.code).toBe(200)
      expect((await primary.get(secretOf("cluster-b"))).code).toBe(404)
    },
    patience
  )

  it(
    "is refused before anything is written, with a sentence",
    async () => {
      const before = await text("clusters-config.yaml")
      const member = (name: string) => ["--member-context", name, "--apply"]
      const refused = async (args: ReadonlyArray<string>, sentence: string): Promise<void> => {
        const run = await braid("join", ...args, "--timeout-secs", "300")
        expect(`${run.output}${run.errors}`).toContain(sentence)
        expect(run.code).toBe(1)
      }
      await refused(["itself", ...member("primary")], "Cluster itself cannot join: it is the primary's own cluster: ")
      await refused(["copy", ...member("cluster-a")], "Cluster copy cannot join: it is cluster cluster-a: ")
      await refused(["primary", ...member("cluster-b")], "the name collides with clusterName primary")
      await refused(["cluster-c", "--apply"], 'The kubeconfig has no context "cluster-c"')
      await refused(
        ["cluster-b", "--apply", "--server", "https://127.0.0.1:1"],
        "Nothing was written: first put right what failed."
      )
      await refused(
        ["cluster-b", "--apply", "--member-namespace", "default"],
        "There is no service account default/mirrord-operator-envoy in cluster cluster-b."
      )
      const lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "mirrord-operator-primary", namespace },
        spec: { holderIdentity: "another-primary" }
      }
      cluster("cluster-b").apply(stringify(lease))
      await refused(["cluster-b", "--apply"], "this cluster serves the primary another-primary, and not ")
      const leases = "/apis/coordination.k8s.io/v1/namespaces/mirrord/leases/mirrord-operator-primary"
      expect((await clientOf(cluster("cluster-b")).call("DELETE", leases)).code).toBe(200)
      expect(await text("clusters-config.yaml")).toBe(before)
      for (const name of ["itself", "copy", "cluster-b"]) expect((await primary.get(secretOf(name))).code).toBe(404)
    },
    patience
  )

  it(
    "may use a client certificate, which is tried",
    async () => {
      const path = join(directory, "certificate.kubeconfig")
      await Effect.runPromise(cluster("cluster-b").userKubeconfig({ user: "the-primary", path }))
      const user = at(asObjects(at(parse(readFileSync(path, "utf8")), "users"))[0], "user")
      const pair = (["certificate", "key"] as const).map((part) => {
        const file = join(directory, `client-${part}.pem`)
        writeFileSync(file, Buffer.from(asString(at(user, `client-${part}-data`)) ?? "", "base64"))
        return [`--client-${part}`, file]
      })
      const args = ["--provider", "mtls", ...pair.flat()]
      const without = await joining(...args)
      expect(without.output).toMatch(/\n {2}FAIL {2}permissions {5}the-primary may not /u)
      expect(without.code).toBe(1)
      cluster("cluster-b").apply(stringify(boundTo("the-primary", "mirrord-operator-envoy")))
      const run = await joining(...args)
      expect(run.output).toContain("  ok    operator        The upgrade of a link reaches the operator.\n")
      expect(run.output).toContain("\n      name: the-primary\n")
      expect(run.output).not.toContain("PRIVATE KEY")
      expect(run.code).toBe(0)
    },
    patience
  )

  it(
    "is told as written in part by a person who may not write the list",
    async () => {
      const path = join(directory, "half.kubeconfig")
      await Effect.runPromise(cluster("primary").userKubeconfig({ user: "half", path }))
      cluster("primary").apply(
        roleOf("half", [
          rule("", ["configmaps", "namespaces"], ["get"]),
          rule("", ["secrets"], ["get", "create"]),
          rule("apps", ["deployments"], ["get"])
        ])
          .map((object) => stringify(object))
          .join("---\n")
      )
      const args = ["join", "cluster-b", "--apply", "--kubeconfig", path, "--member-kubeconfig", kubeconfig]
      const run = await runBraid([...args, "--timeout-secs", "300"])
      expect(run.errors).toMatch(
        /^braid: Adding cluster cluster-b to clusters-config\.yaml of ConfigMap mirrord\/mirrord-configmap failed: .* Done before that: Secret mirrord\/mirrord-cluster-cluster-b was made\.\n/u
      )
      expect([run.code, run.output]).toEqual([1, ""])
    },
    patience
  )

  it(
    "is connected to when all is written, and a second time nothing is written",
    async () => {
      const run = await joining("--apply", "--wait")
      expect([run.code, run.errors]).toEqual([0, ""])
      expect(run.output).toContain(
        "\nCluster cluster-b was added to clusters-config.yaml of ConfigMap mirrord/mirrord-configmap.\n" +
          "The primary is connected to cluster cluster-b, operator 3.250.0+braid."
      )
      const secret = (await primary.get(secretOf("cluster-b"))).body
      const list = (await primary.get(configMap)).body
      const again = await joining("--apply", "--wait")
      expect([again.code, again.errors]).toEqual([0, ""])
      expect(again.output).toContain("Nothing had to be written.")
      const token = Buffer.from(asString(at(secret, "data", "bearerToken")) ?? "", "base64").toString("utf8")
      for (const part of token.split(".").slice(1)) expect(run.output + again.output).not.toContain(part)
      expect(await primary.get(secretOf("cluster-b"))).toMatchObject({ body: secret })
      expect(await primary.get(configMap)).toMatchObject({ body: list })
    },
    patience
  )

  it(
    "is listed with its credentials and their end",
    async () => {
      const run = await braid("clusters")
      expect([run.code, run.errors]).toEqual([0, ""])
      expect(run.output).toMatch(
        /^NAME +READY +ROLE +AUTH +EXPIRES +VERSION +SESSIONS +SINCE +REASON\ncluster-a +\w+ +Default +bearerToken +29d[^\n]*\ncluster-b +\w+ +- +bearerToken +2[34]h[^\n]*\n$/u
      )
      const rows = JSON.parse((await braid("clusters", "-o", "json")).output) as unknown
      expect(rows).toContainEqual(
        expect.objectContaining({
          name: "cluster-b",
          roles: [],
          auth: "bearerToken",
          expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT/u),
          sessions: 0
        })
      )
      const member = await runBraid(["clusters", "--kubeconfig", kubeconfig, "--context", "cluster-b"])
      expect(member.output).toBe("The operator of this cluster has no fleet: it is no primary.\n")
    },
    patience
  )

  it(
    "gets no token for a primary whose tunnels were switched off, although its authority stays",
    async () => {
      const { certificatePem, keyPem } = await makeTunnelAuthority(tunnelLife)
      const texts = { "tls.crt": certificatePem, "tls.key": Redacted.value(keyPem) }
      const data = Object.fromEntries(Object.entries(texts).map(([key, pem]) => [key, encodeBase64Text(pem)]))
      const metadata = { name: "mirrord-outbound-authority", namespace }
      expect((await primary.post(secretsOf, { apiVersion: "v1", kind: "Secret", metadata, data })).code).toBe(201)
      const run = await braid("join", "cluster-c", "--outbound", "--cell", "cell.example.com:8443", "--apply")
      expect([run.code, run.errors]).toEqual([1, expect.stringContaining("set operator.cell.enabled in its values")])
      expect((await primary.get(secretOf("cluster-c"))).code).toBe(404)
    },
    patience
  )

  it(
    "is listed for a person who may read the clusters alone, and for nobody else",
    async () => {
      const path = join(directory, "viewer.kubeconfig")
      await Effect.runPromise(cluster("primary").userKubeconfig({ user: "viewer", path }))
      const refused = await runBraid(["clusters", "--kubeconfig", path])
      expect(refused.code).toBe(1)
      expect(refused.errors).toMatch(
        /^braid: You may not read clusters \(mirrordclusters.*\nfix: Ask for ClusterRole/su
      )
      cluster("primary").apply(
        roleOf("viewer", [rule("operator.metalbear.co", ["mirrordclusters"], ["list"])])
          .map((object) => stringify(object))
          .join("---\n")
      )
      const run = await runBraid(["clusters", "--kubeconfig", path])
      expect([run.code, run.errors]).toEqual([0, ""])
      expect(run.output).toMatch(/\ncluster-b +\w+ +- +bearerToken +/u)
    },
    patience
  )

  it(
    "stays while a session uses it, and leaves when it is told to",
    async () => {
      const leaving = (...args: ReadonlyArray<string>): Promise<BraidRun> => braid("leave", "cluster-b", ...args)
      const member = clientOf(cluster("cluster-b"))
      const lease = "/apis/coordination.k8s.io/v1/namespaces/mirrord/leases/mirrord-operator-primary"
      const uid = at((await primary.get("/api/v1/namespaces/kube-system")).body, "metadata", "uid")
      cluster("cluster-b").apply(
        stringify({
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: "mirrord-operator-primary", namespace },
          spec: { holderIdentity: uid }
        })
      )
      const parents = "/apis/operator.metalbear.co/v1alpha/mirrordmulticlustersessions"
      const session = {
        apiVersion: "operator.metalbear.co/v1alpha",
        kind: "MirrordMultiClusterSession",
        metadata: { name: "mc-00000000000000ff" },
        spec: {
          owner: { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann" },
          namespace: "default",
          target: { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "myapp" },
          targetAlias: "deployment.myapp.container.myapp",
          clusters: ["cluster-a", "cluster-b"],
          primaryCluster: "primary"
        }
      }
      expect((await primary.post(parents, session)).code).toBe(201)
      const list = await text("clusters-config.yaml")
      const used = await leaving("--apply")
      expect(used.errors).toContain("braid: A session uses cluster cluster-b: mc-00000000000000ff; end them")
      expect([used.code, used.output]).toEqual([1, ""])
      const wrong = await leaving("--apply", "--force", "--member-context", "cluster-a")
      expect(wrong.errors).toContain("The context leads to another cluster than cluster-b: ")
      const standing = await braid("leave", "cluster-a", "--apply", "--force")
      expect(standing.errors).toContain("Cluster cluster-a is the default cluster;")

      const planned = await leaving("--force")
      expect(planned.code).toBe(0)
      expect(await text("clusters-config.yaml")).toBe(list)
      expect((await member.get(lease)).code).toBe(200)

      const done = await leaving("--force", "--apply")
      expect([done.code, done.errors]).toEqual([0, ""])
      expect(done.output).toContain("Sessions go on without cluster cluster-b, and their parts there end by themselves")
      expect(asObjects(at(parse(await text("clusters-config.yaml")), "clusters")).map(({ name }) => name)).toEqual([
        "cluster-a"
      ])
      expect((await primary.get(secretOf("cluster-b"))).code).toBe(404)
      expect((await member.get(lease)).code).toBe(404)
      const pins = await primary.get("/api/v1/namespaces/mirrord/configmaps/mirrord-operator-cluster-identities")
      expect(Object.keys(at(pins.body, "data") as object)).not.toContain("cluster-b")

      const again = await leaving("--force", "--apply")
      expect([again.code, again.output, again.errors]).toEqual([
        1,
        "",
        'braid: There is no cluster "cluster-b" in the fleet.\nfix: Name one of cluster-a.\n'
      ])
    },
    patience
  )
})
