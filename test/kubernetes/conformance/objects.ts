import { expect } from "vitest"
import { namesOf } from "../../lab/cluster/api-client.ts"
import { type ConformanceCase, configMap, mapsOf, meta, expectStatus } from "./context.ts"

export const objectsCases: ReadonlyArray<ConformanceCase> = [
  {
    name: "an object is created, read, replaced and deleted",
    run: async ({ admin, namespace }) => {
      const created = await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))
      expect(created.code).toBe(201)
      expect(created.body).toMatchObject({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "a", namespace },
        data: { x: "1" }
      })
      expect(meta(created, "uid")).toMatch(/^[0-9a-f-]{36}$/)
      expect(meta(created, "creationTimestamp")).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      expect((await admin.get(`${mapsOf(namespace)}/a`)).body).toEqual(created.body)
      const replaced = await admin.put(`${mapsOf(namespace)}/a`, { ...created.body, data: { x: "2" } })
      expect(replaced.code).toBe(200)
      expect(Number(meta(replaced, "resourceVersion"))).toBeGreaterThan(Number(meta(created, "resourceVersion")))
      const deleted = await admin.delete(`${mapsOf(namespace)}/a`, {})
      expect(deleted.body).toMatchObject({
        kind: "Status",
        status: "Success",
        details: { name: "a", kind: "configmaps" }
      })
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
    name: "YAML: dates and times of the day are text",
    run: async ({ admin, namespace }) => {
      const body =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: times}\ndata: {date: 2026-01-02, moment: " +
        "2026-01-02T03:04:05Z, time: 12:30, exact: 12:30:05.5}\n"
      const created = await admin.call("POST", mapsOf(namespace), { body, contentType: "application/yaml" })
      expect(created.code).toBe(201)
      expect(created.body["data"]).toEqual({
        date: "2026-01-02",
        moment: "2026-01-02T03:04:05Z",
        time: "12:30",
        exact: "12:30:05.5"
      })
    }
  },
  {
    name: "generateName, and what is refused at creation",
    run: async ({ admin, namespace }) => {
      const generated = await admin.post(mapsOf(namespace), { ...configMap("x"), metadata: { generateName: "gen-" } })
      expect(meta(generated, "name")).toMatch(/^gen-[a-z0-9]{5}$/)
      await admin.post(mapsOf(namespace), configMap("a"))
      const duplicate = await admin.post(mapsOf(namespace), configMap("a"))
      expectStatus(duplicate, 409, "AlreadyExists", 'configmaps "a" already exists')
      expect(duplicate.body["details"]).toEqual({ name: "a", kind: "configmaps" })
      expectStatus(
        await admin.post(mapsOf(namespace), configMap("Bad_Name")),
        422,
        "Invalid",
        /^ConfigMap "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain/
      )
      expectStatus(
        await admin.post(mapsOf("nowhere"), configMap("a")),
        404,
        "NotFound",
        'namespaces "nowhere" not found'
      )
      expectStatus(await admin.call("POST", mapsOf(namespace), { body: "{nope" }), 400, "BadRequest", /./)
      expectStatus(
        await admin.call("POST", mapsOf(namespace), { body: "x", contentType: "text/plain" }),
        415,
        "UnsupportedMediaType",
        /./
      )
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
      expectStatus(
        await admin.get(`${mapsOf(namespace)}?fieldSelector=data.x%3D1`),
        400,
        "BadRequest",
        /is not a known field selector/
      )
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
        await admin.post(pods, {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name },
          spec: { containers: [{ name: "c", image: "x" }] }
        })
      }
      await admin.merge(`${pods}/busy/status`, { status: { phase: "Running" } })
      expect(namesOf(await admin.get(`${pods}?fieldSelector=status.phase%3DRunning`))).toEqual(["busy"])
      expect(namesOf(await admin.get(`${pods}?fieldSelector=status.phase!%3DRunning,metadata.name%3Didle`))).toEqual([
        "idle"
      ])
    }
  },
  {
    name: "dryRun answers and keeps nothing",
    run: async ({ admin, namespace }) => {
      expect((await admin.post(`${mapsOf(namespace)}?dryRun=All`, configMap("ghost"))).code).toBe(201)
      expect((await admin.get(`${mapsOf(namespace)}/ghost`)).code).toBe(404)
      await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))
      expect(
        (
          await admin.call("PATCH", `${mapsOf(namespace)}/a?dryRun=All`, {
            body: { data: { x: "2" } },
            contentType: "application/merge-patch+json"
          })
        ).body["data"]
      ).toEqual({ x: "2" })
      await admin.delete(`${mapsOf(namespace)}/a?dryRun=All`)
      expect((await admin.get(`${mapsOf(namespace)}/a`)).body["data"]).toEqual({ x: "1" })
    }
  },
  {
    name: "secrets: stringData becomes data",
    run: async ({ admin, namespace }) => {
      const secret = await admin.post(`/api/v1/namespaces/${namespace}/secrets`, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s" },
        stringData: { a: "b" }
      })
      expect(secret.body).toMatchObject({ type: "Opaque", data: { a: "Yg==" } })
      expect(secret.body["stringData"]).toBeUndefined()
    }
  }
]
