import { expect } from "vitest"
import { namesOf } from "../../lab/cluster/api-client.ts"
import { configMap, type ConformanceCase, type Context, expectStatus, mapsOf, meta } from "./context.ts"

const threeMaps = async ({ admin, namespace }: Context): Promise<string> => {
  for (const name of ["c", "a", "b"]) await admin.post(mapsOf(namespace), configMap(name, {}, { paged: "yes" }))
  return `${mapsOf(namespace)}?labelSelector=paged`
}

/** Lists in pages. */
export const pageCases: ReadonlyArray<ConformanceCase> = [
  {
    name: "a list in parts goes on where it stopped, in the order of names, at one version",
    run: async (context) => {
      const path = await threeMaps(context)
      const first = await context.admin.get(`${path}&limit=2`)
      expect(namesOf(first)).toEqual(["a", "b"])
      const second = await context.admin.get(
        `${path}&limit=2&continue=${encodeURIComponent(String(meta(first, "continue")))}`
      )
      expect(namesOf(second)).toEqual(["c"])
      expect(meta(second, "continue")).toBeUndefined()
      expect(meta(second, "resourceVersion")).toBe(meta(first, "resourceVersion"))
    }
  },
  {
    name: "parts of a list show what was there at its first",
    run: async (context) => {
      const { admin, namespace } = context
      const path = await threeMaps(context)
      const first = await admin.get(`${path}&limit=1`)
      await admin.post(mapsOf(namespace), configMap("d", {}, { paged: "yes" }))
      await admin.merge(`${mapsOf(namespace)}/b`, { data: { x: "new" } })
      await admin.delete(`${mapsOf(namespace)}/c`)
      const rest = await admin.get(`${path}&continue=${encodeURIComponent(String(meta(first, "continue")))}`)
      expect(namesOf(rest)).toEqual(["b", "c"])
      expect(JSON.stringify(rest.body)).not.toContain("new")
    }
  },
  {
    name: "a list in parts whose version is forgotten cannot go on, but is told from where it can",
    needs: "forgetHistory",
    run: async (context) => {
      const { admin, cluster } = context
      const path = await threeMaps(context)
      const first = await admin.get(`${path}&limit=2`)
      await admin.post(mapsOf(context.namespace), configMap("d", {}, { paged: "yes" }))
      await cluster.forgetHistory?.()
      const gone = await admin.get(`${path}&limit=2&continue=${encodeURIComponent(String(meta(first, "continue")))}`)
      expectStatus(
        gone,
        410,
        "Expired",
        /^The provided continue parameter is too old to display a consistent list result/u
      )
      const rest = await admin.get(`${path}&limit=2&continue=${encodeURIComponent(String(meta(gone, "continue")))}`)
      expect(namesOf(rest)).toEqual(["c", "d"])
    }
  },
  {
    name: "a limit that is not reached is none",
    run: async (context) => {
      const list = await context.admin.get(`${await threeMaps(context)}&limit=10`)
      expect(namesOf(list)).toEqual(["a", "b", "c"])
      expect(meta(list, "continue")).toBeUndefined()
    }
  }
]
