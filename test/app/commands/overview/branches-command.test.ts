import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Result } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse, stringify } from "yaml"
import { mergedKubeconfig } from "../../../../lab/playground/merged-kubeconfig.ts"
import { type BranchesChoice, findBranches } from "../../../../src/app/commands/overview/branches-command.ts"
import { type Told, toldText } from "../../../../src/app/commands/overview/tell.ts"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"
import { operatorObjects } from "../../../support/operator-objects.ts"
import { runBraid } from "../../../support/run-braid.ts"

const patience = 300_000
const branch = (name: string, namespace: string): object => ({
  apiVersion: "dbs.mirrord.metalbear.co/v1alpha1",
  kind: "BranchDatabase",
  metadata: { name, namespace },
  spec: {
    id: `${name}-id`,
    ttlSecs: 300,
    target: { apiVersion: "apps/v1", kind: "Deployment", name: "shop", container: "" },
    connectionSource: { url: { env: { container: null, variable: "DATABASE_URL" } } },
    postgresOptions: {}
  }
})
const namespaces = ["mirrord", "shop"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }))
const expireTime = "2030-01-01T00:00:00Z"

describe("braid branches", () => {
  let primary: RunningCluster
  let member: RunningCluster
  let both = ""
  const apply = ({ cluster }: RunningCluster, objects: ReadonlyArray<object>): void =>
    cluster.apply(objects.map((object) => stringify(object)).join("---\n"))
  const find = (more: Partial<BranchesChoice> = {}): Promise<Told> =>
    Effect.runPromise(
      findBranches({ kubeconfig: both, context: undefined, namespace: undefined, allNamespaces: false, ...more })
    )
  /** Name, namespace and cluster of each. */
  const places = ({ value }: Told): ReadonlyArray<string> =>
    (value as ReadonlyArray<Record<string, unknown>>).map(
      ({ cluster, name, namespace }) => `${String(name)} ${String(namespace)} ${String(cluster)}`
    )
  const say = async ({ admin }: RunningCluster, namespace: string, name: string, status: object): Promise<string> => {
    const path = `/apis/dbs.mirrord.metalbear.co/v1alpha1/namespaces/${namespace}/branchdatabases/${name}`
    const { body, code } = await admin.call("PATCH", `${path}/status`, {
      body: { status: { expireTime, ...status } },
      contentType: "application/merge-patch+json"
    })
    expect(code, JSON.stringify(body)).toBe(200)
    return (body as { readonly metadata: { readonly uid: string } }).metadata.uid
  }

  beforeAll(async () => {
    ;[primary, member] = await Promise.all([runCluster({ name: "primary" }), runCluster({ name: "cluster-a" })])
    both = mergedKubeconfig(
      join(primary.directory, "both"),
      [primary, member].map(({ cluster: { kubeconfigPath, name } }) => ({ name, kubeconfigPath }))
    )
    apply(primary, [...namespaces, ...operatorObjects(["cluster-a", "cluster-b"], { operator_namespace: "mirrord" })])
    apply(member, namespaces)
  })
  afterAll(async () => {
    await Promise.all([primary.close(), member.close()])
  })

  it("says so when there are none, with the kind or without it", async () => {
    const nothing = { lines: ["There are no branches."], notes: [], value: [] }
    expect(await find()).toEqual(nothing)
    const crd = await readFile(new URL("../../../../crds/branchdatabases.yaml", import.meta.url), "utf8")
    for (const { cluster } of [primary, member]) cluster.apply(crd)
    expect(await find()).toEqual(nothing)
  })

  it(
    "has one line for an order at a primary and its copy, and one for each other branch of both clusters",
    async () => {
      apply(primary, [branch("ordered", "mirrord")])
      apply(member, [branch("ordered", "shop"), branch("direct", "shop")])
      const owner = { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann" }
      const ready = { phase: "Ready", sessionInfo: { 1: { id: "1", owner } } }
      const uid = await say(member, "shop", "ordered", ready)
      await say(primary, "mirrord", "ordered", { ...ready, copy: { cluster: "cluster-a", namespace: "shop", uid } })
      await say(member, "shop", "direct", { phase: "Failed", error: "there is no table x" })

      const { code, errors, output } = await runBraid(["branches", "--kubeconfig", both])
      expect([code, errors]).toEqual([0, ""])
      const lines = output.trimEnd().split("\n")
      const cells = lines.map((line) => line.split(/ {3,}/u).toSpliced(6, 1))
      expect(cells).toEqual([
        ["NAME", "NAMESPACE", "CLUSTER", "ENGINE", "PHASE", "TTL", "USERS", "ID", "REASON"],
        ["ordered", "mirrord", "cluster-a", "PostgreSQL", "Ready", "5m", "ann", "ordered-id", "-"],
        ["direct", "shop", "cluster-a", "PostgreSQL", "Failed", "5m", "-", "direct-id", "there is no table x"]
      ])
    },
    patience
  )

  it("is the same as JSON and as YAML", async () => {
    const told = await find()
    const rows = JSON.parse(toldText("json", told)) as ReadonlyArray<unknown>
    expect(rows[0]).toEqual({
      name: "ordered",
      namespace: "mirrord",
      cluster: "cluster-a",
      engine: "PostgreSQL",
      phase: "Ready",
      id: "ordered-id",
      target: "deployment/shop",
      ttlSecs: 300,
      users: ["ann"],
      expiresAt: "2030-01-01T00:00:00.000Z"
    })
    expect(parse(toldText("yaml", told))).toEqual(rows)
  })

  it("may be of one namespace, or of the chosen cluster alone for want of contexts", async () => {
    expect(places(await find({ namespace: "mirrord" }))).toEqual(["ordered mirrord cluster-a"])
    expect(places(await find({ kubeconfig: primary.cluster.kubeconfigPath }))).toEqual(["ordered mirrord cluster-a"])
    expect(places(await find({ context: "cluster-a" }))).toEqual(["direct shop cluster-a", "ordered shop cluster-a"])
    const choice = { kubeconfig: both, context: undefined, namespace: "shop", allNamespaces: true }
    expect(await Effect.runPromise(Effect.result(findBranches(choice)))).toEqual(
      Result.fail({ message: "--namespace and --all-namespaces exclude each other.", fix: "Leave one of them out." })
    )
  })

  it("is of the namespaces that a user knows, who may not list all, and says so", async () => {
    const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" }
    const subjects = [{ kind: "User", name: "dev" }]
    const role = (kind: string, name: string, rules: ReadonlyArray<object>, namespace?: string) => [
      { ...rbac, kind, metadata: { name, namespace }, rules },
      {
        ...rbac,
        kind: `${kind}Binding`,
        metadata: { name, namespace },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
        subjects
      }
    ]
    const branches = [{ apiGroups: ["dbs.mirrord.metalbear.co"], resources: ["branchdatabases"], verbs: ["list"] }]
    const operators = [{ apiGroups: ["operator.metalbear.co"], resources: ["mirrordoperators"], verbs: ["get"] }]
    apply(primary, [...role("ClusterRole", "reader", operators), ...role("Role", "branches", branches, "mirrord")])
    const path = join(primary.directory, "dev.kubeconfig")
    const theirs = join(primary.directory, "dev-member.kubeconfig")
    await Effect.runPromise(primary.cluster.userKubeconfig({ user: "dev", path }))
    await Effect.runPromise(member.cluster.userKubeconfig({ user: "dev", path: theirs }))
    const kubeconfig = mergedKubeconfig(join(primary.directory, "dev-both"), [
      { name: "primary", kubeconfigPath: path },
      { name: "cluster-a", kubeconfigPath: theirs }
    ])
    const told = await find({ kubeconfig })
    expect(places(told)).toEqual(["ordered mirrord cluster-a"])
    expect(told.notes).toEqual([
      expect.stringMatching(/^you may not list the branches of all namespaces of primary: those of mirrord are shown/u),
      expect.stringMatching(/^cluster-a is left out\. You may not read branches/u)
    ])
    const all = { kubeconfig, context: undefined, namespace: undefined, allNamespaces: true }
    expect(await Effect.runPromise(Effect.result(findBranches(all)))).toEqual(
      Result.fail({
        message: expect.stringContaining("You may not read branches (branchdatabases.dbs.mirrord.metalbear.co)"),
        fix: expect.stringContaining("Ask for ClusterRole mirrord-operator-user")
      })
    )
  })
})
