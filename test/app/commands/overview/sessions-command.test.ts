import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Result } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse, stringify } from "yaml"
import { findSessions } from "../../../../src/app/commands/overview/sessions-command.ts"
import { findStatus } from "../../../../src/app/commands/overview/status-command.ts"
import { type Told, toldText } from "../../../../src/app/commands/overview/tell.ts"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"
import { runBraid } from "../../../support/run-braid.ts"

const patience = 300_000
const owner = { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann" }
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "shop", container: "shop" }
const parent = {
  apiVersion: "operator.metalbear.co/v1alpha",
  kind: "MirrordMultiClusterSession",
  metadata: { name: "mc-00000000000000ff" },
  spec: {
    owner,
    namespace: "default",
    target,
    targetAlias: "deployment.shop",
    clusters: ["a", "b"],
    primaryCluster: "primary"
  },
  status: {
    phase: "Ready",
    clusterSessions: {
      a: { sessionName: "mc-00000000000000ff-a", ready: true },
      b: { sessionName: "mc-00000000000000ff-b", ready: false, error: "no such deployment" }
    }
  }
}
const child = (name: string, parentName?: string): object => ({
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordClusterSession",
  metadata: { name },
  spec: {
    owner,
    namespace: "default",
    target,
    ...(parentName === undefined ? {} : { multiClusterParentName: parentName })
  }
})

describe("braid sessions", () => {
  let running: RunningCluster
  const crd = async (plural: string): Promise<void> =>
    running.cluster.apply(await readFile(new URL(`../../../../crds/${plural}.yaml`, import.meta.url), "utf8"))
  const choice = (kubeconfig = running.cluster.kubeconfigPath) => ({ kubeconfig, context: undefined })
  const found = (): Promise<Told> => Effect.runPromise(findSessions(choice()))
  beforeAll(async () => {
    running = await runCluster()
  })
  afterAll(() => running.close())

  it("says so when there are none, custom resources or not", async () => {
    const nothing = { lines: ["There are no sessions."], notes: [], value: [] }
    expect(await found()).toEqual(nothing)
    await crd("mirrordclustersessions")
    await crd("mirrordmulticlustersessions")
    expect(await found()).toEqual(nothing)
  })

  it(
    "is a table with a line per session, without the children of a parent that is in it",
    async () => {
      const { cluster } = running
      cluster.apply(
        [
          parent,
          child("mc-00000000000000ff-a", "mc-00000000000000ff"),
          child("0000000000000001"),
          child("mc-other-a", "mc-other")
        ]
          .map((object) => stringify(object))
          .join("---\n")
      )
      const patched = await running.admin.call(
        "PATCH",
        "/apis/operator.metalbear.co/v1alpha/mirrordmulticlustersessions/mc-00000000000000ff/status",
        { body: { status: parent.status }, contentType: "application/merge-patch+json" }
      )
      expect(patched.code).toBe(200)
      const { code, errors, output } = await runBraid(["sessions", "--kubeconfig", cluster.kubeconfigPath])
      expect([code, errors]).toEqual([0, ""])
      const lines = output
        .trimEnd()
        .split("\n")
        .map((line) => line.split(/ {3,}/u))
      expect(lines[0]).toEqual(["NAME", "PHASE", "NAMESPACE", "TARGET", "USER", "CLUSTERS", "AGE", "REASON"])
      expect(
        lines
          .slice(1)
          .map(([name, ...cells]) => [name, ...cells.filter((_, index) => index !== 5)])
          .toSorted()
      ).toEqual([
        ["0000000000000001", "Pending", "default", "deployment/shop/container/shop", "ann", "-", "-"],
        [
          "mc-00000000000000ff",
          "Ready",
          "default",
          "deployment/shop/container/shop",
          "ann",
          "1/2",
          "b: no such deployment"
        ],
        ["mc-other-a", "Pending", "default", "deployment/shop/container/shop", "ann", "-", "-"]
      ])
    },
    patience
  )

  it("is the same as JSON and as YAML", async () => {
    const told = await found()
    const rows = JSON.parse(toldText("json", told)) as ReadonlyArray<{ readonly name: string }>
    expect(rows.find(({ name }) => name === "mc-00000000000000ff")).toEqual({
      name: "mc-00000000000000ff",
      kind: "MirrordMultiClusterSession",
      phase: "Ready",
      namespace: "default",
      target: "deployment/shop/container/shop",
      user: "ann",
      clusters: [
        { name: "a", ready: true },
        { name: "b", ready: false, reason: "no such deployment" }
      ],
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/u),
      reason: "b: no such deployment"
    })
    expect(parse(toldText("yaml", told))).toEqual(rows)
    expect(toldText("table", told)).toBe(told.lines.join("\n"))
  })

  it("tells somebody who may read nothing what to ask for", async () => {
    const path = join(running.directory, "nobody.kubeconfig")
    await Effect.runPromise(running.cluster.userKubeconfig({ user: "nobody", path }))
    const refused = await Effect.runPromise(Effect.result(findSessions(choice(path))))
    expect(refused).toEqual(
      Result.fail({
        message: expect.stringContaining("You may not read the operator's object"),
        fix: expect.stringContaining("Ask for ClusterRole mirrord-operator-user")
      })
    )
  })

  it(
    "says where it looked in vain, as braid status does",
    async () => {
      const status = await Effect.runPromise(Effect.result(findStatus(choice())))
      expect(status).toEqual(
        Result.fail({
          message: expect.stringContaining("The cluster does not serve the operator's object"),
          fix: expect.stringContaining("Choose the cluster with the operator")
        })
      )
      await Effect.runPromise(running.cluster.stop())
      const stopped = await runBraid(["status", "--kubeconfig", running.cluster.kubeconfigPath])
      expect([stopped.code, stopped.output]).toEqual([1, ""])
      expect(stopped.errors).toMatch(/^braid: The cluster does not answer: .*\nfix: braid doctor says more\.\n$/u)
    },
    patience
  )
})

describe("braid sessions of somebody who may only read the operator's object", () => {
  let running: RunningCluster
  beforeAll(async () => {
    running = await runCluster()
  })
  afterAll(() => running.close())

  it("tells every session, single clusters' too, and what it leaves out", async () => {
    const { cluster, directory } = running
    const definition = (plural: string, kind: string) => ({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.operator.metalbear.co` },
      spec: {
        group: "operator.metalbear.co",
        scope: "Cluster",
        names: { plural, kind },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
          }
        ]
      }
    })
    const operator = {
      apiVersion: "operator.metalbear.co/v1",
      kind: "MirrordOperator",
      metadata: { name: "operator" },
      spec: {
        operator_version: "3.250.0",
        default_namespace: "default",
        license: { name: "braid", organization: "braid", expire_at: "9999-12-31" }
      },
      status: {
        sessions: [
          { id: "1", duration_secs: 60, user: "ann/ann@laptop", target: "deployment/shop", namespace: "default" }
        ],
        multi_cluster_sessions: [
          {
            id: "mc-00000000000000ff",
            durationSecs: 180,
            user: "ann/ann@laptop",
            target: "deployment/shop",
            namespace: "default",
            clusters: ["a"],
            phase: "Ready, without b: there is no deployment/shop",
            clusterSessions: { a: { ready: true }, b: { ready: false, error: "there is no deployment/shop" } }
          }
        ]
      }
    }
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "reader" },
      rules: [{ apiGroups: ["operator.metalbear.co"], resources: ["mirrordoperators"], verbs: ["get"] }]
    }
    const binding = {
      ...role,
      kind: "ClusterRoleBinding",
      rules: undefined,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
      subjects: [{ kind: "User", name: "dev" }]
    }
    for (const object of [definition("mirrordoperators", "MirrordOperator"), operator, role, binding])
      cluster.apply(stringify(object))
    const path = join(directory, "dev.kubeconfig")
    await Effect.runPromise(cluster.userKubeconfig({ user: "dev", path }))
    const { lines, notes } = await Effect.runPromise(findSessions({ kubeconfig: path, context: undefined }))
    expect(lines.slice(1).map((line) => line.split(/ {3,}/u).slice(0, 2))).toEqual([
      ["mc-00000000000000ff", "Ready"],
      ["0000000000000001", "Unknown"]
    ])
    expect(lines[1]).toMatch(/ 1\/2 .* b: there is no deployment\/shop$/u)
    expect(notes).toEqual([expect.stringMatching(/^you may not list .* not told: how sessions of one cluster stand$/u)])
  })
})
