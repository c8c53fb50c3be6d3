import { expect } from "vitest"
import { namesOf } from "../../adapters/embedded/api-client.ts"
import { configMap, type ConformanceCase, type Context, mapsOf, meta } from "./context.ts"

const threeMaps = async ({ admin, namespace }: Context): Promise<string> => {
  for (const name of ["c", "a", "b"]) await admin.post(mapsOf(namespace), configMap(name, {}, { paged: "yes" }))
  return `${mapsOf(namespace)}?labelSelector=paged`
}

/** Lists in parts. */
export const pageCases: ReadonlyArray<ConformanceCase> = [
  {
    name: "a list in parts goes on where it stopped, in the order of names, at one version",
    run: async (context) => {
      const path = await threeMaps(context)
      const first = await context.admin.get(`${path}&limit=2`)
      expect(namesOf(first)).toEqual(["a", "b"])
      const second = await context.admin.get(`${path}&limit=2&continue=${encodeURIComponent(String(meta(first, "continue")))}`)
      expect(namesOf(second)).toEqual(["c"])
      expect(meta(second, "continue")).toBeUndefined()
      expect(meta(second, "resourceVersion")).toBe(meta(first, "resourceVersion"))
    }
  },
  {
    name: "a part says how many remain, unless something is selected",
    run: async (context) => {
      const path = await threeMaps(context)
      expect(meta(await context.admin.get(`${path}&limit=1`), "remainingItemCount")).toBeUndefined()
      const all = namesOf(await context.admin.get(mapsOf(context.namespace))).length
      expect(meta(await context.admin.get(`${mapsOf(context.namespace)}?limit=1`), "remainingItemCount")).toBe(all - 1)
    }
  },
  {
    name: "a limit that is not reached is none",
    run: async (context) => {
      const list = await context.admin.get(`${await threeMaps(context)}&limit=10`)
      expect(namesOf(list)).toEqual(["a", "b", "c"])
      expect(meta(list, "continue")).toBeUndefined()
    }
  },
  {
    name: "a list at version 0 or not older than one that is known shows what is there",
    run: async (context) => {
      const path = await threeMaps(context)
      const version = String(meta(await context.admin.get(path), "resourceVersion"))
      // Version 0 last: it is whatever the server remembers, which after the others is as new as they are.
      for (const query of [`resourceVersion=${version}`, `resourceVersion=${version}&resourceVersionMatch=NotOlderThan`, "resourceVersion=0"]) {
        expect(namesOf(await context.admin.get(`${path}&${query}`))).toEqual(["a", "b", "c"])
      }
    }
  }
]
