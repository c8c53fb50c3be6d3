/** The admission policy of the operator's account at a real API server, with the rights that the chart gives. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import type { ControlPlane } from "../kubernetes/control-plane.ts"
import { describeKubernetes } from "../kubernetes/describe-kubernetes.ts"
import { ApiClient } from "../lab/cluster/api-client.ts"
import { eventually } from "../support/eventually.ts"
import { Chart, type KubernetesObject } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { startChartPlane } from "./installing.ts"

const account = "system:serviceaccount:mirrord:mirrord-operator"
/** The label of a pod that the operator has taken out of its ReplicaSet. */
const isolated = { "operator.metalbear.co/isolated": "0" }
const own = { "operator.metalbear.co/owner": "mirrord-operator" }

const namespaced = (kind: string, namespace: string): string =>
  kind === "jobs" ? `/apis/batch/v1/namespaces/${namespace}/jobs` : `/api/v1/namespaces/${namespace}/${kind}`
const secret = (name: string, type: string, labels: object = own, annotations: object = {}): object => ({
  metadata: { name, labels, annotations },
  type
})
const tokenOf = (name: string, labels: object = own): object =>
  secret(name, "kubernetes.io/service-account-token", labels, { "kubernetes.io/service-account.name": "admin" })
const running = (serviceAccountName?: string): object => ({
  restartPolicy: "Never",
  containers: [{ name: "c", image: "x" }],
  ...(serviceAccountName === undefined ? {} : { serviceAccountName })
})
const pod = (name: string, serviceAccountName?: string, labels: object = own): object => ({
  metadata: { name, labels },
  spec: running(serviceAccountName)
})
const job = (name: string, serviceAccountName?: string): object => ({
  metadata: { name, labels: own },
  spec: { template: { spec: running(serviceAccountName) } }
})

/** Roles, their bindings, accounts, namespaces and the policies. */
const isAbout = ({ kind }: KubernetesObject): boolean =>
  /^(?:Cluster)?Role(?:Binding)?$|^ServiceAccount$|^Namespace$|Admission/u.test(String(kind))

describeKubernetes("the admission policy of the operator", (assets) => {
  describeHelm("with the real helm", (helm) => {
    const chart = new Chart(helm)
    let plane: ControlPlane
    let admin: ApiClient

    const call = async (method: string, path: string, body?: object, user = account) => {
      const headers = { "Impersonate-User": user, "Impersonate-Group": "system:authenticated" }
      const contentType = method === "PATCH" ? { contentType: "application/merge-patch+json" } : {}
      const { code, text } = await admin.call(method, path, {
        headers,
        ...contentType,
        ...(body === undefined ? {} : { body })
      })
      return { code, text }
    }
    const create = (kind: string, namespace: string, object: object) =>
      call("POST", namespaced(kind, namespace), object)
    const apply = (objects: ReadonlyArray<object>) =>
      plane.apply(objects.map((object) => stringify(object)).join("---\n"))
    const install = async (changed: object): Promise<void> => {
      const values = {
        agent: { extraConfig: { namespace: "agents" } },
        operator: { pgBranching: true, ...changed }
      }
      await apply((await chart.render({ args: ["--kube-version", "1.36"], values })).objects.filter(isAbout))
    }

    beforeAll(async () => {
      plane = await startChartPlane(assets)
      admin = new ApiClient(plane.server, plane.caPem, plane.admin)
      await apply(["agents", "shop"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })))
      const accounts = ["default", "admin"].map((name) => ({ metadata: { name, namespace: "shop" } }))
      await apply(accounts.map((object) => ({ apiVersion: "v1", kind: "ServiceAccount", ...object })))
      await install({})
      await eventually("the policy acts", async () =>
        expect(await create("secrets", "shop", tokenOf("try"))).toMatchObject({ code: 422 })
      )
    })
    afterAll(() => plane.close())

    it("makes no credential of Kubernetes, and nothing without its label", async () => {
      for (const [object, namespace, reason] of [
        [tokenOf("token"), "shop", "of a type that is a credential of Kubernetes"],
        [tokenOf("token", {}), "shop", "which have the label operator.metalbear.co/owner"],
        [
          secret("bootstrap-token-abcdef", "bootstrap.kubernetes.io/token"),
          "kube-system",
          "a credential of Kubernetes"
        ],
        [secret("a", "Opaque", {}), "shop", "which have the label"]
      ] as const) {
        const { code, text } = await create("secrets", namespace, object)
        expect([code, text]).toEqual([422, expect.stringContaining(reason)])
      }
      expect(await create("secrets", "shop", secret("branch", "Opaque"))).toMatchObject({ code: 201 })
    })

    it("makes pods and Jobs where targets are, and Jobs of no account but beside its agents", async () => {
      expect(await create("pods", "shop", pod("copy", "admin"))).toMatchObject({ code: 201 })
      expect(await create("jobs", "shop", job("migrations"))).toMatchObject({ code: 201 })
      expect((await create("jobs", "shop", job("other", "admin"))).text).toContain("have no service account")
      expect(await create("jobs", "agents", job("agent", "admin"))).toMatchObject({ code: 201 })
      for (const namespace of ["kube-system", "mirrord", "agents"])
        expect((await create("pods", namespace, pod("x"))).text).toContain("makes no pods in the namespaces")
      expect((await create("pods", "shop", pod("x", undefined, {}))).text).toContain("its own objects alone")
    })

    it("deletes what is its own", async () => {
      const objects = { configmaps: {}, pods: pod("y"), jobs: { spec: { template: { spec: running() } } } }
      for (const [kind, object] of Object.entries(objects)) {
        const path = namespaced(kind, "shop")
        const made = { ...object, metadata: { name: "others", labels: isolated } }
        expect(await admin.call("POST", path, { body: made })).toMatchObject({ code: 201 })
        expect((await call("DELETE", `${path}/others`)).text).toContain("its own objects alone")
        const mine = { ...object, metadata: { name: "mine", labels: own } }
        expect(await call("POST", path, mine)).toMatchObject({ code: 201 })
        expect(await call("DELETE", `${path}/mine`)).toMatchObject({ code: 200 })
      }
    })

    it("changes how many pods a workload has, and not what runs in them", async () => {
      const path = "/apis/apps/v1/namespaces/shop/deployments"
      const template = { metadata: { labels: own }, spec: { containers: [{ name: "c", image: "x" }] } }
      const spec = { replicas: 1, selector: { matchLabels: own }, template }
      expect(await admin.call("POST", path, { body: { metadata: { name: "web" }, spec } })).toMatchObject({ code: 201 })
      const patch = (change: object) => call("PATCH", `${path}/web`, change)
      expect(await patch({ metadata: { labels: own }, spec: { replicas: 0 } })).toMatchObject({ code: 200 })
      const other = { spec: { template: { spec: { serviceAccountName: "admin" } } } }
      expect((await patch(other)).text).toContain("leaves its template as it is")
    })

    it("says nothing to others", async () => {
      expect(await admin.call("POST", namespaced("secrets", "shop"), { body: tokenOf("admins", {}) })).toMatchObject({
        code: 201
      })
    })

    describe("where queues are split", () => {
      const labels = { app: "reader" }
      const workload = "/apis/apps/v1/namespaces/shop/deployments/reader"
      const notes = (annotations: object) =>
        call("PATCH", workload, { spec: { template: { metadata: { annotations } } } })
      beforeAll(async () => {
        const annotations = { inject: "no" }
        const template = { metadata: { labels, annotations }, spec: { containers: [{ name: "c", image: "x" }] } }
        const body = { metadata: { name: "reader" }, spec: { selector: { matchLabels: labels }, template } }
        await admin.call("POST", "/apis/apps/v1/namespaces/shop/deployments", { body })
        await install({ copyTarget: { enabled: false }, sqsSplitting: true })
        await eventually("the other policy acts", async () =>
          expect(await notes({ "kubectl.kubernetes.io/restartedAt": "now" })).toMatchObject({ code: 200 })
        )
      })

      it("restarts a workload by annotations, and changes nothing else of its template", async () => {
        expect(await notes({ "kubectl.kubernetes.io/restartedAt": "later" })).toMatchObject({ code: 200 })
        for (const change of [{ inject: "yes" }, { inject: null }, { "sidecar.example.com/inject": "yes" }])
          expect((await notes(change)).text).toContain("changes no other annotation of its template")
        for (const template of [{ metadata: { labels: { team: "a" } } }, { spec: { serviceAccountName: "admin" } }])
          expect((await call("PATCH", workload, { spec: { template } })).text).toContain("leaves its template as it is")
      })

      it("makes webhooks for new pods of one namespace, and touches none of others", async () => {
        const hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        const service = { name: "mirrord-operator", namespace: "mirrord", path: "/x" }
        const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }
        const hook = (changed: object = {}) => ({
          name: "pods.example.com",
          clientConfig: { service },
          rules: [rule],
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "shop" } },
          failurePolicy: "Ignore",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          ...changed
        })
        const made = (name: string, webhook: object, labels: object = own) => ({
          metadata: { name, labels },
          webhooks: [webhook]
        })
        const namespaces = (name: string) => ({
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } }
        })
        for (const changed of [
          { rules: [{ ...rule, resources: ["secrets"] }] },
          { rules: [{ ...rule, operations: ["UPDATE"] }] },
          { rules: [rule, { ...rule, apiGroups: ["apps"] }] },
          { failurePolicy: "Fail" },
          { clientConfig: { url: "https://elsewhere.example.com/" } },
          { clientConfig: { service: { ...service, namespace: "shop" } } },
          { namespaceSelector: {} },
          ...["kube-system", "mirrord", "agents"].map(namespaces)
        ])
          expect((await call("POST", hooks, made("wide", hook(changed)))).text).toContain("new pods of one namespace")
        expect((await call("POST", hooks, made("bare", hook(), {}))).text).toContain("its own objects alone")
        expect(await call("POST", hooks, made("own", hook()))).toMatchObject({ code: 201 })
        expect(await call("PATCH", `${hooks}/own`, { webhooks: [hook({ timeoutSeconds: 5 })] })).toMatchObject({
          code: 200
        })
        expect((await call("PATCH", `${hooks}/own`, { webhooks: [hook({ failurePolicy: "Fail" })] })).code).toBe(422)
        expect(await call("DELETE", `${hooks}/own`)).toMatchObject({ code: 200 })
        await admin.call("POST", hooks, { body: made("others", hook(namespaces("elsewhere")), {}) })
        for (const [method, body] of [["PATCH", made("others", hook())], ["DELETE"]] as const)
          expect((await call(method, `${hooks}/others`, body)).text).toContain("its own objects alone")
      })

      it("deletes a pod that it has given its label before, and changes nothing that runs", async () => {
        const path = namespaced("pods", "shop")
        await admin.call("POST", path, { body: pod("old", undefined, labels) })
        expect((await call("DELETE", `${path}/old`)).text).toContain("its own objects alone")
        const other = { spec: { containers: [{ name: "c", image: "y" }] } }
        expect((await call("PATCH", `${path}/old`, other)).text).toContain("not what runs in them")
        expect(await call("PATCH", `${path}/old`, { metadata: { labels: isolated } })).toMatchObject({ code: 200 })
        expect(await call("DELETE", `${path}/old`)).toMatchObject({ code: 200 })
      })

      it("may not touch pods where workloads are restarted as a whole", async () => {
        await install({ copyTarget: { enabled: false }, sqsSplitting: true, isolatePodsRestart: false })
        const path = namespaced("pods", "shop")
        await admin.call("POST", path, { body: pod("kept", undefined, labels) })
        await eventually("the right is gone", async () =>
          expect(await call("PATCH", `${path}/kept`, {})).toMatchObject({ code: 403 })
        )
      })
    })

    describe("without copies of targets", () => {
      beforeAll(() => install({ copyTarget: { enabled: false } }))

      it("makes no pod of an account either", async () => {
        await eventually("the other policy acts", async () =>
          expect((await create("pods", "shop", pod("other", "admin"))).text).toContain("have no service account")
        )
        expect(await create("pods", "shop", pod("branch"))).toMatchObject({ code: 201 })
        const workload = "/apis/apps/v1/namespaces/shop/deployments/app"
        expect((await call("PATCH", workload, {})).code).toBe(403)
      })
    })
  })
})
