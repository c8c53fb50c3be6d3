import { expect } from "vitest"
import { asString, at, type JsonObject } from "../../../src/domain/json.ts"
import type { Answer } from "../../lab/cluster/api-client.ts"
import { type ConformanceCase, type Context, expectStatus } from "./context.ts"

const servicesOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/services`
export const service = (name: string, spec: object, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, ...metadata },
  spec
})
const ports = [{ port: 80 }]

const specOf = ({ body }: Answer): unknown => body["spec"]
const ipOf = (answer: Answer): string => asString(at(answer.body, "spec", "clusterIP")) ?? ""
/** The defaults of every Service with a cluster IP, without the IP. */
const allocated = {
  ipFamilies: ["IPv4"],
  ipFamilyPolicy: "SingleStack",
  internalTrafficPolicy: "Cluster",
  sessionAffinity: "None"
}
const none = { clusterIP: "None", clusterIPs: ["None"] }
/** A new address in the range for each case: all cases run on the same cluster, one after the other. */
let named = 0
const unusedAddress = (): string => `127.96.0.${100 + ++named}`

const run = (name: string, steps: (context: Context, path: string) => Promise<void>): ConformanceCase => ({
  name: `Services: ${name}`,
  run: (context) => steps(context, servicesOf(context.namespace))
})

/** Creates a Service and compares its whole spec, except for random values. */
const created = (name: string, spec: object, wanted: object): ConformanceCase =>
  run(name, async ({ admin }, path) => {
    const answer = await admin.post(path, service("a", spec))
    expect(answer.code).toBe(201)
    expect(specOf(answer)).toEqual(wanted)
  })

const anyIp = {
  clusterIP: expect.stringMatching(/^127\.96\.\d+\.\d+$/),
  clusterIPs: [expect.stringMatching(/^127\.96\.\d+\.\d+$/)]
}
const port80 = { protocol: "TCP", port: 80, targetPort: 80 }

const refused = (name: string, spec: JsonObject, message: string | RegExp, serviceName = "bad"): ConformanceCase =>
  run(`refused, ${name}`, async ({ admin }, path) => {
    const wanted = typeof message === "string" ? `Service "${serviceName}" is invalid: ${message}` : message
    expectStatus(await admin.post(path, service(serviceName, spec)), 422, "Invalid", wanted)
  })

export const serviceCases: ReadonlyArray<ConformanceCase> = [
  created("one gets a cluster IP", { ports }, { ...allocated, ...anyIp, type: "ClusterIP", ports: [port80] }),
  created(
    "a headless one gets none",
    { ports, clusterIP: "None", selector: { a: "b" } },
    { ...allocated, ...none, type: "ClusterIP", selector: { a: "b" }, ports: [port80] }
  ),
  created(
    "another name has no address",
    { type: "ExternalName", externalName: "example.com" },
    { type: "ExternalName", externalName: "example.com", sessionAffinity: "None" }
  ),
  run(
    "a named address is taken once, and free again after the deletion, whose answer is the Service",
    async ({ admin }, path) => {
      const clusterIP = unusedAddress()
      expect(specOf(await admin.post(path, service("a", { ports, clusterIP })))).toMatchObject({
        clusterIP,
        clusterIPs: [clusterIP]
      })
      const why =
        `spec.clusterIPs: Invalid value: ["${clusterIP}"]: failed to allocate IP ${clusterIP}: provided IP is ` +
        "already allocated"
      expectStatus(
        await admin.post(path, service("b", { ports, clusterIP })),
        422,
        "Invalid",
        `Service "b" is invalid: ${why}`
      )
      expect((await admin.delete(`${path}/a`)).body).toMatchObject({
        kind: "Service",
        metadata: { name: "a" },
        spec: { clusterIP }
      })
      expect((await admin.post(path, service("b", { ports, clusterIP }))).code).toBe(201)
    }
  ),
  run("the address stays whatever is left out, and cannot be changed", async ({ admin }, path) => {
    const first = await admin.post(path, service("a", { ports, selector: { a: "b" } }))
    const clusterIP = ipOf(first)
    const replaced = await admin.put(`${path}/a`, service("a", { ports: [{ port: 81 }] }))
    expect(specOf(replaced)).toEqual({
      ...allocated,
      type: "ClusterIP",
      clusterIP,
      clusterIPs: [clusterIP],
      ports: [{ protocol: "TCP", port: 81, targetPort: 81 }]
    })
    const emptied = await admin.merge(`${path}/a`, {
      spec: { clusterIP: null, clusterIPs: null, ipFamilies: null, ipFamilyPolicy: null }
    })
    expect(specOf(emptied)).toEqual(specOf(replaced))
    for (const other of ["127.96.200.200", "None"]) {
      const why = `Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["${other}"]: may not change once set`
      expectStatus(await admin.merge(`${path}/a`, { spec: { clusterIP: other } }), 422, "Invalid", why)
      expectStatus(await admin.put(`${path}/a`, service("a", { ports, clusterIP: other })), 422, "Invalid", why)
    }
  }),
  run("one that becomes another name gives its address back", async ({ admin }, path) => {
    const clusterIP = ipOf(await admin.post(path, service("a", { ports })))
    const renamed = await admin.merge(`${path}/a`, { spec: { type: "ExternalName", externalName: "example.com" } })
    expect(specOf(renamed)).toEqual({
      type: "ExternalName",
      externalName: "example.com",
      sessionAffinity: "None",
      ports: [port80]
    })
    expect((await admin.post(path, service("b", { ports, clusterIP }))).code).toBe(201)
    const back = await admin.merge(`${path}/a`, { spec: { type: "ClusterIP", externalName: null } })
    expect(specOf(back)).toEqual({ ...allocated, ...anyIp, type: "ClusterIP", ports: [port80] })
    expect(ipOf(back)).not.toBe(clusterIP)
  }),
  run("a dry run allocates nothing", async ({ admin }, path) => {
    const clusterIP = unusedAddress()
    expect((await admin.post(`${path}?dryRun=All`, service("a", { ports, clusterIP }))).code).toBe(201)
    expect((await admin.post(path, service("b", { ports, clusterIP }))).code).toBe(201)
  }),
  run("kubernetes, in the namespace default, is the API server", async ({ admin, cluster }) => {
    const { body } = await admin.get(`${servicesOf("default")}/kubernetes`)
    expect(body).toMatchObject({ metadata: { labels: { component: "apiserver", provider: "kubernetes" } } })
    const https = { name: "https", protocol: "TCP", port: 443, targetPort: Number(new URL(cluster.server).port) }
    expect(body["spec"]).toEqual({
      ...allocated,
      type: "ClusterIP",
      clusterIP: "127.96.0.1",
      clusterIPs: ["127.96.0.1"],
      ports: [https]
    })
    const slice = await admin.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    const endpoints = [{ addresses: [expect.any(String)], conditions: { ready: true } }]
    expect(slice.body).toMatchObject({
      addressType: "IPv4",
      endpoints,
      ports: [{ name: "https", protocol: "TCP", port: https.targetPort }]
    })
  }),
  refused(
    "an address outside of the range",
    { ports, clusterIP: "10.1.2.3" },
    'spec.clusterIPs: Invalid value: ["10.1.2.3"]: failed to allocate IP 10.1.2.3: the provided network does not ' +
      "match the current range"
  ),
  refused(
    "a type that is none",
    { ports, type: "X" },
    'spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
  ),
  refused("another name without the name", { type: "ExternalName" }, "spec.externalName: Required value"),
  refused("no ports", { selector: { a: "b" } }, "spec.ports: Required value"),
  refused(
    "two ports without names",
    { ports: [{ port: 80 }, { port: 81 }] },
    "[spec.ports[0].name: Required value, spec.ports[1].name: Required value]"
  ),
  refused(
    "two ports of one name",
    {
      ports: [
        { name: "a", port: 80 },
        { name: "a", port: 81 }
      ]
    },
    'spec.ports[1].name: Duplicate value: "a"'
  ),
  refused(
    "port 0",
    { ports: [{ port: 0, targetPort: 80 }] },
    "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"
  )
]
