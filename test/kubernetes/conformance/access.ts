import { expect } from "vitest"
import { asNumber, asString, at, type JsonObject } from "../../../src/domain/json.ts"
import { ApiClient, eventually } from "../../lab/cluster/api-client.ts"
import { configMap, type ConformanceCase, expectStatus, mapsOf } from "./context.ts"

/** A user with a one-rule role: the requests that the rule allows, and those that it does not. */
const granted = (
  name: string,
  rule: JsonObject,
  outcomes: ReadonlyArray<
    readonly [path: (namespace: string) => string, method: "GET" | "POST" | "DELETE", code: number | "allowed"]
  >
): ConformanceCase => ({
  name: `RBAC: ${name}`,
  run: async ({ admin, as, namespace }) => {
    const user = `bob-${namespace}`
    const rbac = "/apis/rbac.authorization.k8s.io/v1"
    await admin.post(`${rbac}/clusterroles`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: user },
      rules: [rule]
    })
    await admin.post(`${rbac}/clusterrolebindings`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: user },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: user },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }]
    })
    const bob = await as(user)
    const ask = (path: string, method: string) =>
      bob.call(method, path, method === "POST" ? { body: configMap("made") } : {})
    // A real server learns of new roles a moment later.
    for (const [path, method, code] of outcomes) {
      if (code === 403) expect((await ask(path(namespace), method)).code).toBe(403)
      else
        await eventually(
          () => ask(path(namespace), method),
          (answer) => (code === "allowed" ? answer.code !== 403 : answer.code === code)
        )
    }
  }
})

const grantedCases: ReadonlyArray<ConformanceCase> = [
  granted(
    "any name, but not the collection, for get alone",
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
    [
      [(namespace) => `${mapsOf(namespace)}/none`, "GET", 404],
      [mapsOf, "GET", 403]
    ]
  ),
  granted("creation alone lets nothing be deleted", { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }, [
    [mapsOf, "POST", 201],
    [(namespace) => `${mapsOf(namespace)}/made`, "DELETE", 403],
    [mapsOf, "DELETE", 403]
  ]),
  granted("a star for resources is no star for groups", { apiGroups: [""], resources: ["*"], verbs: ["list"] }, [
    [mapsOf, "GET", 200],
    [(namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`, "GET", 403]
  ]),
  granted("a star for groups", { apiGroups: ["*"], resources: ["deployments"], verbs: ["*"] }, [
    [(namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`, "GET", 200],
    [mapsOf, "GET", 403]
  ]),
  granted("a resource is not its subresource", { apiGroups: [""], resources: ["pods"], verbs: ["get"] }, [
    [(namespace) => `/api/v1/namespaces/${namespace}/pods/p`, "GET", 404],
    [(namespace) => `/api/v1/namespaces/${namespace}/pods/p/log`, "GET", 403]
  ]),
  granted("a subresource is not its resource", { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] }, [
    [(namespace) => `/api/v1/namespaces/${namespace}/pods/p/log`, "GET", 404],
    [(namespace) => `/api/v1/namespaces/${namespace}/pods/p`, "GET", 403]
  ]),
  granted("a subresource of everything", { apiGroups: [""], resources: ["*/log"], verbs: ["get"] }, [
    [(namespace) => `/api/v1/namespaces/${namespace}/pods/p/log`, "GET", 404],
    [(namespace) => `/api/v1/namespaces/${namespace}/pods/p`, "GET", 403]
  ]),
  granted(
    "names of objects restrict what they are named for",
    { apiGroups: [""], resources: ["configmaps"], resourceNames: ["one"], verbs: ["get", "delete"] },
    [
      [(namespace) => `${mapsOf(namespace)}/one`, "GET", 404],
      [(namespace) => `${mapsOf(namespace)}/two`, "GET", 403],
      [mapsOf, "DELETE", 403]
    ]
  ),
  granted("paths that are no resources", { nonResourceURLs: ["/metrics", "/debug/*"], verbs: ["get"] }, [
    [() => "/metrics", "GET", "allowed"],
    [() => "/logs/", "GET", 403]
  ])
]

export const accessCases: ReadonlyArray<ConformanceCase> = [
  {
    name: "RBAC: refused in a real server's words, then allowed",
    run: async ({ admin, namespace, as }) => {
      const user = `ann-${namespace}`
      const ann = await as(user)
      const refused = await ann.get(`/api/v1/namespaces/${namespace}/pods`)
      expectStatus(
        refused,
        403,
        "Forbidden",
        `pods is forbidden: User "${user}" cannot list resource "pods" in API group "" in the namespace "${namespace}"`
      )
      expect(refused.body["details"]).toEqual({ kind: "pods" })
      expectStatus(
        await ann.get("/apis/apps/v1/deployments"),
        403,
        "Forbidden",
        `deployments.apps is forbidden: User "${user}" cannot list resource "deployments" in API group "apps" at ` +
          "the cluster scope"
      )
      expectStatus(
        await ann.get(`/api/v1/namespaces/${namespace}/pods/p`),
        403,
        "Forbidden",
        `pods "p" is forbidden: User "${user}" cannot get resource "pods" in API group "" in the namespace ` +
          `"${namespace}"`
      )
      expectStatus(await ann.get("/metrics"), 403, "Forbidden", `forbidden: User "${user}" cannot get path "/metrics"`)
      const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
      await admin.post(`${rbac}/roles`, {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "reader" },
        rules: [
          { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
          { apiGroups: [""], resources: ["configmaps"], resourceNames: ["one"], verbs: ["get"] }
        ]
      })
      await admin.post(`${rbac}/rolebindings`, {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { name: "reader" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }]
      })
      await eventually(
        () => ann.get(`/api/v1/namespaces/${namespace}/pods`),
        (answer) => answer.code === 200
      )
      expect((await ann.get(`/api/v1/namespaces/${namespace}/pods?watch=true`)).code).toBe(403)
      expect((await ann.get(`${mapsOf(namespace)}/one`)).code).toBe(404)
      expect((await ann.get(`${mapsOf(namespace)}/two`)).code).toBe(403)
    }
  },
  {
    name: "access reviews",
    run: async ({ admin, namespace, as }) => {
      const ann = await as("ann", ["team"])
      const resourceAttributes = { namespace, verb: "list", resource: "pods", group: "" }
      const self = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes }
      }
      const path = "/apis/authorization.k8s.io/v1"
      expect(at((await ann.post(`${path}/selfsubjectaccessreviews`, self)).body, "status", "allowed")).toBe(false)
      expect(at((await admin.post(`${path}/selfsubjectaccessreviews`, self)).body, "status", "allowed")).toBe(true)
      const review = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: { user: "bob", groups: ["system:masters"], resourceAttributes }
      }
      const answer = await admin.post(`${path}/subjectaccessreviews`, review)
      expect(answer.code).toBe(201)
      expect(at(answer.body, "status", "allowed")).toBe(true)
      expect((await ann.post(`${path}/subjectaccessreviews`, review)).code).toBe(403)
    }
  },
  {
    name: "service account tokens are requested, used and reviewed",
    run: async ({ admin, namespace, cluster }) => {
      await admin.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "bot" }
      })
      const request = (expirationSeconds: number) =>
        admin.post(`/api/v1/namespaces/${namespace}/serviceaccounts/bot/token`, {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: { expirationSeconds }
        })
      expectStatus(
        await request(60),
        422,
        "Invalid",
        /spec\.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes/
      )
      const issued = await request(600)
      expect(issued.code).toBe(201)
      const token = asString(at(issued.body, "status", "token")) ?? ""
      const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"))
      expect((asNumber(claims.exp) ?? 0) - (asNumber(claims.iat) ?? 0)).toBe(600)
      expect(claims["kubernetes.io"]).toMatchObject({ namespace, serviceaccount: { name: "bot" } })
      const bot = new ApiClient(cluster.server, cluster.caPem, { token })
      const user = `system:serviceaccount:${namespace}:bot`
      expectStatus(
        await bot.get(mapsOf(namespace)),
        403,
        "Forbidden",
        `configmaps is forbidden: User "${user}" cannot list resource "configmaps" in API group "" in the ` +
          `namespace "${namespace}"`
      )
      const review = await admin.post("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token }
      })
      expect(review.body["status"]).toMatchObject({
        authenticated: true,
        user: {
          username: user,
          groups: expect.arrayContaining(["system:serviceaccounts", `system:serviceaccounts:${namespace}`])
        }
      })
      const forged = await admin.post("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: `${token.slice(0, -8)}AAAAAAAA` }
      })
      expect(at(forged.body, "status", "authenticated")).toBeFalsy()
      expectStatus(
        await new ApiClient(cluster.server, cluster.caPem, { token: "nonsense" }).get(mapsOf(namespace)),
        401,
        "Unauthorized",
        "Unauthorized"
      )
      await admin.delete(`/api/v1/namespaces/${namespace}/serviceaccounts/bot`)
      await eventually(
        () => bot.get(mapsOf(namespace)),
        (answer) => answer.code === 401
      )
    }
  },
  ...grantedCases
]
