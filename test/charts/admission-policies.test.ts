/** The admission policies of branches at a real API server: it asks for the right to connect to a branch's target. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import type { ControlPlane } from "../kubernetes/control-plane.ts"
import { describeKubernetes } from "../kubernetes/describe-kubernetes.ts"
import { ApiClient } from "../lab/cluster/api-client.ts"
import { bareBranchSpec } from "../support/branch-spec.ts"
import { eventually } from "../support/eventually.ts"
import { Chart, type KubernetesObject } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { startChartPlane } from "./installing.ts"

const operator = "mirrord"
const annotation = "mirrord.metalbear.co/target-namespace"
const args = ["--kube-version", "1.30"]
const merge = "application/merge-patch+json"

/** Rights of developers in the operator's namespace, which all clients of such a primary need, and at targets. */
const rights = (user: string, namespace: string, rule: object): ReadonlyArray<object> => {
  const metadata = { name: `${user}-${namespace}`, namespace }
  const api = { apiVersion: "rbac.authorization.k8s.io/v1" }
  return [
    { ...api, kind: "Role", metadata, rules: [rule] },
    {
      ...api,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name },
      subjects: [{ kind: "User", name: user, apiGroup: "rbac.authorization.k8s.io" }]
    }
  ]
}
const kinds = ["branchdatabases", "pgbranchdatabases"]
const ordering = { apiGroups: ["dbs.mirrord.metalbear.co"], resources: kinds, verbs: ["create", "patch", "get"] }
const connecting = { apiGroups: ["operator.metalbear.co"], resources: ["targets"], verbs: ["proxy"] }

const users = [
  // Only what every client needs to order branches.
  ...rights("mallory", operator, ordering),
  ...rights("ann", operator, ordering),
  ...rights("ann", "shop", connecting),
  ...rights("cleo", operator, ordering),
  ...rights("cleo", "shop", { ...connecting, resourceNames: ["deployment.app"] })
]

const order = (name: string, target: string | undefined, spec: object = {}): object => ({
  apiVersion: "dbs.mirrord.metalbear.co/v1alpha1",
  kind: "BranchDatabase",
  metadata: { name, ...(target === undefined ? {} : { annotations: { [annotation]: target } }) },
  spec: { ...bareBranchSpec, postgresOptions: {}, ...spec }
})
const olderOrder = (name: string, target: string): object => {
  const { target: _, ...spec } = bareBranchSpec
  return { ...order(name, target), kind: "PgBranchDatabase", spec: { ...spec, target: { deployment: "app" } } }
}

/** The objects that the policies are about, without the operator's own pods and API. */
const isAbout = ({ kind }: KubernetesObject): boolean =>
  !["APIService", "Deployment", "Job", "Pod", "ServiceMonitor"].includes(String(kind))

describeKubernetes("the admission policies of branches", (assets) => {
  describeHelm("with the real helm", (helm) => {
    const chart = new Chart(helm)
    let plane: ControlPlane
    let admin: ApiClient

    const call = async (user: string, method: string, path: string, body: object) => {
      const headers = { "Impersonate-User": user }
      const { code, text } = await admin.call(method, path, {
        headers,
        body,
        ...(method === "PATCH" ? { contentType: merge } : {})
      })
      return { code, text }
    }
    const pathOf = (namespace: string, kind = "branchdatabases"): string =>
      `/apis/dbs.mirrord.metalbear.co/v1alpha1/namespaces/${namespace}/${kind}`
    const create = (user: string, object: object, kind?: string) => call(user, "POST", pathOf(operator, kind), object)
    const patch = (user: string, name: string, change: object) =>
      call(user, "PATCH", `${pathOf(operator)}/${name}`, change)
    const install = async (values: object): Promise<void> => {
      const { objects } = await chart.render({ args, values })
      const text = (some: ReadonlyArray<object>): string => some.map((object) => stringify(object)).join("---\n")
      const [first, others] = [true, false].map((wanted) =>
        objects.filter((object) => isAbout(object) && wanted === (object["kind"] === "CustomResourceDefinition"))
      )
      await plane.apply(text(first ?? []))
      await plane.apply(text(others ?? []))
    }

    beforeAll(async () => {
      plane = await startChartPlane(assets)
      admin = new ApiClient(plane.server, plane.caPem, plane.admin)
      const cluster = { server: "https://a.example.com", authType: "bearerToken", isDefault: true }
      const multiCluster = { enabled: true, managementOnly: true, defaultCluster: "a" }
      await install({ operator: { pgBranching: true, multiCluster: { ...multiCluster, clusters: { a: cluster } } } })
      const namespaces = ["shop", "payroll"].map((name) => ({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name }
      }))
      await plane.apply([...namespaces, ...users].map((object) => stringify(object)).join("---\n"))
      // A policy takes a moment until it acts.
      await eventually("the policies act", async () => {
        const tries = [create("mallory", order("try", "payroll"))]
        tries.push(create("mallory", olderOrder("try", "payroll"), "pgbranchdatabases"))
        expect((await Promise.all(tries)).map(({ code }) => code)).toEqual([403, 403])
      })
    })
    afterAll(() => plane.close())

    it("refuse orders of those who may not connect to the target, with what to do", async () => {
      const refused = await create("mallory", order("payroll", "payroll"))
      expect(refused.code).toBe(403)
      expect(refused.text).toContain(
        "User mallory may not connect to deployment.app in namespace payroll (proxy targets of " +
          "operator.metalbear.co), and so orders no branch of its database: ask for the role " +
          "mirrord-operator-user there"
      )
      for (const target of [undefined, "shop", "", "mirrord", "../payroll", "PAYROLL"])
        expect((await create("mallory", order("other", target))).code).toBe(403)
      expect((await create("ann", order("payroll", "payroll"))).code).toBe(403)
      expect((await create("ann", order("operators", undefined))).code).toBe(403)
      expect((await create("ann", olderOrder("payroll", "payroll"), "pgbranchdatabases")).code).toBe(403)
    })

    it("let those order who may, all targets of a namespace or one", async () => {
      expect(await create("ann", order("anns", "shop"))).toMatchObject({ code: 201 })
      expect(await create("ann", olderOrder("anns", "shop"), "pgbranchdatabases")).toMatchObject({ code: 201 })
      expect(await create("cleo", order("cleos", "shop"))).toMatchObject({ code: 201 })
      const target = { apiVersion: "apps/v1", kind: "StatefulSet", name: "app", container: "" }
      expect((await create("cleo", order("others", "shop", { target }))).code).toBe(403)
    })

    it("refuse later changes of what was asked for, and no others", async () => {
      expect(await create("ann", order("later", "shop"))).toMatchObject({ code: 201 })
      const migrations = { spec: { migrations: { flavor: "container", image: "x.io/y", command: ["env"] } } }
      expect((await patch("mallory", "later", migrations)).code).toBe(403)
      expect(await patch("ann", "later", migrations)).toMatchObject({ code: 200 })
      for (const change of [
        { metadata: { annotations: { [annotation]: "payroll" } } },
        { metadata: { annotations: { [annotation]: null } } },
        { spec: { target: { name: "other" } } }
      ]) {
        for (const user of ["mallory", "ann"]) expect((await patch(user, "later", change)).code).toBe(422)
        const moved = await admin.call("PATCH", `${pathOf(operator)}/later`, { body: change, contentType: merge })
        expect([moved.code, moved.text]).toEqual([422, expect.stringContaining("make another branch")])
      }
      // Controllers of the cluster write finalizers of any object.
      expect(await patch("mallory", "later", { metadata: { labels: { a: "b" } } })).toMatchObject({ code: 200 })
    })

    it("leave the operator its own writes", async () => {
      const status = { status: { phase: "Init", expireTime: "2026-01-01T00:00:00Z" } }
      const path = `${pathOf(operator)}/anns/status`
      const account = "system:serviceaccount:mirrord:mirrord-operator"
      expect(await call(account, "PATCH", path, status)).toMatchObject({ code: 200 })
    })

    describe("in a default cluster", () => {
      beforeAll(() => install({ operator: { pgBranching: true, multiClusterMember: true } }))

      it("let a primary make its copies, and ask its own users as anywhere", async () => {
        const primary = "system:serviceaccount:mirrord:mirrord-operator-envoy"
        const copy = order("copy", undefined)
        expect(await call(primary, "POST", pathOf("shop"), copy)).toMatchObject({ code: 201 })
        const patched = { spec: { ttlSecs: 5 }, metadata: { annotations: { a: "b" } } }
        expect(await call(primary, "PATCH", `${pathOf("shop")}/copy`, patched)).toMatchObject({ code: 200 })
        await plane.apply(
          rights("mallory", "shop", ordering)
            .map((object) => stringify(object))
            .join("---\n")
        )
        expect((await call("mallory", "POST", pathOf("shop"), order("own", undefined))).code).toBe(403)
      })
    })

    it("are not there where no API server could ask, or where there are no branches", async () => {
      const kindsOf = async (values: object, version: string): Promise<ReadonlyArray<string>> =>
        (await chart.render({ values, args: ["--kube-version", version] })).names.filter((name) =>
          /Admission.*branches/u.test(name)
        )
      expect(await kindsOf({ operator: { pgBranching: true } }, "1.29.9")).toEqual([])
      expect(await kindsOf({}, "1.36")).toEqual([])
      expect(await kindsOf({ operator: { redisBranching: true } }, "1.30.1-gke.5")).toEqual([
        "ValidatingAdmissionPolicy/mirrord-operator-branches",
        "ValidatingAdmissionPolicyBinding/mirrord-operator-branches"
      ])
    })
  })
})
