import { expect } from "vitest"
import { asObjects, at, type JsonObject } from "../../../src/domain/json.ts"
import { type Answer, ApiClient, type Credentials, eventually } from "../../lab/cluster/api-client.ts"

/** A cluster for the conformance cases: the embedded cluster, or a real kube-apiserver. */
export interface ClusterUnderTest {
  readonly server: string
  readonly caPem: string
  readonly admin: Credentials
  /** Issues a client certificate. */
  readonly credentialsFor: (user: string, groups: ReadonlyArray<string>) => Promise<Credentials>
  /** Makes every older resourceVersion too old; missing if the cluster offers no way. */
  readonly forgetHistory?: () => Promise<void>
  /** Whether garbage collection and the deletion of namespaces' contents work (kube-controller-manager). */
  readonly controllers: boolean
}

export interface Context {
  readonly cluster: ClusterUnderTest
  readonly admin: ApiClient
  /** A namespace of this case alone. */
  readonly namespace: string
  readonly as: (user: string, groups?: ReadonlyArray<string>) => Promise<ApiClient>
}

export interface ConformanceCase {
  readonly name: string
  readonly needs?: "controllers" | "forgetHistory"
  readonly run: (context: Context) => Promise<void>
}

export const configMap = (name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels },
  data
})

export const mapsOf = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`

export const meta = (answer: Answer | JsonObject, field: string): unknown =>
  at("body" in answer ? answer.body : answer, "metadata", field)

export const expectStatus = (
  answer: Answer,
  code: number,
  reason: string | undefined,
  message: string | RegExp
): void => {
  expect(answer.body).toMatchObject({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    ...(reason === undefined ? {} : { reason })
  })
  expect(answer.code).toBe(code)
  if (typeof message === "string") expect(answer.body["message"], String(answer.body["message"])).toBe(message)
  else expect(answer.body["message"]).toMatch(message)
}

const widgetDefinition = (group: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
    versions: ["v1", "v2"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      subresources: { status: {} },
      additionalPrinterColumns: [
        { name: "Size", type: "integer", jsonPath: ".spec.size" },
        { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' }
      ],
      schema: {
        openAPIV3Schema: {
          type: "object",
          required: ["spec"],
          properties: {
            spec: {
              type: "object",
              required: ["size"],
              properties: {
                size: { type: "integer", minimum: 1, maximum: 10 },
                mode: { type: "string", enum: ["fast", "slow"], default: "fast" },
                port: { "x-kubernetes-int-or-string": true },
                note: { type: "string", nullable: true },
                free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                code: { type: "string", pattern: "^[a-z]+$" },
                parts: {
                  type: "array",
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": ["name"],
                  items: {
                    type: "object",
                    required: ["name"],
                    properties: { name: { type: "string" }, count: { type: "integer" } }
                  }
                }
              }
            },
            status: {
              type: "object",
              properties: {
                phase: { type: "string" },
                conditions: {
                  type: "array",
                  items: { type: "object", properties: { type: { type: "string" }, status: { type: "string" } } }
                }
              }
            }
          }
        }
      }
    }))
  }
})

/** Defines widgets in a group of this case alone and returns the path of their collection. */
export const withWidgets = async ({
  admin,
  namespace
}: Context): Promise<{ readonly group: string; readonly path: string }> => {
  const group = `${namespace}.example.com`
  expect(
    (await admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetDefinition(group))).code
  ).toBe(201)
  await eventually(
    () => admin.get(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`),
    (crd) =>
      asObjects(at(crd.body, "status", "conditions")).some(
        (item) => item["type"] === "Established" && item["status"] === "True"
      )
  )
  const path = `/apis/${group}/v1/namespaces/${namespace}/widgets`
  await eventually(
    () => admin.get(path),
    (list) => list.code === 200
  )
  return { group, path }
}

export const widget = (group: string, name: string, spec: JsonObject, extra: JsonObject = {}) => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  metadata: { name },
  spec,
  ...extra
})

export const tableHeader = { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" }

let counter = 0

/** Runs one case in a namespace of its own. */
export const runCase = async (cluster: ClusterUnderTest, item: ConformanceCase): Promise<void> => {
  const admin = new ApiClient(cluster.server, cluster.caPem, cluster.admin)
  const namespace = `case-${++counter}`
  expect(
    (await admin.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }))
      .code
  ).toBe(201)
  // Controllers fill a new namespace at their own time. The case begins after that: its lists and watches must show its
  // own objects only.
  for (const filled of [
    `${mapsOf(namespace)}/kube-root-ca.crt`,
    `/api/v1/namespaces/${namespace}/serviceaccounts/default`
  ]) {
    await eventually(
      () => admin.get(filled),
      ({ code }) => code === 200
    )
  }
  await item.run({
    cluster,
    admin,
    namespace,
    as: async (user, groups = []) =>
      new ApiClient(cluster.server, cluster.caPem, await cluster.credentialsFor(user, groups))
  })
}
