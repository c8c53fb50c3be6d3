import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { afterAll, beforeAll, expect, it } from "vitest"
import { asArray, asObjects, asString, at } from "../../src/domain/json.ts"
import { type Backend, startBackend } from "../lab/cluster/aggregated-backend.ts"
import { ApiClient, eventually, LineReader } from "../lab/cluster/api-client.ts"
import type { ClusterUnderTest } from "./conformance/context.ts"

/** An API server whose aggregation layer reaches a backend of this machine. */
export interface AggregatingCluster extends Omit<ClusterUnderTest, "controllers" | "forgetHistory"> {
  /** Creates or updates the objects of many YAML documents. */
  readonly apply: (yaml: string) => Promise<void>
  /** Ends the server; its objects stay. */
  readonly stop: () => Promise<void>
  readonly restart: () => Promise<void>
  /** The address on which the aggregation layer finds the backend of the Service at {@link clusterIp}. */
  readonly host: string
  /** The published address of the pod behind that Service: a real server refuses loopback addresses there. */
  readonly podIp: string
}

/** All clusters of these tests, real and embedded, have this address in their range for Services. */
export const clusterIp = "127.96.0.9"

const group = "tools.example.com"
const root = `/apis/${group}/v1`
const namespace = "/api/v1/namespaces/tools"

const service = (port: number, selector: string): string => `
apiVersion: v1
kind: Service
metadata: { name: api, namespace: tools }
spec: { clusterIP: ${clusterIp}, ${selector}ports: [{ name: https, port: ${port}, targetPort: https }] }
`

const registration = (port: number, caPem: string): string => `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: v1.${group} }
spec:
  group: ${group}
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  caBundle: ${Buffer.from(caPem).toString("base64")}
  service: { name: api, namespace: tools, port: ${port} }
`

/** A pod that does not run, and a group with the right to use the aggregated API. */
const surroundings = (port: number): string => `
apiVersion: v1
kind: Namespace
metadata: { name: tools }
---
apiVersion: v1
kind: Node
metadata: { name: aggregation-node }
---
apiVersion: v1
kind: Pod
metadata: { name: api-0, namespace: tools, labels: { app: api } }
spec:
  nodeName: aggregation-node
  containers: [{ name: api, image: api, ports: [{ name: https, containerPort: ${port} }] }]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: sessions.${group} }
spec:
  group: ${group}
  scope: Cluster
  names: { plural: sessions, kind: Session }
  versions:
  - name: v1alpha
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
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
subjects: [{ kind: Group, apiGroup: rbac.authorization.k8s.io, name: team }]
`

const websocket = {
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Protocol": "v4.channel.k8s.io"
}
const accept =
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: " +
  "v4.channel.k8s.io\r\n\r\n"

/** The behaviour of the aggregation layer, for any API server. */
export const aggregationSuite = (
  start: () => Promise<{ readonly cluster: AggregatingCluster; readonly close: () => Promise<void> }>
): void => {
  let cluster: AggregatingCluster
  let close: () => Promise<void>
  let backend: Backend
  let admin: ApiClient
  let ann: ApiClient

  const availability = async () =>
    asObjects(
      at((await admin.get(`/apis/apiregistration.k8s.io/v1/apiservices/v1.${group}`)).body, "status", "conditions")
    )[0]
  /**
   * Waits for the condition, and then for its effect on requests: the server reads its own condition a moment later.
   */
  const available = async (status: "True" | "False") => {
    const condition = await eventually(availability, (found) => found?.["status"] === status)
    await eventually(
      () => admin.get(root),
      ({ text }) => (text === "service unavailable\n") === (status === "False")
    )
    return condition
  }
  const setReady = async (ready: boolean): Promise<void> => {
    const status = {
      phase: "Running",
      podIP: cluster.podIp,
      podIPs: [{ ip: cluster.podIp }],
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }]
    }
    expect(await admin.merge(`${namespace}/pods/api-0/status`, { status })).toMatchObject({ code: 200 })
  }
  const connect = async () => {
    const result = await ann.upgrade(`${root}/proxy/namespaces/x/gadgets/g?connect=true`, {
      ...websocket,
      "x-session-id": "7"
    })
    if (!("socket" in result)) throw new Error(`refused: ${result.text}`)
    return result
  }

  beforeAll(async () => {
    const started = await start()
    ;({ cluster } = started)
    close = started.close
    admin = new ApiClient(cluster.server, cluster.caPem, cluster.admin)
    ann = new ApiClient(cluster.server, cluster.caPem, await cluster.credentialsFor("ann", ["team", "staff"]))
    const { body } = await admin.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
    const frontProxyCaPem = asString(at(body, "data", "requestheader-client-ca-file")) ?? ""
    backend = await startBackend({ group, version: "v1", frontProxyCaPem, host: cluster.host })
    await cluster.apply(
      [
        surroundings(backend.port),
        service(backend.port, "selector: { app: api }, "),
        registration(backend.port, backend.caPem)
      ].join("---")
    )
    await setReady(true)
    await available("True")
  })
  afterAll(async () => {
    await backend.close()
    await close()
  })

  it("discovers the aggregated version from the backend, beside the definition's version", async () => {
    const entry = (version: string) => ({ groupVersion: `${group}/${version}`, version })
    const { body } = await eventually(
      () => admin.get(`/apis/${group}`),
      (answer) => asArray(answer.body["versions"]).length === 2
    )
    expect(body).toMatchObject({
      kind: "APIGroup",
      name: group,
      versions: [entry("v1alpha"), entry("v1")],
      preferredVersion: entry("v1alpha")
    })
    expect(asObjects((await admin.get(root)).body["resources"]).map((item) => item["name"])).toEqual(["gadgets"])
    expect(
      asObjects((await admin.get(`/apis/${group}/v1alpha`)).body["resources"]).map((item) => item["name"])
    ).toEqual(["sessions"])
    await eventually(
      () => admin.get(`/apis/${group}/v1alpha/sessions`),
      (list) => list.code === 200
    )
    expect(await availability()).toMatchObject({ type: "Available", reason: "Passed", message: "all checks passed" })
  })

  it("proxies a request with the front proxy's identity", async () => {
    backend.onRequest((req, res) => {
      let body = ""
      req.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")))
      req.on("end", () =>
        res.writeHead(201, { "Content-Type": "application/json", "X-Mine": "1" }).end(JSON.stringify({ echo: body }))
      )
    })
    const answer = await admin.call("POST", `${root}/gadgets?x=1&x=2`, {
      body: { a: 1 },
      headers: {
        Authorization: "Bearer secret",
        "X-Remote-User": "forged",
        "x-remote-group": "forged",
        "X-Remote-Extra-A": "forged",
        "X-Other": "kept"
      }
    })
    expect(answer.code).toBe(201)
    expect(answer.headers["x-mine"]).toBe("1")
    expect(answer.body["echo"]).toBe('{"a":1}')
    const seen = backend.seen.at(-1)
    expect(seen).toMatchObject({
      method: "POST",
      url: `${root}/gadgets?x=1&x=2`,
      clientName: "front-proxy-client",
      trusted: true
    })
    expect(seen?.headers["x-remote-user"]).toEqual(["kubernetes-admin"])
    expect(seen?.headers["x-remote-group"]).toEqual(["system:masters", "system:authenticated"])
    expect(seen?.headers["x-remote-extra-authentication.kubernetes.io%2fcredential-id"]?.[0]).toMatch(/^X509SHA256=/)
    expect(seen?.headers["x-remote-extra-a"]).toBeUndefined()
    expect(seen?.headers["authorization"]).toBeUndefined()
    expect(seen?.headers["x-other"]).toEqual(["kept"])
    const authority = `${clusterIp}:${backend.port}`
    expect(seen?.headers).toMatchObject({
      host: [authority],
      "x-forwarded-for": ["127.0.0.1"],
      "x-forwarded-host": [authority],
      "x-forwarded-proto": ["https"],
      "x-forwarded-uri": [`${root}/gadgets`]
    })
  })

  it.each([
    ["b=2&a=1&b=1", "?a=1&b=2&b=1"],
    ["a=x%20y+z&b=%2f~*'()!", "?a=x+y+z&b=%2F~%2A%27%28%29%21"],
    ["a", "?a="],
    ["a=1;b=2&c=3&d=%zz", "?c=3"],
    ["", ""]
  ])("writes the query %s again, in the order of its keys: %s", async (query, written) => {
    backend.onRequest((_req, res) => void res.end())
    await admin.get(`${root}/gadgets?${query}`)
    expect(backend.seen.at(-1)?.url).toBe(`${root}/gadgets${written}`)
  })

  it("asks RBAC first: verb proxy for the proxy prefix, get without it", async () => {
    backend.onRequest((_req, res) => void res.writeHead(200, { "Content-Type": "application/json" }).end("{}"))
    const before = backend.seen.length
    expect((await ann.get(`${root}/gadgets`)).body["message"]).toBe(
      `gadgets.${group} is forbidden: User "ann" cannot list resource "gadgets" in API group "${group}" at the ` +
        "cluster scope"
    )
    expect((await ann.get(`${root}/proxy/namespaces/x/others/o`)).body["message"]).toBe(
      `others.${group} "o" is forbidden: User "ann" cannot proxy resource "others" in API group "${group}" in ` +
        `the namespace "x"`
    )
    expect(backend.seen.length).toBe(before)
    expect((await ann.get(`${root}/proxy/namespaces/x/gadgets/g`)).code).toBe(200)
    expect(backend.seen.at(-1)?.headers["x-remote-group"]).toEqual(["team", "staff", "system:authenticated"])
    expect((await ann.get(`${root}/gadgets/g`)).code).toBe(200)
  })

  it("streams an answer as it comes and tells the backend when the client leaves", async () => {
    let more = (): void => {}
    const left = new Promise<void>((resolve) => {
      backend.onRequest((_req, res) => {
        res.writeHead(200, { "Content-Type": "application/json" })
        res.write('{"n":1}\n')
        more = () => void res.write('{"n":2}\n')
        res.on("close", resolve)
      })
    })
    const req = admin.open("GET", `${root}/gadgets?watch=true`)
    req.end()
    const lines = new LineReader((await once(req, "response"))[0])
    expect(await lines.next()).toEqual({ n: 1 })
    more()
    expect(await lines.next()).toEqual({ n: 2 })
    lines.close()
    await left
  })

  it("breaks an answer off where the backend does", async () => {
    backend.onRequest((_req, res) => {
      res.writeHead(200, { "Content-Type": "application/json" })
      res.write('{"n":1}\n', () => res.destroy())
    })
    const req = admin.open("GET", `${root}/gadgets?watch=true`)
    req.end()
    const [res] = (await once(req, "response")) as [IncomingMessage]
    res.resume()
    expect((await once(res, "error"))[0]).toMatchObject({ message: "aborted" })
  })

  it("says as text that the backend gave no answer", async () => {
    // Reads the whole request: with unread bytes the end would become a reset.
    backend.onRequest((req, res) => void req.resume().once("end", () => res.socket?.end()))
    backend.onUpgrade((_req, socket) => void socket.end())
    const asText = { code: 503, headers: { "content-type": "text/plain; charset=utf-8" } }
    expect(await admin.post(`${root}/gadgets`, {})).toMatchObject({
      ...asText,
      text: "error trying to reach service: EOF\n"
    })
    expect(await ann.upgrade(`${root}/proxy/namespaces/x/gadgets/g`, websocket)).toMatchObject({
      ...asText,
      text: "unexpected EOF\n"
    })
  })

  it("passes an upgrade on and bytes both ways, and closes both sides when one has ended", async () => {
    const told = new Promise<number>((resolve) => {
      backend.onUpgrade((_req, socket) => {
        socket.write(`${accept}early`)
        let size = 0
        socket.on("data", (chunk: Buffer) => (size += chunk.length))
        // This text gets lost: a tunnel is never half-closed.
        socket.on("end", () => socket.end("late", () => resolve(size)))
      })
    })
    const { socket, answer } = await connect()
    expect(answer.headers).toMatchObject({
      upgrade: "websocket",
      connection: "Upgrade",
      "sec-websocket-protocol": "v4.channel.k8s.io"
    })
    expect(backend.seen.at(-1)?.headers).toMatchObject({
      "x-session-id": ["7"],
      "x-remote-user": ["ann"],
      "sec-websocket-key": [websocket["Sec-WebSocket-Key"]]
    })
    const received: Array<Buffer> = []
    socket.on("data", (chunk: Buffer) => received.push(chunk))
    socket.end(Buffer.alloc(1_000_000, 1))
    await once(socket, "end")
    expect(Buffer.concat(received).toString("utf8")).toBe("early")
    expect(await told).toBe(1_000_000)
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

  it.each([200, 204, 302])("takes %i for no answer to an upgrade", async (code) => {
    backend.onUpgrade((_req, socket) => void socket.end(`HTTP/1.1 ${code} Well\r\nLocation: /\r\n\r\n`))
    const result = await ann.upgrade(`${root}/proxy/namespaces/x/gadgets/g`, websocket)
    expect(result).toMatchObject({ code: 503, text: `invalid upgrade response: status code ${code}\n` })
  })

  it("waits for a backend that stands still as long as the client does", async () => {
    backend.onUpgrade((_req, socket) => void socket.end(`${accept}awake`))
    const thaw = backend.freeze()
    let isAnswered = false
    const waiting = connect().finally(() => {
      isAnswered = true
    })
    // The condition says False once the aggregation layer's own probes have given up.
    await available("False")
    expect(isAnswered).toBe(false)
    thaw()
    const { socket } = await waiting
    expect((await once(socket, "data"))[0]?.toString()).toBe("awake")
    await available("True")
  })

  it("ends the client's side when the backend's is reset, after all that came before", async () => {
    let reset = (): void => {}
    backend.onUpgrade((_req, socket, resetTransport) => {
      reset = resetTransport
      socket.write(`${accept}early`)
      socket.resume()
    })
    const { socket } = await connect()
    const first = await once(socket, "data")
    expect(String(first[0])).toBe("early")
    const ended = once(socket, "end")
    reset()
    await ended
  })

  it("ends the backend's side when the client's is broken off", async () => {
    const ended = new Promise<void>((resolve) => {
      backend.onUpgrade((_req, socket) => {
        socket.write(accept)
        socket.on("end", resolve).resume()
      })
    })
    const { socket } = await connect()
    socket.destroy()
    await ended
  })

  it("ends both sides of a tunnel when the server is gone, and proxies again when it is back", async () => {
    const backendClosed = new Promise<void>((resolve) => {
      backend.onUpgrade((_req, socket) => {
        socket.write(accept)
        socket
          .on("end", () => socket.end())
          .on("close", resolve)
          .resume()
      })
    })
    const { socket } = await connect()
    // The client may see an end or a reset, depending on the way in which the server ends.
    const clientClosed = new Promise((resolve) =>
      socket
        .on("error", () => {})
        .on("close", resolve)
        .resume()
    )
    await cluster.stop()
    await Promise.all([backendClosed, clientClosed])
    await cluster.restart()
    await available("True")
    backend.onRequest((_req, res) => void res.end())
    expect((await admin.get(`${root}/gadgets`)).code).toBe(200)
  })

  it("answers 503 and says so in the condition while no endpoint is ready", async () => {
    await setReady(false)
    expect(await available("False")).toMatchObject({
      reason: "MissingEndpoints",
      message: 'endpointslices for service/api in "tools" have no addresses with port name "https"'
    })
    expect(await admin.get(`${root}/gadgets`)).toMatchObject({ code: 503, text: "service unavailable\n" })
    expect(await ann.upgrade(`${root}/proxy/namespaces/x/gadgets/g`, websocket)).toMatchObject({
      code: 503,
      text: "service unavailable\n"
    })
    await setReady(true)
    await available("True")
  })

  it("uses slices that people wrote where the Service has no selector", async () => {
    backend.onRequest((_req, res) => void res.writeHead(200, { "Content-Type": "application/json" }).end("{}"))
    expect((await admin.delete(`${namespace}/services/api`)).code).toBe(200)
    expect(await available("False")).toMatchObject({ reason: "ServiceNotFound" })
    await eventually(
      () => admin.get("/apis/discovery.k8s.io/v1/namespaces/tools/endpointslices"),
      ({ body }) => asArray(body["items"]).length === 0
    )
    await cluster.apply(service(backend.port, ""))
    await eventually(availability, (condition) => condition?.["reason"] === "EndpointsNotFound")
    await cluster.apply(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: api-0, namespace: tools, labels: { kubernetes.io/service-name: api } }
addressType: IPv4
endpoints: [{ addresses: [${cluster.podIp}] }]
ports: [{ name: https, port: ${backend.port} }]
`)
    await available("True")
    expect((await admin.get(`${root}/gadgets`)).code).toBe(200)
  })

  it("refuses a certificate that the bundle does not cover", async () => {
    await cluster.apply(registration(backend.port, cluster.caPem))
    const url = `https://${clusterIp}:${backend.port}${root}`
    const why = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    // Servers before 1.36 check no certificate when they probe.
    const isProbed = Number((await admin.get("/version")).body["minor"]) >= 36
    if (isProbed) {
      expect(await available("False")).toMatchObject({
        reason: "FailedDiscoveryCheck",
        message: `failing or missing response from ${url}: Get "${url}": ${why}`
      })
    }
    const refused = await eventually(
      () => admin.get(`${root}/gadgets`),
      ({ code }) => code === 503
    )
    expect(refused.text).toBe(isProbed ? "service unavailable\n" : `error trying to reach service: ${why}\n`)
    await cluster.apply(registration(backend.port, backend.caPem))
    await available("True")
    expect((await admin.get(`${root}/gadgets`)).code).toBe(200)
  })
}
