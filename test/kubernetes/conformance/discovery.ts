import { expect } from "vitest"
import { asObjects, at } from "../../../src/domain/json.ts"
import {
  type ConformanceCase,
  configMap,
  mapsOf,
  meta,
  expectStatus,
  withWidgets,
  widget,
  tableHeader
} from "./context.ts"

export const discoveryCases: ReadonlyArray<ConformanceCase> = [
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
      expect(groups.map((group) => group["name"])).toEqual(
        expect.arrayContaining(["apps", "rbac.authorization.k8s.io"])
      )
      expect((await admin.get("/apis/apps")).body).toMatchObject({
        kind: "APIGroup",
        preferredVersion: { groupVersion: "apps/v1" }
      })
      const core = (await admin.get("/api/v1")).body
      expect(core).toMatchObject({ kind: "APIResourceList", groupVersion: "v1" })
      const resources = asObjects(core["resources"])
      expect(resources.find((item) => item["name"] === "pods")).toMatchObject({
        kind: "Pod",
        namespaced: true,
        shortNames: ["po"]
      })
      expect(resources.find((item) => item["name"] === "serviceaccounts/token")).toMatchObject({
        kind: "TokenRequest",
        verbs: ["create"]
      })
      expect((await admin.get("/apis/nothing.example.com/v1")).code).toBe(404)
    }
  },
  {
    name: "tables have the definition's columns",
    run: async (context) => {
      const { admin, namespace } = context
      const { group, path } = await withWidgets(context)
      await admin.post(path, widget(group, "w", { size: 7 }))
      await admin.merge(`${path}/w/status`, {
        status: {
          conditions: [
            { type: "Other", status: "False" },
            { type: "Ready", status: "True" }
          ]
        }
      })
      const table = (await admin.get(path, tableHeader)).body
      expect(table).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" })
      expect(asObjects(table["columnDefinitions"]).map((column) => column["name"])).toEqual(["Name", "Size", "Ready"])
      expect(asObjects(table["rows"]).map((row) => row["cells"])).toEqual([["w", 7, "True"]])
      expect(at(asObjects(table["rows"])[0], "object", "kind")).toBe("PartialObjectMetadata")
      const pods = (await admin.get(`/api/v1/namespaces/${namespace}/pods`, tableHeader)).body
      expect(
        asObjects(pods["columnDefinitions"])
          .map((column) => column["name"])
          .slice(0, 5)
      ).toEqual(["Name", "Ready", "Status", "Restarts", "Age"])
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
      expectStatus(
        await admin.get(`/api/v1/namespaces/${namespace}/gizmos`),
        404,
        "NotFound",
        "the server could not find the requested resource"
      )
      expect((await admin.get("/apis/none.example.com/v1/gizmos")).code).toBe(404)
      expect((await admin.post(`${mapsOf(namespace)}/a`, configMap("a"))).code).toBe(405)
      expectStatus(
        await admin.put(`${mapsOf(namespace)}/a`, configMap("b")),
        400,
        "BadRequest",
        "the name of the object (b) does not match the name on the URL (a)"
      )
    }
  }
]
