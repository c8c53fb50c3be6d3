import { Effect } from "effect"
import { once } from "node:events"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { asObjects, asString, at } from "../../../src/adapters/embedded/json.ts"
import { type Backend, startBackend } from "./aggregated-backend.ts"
import { ApiClient, LineReader, eventually } from "./api-client.ts"
import { type RunningCluster, runCluster } from "./running-cluster.ts"

const group = "tools.example.com"
const root = `/apis/${group}/v1`

const manifests = (port: number, caPem: string) => `
apiVersion: v1
kind: Namespace
metadata: { name: tools }
---
apiVersion: v1
kind: Service
metadata: { name: api, namespace: tools }
spec: { selector: { app: api }, ports: [{ name: https, port: 443, targetPort: https }] }
---
apiVersion: v1
kind: Pod
metadata: { name: api-0, namespace: tools, labels: { app: api } }
spec: { containers: [{ name: api, image: api, ports: [{ name: https, containerPort: ${port} }] }] }
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: v1.${group} }
spec:
  group: ${group}
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  caBundle: ${Buffer.from(caPem).toString("base64")}
  service: { name: api, namespace: tools, port: 443 }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: sessions.${group} }
spec:
  group: ${group}
  scope: Cluster
  names: { plural: sessions, kind: Session }
  versions:
  - { name: v1alpha, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: gadget-user }
rules:
- { apiGroups: [${group}], resources: [gadgets], verbs: [get, proxy] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: gadget-user }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: gadget-user }
subjects: [{ kind: Group, name: team }]
`

const setReady = (running: RunningCluster, ready: boolean): void => {
  running.cluster.store.modify({ group: "", version: "v1", resource: "pods" }, "tools", "api-0", (draft) => {
    draft["status"] = { phase: "Running", podIP: "127.0.0.1", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] }
  }, { subresource: "status" })
}

describe("the aggregation layer", () => {
  let running: RunningCluster
  let backend: Backend
  let ann: ApiClient

  const availability = async () =>
    asObjects(at((await running.admin.get(`/apis/apiregistration.k8s.io/v1/apiservices/v1.${group}`)).body, "status", "conditions"))[0]

  beforeAll(async () => {
    running = await runCluster({ probeIntervalMs: 50 })
    const configMap = running.cluster.store.get({ group: "", version: "v1", resource: "configmaps" }, "kube-system", "extension-apiserver-authentication")
    backend = await startBackend(group, "v1", asString(at(configMap, "data", "requestheader-client-ca-file")) ?? "")
    running.cluster.apply(manifests(backend.port, backend.caPem))
    setReady(running, true)
    ann = new ApiClient(running.cluster.server, running.cluster.caPem, await running.credentialsFor("ann", ["team", "staff"]))
    await eventually(availability, (condition) => condition?.["status"] === "True")
  })
  afterAll(async () => {
    await backend.close()
    await running.close()
  })

  it("discovers the aggregated version from the backend, beside the definition's version", async () => {
    const { body } = await running.admin.get(`/apis/${group}`)
    expect(asObjects(body["versions"]).map((item) => item["version"]).toSorted()).toEqual(["v1", "v1alpha"])
    expect(asObjects((await running.admin.get(root)).body["resources"]).map((item) => item["name"])).toEqual(["gadgets"])
    expect(asObjects((await running.admin.get(`/apis/${group}/v1alpha`)).body["resources"]).map((item) => item["name"])).toEqual(["sessions"])
    expect((await running.admin.get(`/apis/${group}/v1alpha/sessions`)).body["items"]).toEqual([])
    expect((await availability())?.["reason"]).toBe("Passed")
  })

  it("proxies a request with the front proxy's identity", async () => {
    backend.onRequest((req, res) => {
      let body = ""
      req.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")))
      req.on("end", () => res.writeHead(201, { "Content-Type": "application/json", "X-Mine": "1" }).end(JSON.stringify({ echo: body })))
    })
    const answer = await running.admin.call("POST", `${root}/gadgets?x=1&x=2`, {
      body: { a: 1 },
      headers: { Authorization: "Bearer secret", "X-Remote-User": "forged", "x-remote-group": "forged", "X-Remote-Extra-A": "forged", "X-Other": "kept" }
    })
    expect(answer.code).toBe(201)
    expect(answer.headers["x-mine"]).toBe("1")
    expect(answer.body["echo"]).toBe('{"a":1}')
    const seen = backend.seen.at(-1)
    expect(seen).toMatchObject({ method: "POST", url: `${root}/gadgets?x=1&x=2`, clientName: "front-proxy-client", trusted: true })
    expect(seen?.headers["x-remote-user"]).toEqual(["kubernetes-admin"])
    expect(seen?.headers["x-remote-group"]).toEqual(["system:masters", "system:authenticated"])
    expect(seen?.headers["x-remote-extra-authentication.kubernetes.io%2fcredential-id"]?.[0]).toMatch(/^X509SHA256=/)
    expect(seen?.headers["x-remote-extra-a"]).toBeUndefined()
    expect(seen?.headers["authorization"]).toBeUndefined()
    expect(seen?.headers["x-other"]).toEqual(["kept"])
    expect(seen?.headers["x-forwarded-for"]).toEqual(["127.0.0.1"])
    expect(seen?.headers["host"]).toEqual(["api.tools.svc"])
  })

  it("asks RBAC first: verb proxy for the proxy prefix, get without it", async () => {
    backend.onRequest((_req, res) => void res.writeHead(200, { "Content-Type": "application/json" }).end("{}"))
    const before = backend.seen.length
    expect((await ann.get(`${root}/gadgets`)).body["message"]).toBe(
      `gadgets.${group} is forbidden: User "ann" cannot list resource "gadgets" in API group "${group}" at the cluster scope`
    )
    expect((await ann.get(`${root}/proxy/namespaces/x/others/o`)).body["message"]).toBe(
      `others.${group} "o" is forbidden: User "ann" cannot proxy resource "others" in API group "${group}" in the namespace "x"`
    )
    expect(backend.seen.length).toBe(before)
    expect((await ann.get(`${root}/proxy/namespaces/x/gadgets/g`)).code).toBe(200)
    expect(backend.seen.at(-1)?.headers["x-remote-group"]).toEqual(["team", "staff", "system:authenticated"])
    expect((await ann.get(`${root}/gadgets/g`)).code).toBe(200)
  })

  it("streams an answer as it comes and tells the backend when the client leaves", async () => {
    const left = new Promise<void>((resolve) => {
      backend.onRequest((_req, res) => {
        res.writeHead(200, { "Content-Type": "application/json" })
        res.write('{"n":1}\n')
        setTimeout(() => res.write('{"n":2}\n'), 20)
        res.on("close", resolve)
      })
    })
    const req = running.admin.open("GET", `${root}/gadgets?watch=true`)
    req.end()
    const lines = new LineReader((await once(req, "response"))[0])
    expect(await lines.next()).toEqual({ n: 1 })
    expect(await lines.next()).toEqual({ n: 2 })
    lines.close()
    await left
  })

  const websocket = { "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "v4.channel.k8s.io" }
  const accept = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n"

  const connect = async () => {
    const result = await ann.upgrade(`${root}/proxy/namespaces/x/gadgets/g?connect=true`, { ...websocket, "x-session-id": "7" })
    if (!("socket" in result)) throw new Error(`refused: ${result.text}`)
    return result
  }

  it("passes an upgrade on, bytes both ways, and half-closes", async () => {
    backend.onUpgrade((_req, socket) => {
      socket.write(`${accept}early`)
      const chunks: Array<Buffer> = []
      socket.on("data", (chunk: Buffer) => chunks.push(chunk))
      // The answer is sent only after the client's side has ended: a half-close must have arrived as one.
      socket.on("end", () => socket.end(`got ${Buffer.concat(chunks).length}`))
    })
    const { socket, answer } = await connect()
    expect(answer.headers).toMatchObject({ upgrade: "websocket", connection: "Upgrade", "sec-websocket-protocol": "v4.channel.k8s.io" })
    expect(backend.seen.at(-1)?.headers).toMatchObject({ "x-session-id": ["7"], "x-remote-user": ["ann"], "sec-websocket-key": [websocket["Sec-WebSocket-Key"]] })
    const received: Array<Buffer> = []
    socket.on("data", (chunk: Buffer) => received.push(chunk))
    socket.end(Buffer.alloc(1_000_000, 1))
    await once(socket, "end")
    expect(Buffer.concat(received).toString("utf8")).toBe("earlygot 1000000")
    await eventually(async () => running.cluster.callers(), (callers) => callers.some((caller) => caller.status === 101 && caller.user === "ann"))
  })

  it("passes a refusal of an upgrade on", async () => {
    backend.onUpgrade((_req, socket) => {
      const body = JSON.stringify({ kind: "Status", code: 410, reason: "ReconnectNotPossible" })
      socket.end(`HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    })
    const result = await ann.upgrade(`${root}/proxy/namespaces/x/gadgets/g`, websocket)
    expect(result).toMatchObject({ code: 410, body: { reason: "ReconnectNotPossible" } })
    const denied = await ann.upgrade(`${root}/proxy/namespaces/x/others/o`, websocket)
    expect(denied).toMatchObject({ code: 403, body: { reason: "Forbidden" } })
  })

  it("carries a reset of the backend to the client", async () => {
    let reset = (): void => {}
    backend.onUpgrade((_req, socket, resetTransport) => {
      reset = resetTransport
      socket.write(accept)
      socket.resume()
    })
    const { socket } = await connect()
    socket.resume()
    const failed = once(socket, "error")
    reset()
    expect((await failed)[0]).toMatchObject({ code: "ECONNRESET" })
  })

  it("resets both ends of a tunnel when the server stops", async () => {
    const backendFailed = new Promise<Error>((resolve) => {
      backend.onUpgrade((_req, socket) => {
        socket.removeAllListeners("error").on("error", resolve)
        socket.write(accept)
        socket.resume()
      })
    })
    const { socket } = await connect()
    const clientFailed = once(socket, "error")
    socket.resume()
    await Effect.runPromise(running.cluster.stop())
    expect(await backendFailed).toMatchObject({ code: "ECONNRESET" })
    expect((await clientFailed)[0]).toMatchObject({ code: "ECONNRESET" })
    await Effect.runPromise(running.cluster.restart())
    expect((await running.admin.get("/readyz")).text).toBe("ok")
  })

  it("answers 503 and says so in the condition while no endpoint is ready", async () => {
    setReady(running, false)
    const answer = await running.admin.get(`${root}/gadgets`)
    expect(answer).toMatchObject({ code: 503, text: "service unavailable\n" })
    expect(await ann.upgrade(`${root}/proxy/namespaces/x/gadgets/g`, websocket)).toMatchObject({ code: 503 })
    const condition = await eventually(availability, (item) => item?.["status"] === "False")
    expect(condition).toMatchObject({ reason: "MissingEndpoints", message: 'endpointslices for service/api in "tools" have no addresses with port name "https"' })
    setReady(running, true)
    await eventually(availability, (item) => item?.["status"] === "True")
  })

  it("uses Endpoints where the Service has no selector, and refuses a certificate that the bundle does not cover", async () => {
    backend.onRequest((_req, res) => void res.writeHead(200, { "Content-Type": "application/json" }).end("{}"))
    const text = manifests(backend.port, backend.caPem).replace("selector: { app: api }, ", "")
    running.cluster.apply(`${text}
---
apiVersion: v1
kind: Endpoints
metadata: { name: api, namespace: tools }
subsets: [{ addresses: [{ ip: 127.0.0.1 }], ports: [{ name: https, port: ${backend.port} }] }]
`)
    expect((await running.admin.get(`${root}/gadgets`)).code).toBe(200)
    running.cluster.apply(manifests(backend.port, running.cluster.caPem))
    const refused = await running.admin.get(`${root}/gadgets`)
    expect(refused.code).toBe(503)
    expect(refused.body["message"]).toMatch(/error trying to reach service: .*certificate/)
  })
})
