import { expect } from "vitest"
import { asArray, asObjects, at } from "../../../src/domain/json.ts"
import { type ConformanceCase, mapsOf, meta, expectStatus } from "./context.ts"

export const patchesCases: ReadonlyArray<ConformanceCase> = [
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
          template: {
            metadata: { labels: { app: "web" } },
            spec: {
              containers: [
                { name: "a", image: "a:1", env: [{ name: "X", value: "1" }] },
                { name: "b", image: "b:1" }
              ]
            }
          }
        }
      })
      const strategic = await admin.strategic(`${deployments}/web`, {
        spec: {
          template: {
            spec: {
              containers: [
                { name: "b", image: "b:2" },
                { name: "a", env: [{ name: "Y", value: "2" }] }
              ]
            }
          }
        }
      })
      const containers = asObjects(at(strategic.body, "spec", "template", "spec", "containers"))
      expect(Object.fromEntries(containers.map((item) => [item["name"], item["image"]]))).toEqual({
        a: "a:1",
        b: "b:2"
      })
      expect(
        asObjects(containers.find((item) => item["name"] === "a")?.["env"])
          .map((item) => item["name"])
          .toSorted()
      ).toEqual(["X", "Y"])
      expect(meta(strategic, "generation")).toBe(2)
      const removed = await admin.strategic(`${deployments}/web`, {
        spec: { template: { spec: { containers: [{ name: "b", $patch: "delete" }] } } }
      })
      expect(asArray(at(removed.body, "spec", "template", "spec", "containers"))).toHaveLength(1)
      const json = await admin.jsonPatch(`${deployments}/web`, [
        { op: "test", path: "/metadata/name", value: "web" },
        { op: "add", path: "/metadata/labels", value: { l: "1" } }
      ])
      expect(meta(json, "labels")).toEqual({ l: "1" })
      expect(
        (await admin.jsonPatch(`${deployments}/web`, [{ op: "test", path: "/metadata/name", value: "other" }])).code
      ).toBe(422)
      const merged = await admin.merge(`${deployments}/web`, { metadata: { labels: { l: null, m: "2" } } })
      expect(meta(merged, "labels")).toEqual({ m: "2" })
      expect((await admin.merge(`${deployments}/none`, {})).code).toBe(404)
      expectStatus(
        await admin.merge(`${deployments}/web`, { metadata: { resourceVersion: "1" } }),
        409,
        "Conflict",
        /has been modified/
      )
    }
  },
  {
    name: "server-side apply merges, conflicts, is forced and forgets",
    run: async ({ admin, namespace }) => {
      const path = `${mapsOf(namespace)}/shared`
      const shared = (data: Record<string, string>) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "shared" },
        data
      })
      expect((await admin.apply(path, shared({ a: "1", b: "1" }), "one")).code).toBe(201)
      const second = await admin.apply(path, shared({ c: "1" }), "two")
      expect(second.code).toBe(200)
      expect(second.body["data"]).toEqual({ a: "1", b: "1", c: "1" })
      expect(
        asObjects(meta(second, "managedFields")).map((entry) => [
          entry["manager"],
          entry["operation"],
          at(entry, "fieldsV1", "f:data")
        ])
      ).toEqual([
        ["one", "Apply", { "f:a": {}, "f:b": {} }],
        ["two", "Apply", { "f:c": {} }]
      ])
      const conflict = await admin.apply(path, shared({ a: "2" }), "two")
      expectStatus(conflict, 409, "Conflict", /^Apply failed with 1 conflict: conflict with "one".*: \.data\.a$/)
      expect(at(conflict.body, "details", "causes")).toMatchObject([
        { reason: "FieldManagerConflict", field: ".data.a" }
      ])
      const forced = await admin.apply(path, shared({ a: "2" }), "two", true)
      expect(forced.body["data"]).toEqual({ a: "2", b: "1" })
      expect((await admin.apply(path, shared({ b: "1" }), "one")).body["data"]).toEqual({ a: "2", b: "1" })
      expect((await admin.apply(path, shared({}), "one")).body["data"]).toEqual({ a: "2" })
      await admin.merge(`${path}?fieldManager=three`, { data: { a: "3" } })
      expectStatus(
        await admin.apply(path, shared({ a: "4" }), "two"),
        409,
        "Conflict",
        /conflict with "three" using v1: \.data\.a/
      )
      expect(
        (await admin.call("PATCH", path, { body: shared({}), contentType: "application/apply-patch+yaml" })).code
      ).toBe(422)
    }
  }
]
