import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { createAuthority } from "../../../../lab/cluster/http/pki.ts"
import type { Right } from "../../../../src/domain/catalogue/right.ts"
import { memberRights, noParts, ownRights } from "../../../../src/domain/commands/doctor/needed-rights.ts"
import { encodeBase64Text } from "../../../../src/domain/fleet/credentials/base64.ts"
import { kubeconfigKey, kubeconfigLabel } from "../../../../src/domain/fleet/provided-clusters.ts"
import { at, asObjects } from "../../../../src/domain/json.ts"
import { ApiClient, type Credentials, eventually } from "../../../lab/cluster/api-client.ts"
import { type ChangedApiServer, changedApiServer } from "../../../support/changed-api-server.ts"
import { type BraidRun, runBraid as runProgram } from "../../../support/run-braid.ts"
import { grant, namespaceOf } from "./grant.ts"

/** A cluster for the doctor to look at; nothing else uses it. */
export interface DoctorCluster {
  readonly server: string
  readonly caPem: string
  readonly kubeconfigPath: string
  readonly admin: Credentials
  readonly apply: (yaml: string) => Promise<void>
  readonly tokenOf: (namespace: string, serviceAccount: string) => Promise<string>
  /** A real one of an account, over since an hour. */
  readonly expiredTokenOf: (namespace: string, serviceAccount: string) => Promise<string>
}

const namespace = "mirrord"
const awsSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
const day = 86_400_000
const account = (name: string): object => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } })
const secret = (cluster: string, data: Readonly<Record<string, string>>, labelled = true): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: `mirrord-cluster-${cluster}`,
    namespace,
    labels: labelled ? { "operator.metalbear.co/remote-cluster-credentials": "true" } : {}
  },
  stringData: data
})
/** The Secret by which the operator finds a cluster. */
const kubeconfigSecret = (cluster: string, config: object): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: cluster, namespace, labels: { [kubeconfigLabel]: "true" } },
  stringData: { [kubeconfigKey]: stringify(config) }
})
const crd = (plural: string): Promise<string> =>
  readFile(new URL(`../../../../crds/${plural}.yaml`, import.meta.url), "utf8")

const primaryRole = { _tag: "Primary", managementOnly: true, isDefault: false } as const
/** The right that the operator of this cluster lacks. */
const taken = "mirrordclustersessions/status"
const granted = ownRights(primaryRole, noParts).filter(({ resource }) => resource !== taken)

/** However slow this machine is, ms. */
const patience = 300_000

/** Values that the chart found without effect, and the findings about them. */
const unusedValues = "operator.replcas: there is no such value, did you mean operator.replicas?\nagent.tls: no agents\n"
const unused = [
  "operator.replcas: there is no such value, did you mean operator.replicas?",
  "agent.tls: no agents."
].map((line) => ({
  check: "configuration",
  status: "warning",
  message: `A value of the chart has no effect: ${line}`,
  fix: "Correct it or leave it out, and upgrade the release."
}))

const runBraid = (args: ReadonlyArray<string>, env?: Readonly<Record<string, string>>): Promise<BraidRun> =>
  runProgram([...args, "--timeout-secs", "300"], env)

interface Told {
  readonly check: string
  readonly status: string
  readonly message: string
  readonly fix?: string
}

/**
 * One cluster is the primary and all members of its fleet. Each member has something else wrong with it, and the own
 * cluster lacks a right and a custom resource.
 */
export const doctorSuite = (cluster: () => DoctorCluster): void => {
  let directory: string
  let changed: ReadonlyArray<ChangedApiServer>
  let env: Readonly<Record<string, string>>
  let secretTexts: ReadonlyArray<string>
  let run: BraidRun
  let report: unknown

  const accountClient = (token: string): ApiClient => new ApiClient(cluster().server, cluster().caPem, { token })
  /** Roles become known a moment later on a real server. */
  const known = async (token: string, rights: ReadonlyArray<Right>): Promise<void> => {
    const client = accountClient(token)
    for (const { group, name = "", resource: path, scope, verbs } of rights) {
      const [resource, subresource = ""] = path.split("/")
      for (const verb of verbs) {
        const spec = { resourceAttributes: { verb, resource, subresource, group, name, namespace: namespaceOf(scope) } }
        await eventually(
          () =>
            client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
              apiVersion: "authorization.k8s.io/v1",
              kind: "SelfSubjectAccessReview",
              spec
            }),
          ({ body }) => at(body, "status", "allowed") === true
        )
      }
    }
  }

  beforeAll(async () => {
    const { apply, caPem, expiredTokenOf, server, tokenOf } = cluster()
    directory = await mkdtemp(join(tmpdir(), "braid-doctor-"))
    const documents = (objects: ReadonlyArray<object>): string =>
      objects.map((object) => stringify(object)).join("---\n")
    await apply(await crd("mirrordclustersessions"))
    await apply(documents([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]))
    await apply(
      documents([
        ...["mirrord-operator", "mirrord-operator-envoy", "nobody"].map(account),
        ...grant("mirrord-operator", granted),
        ...grant("mirrord-operator-envoy", memberRights([]))
      ])
    )
    const other = await createAuthority("other", Date.now)
    const foreign = await createAuthority("kubernetes", () => Date.now() - 3640 * day)
    const foreignUser = await foreign.issue({ commonName: "primary" })
    const [envoy, operator, nobody] = await Promise.all(
      ["mirrord-operator-envoy", "mirrord-operator", "nobody"].map((name) => tokenOf(namespace, name))
    )
    const expired = await expiredTokenOf(namespace, "mirrord-operator-envoy")
    const ahead = await changedApiServer({ server, caPem }, { skew: 3_600_000 })
    const ending = await changedApiServer({ server, caPem }, { now: Date.now() - 3640 * day })
    changed = [ahead, ending]
    const member = (name: string, more: object = {}): object => ({
      name,
      server,
      caData: encodeBase64Text(caPem),
      authType: "bearerToken",
      ...more
    })
    const members = [
      member("ahead", { server: ahead.server, caData: encodeBase64Text(ahead.caPem) }),
      member("aws", { authType: "eks", region: "eu-central-1" }),
      member("azure", { authType: "aks" }),
      member("ending", { server: ending.server, caData: encodeBase64Text(ending.caPem) }),
      member("expired"),
      member("foreign-certificate", { authType: "mtls" }),
      member("nobody"),
      member("unlabelled"),
      member("unreachable", { server: "https://127.0.0.1:1" }),
      member("well", { isDefault: true }),
      member("wrong-ca", { caData: encodeBase64Text(other.caPem) })
    ]
    const kubeconfig = (user: object): object => ({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server, "certificate-authority-data": encodeBase64Text(caPem) } }],
      users: [{ name: "user", user }],
      contexts: [{ name: "c", context: { cluster: "c", user: "user" } }],
      "current-context": "c"
    })
    const bearer = (name: string, token: string | undefined): object => secret(name, { bearerToken: token ?? "" })
    await apply(
      documents([
        ...["ahead", "ending", "unreachable", "well", "wrong-ca"].map((name) => bearer(name, envoy)),
        bearer("expired", expired),
        bearer("nobody", nobody),
        kubeconfigSecret("found", kubeconfig({ token: envoy })),
        kubeconfigSecret("found-program", kubeconfig({ exec: { command: "aws" } })),
        kubeconfigSecret("well", kubeconfig({ token: envoy })),
        secret("unlabelled", { bearerToken: envoy ?? "" }, false),
        secret("foreign-certificate", { "tls.crt": foreignUser.certPem, "tls.key": foreignUser.keyPem })
      ])
    )
    secretTexts = [
      awsSecret,
      envoy ?? "-",
      operator ?? "-",
      nobody ?? "-",
      expired,
      ...foreignUser.keyPem.split("\n").filter((line) => line.length > 40)
    ]
    const write = async (name: string, text: string): Promise<string> => {
      const path = join(directory, name)
      await writeFile(path, text, { mode: 0o600 })
      return path
    }
    await write("unused-values.txt", unusedValues)
    env = {
      OPERATOR_AGENT_CONFIG: await write("agent-config.yaml", ""),
      AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
      AWS_SECRET_ACCESS_KEY: awsSecret,
      MIRRORD_OPERATOR_NAMESPACE: namespace,
      OPERATOR_MULTI_CLUSTER_PROVIDERS: "kubeconfigSecrets",
      MIRRORD_MULTICLUSTER_CONFIG: await write(
        "multicluster-config.yaml",
        stringify({ clusterName: "primary", managementOnly: true })
      ),
      MIRRORD_CLUSTERS_CONFIG: await write("clusters-config.yaml", stringify({ clusters: members })),
      KUBECONFIG: await write("operator.kubeconfig", stringify(kubeconfig({ token: operator })))
    }
    await known(operator ?? "", granted)
    await known(envoy ?? "", memberRights([]))
    run = await runBraid(["doctor", "-o", "json"], env)
    report = run.output.startsWith("{") ? JSON.parse(run.output) : {}
  }, patience)
  afterAll(async () => {
    await Promise.all(changed.map(({ close }) => close()))
    await rm(directory, { recursive: true, force: true })
  })

  const of = (name: string): ReadonlyArray<Told> => {
    const found = asObjects(at(report, "clusters")).find((one) => one["name"] === name)
    if (found === undefined) throw new Error(`no cluster ${name}: ${run.output}${run.errors}`)
    return asObjects(found["findings"]) as ReadonlyArray<object> as ReadonlyArray<Told>
  }
  const statuses = (name: string): Readonly<Record<string, string>> =>
    Object.fromEntries(of(name).map(({ check, status }) => [check, status]))
  const finding = (name: string, check: string): Told | undefined => of(name).find((one) => one.check === check)

  describe("braid doctor as the operator", () => {
    it("fails, and names each cluster", () => {
      expect([run.code, run.errors]).toEqual([1, ""])
      expect(report).toMatchObject({
        seenFrom: "operator",
        verdict: "failed",
        findings: [
          {
            check: "configuration",
            status: "failed",
            message:
              "Cluster well of Secret mirrord/well is not used: its name collides with that of cluster well of the " +
              "configuration; rename one of the two.",
            fix: "Rename one of the two clusters."
          },
          ...unused
        ]
      })
      expect(asObjects(at(report, "clusters")).map(({ name }) => name)).toEqual([
        "primary",
        "ahead",
        "aws",
        "azure",
        "ending",
        "expired",
        "foreign-certificate",
        "found",
        "found-program",
        "nobody",
        "unlabelled",
        "unreachable",
        "well",
        "wrong-ca"
      ])
    })

    it("finds a right and a custom resource that the own cluster lacks, and no operator", () => {
      expect(
        of("primary")
          .filter(({ status }) => status === "failed")
          .map(({ message }) => message)
      ).toEqual([
        "system:serviceaccount:mirrord:mirrord-operator may not patch " +
          "mirrordclustersessions/status.mirrord.metalbear.co in the whole cluster: without it no session here " +
          "becomes ready.",
        "mirrordmulticlustersessions.operator.metalbear.co is not installed: no session can be served.",
        "No operator is registered with the API server (APIService v1.operator.metalbear.co)."
      ])
      expect(finding("primary", "credentials")?.message).toMatch(
        /^Bearer token of user user of the kubeconfig for system:serviceaccount:mirrord:mirrord-operator; it expires in /u
      )
      expect(
        of("primary")
          .filter(({ status }) => status === "warning")
          .map(({ message }) => message)
      ).toContain("mirrordprofiles.profiles.mirrord.metalbear.co is not installed, which the chart always brings.")
    })

    it("finds nothing wrong with a member that is well, but that no operator runs there", () => {
      expect(of("well").filter(({ check, status }) => status !== "ok" && check !== "resources")).toMatchObject([
        { check: "operator", status: "failed", fix: "Install the chart on well." }
      ])
      expect(finding("well", "reach")?.message).toMatch(/ answers, Kubernetes v1\./u)
      expect(finding("well", "authentication")?.message).toBe(
        "The API server takes us for system:serviceaccount:mirrord:mirrord-operator-envoy."
      )
    })

    it("examines a cluster that was found by its kubeconfig as any other", () => {
      expect(of("found").filter(({ check, status }) => status !== "ok" && check !== "resources")).toMatchObject([
        { check: "operator", status: "failed", fix: "Install the chart on found." }
      ])
      expect(finding("found", "credentials")?.message).toMatch(/^Bearer token of Secret mirrord\/found for /u)
      expect(finding("found-program", "configuration")).toMatchObject({
        status: "failed",
        message: expect.stringMatching(
          /the kubeconfig of Secret found-program is unusable: it has exec; the operator runs no program/u
        )
      })
    })

    it("finds a CA that has not signed the API server's certificate, and sends it no credentials", () => {
      expect(statuses("wrong-ca")).toMatchObject({
        reach: "ok",
        certificate: "failed",
        credentials: "ok",
        authentication: "skipped",
        permissions: "skipped"
      })
      expect(finding("wrong-ca", "certificate")).toMatchObject({
        message: expect.stringContaining("is not signed by the configured CA"),
        fix: expect.stringContaining("clusters.wrong-ca.caData")
      })
    })

    it("finds a token that expired, and that it is refused", () => {
      expect(finding("expired", "credentials")).toMatchObject({
        status: "failed",
        message: expect.stringMatching(/; it expired \d+h?\d*m? ago, /u)
      })
      expect(finding("expired", "authentication")).toMatchObject({
        status: "failed",
        message: "The API server refuses the credentials (401 Unauthorized)."
      })
    })

    it("finds each verb that a primary's identity lacks", () => {
      expect(
        of("nobody")
          .filter(({ check }) => check === "permissions")
          .map(({ message }) => message)
      ).toEqual([
        "system:serviceaccount:mirrord:nobody may not get mirrordoperators.operator.metalbear.co in the whole " +
          "cluster: without it the cluster counts as lost.",
        "system:serviceaccount:mirrord:nobody may not proxy targets.operator.metalbear.co in the whole cluster: " +
          "without it no session can be attached to.",
        "system:serviceaccount:mirrord:nobody may not get, list targets.operator.metalbear.co in the whole cluster: " +
          "without it its targets are not listed, if it is the default cluster.",
        "system:serviceaccount:mirrord:nobody may not list, create copytargets.operator.metalbear.co in the whole " +
          "cluster: without it no copy of a target is made there, and sessions over many clusters on jobs and " +
          "cronjobs go without it.",
        'system:serviceaccount:mirrord:nobody may not get namespaces "kube-system" in the whole cluster: without it ' +
          "the cluster's identity is not known, and another cluster in its place is not noticed.",
        "system:serviceaccount:mirrord:nobody may not get, list, watch, create, delete " +
          "mirrordclustersessions.mirrord.metalbear.co in the whole cluster: without it no session is made in this " +
          "cluster.",
        "system:serviceaccount:mirrord:nobody may not delete sessions.operator.metalbear.co in the whole cluster: " +
          "without it sessions that users began in this cluster cannot be stopped from the primary."
      ])
    })

    it("finds a clock that is an hour ahead", () => {
      expect(finding("ahead", "clock")).toMatchObject({
        status: "failed",
        message: expect.stringMatching(/^The API server's clock is \d\S+ ahead of ours; sessions end/u)
      })
      expect(statuses("ahead")).toMatchObject({ reach: "ok", certificate: "ok", authentication: "ok" })
    })

    it("finds an API server's certificate that ends soon", () => {
      expect(finding("ending", "certificate")).toMatchObject({
        status: "warning",
        message: expect.stringMatching(/is trusted and ends in (9d23h|10d), /u)
      })
      expect(statuses("ending")).toMatchObject({ clock: "ok", authentication: "ok", permissions: "ok" })
    })

    it("finds a client certificate that ends soon, and that it is of another CA", () => {
      expect(finding("foreign-certificate", "credentials")).toMatchObject({
        status: "warning",
        message: expect.stringMatching(
          /^Client certificate of Secret mirrord\/mirrord-cluster-foreign-certificate; it expires in (9d23h|10d), /u
        )
      })
      expect(finding("foreign-certificate", "authentication")).toMatchObject({
        status: "failed",
        fix: expect.stringContaining("tls.crt and tls.key")
      })
    })

    it("finds an address at which nothing listens", () => {
      expect(finding("unreachable", "reach")).toMatchObject({
        status: "failed",
        message: expect.stringContaining("https://127.0.0.1:1 cannot be reached"),
        fix: expect.stringContaining("Nothing listens at https://127.0.0.1:1")
      })
      expect(statuses("unreachable")).toMatchObject({
        certificate: "skipped",
        authentication: "skipped",
        clock: "skipped",
        permissions: "skipped",
        resources: "skipped",
        operator: "skipped"
      })
    })

    it("makes a token for an EKS cluster, which another cluster refuses", () => {
      expect(finding("aws", "credentials")).toMatchObject({ status: "ok" })
      expect(finding("aws", "authentication")).toMatchObject({
        status: "failed",
        fix: expect.stringMatching(
          /^Make an access entry for the operator's role .* must be aws; eu-central-1 must be/u
        )
      })
    })

    it("finds a Secret without its label, and an identity in Azure that is missing", () => {
      expect(finding("unlabelled", "credentials")).toMatchObject({
        status: "failed",
        message: expect.stringContaining(
          "with label operator.metalbear.co/remote-cluster-credentials=true does not exist"
        )
      })
      expect(finding("azure", "credentials")).toMatchObject({
        status: "failed",
        message: expect.stringContaining("AZURE_FEDERATED_TOKEN_FILE are not set")
      })
      expect(statuses("azure")).toMatchObject({ reach: "ok", certificate: "ok", authentication: "skipped" })
    })

    it("tells no secret", () => {
      expect(secretTexts.length).toBeGreaterThan(5)
      for (const text of secretTexts) expect(run.output).not.toContain(text)
    })
  })

  describe("braid doctor with a person's kubeconfig", () => {
    it(
      "reads the fleet of the installation, and asks for the rights of its account",
      async () => {
        const container = {
          name: "mirrord-operator",
          image: "braid",
          env: [
            { name: "MIRRORD_MULTICLUSTER_CONFIG", value: "/mirrord-config/multicluster-config.yaml" },
            { name: "MIRRORD_CLUSTERS_CONFIG", value: "/mirrord-config/clusters-config.yaml" }
          ]
        }
        const labels = { app: "mirrord-operator" }
        const deployment = (...more: ReadonlyArray<object>) => ({
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "mirrord-operator", namespace },
          spec: {
            replicas: 0,
            selector: { matchLabels: labels },
            template: {
              metadata: { labels },
              spec: {
                serviceAccountName: "mirrord-operator",
                containers: [{ ...container, env: [...container.env, ...more] }]
              }
            }
          }
        })
        await cluster().apply(
          [
            {
              apiVersion: "v1",
              kind: "ConfigMap",
              metadata: { name: "mirrord-configmap", namespace },
              data: {
                "multicluster-config.yaml": await readFile(env["MIRRORD_MULTICLUSTER_CONFIG"] ?? "", "utf8"),
                "clusters-config.yaml": await readFile(env["MIRRORD_CLUSTERS_CONFIG"] ?? "", "utf8"),
                "unused-values.txt": unusedValues
              }
            },
            deployment()
          ]
            .map((object) => stringify(object))
            .join("---\n")
        )
        const byPerson = await runBraid(["doctor", "--kubeconfig", cluster().kubeconfigPath, "-o", "json"])
        const seen = JSON.parse(byPerson.output) as unknown
        expect(seen).toMatchObject({ seenFrom: "kubeconfig" })
        expect(asObjects(at(seen, "findings"))).toEqual(expect.arrayContaining(unused))
        const told = (name: string) =>
          asObjects(asObjects(at(seen, "clusters")).find((one) => one["name"] === name)?.["findings"])
        const permissions = (name: string) =>
          told(name)
            .filter(({ check }) => check === "permissions")
            .map(({ message }) => message)
        expect(permissions("primary")).toEqual([
          expect.stringMatching(
            /^system:serviceaccount:mirrord:mirrord-operator may not patch mirrordclustersessions\/status/u
          )
        ])
        expect(permissions("well")).toEqual([
          expect.stringMatching(/^system:serviceaccount:mirrord:mirrord-operator-envoy has all \d+ rights/u)
        ])
        expect(told("aws").find(({ check }) => check === "credentials")).toMatchObject({
          status: "warning",
          message: expect.stringMatching(/^The operator makes tokens for region eu-central-1 with its AWS identity; /u),
          fix: expect.stringMatching(/^Its service account names no AWS role: /u)
        })
        expect(byPerson.code).toBe(1)
        for (const text of secretTexts) expect(byPerson.output).not.toContain(text)
        await cluster().apply(stringify(deployment({ name: "PRIMARY_MANAGEMENT_ONLY", value: "maybe" })))
        const refused = await runBraid(["doctor", "--kubeconfig", cluster().kubeconfigPath])
        expect(refused.output).toContain("FAIL  configuration   The environment of the operator is wrong:")
        expect(refused.code).toBe(2)
      },
      patience
    )
  })
}
