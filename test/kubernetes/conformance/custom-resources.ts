import { expect } from "vitest"
import type { JsonObject } from "../../../src/domain/json.ts"
import { eventually } from "../../lab/cluster/api-client.ts"
import { type ConformanceCase, meta, expectStatus, withWidgets, widget } from "./context.ts"

export const customResourcesCases: ReadonlyArray<ConformanceCase> = [
  {
    name: "custom resources: required, range, enum, pattern and type errors name the field",
    run: async (context) => {
      const { admin } = context
      const { group, path } = await withWidgets(context)
      const attempt = async (spec: JsonObject) => admin.post(path, widget(group, "w", spec))
      const prefix = `Widget.${group} "w" is invalid: `
      const missing = await attempt({})
      expectStatus(missing, 422, "Invalid", `${prefix}spec.size: Required value`)
      expect(missing.body["details"]).toEqual({
        name: "w",
        group,
        kind: "Widget",
        causes: [{ reason: "FieldValueRequired", message: "Required value", field: "spec.size" }]
      })
      expectStatus(
        await attempt({ size: 0 }),
        422,
        "Invalid",
        `${prefix}spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1`
      )
      expectStatus(
        await attempt({ size: 1, mode: "odd" }),
        422,
        "Invalid",
        `${prefix}spec.mode: Unsupported value: "odd": supported values: "fast", "slow"`
      )
      expectStatus(
        await attempt({ size: 1, code: "A1" }),
        422,
        "Invalid",
        `${prefix}spec.code: Invalid value: "A1": spec.code in body should match '^[a-z]+$'`
      )
      expectStatus(
        await attempt({ size: "1" }),
        422,
        "Invalid",
        `${prefix}spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`
      )
      expectStatus(await attempt({ size: 1, port: true }), 422, "Invalid", /spec\.port/)
    }
  },
  {
    name: "custom resources: pruning, defaults, int-or-string, nullable",
    run: async (context) => {
      const { admin } = context
      const { group, path } = await withWidgets(context)
      const spec = {
        size: 1,
        bogus: 1,
        note: null,
        port: "http",
        free: { any: { thing: 1 } },
        parts: [{ name: "p", odd: 1 }]
      }
      const created = await admin.post(path, widget(group, "w", spec))
      expect(created.body["spec"]).toEqual({
        size: 1,
        mode: "fast",
        note: null,
        port: "http",
        free: { any: { thing: 1 } },
        parts: [{ name: "p" }]
      })
      expect(created.headers["warning"]).toContain('unknown field \\"spec.bogus\\"')
      const strict = await admin.post(`${path}?fieldValidation=Strict`, widget(group, "s", { size: 1, bogus: 1 }))
      expectStatus(
        strict,
        400,
        "BadRequest",
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.bogus"'
      )
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
      expectStatus(
        await admin.put(`${path}/w`, { ...labelled.body, metadata }),
        422,
        "Invalid",
        /metadata\.resourceVersion: Invalid value: 0(x0)?: must be specified for an update/
      )
      expect((await admin.strategic(`${path}/w`, {})).code).toBe(415)
    }
  },
  {
    name: "custom resources: versions, and the end of the definition",
    run: async (context) => {
      const { admin, namespace } = context
      const { group, path } = await withWidgets(context)
      await admin.post(path, widget(group, "w", { size: 1 }))
      const other = await admin.get(`/apis/${group}/v2/namespaces/${namespace}/widgets/w`)
      expect(other.body).toMatchObject({ apiVersion: `${group}/v2`, spec: { size: 1 } })
      await admin.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`)
      await eventually(
        () => admin.get(path),
        (answer) => answer.code === 404
      )
    }
  }
]
