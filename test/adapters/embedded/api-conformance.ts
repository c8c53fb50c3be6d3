import { expect } from "vitest"
import { asArray, asNumber, asObjects, asString, at, type JsonObject } from "../../../src/adapters/embedded/json.ts"
import { type Answer, type ApiClient, type Credentials, ApiClient as Client, eventually, namesOf } from "./api-client.ts"

/** A cluster that the cases below run against: the embedded one, or a real kube-apiserver. */
export interface ClusterUnderTest {
  readonly server: string
  readonly caPem: string
  readonly admin: Credentials
  /** A client certificate for somebody. */
  readonly credentialsFor: (user: string, groups: ReadonlyArray<string>) => Promise<Credentials>
  /** Makes every older resourceVersion too old; missing where that cannot be provoked. */
  readonly forgetHistory?: () => Promise<void>
  /** Garbage collection and deletion of namespaces' contents work (kube-controller-manager runs). */
  readonly controllers: boolean
}

interface Context {
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

const configMap = (name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels },
  data
})

const mapsOf = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`

const meta = (answer: Answer | JsonObject, field: string): unknown => at("body" in answer ? answer.body : answer, "metadata", field)

const expectStatus = (answer: Answer, code: number, reason: string, message: string | RegExp): void => {
  expect(answer.body).toMatchObject({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason })
  expect(answer.code).toBe(code)
  if (typeof message === "string") expect(answer.body["message"]).toBe(message)
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
const withWidgets = async ({ admin, namespace }: Context): Promise<{ readonly group: string; readonly path: string }> => {
  const group = `${namespace}.example.com`
  expect((await admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetDefinition(group))).code).toBe(201)
  await eventually(
    () => admin.get(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`),
    (crd) => asObjects(at(crd.body, "status", "conditions")).some((item) => item["type"] === "Established" && item["status"] === "True")
  )
  const path = `/apis/${group}/v1/namespaces/${namespace}/widgets`
  await eventually(() => admin.get(path), (list) => list.code === 200)
  return { group, path }
}

const widget = (group: string, name: string, spec: JsonObject, extra: JsonObject = {}) => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  metadata: { name },
  spec,
  ...extra
})

const tableHeader = { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" }

export const conformanceCases: ReadonlyArray<ConformanceCase> = [
  {
    name: "version and health",
    run: async ({ admin }) => {
      const version = await admin.get("/version")
      expect(version.body["major"]).toMatch(/^\d/)
      expect(version.body["minor"]).toMatch(/^\d/)
      for (const path of ["/healthz", "/livez", "/readyz"]) expect((await admin.get(path)).text).toBe("ok")
    }
  },
  {
    name: "discovery lists groups, versions, resources and subresources",
    run: async ({ admin }) => {
      expect((await admin.get("/api")).body["versions"]).toEqual(["v1"])
      const groups = asObjects((await admin.get("/apis")).body["groups"])
      expect(groups.map((group) => group["name"])).toEqual(expect.arrayContaining(["apps", "rbac.authorization.k8s.io"]))
      expect((await admin.get("/apis/apps")).body).toMatchObject({ kind: "APIGroup", preferredVersion: { groupVersion: "apps/v1" } })
      const core = (await admin.get("/api/v1")).body
      expect(core).toMatchObject({ kind: "APIResourceList", groupVersion: "v1" })
      const resources = asObjects(core["resources"])
      expect(resources.find((item) => item["name"] === "pods")).toMatchObject({ kind: "Pod", namespaced: true, shortNames: ["po"] })
      expect(resources.find((item) => item["name"] === "serviceaccounts/token")).toMatchObject({ kind: "TokenRequest", verbs: ["create"] })
      expect((await admin.get("/apis/nothing.example.com/v1")).code).toBe(404)
    }
  },
  {
    name: "an object is created, read, replaced and deleted",
    run: async ({ admin, namespace }) => {
      const created = await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))
      expect(created.code).toBe(201)
      expect(created.body).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace }, data: { x: "1" } })
      expect(meta(created, "uid")).toMatch(/^[0-9a-f-]{36}$/)
      expect(meta(created, "creationTimestamp")).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      expect((await admin.get(`${mapsOf(namespace)}/a`)).body).toEqual(created.body)
      const replaced = await admin.put(`${mapsOf(namespace)}/a`, { ...created.body, data: { x: "2" } })
      expect(replaced.code).toBe(200)
      expect(Number(meta(replaced, "resourceVersion"))).toBeGreaterThan(Number(meta(created, "resourceVersion")))
      const deleted = await admin.delete(`${mapsOf(namespace)}/a`, {})
      expect(deleted.body).toMatchObject({ kind: "Status", status: "Success", details: { name: "a", kind: "configmaps" } })
      expectStatus(await admin.get(`${mapsOf(namespace)}/a`), 404, "NotFound", 'configmaps "a" not found')
    }
  },
  {
    name: "a write without a change keeps the resourceVersion",
    run: async ({ admin, namespace }) => {
      const created = await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))
      const replaced = await admin.put(`${mapsOf(namespace)}/a`, created.body)
      expect(meta(replaced, "resourceVersion")).toBe(meta(created, "resourceVersion"))
    }
  },
  {
    name: "generateName, and what is refused at creation",
    run: async ({ admin, namespace }) => {
      const generated = await admin.post(mapsOf(namespace), { ...configMap("x"), metadata: { generateName: "gen-" } })
      expect(meta(generated, "name")).toMatch(/^gen-[a-z0-9]{5}$/)
      await admin.post(mapsOf(namespace), configMap("a"))
      const again = await admin.post(mapsOf(namespace), configMap("a"))
      expectStatus(again, 409, "AlreadyExists", 'configmaps "a" already exists')
      expect(again.body["details"]).toEqual({ name: "a", kind: "configmaps" })
      expectStatus(await admin.post(mapsOf(namespace), configMap("Bad_Name")), 422, "Invalid", /^ConfigMap "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain/)
      expectStatus(await admin.post(mapsOf("nowhere"), configMap("a")), 404, "NotFound", 'namespaces "nowhere" not found')
      expectStatus(await admin.call("POST", mapsOf(namespace), { body: "{nope" }), 400, "BadRequest", /./)
      expectStatus(await admin.call("POST", mapsOf(namespace), { body: "x", contentType: "text/plain" }), 415, "UnsupportedMediaType", /./)
    }
  },
  {
    name: "a body of more than 3 MiB is refused",
    run: async ({ admin, namespace }) => {
      const answer = await admin.post(mapsOf(namespace), configMap("big", { x: "x".repeat(3 * 1024 * 1024) }))
      expectStatus(answer, 413, "RequestEntityTooLarge", /too large/i)
    }
  },
  {
    name: "YAML bodies are read",
    run: async ({ admin, namespace }) => {
      const body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: b\n"
      const answer = await admin.call("POST", mapsOf(namespace), { body, contentType: "application/yaml" })
      expect(answer.body["data"]).toEqual({ a: "b" })
    }
  },
  {
    name: "a stale resourceVersion and a wrong uid conflict",
    run: async ({ admin, namespace }) => {
      const first = await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))
      await admin.put(`${mapsOf(namespace)}/a`, { ...first.body, data: { x: "2" } })
      expectStatus(
        await admin.put(`${mapsOf(namespace)}/a`, { ...first.body, data: { x: "3" } }),
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again'
      )
      expectStatus(await admin.delete(`${mapsOf(namespace)}/a`, { preconditions: { uid: "other" } }), 409, "Conflict", /Precondition failed: UID in precondition: other/)
    }
  },
  {
    name: "lists select by labels and fields",
    run: async ({ admin, namespace }) => {
      await admin.post(mapsOf(namespace), configMap("one", {}, { app: "x", tier: "a" }))
      await admin.post(mapsOf(namespace), configMap("two", {}, { app: "y" }))
      const select = async (query: string) =>
        namesOf(await admin.get(`${mapsOf(namespace)}?${query}`)).filter((name) => name !== "kube-root-ca.crt")
      expect(await select("labelSelector=app%3Dx")).toEqual(["one"])
      expect(await select("labelSelector=app%3D%3Dx")).toEqual(["one"])
      expect(await select("labelSelector=app!%3Dx")).toEqual(["two"])
      expect(await select("labelSelector=app%20in%20(x,y),tier")).toEqual(["one"])
      expect(await select("labelSelector=app%20notin%20(x)")).toEqual(["two"])
      expect(await select("labelSelector=!tier")).toEqual(["two"])
      expect(await select("fieldSelector=metadata.name%3Dtwo")).toEqual(["two"])
      expectStatus(await admin.get(`${mapsOf(namespace)}?labelSelector=%3D%3D`), 400, "BadRequest", /./)
      expectStatus(await admin.get(`${mapsOf(namespace)}?fieldSelector=data.x%3D1`), 400, "BadRequest", /field label not supported/)
      const list = await admin.get(mapsOf(namespace))
      expect(list.body).toMatchObject({ kind: "ConfigMapList", apiVersion: "v1" })
      expect(meta(list, "resourceVersion")).toMatch(/^\d+$/)
    }
  },
  {
    name: "pods are selected by phase, as the mirrord client does",
    run: async ({ admin, namespace }) => {
      const pods = `/api/v1/namespaces/${namespace}/pods`
      for (const name of ["idle", "busy"]) {
        await admin.post(pods, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers: [{ name: "c", image: "x" }] } })
      }
      await admin.merge(`${pods}/busy/status`, { status: { phase: "Running" } })
      expect(namesOf(await admin.get(`${pods}?fieldSelector=status.phase%3DRunning`))).toEqual(["busy"])
      expect(namesOf(await admin.get(`${pods}?fieldSelector=status.phase!%3DRunning,metadata.name%3Didle`))).toEqual(["idle"])
    }
  },
  {
    name: "a protobuf body is read, as kubectl sends it for kubectl create",
    run: async ({ admin, namespace }) => {
      const part = (number: number, content: string | Buffer): Buffer => {
        const bytes = Buffer.from(content)
        return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes])
      }
      const entry = Buffer.concat([part(1, "key"), part(2, "value")])
      const object = Buffer.concat([part(1, part(1, "proto")), part(2, entry)])
      const type = Buffer.concat([part(1, "v1"), part(2, "ConfigMap")])
      const body = Buffer.concat([Buffer.from("k8s\0", "latin1"), part(1, type), part(2, object), part(3, ""), part(4, "")])
      const answer = await admin.call("POST", mapsOf(namespace), { body: body.toString("latin1"), contentType: "application/vnd.kubernetes.protobuf" })
      expect(answer.body).toMatchObject({ kind: "ConfigMap", metadata: { name: "proto" }, data: { key: "value" } })
      const broken = await admin.call("POST", mapsOf(namespace), { body: "k8s\0\u0012\u007f", contentType: "application/vnd.kubernetes.protobuf" })
      expect(broken.code).toBe(400)
    }
  },
  {
    name: "a watch from a version sees what came after it, in order",
    run: async ({ admin, namespace }) => {
      await admin.post(mapsOf(namespace), configMap("old"))
      const version = meta(await admin.get(mapsOf(namespace)), "resourceVersion")
      await admin.post(mapsOf(namespace), configMap("new"))
      const watch = await admin.watch(`${mapsOf(namespace)}?watch=true&resourceVersion=${String(version)}`)
      expect(await watch.nextShort()).toBe("ADDED new")
      await admin.merge(`${mapsOf(namespace)}/old`, { data: { x: "1" } })
      expect(await watch.nextShort()).toBe("MODIFIED old")
      await admin.delete(`${mapsOf(namespace)}/new`)
      expect(await watch.nextShort()).toBe("DELETED new")
      watch.close()
    }
  },
  {
    name: "a watch without a version begins with what exists",
    run: async ({ admin, namespace }) => {
      await admin.post(mapsOf(namespace), configMap("one", {}, { only: "this" }))
      for (const version of ["", "&resourceVersion=0"]) {
        const watch = await admin.watch(`${mapsOf(namespace)}?watch=1&labelSelector=only${version}`)
        expect(await watch.nextShort()).toBe("ADDED one")
        watch.close()
      }
    }
  },
  {
    name: "an object that enters or leaves the selector is ADDED or DELETED",
    run: async ({ admin, namespace }) => {
      await admin.post(mapsOf(namespace), configMap("one"))
      const version = meta(await admin.get(mapsOf(namespace)), "resourceVersion")
      const watch = await admin.watch(`${mapsOf(namespace)}?watch=true&labelSelector=in&resourceVersion=${String(version)}`)
      await admin.merge(`${mapsOf(namespace)}/one`, { metadata: { labels: { in: "yes" } } })
      expect(await watch.nextShort()).toBe("ADDED one")
      await admin.merge(`${mapsOf(namespace)}/one`, { metadata: { labels: { in: null } } })
      expect(await watch.nextShort()).toBe("DELETED one")
      watch.close()
    }
  },
  {
    name: "sendInitialEvents ends with an annotated bookmark",
    run: async ({ admin, namespace }) => {
      await admin.post(mapsOf(namespace), configMap("one", {}, { only: "this" }))
      const watch = await admin.watch(
        `${mapsOf(namespace)}?watch=true&labelSelector=only&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`
      )
      expect(await watch.nextShort()).toBe("ADDED one")
      const bookmark = await watch.next()
      expect(bookmark["type"]).toBe("BOOKMARK")
      expect(at(bookmark, "object", "metadata", "annotations")).toEqual({ "k8s.io/initial-events-end": "true" })
      expect(at(bookmark, "object", "kind")).toBe("ConfigMap")
      watch.close()
    }
  },
  {
    name: "a watch ends after timeoutSeconds",
    run: async ({ admin, namespace }) => {
      const watch = await admin.watch(`${mapsOf(namespace)}?watch=true&labelSelector=none&timeoutSeconds=1`)
      await expect(watch.next()).rejects.toThrow("the stream ended")
    }
  },
  {
    name: "a watch from a forgotten version is told 410",
    needs: "forgetHistory",
    run: async ({ admin, namespace, cluster }) => {
      const version = meta(await admin.post(mapsOf(namespace), configMap("one")), "resourceVersion")
      await admin.post(mapsOf(namespace), configMap("two"))
      await cluster.forgetHistory?.()
      const watch = await admin.watch(`${mapsOf(namespace)}?watch=true&resourceVersion=${String(version)}`)
      expect(await watch.next()).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } })
      await expect(watch.next()).rejects.toThrow("the stream ended")
    }
  },
  {
    name: "finalizers hold an object back until the last one is gone",
    run: async ({ admin, namespace }) => {
      const path = `${mapsOf(namespace)}/held`
      await admin.post(mapsOf(namespace), { ...configMap("held"), metadata: { name: "held", finalizers: ["example.com/a", "example.com/b"] } })
      const deleted = await admin.delete(path, {})
      expect(deleted.code).toBe(200)
      expect(meta(deleted, "deletionTimestamp")).toBeDefined()
      expectStatus(await admin.merge(path, { metadata: { finalizers: ["example.com/a", "example.com/b", "example.com/c"] } }), 422, "Invalid", /no new finalizers can be added/)
      await admin.merge(path, { metadata: { finalizers: ["example.com/a"] } })
      expect((await admin.get(path)).code).toBe(200)
      await admin.merge(path, { metadata: { finalizers: null } })
      expect((await admin.get(path)).code).toBe(404)
    }
  },
  {
    name: "dependents go with their owner, through several levels",
    needs: "controllers",
    run: async ({ admin, namespace }) => {
      const child = async (name: string, owner: Answer) =>
        admin.post(mapsOf(namespace), {
          ...configMap(name),
          metadata: {
            name,
            ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: meta(owner, "name"), uid: meta(owner, "uid") }]
          }
        })
      const owner = await admin.post(mapsOf(namespace), configMap("owner"))
      await child("grandchild", await child("child", owner))
      await admin.delete(`${mapsOf(namespace)}/owner`)
      await eventually(() => admin.get(`${mapsOf(namespace)}/grandchild`), (answer) => answer.code === 404)
      expect((await admin.get(`${mapsOf(namespace)}/child`)).code).toBe(404)
    }
  },
  {
    name: "Foreground waits for the dependents, Orphan keeps them",
    needs: "controllers",
    run: async ({ admin, namespace }) => {
      const family = async (name: string, finalizers: ReadonlyArray<string>) => {
        const owner = await admin.post(mapsOf(namespace), configMap(name))
        await admin.post(mapsOf(namespace), {
          ...configMap(`${name}-child`),
          metadata: {
            name: `${name}-child`,
            finalizers,
            ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name, uid: meta(owner, "uid"), blockOwnerDeletion: true }]
          }
        })
      }
      await family("front", ["example.com/wait"])
      await admin.delete(`${mapsOf(namespace)}/front`, { propagationPolicy: "Foreground" })
      await eventually(() => admin.get(`${mapsOf(namespace)}/front-child`), (answer) => meta(answer, "deletionTimestamp") !== undefined)
      expect(meta(await admin.get(`${mapsOf(namespace)}/front`), "finalizers")).toEqual(["foregroundDeletion"])
      await admin.merge(`${mapsOf(namespace)}/front-child`, { metadata: { finalizers: null } })
      await eventually(() => admin.get(`${mapsOf(namespace)}/front`), (answer) => answer.code === 404)
      await family("orphan", [])
      await admin.delete(`${mapsOf(namespace)}/orphan`, { propagationPolicy: "Orphan" })
      await eventually(() => admin.get(`${mapsOf(namespace)}/orphan`), (answer) => answer.code === 404)
      expect(meta(await admin.get(`${mapsOf(namespace)}/orphan-child`), "ownerReferences")).toBeUndefined()
    }
  },
  {
    name: "a namespace takes its contents along and accepts nothing while it ends",
    needs: "controllers",
    run: async ({ admin, namespace }) => {
      const doomed = `${namespace}-doomed`
      await admin.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: doomed } })
      await admin.post(mapsOf(doomed), { ...configMap("held"), metadata: { name: "held", finalizers: ["example.com/a"] } })
      expect((await admin.delete(`/api/v1/namespaces/${doomed}`)).body).toMatchObject({ kind: "Namespace", status: { phase: "Terminating" } })
      expectStatus(await admin.post(mapsOf(doomed), configMap("late")), 403, "Forbidden", `configmaps "late" is forbidden: unable to create new content in namespace ${doomed} because it is being terminated`)
      await eventually(() => admin.get(`${mapsOf(doomed)}/held`), (answer) => meta(answer, "deletionTimestamp") !== undefined)
      await admin.merge(`${mapsOf(doomed)}/held`, { metadata: { finalizers: null } })
      await eventually(() => admin.get(`/api/v1/namespaces/${doomed}`), (answer) => answer.code === 404)
    }
  },
  {
    name: "deletecollection deletes what is selected",
    run: async ({ admin, namespace }) => {
      for (const [name, app] of [["a", "x"], ["b", "x"], ["c", "y"]] as const) await admin.post(mapsOf(namespace), configMap(name, {}, { app }))
      expect((await admin.delete(`${mapsOf(namespace)}?labelSelector=app%3Dx`)).code).toBe(200)
      expect(namesOf(await admin.get(`${mapsOf(namespace)}?labelSelector=app`))).toEqual(["c"])
    }
  },
  {
    name: "dryRun answers and keeps nothing",
    run: async ({ admin, namespace }) => {
      expect((await admin.post(`${mapsOf(namespace)}?dryRun=All`, configMap("ghost"))).code).toBe(201)
      expect((await admin.get(`${mapsOf(namespace)}/ghost`)).code).toBe(404)
      await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))
      expect((await admin.call("PATCH", `${mapsOf(namespace)}/a?dryRun=All`, { body: { data: { x: "2" } }, contentType: "application/merge-patch+json" })).body["data"]).toEqual({ x: "2" })
      await admin.delete(`${mapsOf(namespace)}/a?dryRun=All`)
      expect((await admin.get(`${mapsOf(namespace)}/a`)).body["data"]).toEqual({ x: "1" })
    }
  },
  {
    name: "secrets: stringData becomes data",
    run: async ({ admin, namespace }) => {
      const secret = await admin.post(`/api/v1/namespaces/${namespace}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "b" } })
      expect(secret.body).toMatchObject({ type: "Opaque", data: { a: "Yg==" } })
      expect(secret.body["stringData"]).toBeUndefined()
    }
  },
  {
    name: "JSON, merge and strategic merge patches",
    run: async ({ admin, namespace }) => {
      const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`
      await admin.post(deployments, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web" },
        spec: {
          selector: { matchLabels: { app: "web" } },
          template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "a", image: "a:1", env: [{ name: "X", value: "1" }] }, { name: "b", image: "b:1" }] } }
        }
      })
      const strategic = await admin.strategic(`${deployments}/web`, {
        spec: { template: { spec: { containers: [{ name: "b", image: "b:2" }, { name: "a", env: [{ name: "Y", value: "2" }] }] } } }
      })
      const containers = asObjects(at(strategic.body, "spec", "template", "spec", "containers"))
      expect(Object.fromEntries(containers.map((item) => [item["name"], item["image"]]))).toEqual({ a: "a:1", b: "b:2" })
      expect(asObjects(containers.find((item) => item["name"] === "a")?.["env"]).map((item) => item["name"]).toSorted()).toEqual(["X", "Y"])
      expect(meta(strategic, "generation")).toBe(2)
      const removed = await admin.strategic(`${deployments}/web`, { spec: { template: { spec: { containers: [{ name: "b", $patch: "delete" }] } } } })
      expect(asArray(at(removed.body, "spec", "template", "spec", "containers"))).toHaveLength(1)
      const json = await admin.jsonPatch(`${deployments}/web`, [{ op: "test", path: "/metadata/name", value: "web" }, { op: "add", path: "/metadata/labels", value: { l: "1" } }])
      expect(meta(json, "labels")).toEqual({ l: "1" })
      expect((await admin.jsonPatch(`${deployments}/web`, [{ op: "test", path: "/metadata/name", value: "other" }])).code).toBe(422)
      const merged = await admin.merge(`${deployments}/web`, { metadata: { labels: { l: null, m: "2" } } })
      expect(meta(merged, "labels")).toEqual({ m: "2" })
      expect((await admin.merge(`${deployments}/none`, {})).code).toBe(404)
      expectStatus(await admin.merge(`${deployments}/web`, { metadata: { resourceVersion: "1" } }), 409, "Conflict", /has been modified/)
    }
  },
  {
    name: "server-side apply merges, conflicts, is forced and forgets",
    run: async ({ admin, namespace }) => {
      const path = `${mapsOf(namespace)}/shared`
      const of = (data: Record<string, string>) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shared" }, data })
      expect((await admin.apply(path, of({ a: "1", b: "1" }), "one")).code).toBe(201)
      const second = await admin.apply(path, of({ c: "1" }), "two")
      expect(second.code).toBe(200)
      expect(second.body["data"]).toEqual({ a: "1", b: "1", c: "1" })
      expect(asObjects(meta(second, "managedFields")).map((entry) => [entry["manager"], entry["operation"], at(entry, "fieldsV1", "f:data")])).toEqual([
        ["one", "Apply", { "f:a": {}, "f:b": {} }],
        ["two", "Apply", { "f:c": {} }]
      ])
      const conflict = await admin.apply(path, of({ a: "2" }), "two")
      expectStatus(conflict, 409, "Conflict", /^Apply failed with 1 conflict: conflict with "one".*: \.data\.a$/)
      expect(at(conflict.body, "details", "causes")).toMatchObject([{ reason: "FieldManagerConflict", field: ".data.a" }])
      const forced = await admin.apply(path, of({ a: "2" }), "two", true)
      expect(forced.body["data"]).toEqual({ a: "2", b: "1" })
      expect((await admin.apply(path, of({ b: "1" }), "one")).body["data"]).toEqual({ a: "2", b: "1" })
      expect((await admin.apply(path, of({}), "one")).body["data"]).toEqual({ a: "2" })
      await admin.merge(`${path}?fieldManager=three`, { data: { a: "3" } })
      expectStatus(await admin.apply(path, of({ a: "4" }), "two"), 409, "Conflict", /conflict with "three" using v1: \.data\.a/)
      expect((await admin.call("PATCH", path, { body: of({}), contentType: "application/apply-patch+yaml" })).code).toBe(422)
    }
  },
  {
    name: "custom resources: required, range, enum, pattern and type errors name the field",
    run: async (context) => {
      const { admin } = context
      const { group, path } = await withWidgets(context)
      const attempt = async (spec: JsonObject) => admin.post(path, widget(group, "w", spec))
      const prefix = `Widget.${group} "w" is invalid: `
      const missing = await attempt({})
      expectStatus(missing, 422, "Invalid", `${prefix}spec.size: Required value`)
      expect(missing.body["details"]).toEqual({ name: "w", group, kind: "Widget", causes: [{ reason: "FieldValueRequired", message: "Required value", field: "spec.size" }] })
      expectStatus(await attempt({ size: 0 }), 422, "Invalid", `${prefix}spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1`)
      expectStatus(await attempt({ size: 1, mode: "odd" }), 422, "Invalid", `${prefix}spec.mode: Unsupported value: "odd": supported values: "fast", "slow"`)
      expectStatus(await attempt({ size: 1, code: "A1" }), 422, "Invalid", `${prefix}spec.code: Invalid value: "A1": spec.code in body should match '^[a-z]+$'`)
      expectStatus(await attempt({ size: "1" }), 422, "Invalid", `${prefix}spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`)
      expectStatus(await attempt({ size: 1, port: true }), 422, "Invalid", /spec\.port/)
    }
  },
  {
    name: "custom resources: pruning, defaults, int-or-string, nullable",
    run: async (context) => {
      const { admin } = context
      const { group, path } = await withWidgets(context)
      const spec = { size: 1, bogus: 1, note: null, port: "http", free: { any: { thing: 1 } }, parts: [{ name: "p", odd: 1 }] }
      const created = await admin.post(path, widget(group, "w", spec))
      expect(created.body["spec"]).toEqual({ size: 1, mode: "fast", note: null, port: "http", free: { any: { thing: 1 } }, parts: [{ name: "p" }] })
      expect(created.headers["warning"]).toContain('unknown field \\"spec.bogus\\"')
      const strict = await admin.post(`${path}?fieldValidation=Strict`, widget(group, "s", { size: 1, bogus: 1 }))
      expectStatus(strict, 400, "BadRequest", 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.bogus"')
    }
  },
  {
    name: "custom resources: status is apart, generation counts spec changes",
    run: async (context) => {
      const { admin } = context
      const { group, path } = await withWidgets(context)
      const created = await admin.post(path, widget(group, "w", { size: 1 }, { status: { phase: "Forged" } }))
      expect(created.body["status"]).toBeUndefined()
      expect(meta(created, "generation")).toBe(1)
      const status = await admin.merge(`${path}/w/status`, { status: { phase: "Ready" }, spec: { size: 9 } })
      expect(status.body).toMatchObject({ spec: { size: 1 }, status: { phase: "Ready" }, metadata: { generation: 1 } })
      const spec = await admin.merge(`${path}/w`, { status: { phase: "Lost" }, spec: { size: 2 } })
      expect(spec.body).toMatchObject({ spec: { size: 2 }, status: { phase: "Ready" }, metadata: { generation: 2 } })
      const labelled = await admin.merge(`${path}/w`, { metadata: { labels: { a: "b" } } })
      expect(meta(labelled, "generation")).toBe(2)
      const { resourceVersion: _, ...metadata } = labelled.body["metadata"] as JsonObject
      expectStatus(await admin.put(`${path}/w`, { ...labelled.body, metadata }), 422, "Invalid", /metadata\.resourceVersion: Invalid value: 0(x0)?: must be specified for an update/)
      expect((await admin.strategic(`${path}/w`, {})).code).toBe(415)
    }
  },
  {
    name: "custom resources: versions, list maps under apply, and the end of the definition",
    run: async (context) => {
      const { admin, namespace } = context
      const { group, path } = await withWidgets(context)
      await admin.apply(`${path}/w`, widget(group, "w", { size: 1, parts: [{ name: "a", count: 1 }] }), "one")
      const both = await admin.apply(`${path}/w`, widget(group, "w", { size: 1, parts: [{ name: "b" }] }), "two")
      expect(at(both.body, "spec", "parts")).toEqual([{ name: "a", count: 1 }, { name: "b" }])
      const other = await admin.get(`/apis/${group}/v2/namespaces/${namespace}/widgets/w`)
      expect(other.body).toMatchObject({ apiVersion: `${group}/v2`, spec: { size: 1 } })
      await admin.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`)
      await eventually(() => admin.get(path), (answer) => answer.code === 404)
    }
  },
  {
    name: "RBAC: refused in a real server's words, then allowed",
    run: async ({ admin, namespace, as }) => {
      const user = `ann-${namespace}`
      const ann = await as(user)
      const refused = await ann.get(`/api/v1/namespaces/${namespace}/pods`)
      expectStatus(refused, 403, "Forbidden", `pods is forbidden: User "${user}" cannot list resource "pods" in API group "" in the namespace "${namespace}"`)
      expect(refused.body["details"]).toEqual({ kind: "pods" })
      expectStatus(await ann.get("/apis/apps/v1/deployments"), 403, "Forbidden", `deployments.apps is forbidden: User "${user}" cannot list resource "deployments" in API group "apps" at the cluster scope`)
      expectStatus(await ann.get(`/api/v1/namespaces/${namespace}/pods/p`), 403, "Forbidden", `pods "p" is forbidden: User "${user}" cannot get resource "pods" in API group "" in the namespace "${namespace}"`)
      expectStatus(await ann.get("/metrics"), 403, "Forbidden", `forbidden: User "${user}" cannot get path "/metrics"`)
      const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
      await admin.post(`${rbac}/roles`, {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "reader" },
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }, { apiGroups: [""], resources: ["configmaps"], resourceNames: ["one"], verbs: ["get"] }]
      })
      await admin.post(`${rbac}/rolebindings`, {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { name: "reader" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }]
      })
      await eventually(() => ann.get(`/api/v1/namespaces/${namespace}/pods`), (answer) => answer.code === 200)
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
      const self = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } }
      const path = "/apis/authorization.k8s.io/v1"
      expect(at((await ann.post(`${path}/selfsubjectaccessreviews`, self)).body, "status", "allowed")).toBe(false)
      expect(at((await admin.post(`${path}/selfsubjectaccessreviews`, self)).body, "status", "allowed")).toBe(true)
      const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user: "bob", groups: ["system:masters"], resourceAttributes } }
      const answer = await admin.post(`${path}/subjectaccessreviews`, review)
      expect(answer.code).toBe(201)
      expect(at(answer.body, "status", "allowed")).toBe(true)
      expect((await ann.post(`${path}/subjectaccessreviews`, review)).code).toBe(403)
    }
  },
  {
    name: "service account tokens are requested, used and reviewed",
    run: async ({ admin, namespace, cluster }) => {
      await admin.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "bot" } })
      const request = (expirationSeconds: number) =>
        admin.post(`/api/v1/namespaces/${namespace}/serviceaccounts/bot/token`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds } })
      expectStatus(await request(60), 422, "Invalid", /spec\.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes/)
      const issued = await request(600)
      expect(issued.code).toBe(201)
      const token = asString(at(issued.body, "status", "token")) ?? ""
      const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"))
      expect((asNumber(claims.exp) ?? 0) - (asNumber(claims.iat) ?? 0)).toBe(600)
      expect(claims["kubernetes.io"]).toMatchObject({ namespace, serviceaccount: { name: "bot" } })
      const bot = new Client(cluster.server, cluster.caPem, { token })
      const user = `system:serviceaccount:${namespace}:bot`
      expectStatus(await bot.get(mapsOf(namespace)), 403, "Forbidden", `configmaps is forbidden: User "${user}" cannot list resource "configmaps" in API group "" in the namespace "${namespace}"`)
      const review = await admin.post("/apis/authentication.k8s.io/v1/tokenreviews", { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } })
      expect(review.body["status"]).toMatchObject({ authenticated: true, user: { username: user, groups: expect.arrayContaining(["system:serviceaccounts", `system:serviceaccounts:${namespace}`]) } })
      const forged = await admin.post("/apis/authentication.k8s.io/v1/tokenreviews", { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: `${token.slice(0, -8)}AAAAAAAA` } })
      expect(at(forged.body, "status", "authenticated")).toBeFalsy()
      expectStatus(await new Client(cluster.server, cluster.caPem, { token: "nonsense" }).get(mapsOf(namespace)), 401, "Unauthorized", "Unauthorized")
      await admin.delete(`/api/v1/namespaces/${namespace}/serviceaccounts/bot`)
      await eventually(() => bot.get(mapsOf(namespace)), (answer) => answer.code === 401)
    }
  },
  {
    name: "tables have the definition's columns",
    run: async (context) => {
      const { admin, namespace } = context
      const { group, path } = await withWidgets(context)
      await admin.post(path, widget(group, "w", { size: 7 }))
      await admin.merge(`${path}/w/status`, { status: { conditions: [{ type: "Other", status: "False" }, { type: "Ready", status: "True" }] } })
      const table = (await admin.get(path, tableHeader)).body
      expect(table).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" })
      expect(asObjects(table["columnDefinitions"]).map((column) => column["name"])).toEqual(["Name", "Size", "Ready"])
      expect(asObjects(table["rows"]).map((row) => row["cells"])).toEqual([["w", 7, "True"]])
      expect(at(asObjects(table["rows"])[0], "object", "kind")).toBe("PartialObjectMetadata")
      const pods = (await admin.get(`/api/v1/namespaces/${namespace}/pods`, tableHeader)).body
      expect(asObjects(pods["columnDefinitions"]).map((column) => column["name"]).slice(0, 5)).toEqual(["Name", "Ready", "Status", "Restarts", "Age"])
      expect((await admin.get(path, { Accept: "text/html" })).code).toBe(406)
    }
  },
  {
    name: "the aggregation layer's configuration is published",
    run: async ({ admin }) => {
      const { body } = await admin.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
      expect(at(body, "data", "requestheader-client-ca-file")).toMatch(/^-----BEGIN CERTIFICATE-----/)
      expect(at(body, "data", "requestheader-allowed-names")).toBe('["front-proxy-client"]')
      expect(meta(await admin.get("/api/v1/namespaces/kube-system"), "uid")).toMatch(/^[0-9a-f-]{36}$/)
    }
  },
  {
    name: "unknown paths and verbs",
    run: async ({ admin, namespace }) => {
      expectStatus(await admin.get(`/api/v1/namespaces/${namespace}/gizmos`), 404, "NotFound", "the server could not find the requested resource")
      expect((await admin.get("/apis/none.example.com/v1/gizmos")).code).toBe(404)
      expect((await admin.post(`${mapsOf(namespace)}/a`, configMap("a"))).code).toBe(405)
      expectStatus(await admin.put(`${mapsOf(namespace)}/a`, configMap("b")), 400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)")
    }
  }
]

let counter = 0

/** Runs one case in a namespace of its own. */
export const runCase = async (cluster: ClusterUnderTest, item: ConformanceCase): Promise<void> => {
  const admin = new Client(cluster.server, cluster.caPem, cluster.admin)
  const namespace = `case-${++counter}`
  expect((await admin.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })).code).toBe(201)
  await item.run({
    cluster,
    admin,
    namespace,
    as: async (user, groups = []) => new Client(cluster.server, cluster.caPem, await cluster.credentialsFor(user, groups))
  })
}
