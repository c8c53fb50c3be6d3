import { X509Certificate } from "node:crypto"
import { once } from "node:events"
import { stat } from "node:fs/promises"
import { createServer } from "node:net"
import { CoreV1Api, CustomObjectsApi, KubeConfig, KubernetesObjectApi, Watch } from "@kubernetes/client-node"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startEmbeddedCluster } from "../../../lab/cluster/embedded-cluster.ts"
import { asObjects, at } from "../../../src/domain/json.ts"
import { ApiClient, eventually } from "./api-client.ts"
import { type RunningCluster, runCluster } from "./running-cluster.ts"

const podRef = { group: "", version: "v1", resource: "pods" }
const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "main", image: "x" }] }
})

/** The ASN.1 of a certificate's version: [0] { INTEGER 2 } is v3. */
const isVersion3 = (pem: string): boolean =>
  new X509Certificate(pem).raw.subarray(0, 20).includes(Buffer.from([0xa0, 0x03, 0x02, 0x01, 0x02]))

describe("an embedded cluster", () => {
  let running: RunningCluster
  let now = Date.parse("2030-01-01T00:00:00Z")
  beforeAll(async () => {
    running = await runCluster({ bookmarkIntervalMs: 30, historyLimit: 20, now: () => now })
  })
  afterAll(() => running.close())

  it("writes a kubeconfig that others cannot read, with X.509 v3 certificates", async () => {
    expect((await stat(running.cluster.kubeconfigPath)).mode & 0o777).toBe(0o600)
    expect(isVersion3(running.adminCredentials.cert ?? "")).toBe(true)
    expect(isVersion3(running.cluster.caPem)).toBe(true)
    expect(new X509Certificate(running.adminCredentials.cert ?? "").subject).toBe(
      "O=system:masters\nCN=kubernetes-admin"
    )
    const ann = await running.credentialsFor("ann", ["a", "b"])
    expect(new X509Certificate(ann.cert ?? "").subject).toBe("O=a\nO=b\nCN=ann")
  })

  it("is a cluster to client-node: typed, custom and generic objects, and watches", async () => {
    const config = new KubeConfig()
    config.loadFromFile(running.cluster.kubeconfigPath)
    const core = config.makeApiClient(CoreV1Api)
    expect((await core.listNamespace()).items.map((item) => item.metadata?.name)).toEqual([
      "default",
      "kube-public",
      "kube-system"
    ])
    const objects = KubernetesObjectApi.makeApiClient(config)
    await objects.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "typed", namespace: "default" } })
    running.cluster.apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.example.com }
spec:
  group: example.com
  scope: Cluster
  names: { plural: things, kind: Thing }
  versions:
  - name: v1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`)
    const custom = config.makeApiClient(CustomObjectsApi)
    const things = { group: "example.com", version: "v1", plural: "things" }
    const seen = new Promise<string>((resolve) => {
      void new Watch(config)
        .watch(
          "/apis/example.com/v1/things",
          {},
          (type, object) => resolve(`${type} ${String(at(object, "metadata", "name"))}`),
          () => {}
        )
        .then((controller) => seen.then(() => controller.abort()))
    })
    await custom.createClusterCustomObject({
      ...things,
      body: { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" }, any: 1 }
    })
    expect(await seen).toBe("ADDED t")
    await expect(custom.getClusterCustomObject({ ...things, name: "none" })).rejects.toMatchObject({ code: 404 })
  })

  it("sends bookmarks, and 410 when the history is too short", async () => {
    const path = "/api/v1/namespaces/default/configmaps"
    const version = running.cluster.store.resourceVersion
    const watch = await running.admin.watch(`${path}?watch=true&allowWatchBookmarks=true&resourceVersion=${version}`)
    const bookmark = await watch.next()
    expect(bookmark).toMatchObject({
      type: "BOOKMARK",
      object: { kind: "ConfigMap", apiVersion: "v1", metadata: { resourceVersion: version } }
    })
    watch.close()
    await running.admin.post(path, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "busy" } })
    for (let n = 0; n < 50; n++) await running.admin.merge(`${path}/busy`, { data: { n: String(n) } })
    const expiredWatch = await running.admin.watch(`${path}?watch=true&resourceVersion=${version}`)
    expect(await expiredWatch.next()).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } })
  })

  it("refuses who has no credentials, but tells everybody that it is alive", async () => {
    const stranger = new ApiClient(running.cluster.server, running.cluster.caPem, {})
    expect(await stranger.get("/api/v1/pods")).toMatchObject({
      code: 403,
      body: { kind: "Status", reason: "Forbidden", message: expect.stringContaining("system:anonymous") as string }
    })
    expect((await stranger.get("/readyz")).text).toBe("ok")
    const other = await runCluster()
    const foreign = new ApiClient(running.cluster.server, running.cluster.caPem, other.adminCredentials)
    expect((await foreign.get("/api/v1/pods")).code).toBe(401)
    await other.close()
  })

  it("issues tokens of any life, which end a minute of leeway after it", async () => {
    const token = running.cluster.serviceAccountToken("default", "default", 10)
    const { store } = running.cluster
    const review = async () =>
      at(
        (
          await running.admin.post("/apis/authentication.k8s.io/v1/tokenreviews", {
            kind: "TokenReview",
            apiVersion: "authentication.k8s.io/v1",
            spec: { token }
          })
        ).body,
        "status",
        "authenticated"
      )
    expect(store.get({ group: "", version: "v1", resource: "serviceaccounts" }, "default", "default")).toBeDefined()
    expect(await review()).toBe(true)
    now += 69_000
    expect(await review()).toBe(true)
    now += 2_000
    expect(await review()).toBeFalsy()
    expect(() => running.cluster.serviceAccountToken("default", "nobody", 10)).toThrow(
      'serviceaccounts "nobody" not found'
    )
  })

  it("serves the logs of the hook", async () => {
    const { metadata, spec, ...logged } = pod("logged")
    running.cluster.store.create(podRef, { ...logged, metadata, spec: { ...spec, nodeName: "node" } })
    const path = "/api/v1/namespaces/default/pods/logged/log"
    expect((await running.admin.get(path)).body).toMatchObject({ code: 400, reason: "BadRequest" })
    const asked: Array<unknown> = []
    running.cluster.setPodLogs((namespace, name, container, options) => {
      asked.push([namespace, name, container, options])
      return (async function* () {
        yield "one"
        yield "two\n"
      })()
    })
    expect((await running.admin.get(path)).text).toBe("one\ntwo\n")
    await running.admin.get(`${path}?follow=true&container=main&tailLines=3`)
    await running.admin.get(`${path}?previous=true&timestamps=true&sinceTime=2026-01-02T03:04:05.9Z`)
    const plain = { follow: false, previous: false, timestamps: false }
    expect(asked).toEqual([
      ["default", "logged", "main", plain],
      ["default", "logged", "main", { ...plain, follow: true, tailLines: 3 }],
      [
        "default",
        "logged",
        "main",
        { ...plain, previous: true, timestamps: true, since: Date.parse("2026-01-02T03:04:05Z") }
      ]
    ])
    expect((await running.admin.get(`${path}?container=other`)).body["message"]).toBe(
      "container other is not valid for pod logged"
    )
  })

  it("acts for somebody else only for who may impersonate", async () => {
    const as = { "Impersonate-User": "bob", "Impersonate-Group": "team" }
    const self = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    const answer = await running.admin.call("POST", path, { body: self, headers: as })
    expect(at(answer.body, "status", "userInfo")).toMatchObject({
      username: "bob",
      groups: ["team", "system:authenticated"]
    })
    const ann = new ApiClient(running.cluster.server, running.cluster.caPem, await running.credentialsFor("ann", []))
    expect((await ann.call("POST", path, { body: self, headers: as })).body["message"]).toBe(
      'users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope'
    )
  })

  it("applies manifests again and removes what they leave out", () => {
    const map = (data: string) => `{ apiVersion: v1, kind: ConfigMap, metadata: { name: applied }, data: ${data} }`
    const ref = { group: "", version: "v1", resource: "configmaps" }
    running.cluster.apply(map('{ a: "1", b: "1" }'))
    running.cluster.apply(map('{ a: "2" }'))
    expect(running.cluster.store.get(ref, "default", "applied")?.["data"]).toEqual({ a: "2" })
    // kubectl reads YAML 1.1, in which `yes` is a boolean.
    expect(() => running.cluster.apply(map('{ a: yes, b: "yes" }'))).toThrow(
      "cannot unmarshal bool into Go struct field ConfigMap.data of type string"
    )
    expect(() => running.cluster.apply(`${map("{}").slice(0, -1)}, foo: 1 }`)).toThrow(
      'strict decoding error: unknown field "foo"'
    )
    expect(() => running.cluster.apply("apiVersion: v1\nkind: Nothing\nmetadata: { name: x }")).toThrow(
      'no matches for kind "Nothing" in version "v1"'
    )
    expect(() => running.cluster.apply("a: [")).toThrow("error parsing YAML")
  })

  it("is gone after stop and back with the same data on the same port", async () => {
    const { cluster, admin } = running
    cluster.store.create(podRef, pod("survivor"))
    const watch = await admin.watch("/api/v1/namespaces/default/pods?watch=true&labelSelector=none")
    await Effect.runPromise(cluster.stop())
    await Effect.runPromise(cluster.stop())
    await expect(watch.next()).rejects.toThrow("the stream ended")
    await expect(admin.get("/version")).rejects.toMatchObject({ code: "ECONNREFUSED" })
    await Effect.runPromise(cluster.restart())
    await Effect.runPromise(cluster.restart())
    expect((await admin.get("/api/v1/namespaces/default/pods/survivor")).code).toBe(200)
  })

  it("waits for its port, which a stranger has taken meanwhile", async () => {
    const { cluster, admin } = running
    const port = Number(new URL(cluster.server).port)
    // Systems give lower ports to no outgoing connection.
    expect(port).toBeLessThan(32_768)
    await Effect.runPromise(cluster.stop())
    const stranger = createServer().listen(port, "127.0.0.1")
    await once(stranger, "listening")
    const restarted = Effect.runPromise(cluster.restart())
    // By the time that a second listener is refused, the cluster has been refused at least once.
    const refused = createServer().listen(port, "127.0.0.1")
    expect((await once(refused, "error"))[0]).toMatchObject({ code: "EADDRINUSE" })
    stranger.close()
    await restarted
    expect((await admin.get("/readyz")).text).toBe("ok")
  })

  it("remembers every caller", async () => {
    const path = "/api/v1/namespaces/nowhere/pods/x?pretty=1"
    await running.admin.get(path)
    const callers = await eventually(
      async () => running.cluster.callers().filter((caller) => caller.path === path),
      (list) => list.length > 0
    )
    expect(callers).toContainEqual({
      at: now,
      user: "kubernetes-admin",
      groups: ["system:masters", "system:authenticated"],
      method: "GET",
      path: "/api/v1/namespaces/nowhere/pods/x?pretty=1",
      status: 404,
      userAgent: "api-test/1"
    })
  })

  it("fails with a typed error if the port is taken", async () => {
    const port = Number(new URL(running.cluster.server).port)
    const error = await Effect.runPromise(
      Effect.scoped(Effect.flip(startEmbeddedCluster({ name: "second", directory: running.directory, port })))
    )
    expect(error).toMatchObject({ _tag: "EmbeddedClusterError", operation: "start", cluster: "second" })
    expect(error.message).toContain("EADDRINUSE")
  })

  it("keeps its connection when a request fails half way", async () => {
    const req = running.admin.open("POST", "/api/v1/namespaces/default/configmaps", {
      body: "",
      headers: { "Content-Length": "100" }
    })
    req.on("error", () => {})
    req.write("{")
    await once(req, "socket")
    req.destroy()
    expect((await running.admin.get("/readyz")).text).toBe("ok")
    expect(asObjects((await running.admin.get("/api/v1/namespaces")).body["items"]).length).toBeGreaterThan(2)
  })
})
