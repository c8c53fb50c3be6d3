import { expect } from "vitest"
import { asArray, asObjects, at } from "../../../src/domain/json.ts"
import { type ConformanceCase, meta, expectStatus } from "./context.ts"

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
  }
]
