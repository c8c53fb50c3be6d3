import { expect } from "vitest"
import { asObject, asObjects, asString, asStrings, at, type JsonObject } from "../../../src/domain/json.ts"
import { type ApiClient, eventually } from "../../lab/cluster/api-client.ts"
import type { ConformanceCase, Context } from "./context.ts"
import { service } from "./services.ts"

/** Pods need an existing node: a real controller leaves out a pod without one. */
const node = "conformance-node"
const podIp = "10.1.0."
const web = {
  selector: { app: "web" },
  ports: [
    { name: "http", port: 80, targetPort: "web" },
    { name: "admin", port: 81, targetPort: 9000 }
  ]
}
const webPort = (containerPort: number) => [{ name: "web", containerPort }]

/** Reads and changes the Services, pods and endpoints in the namespace of a case. */
class EndpointsOfCase {
  readonly admin: ApiClient
  readonly #namespace: string

  constructor({ admin, namespace }: Context) {
    this.admin = admin
    this.#namespace = namespace
  }

  path(resource: string, name = ""): string {
    const root = resource === "endpointslices" ? "/apis/discovery.k8s.io/v1" : "/api/v1"
    return `${root}/namespaces/${this.#namespace}/${resource}${name === "" ? "" : `/${name}`}`
  }

  async add(resource: string, object: object): Promise<void> {
    expect(await this.admin.post(this.path(resource), object)).toMatchObject({ code: 201 })
  }

  async change(resource: string, name: string, patch: object): Promise<void> {
    expect(await this.admin.merge(this.path(resource, name), patch)).toMatchObject({ code: 200 })
  }

  async remove(resource: string, name: string): Promise<void> {
    expect(await this.admin.delete(`${this.path(resource, name)}?gracePeriodSeconds=0`)).toMatchObject({ code: 200 })
  }

  /** Creates a pod on the node, without an address: {@link ready} gives it one. */
  async pod(name: string, ports: ReadonlyArray<object>, metadata: object = {}, more: object = {}): Promise<void> {
    await this.admin.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: node } })
    const spec = { nodeName: node, containers: [{ name: "c", image: "x", ports }], ...more }
    await this.add("pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app: "web" }, ...metadata },
      spec
    })
  }

  /** Writes as a kubelet that pod `<prefix>-<n>` runs at 10.1.0.n, and whether it is ready. */
  async ready(name: string, ready: boolean, phase = "Running"): Promise<void> {
    const ip = `${podIp}${name.split("-")[1]}`
    await this.change("pods", `${name}/status`, {
      status: { phase, podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: ready ? "True" : "False" }] }
    })
  }

  async all(resource: string): Promise<ReadonlyArray<JsonObject>> {
    return asObjects((await this.admin.get(this.path(resource))).body["items"])
  }

  /** `ports: endpoints` of each slice, e.g. `http=8080/TCP: web-1@10.1.0.1 ready serving`; sorted. */
  async slices(): Promise<ReadonlyArray<string>> {
    return (await this.all("endpointslices"))
      .map((slice) => {
        const ports = asObjects(slice["ports"]).map(
          (port) => `${asString(port["name"]) ?? "?"}=${String(port["port"])}/${String(port["protocol"])}`
        )
        const members = asObjects(slice["endpoints"]).map((endpoint) => {
          const conditions = Object.entries(asObject(endpoint["conditions"]))
            .filter(([, holds]) => holds === true)
            .map(([name]) => name)
          return [
            `${asString(at(endpoint, "targetRef", "name")) ?? ""}@${asStrings(endpoint["addresses"]).join(",")}`,
            ...conditions
          ].join(" ")
        })
        return `${ports.join(" ")}: ${members.toSorted().join("; ")}`
      })
      .toSorted()
  }

  async expect(...wanted: ReadonlyArray<string>): Promise<void> {
    await eventually(
      () => this.slices(),
      (found) => JSON.stringify(found) === JSON.stringify(wanted.toSorted())
    )
  }
}

const run = (
  name: string,
  steps: (endpoints: EndpointsOfCase, context: Context) => Promise<void>
): ConformanceCase => ({
  name: `Endpoints: ${name}`,
  needs: "controllers",
  run: (context) => steps(new EndpointsOfCase(context), context)
})

const empty = ": "
const both = "http=8080/TCP admin=9000/TCP"

export const endpointsCases: ReadonlyArray<ConformanceCase> = [
  run("a Service without pods has one slice, which is empty", async (endpoints, { namespace }) => {
    await endpoints.add("services", service("web", web, { labels: { mine: "1" } }))
    await endpoints.expect(empty)
    const [slice] = await endpoints.all("endpointslices")
    expect(slice).toMatchObject({
      metadata: {
        name: expect.stringMatching(/^web-[a-z0-9]{5}$/),
        generateName: "web-",
        namespace,
        labels: {
          mine: "1",
          "kubernetes.io/service-name": "web",
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"
        },
        ownerReferences: [
          { apiVersion: "v1", kind: "Service", name: "web", controller: true, blockOwnerDeletion: true }
        ]
      },
      addressType: "IPv4",
      endpoints: null,
      ports: null
    })
  }),
  run("a pod comes, is ready, is not, is on its way out, and is gone", async (endpoints, { namespace }) => {
    await endpoints.add("services", service("web", web))
    await endpoints.pod("web-1", webPort(8080), { finalizers: ["example.com/hold"] })
    await endpoints.expect(empty)
    await endpoints.ready("web-1", false)
    await endpoints.expect(`${both}: web-1@10.1.0.1`)
    await endpoints.ready("web-1", true)
    await endpoints.expect(`${both}: web-1@10.1.0.1 ready serving`)
    const [slice] = await endpoints.all("endpointslices")
    const targetRef = { kind: "Pod", namespace, name: "web-1", uid: expect.any(String) }
    expect(slice?.["endpoints"]).toEqual([
      {
        addresses: ["10.1.0.1"],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: node,
        targetRef
      }
    ])
    await endpoints.remove("pods", "web-1")
    await endpoints.expect(`${both}: web-1@10.1.0.1 serving terminating`)
    await endpoints.ready("web-1", false)
    await endpoints.expect(`${both}: web-1@10.1.0.1 terminating`)
    await endpoints.change("pods", "web-1", { metadata: { finalizers: null } })
    await endpoints.expect(empty)
  }),
  run("a pod that has ended serves nobody", async (endpoints) => {
    await endpoints.add("services", service("web", web))
    await endpoints.pod("web-1", webPort(8080))
    await endpoints.ready("web-1", true)
    await endpoints.expect(`${both}: web-1@10.1.0.1 ready serving`)
    await endpoints.ready("web-1", false, "Succeeded")
    await endpoints.expect(empty)
  }),
  run("the same port has other numbers in other pods, or none", async (endpoints) => {
    await endpoints.add("services", service("web", web))
    for (const [name, ports] of [
      ["web-1", webPort(8080)],
      ["web-2", webPort(8081)],
      ["web-3", []],
      ["web-4", webPort(8080)]
    ] as const) {
      await endpoints.pod(name, ports)
      await endpoints.ready(name, true)
    }
    await endpoints.expect(
      `${both}: web-1@10.1.0.1 ready serving; web-4@10.1.0.4 ready serving`,
      "http=8081/TCP admin=9000/TCP: web-2@10.1.0.2 ready serving",
      "admin=9000/TCP: web-3@10.1.0.3 ready serving"
    )
    await endpoints.change("services", "web", { spec: { ports: [{ port: 80, targetPort: 1234 }] } })
    await endpoints.expect(
      "=1234/TCP: web-1@10.1.0.1 ready serving; web-2@10.1.0.2 ready serving; web-3@10.1.0.3 ready serving; " +
        "web-4@10.1.0.4 ready serving"
    )
  }),
  run("publishNotReadyAddresses calls every pod ready", async (endpoints) => {
    await endpoints.add("services", service("web", { ...web, publishNotReadyAddresses: true }))
    await endpoints.pod("web-1", webPort(8080))
    await endpoints.ready("web-1", false)
    await endpoints.expect(`${both}: web-1@10.1.0.1 ready`)
    await endpoints.change("services", "web", { spec: { publishNotReadyAddresses: false } })
    await endpoints.expect(`${both}: web-1@10.1.0.1`)
  }),
  run("the selector or a pod's labels change", async (endpoints) => {
    await endpoints.add("services", service("web", web))
    await endpoints.pod("web-1", webPort(8080))
    await endpoints.ready("web-1", true)
    const there = `${both}: web-1@10.1.0.1 ready serving`
    await endpoints.expect(there)
    await endpoints.change("services", "web", { spec: { selector: { app: "other" } } })
    await endpoints.expect(empty)
    await endpoints.change("pods", "web-1", { metadata: { labels: { app: "other" } } })
    await endpoints.expect(there)
    await endpoints.change("pods", "web-1", { metadata: { labels: { app: "web" } } })
    await endpoints.expect(empty)
  }),
  run("a slice that somebody deletes comes back, and goes with its Service", async (endpoints) => {
    await endpoints.add("services", service("web", web))
    await endpoints.expect(empty)
    await endpoints.remove(
      "endpointslices",
      asString(at((await endpoints.all("endpointslices"))[0], "metadata", "name")) ?? ""
    )
    await endpoints.expect(empty)
    await endpoints.remove("services", "web")
    await endpoints.expect()
  }),
  run("a headless Service has slices that say so, and names its pods", async (endpoints) => {
    await endpoints.add("services", service("db", { clusterIP: "None", selector: { app: "web" } }))
    await endpoints.pod("web-1", [], {}, { hostname: "first", subdomain: "db" })
    await endpoints.ready("web-1", true)
    await endpoints.expect(": web-1@10.1.0.1 ready serving")
    expect((await endpoints.all("endpointslices"))[0]).toMatchObject({
      metadata: { labels: { "service.kubernetes.io/headless": "" } },
      endpoints: [{ hostname: "first" }]
    })
  }),
  run("what is missing behind an aggregated API stands in its condition", async (endpoints, { admin, namespace }) => {
    const group = `${namespace}.example.com`
    const path = "/apis/apiregistration.k8s.io/v1/apiservices"
    const target = { name: "api", namespace, port: 443 }
    const spec = {
      group,
      version: "v1",
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      insecureSkipTLSVerify: true,
      service: target
    }
    await admin.post(path, {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: `v1.${group}` },
      spec
    })
    const about = `service/api in "${namespace}"`
    const unavailable = async (reason: string, message: string): Promise<void> => {
      const condition = async () =>
        asObjects(at((await admin.get(`${path}/v1.${group}`)).body, "status", "conditions"))[0]
      await eventually(condition, (found) => found?.["reason"] === reason)
      expect(await condition()).toMatchObject({ type: "Available", status: "False", message })
    }
    const api = (port: number, more: object) =>
      service("api", { ports: [{ name: "https", port, targetPort: 8443 }], ...more })
    await unavailable("ServiceNotFound", `${about} is not present`)
    await endpoints.add("services", api(444, {}))
    await unavailable("ServicePortError", `${about} is not listening on port 443`)
    await endpoints.change("services", "api", { spec: { ports: [{ name: "https", port: 443, targetPort: 8443 }] } })
    await unavailable("EndpointsNotFound", `cannot find endpointslices for ${about}`)
    await endpoints.change("services", "api", { spec: { selector: { app: "web" } } })
    const missing = `endpointslices for ${about} have no addresses with port name "https"`
    await unavailable("MissingEndpoints", missing)
    await endpoints.pod("web-1", [])
    await endpoints.ready("web-1", false)
    await endpoints.expect("https=8443/TCP: web-1@10.1.0.1")
    await unavailable("MissingEndpoints", missing)
    expect(await admin.get(`/apis/${group}/v1/things`)).toMatchObject({ code: 503, text: "service unavailable\n" })
    await admin.delete(`${path}/v1.${group}`)
  })
]
