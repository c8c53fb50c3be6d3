import { expect } from "vitest"
import { asArray, at } from "../../../src/domain/json.ts"
import { eventually } from "../../lab/cluster/api-client.ts"
import { configMap, type ConformanceCase, mapsOf, meta, tableHeader } from "./context.ts"

export const watchesCases: ReadonlyArray<ConformanceCase> = [
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
      const watch = await admin.watch(
        `${mapsOf(namespace)}?watch=true&labelSelector=in&resourceVersion=${String(version)}`
      )
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
        `${mapsOf(namespace)}?watch=true&labelSelector=only&allowWatchBookmarks=true` +
          "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
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
      // A server that has just started refuses watches: "storage is (re)initializing".
      await eventually(
        () => admin.get(mapsOf(namespace)),
        ({ code }) => code === 200
      )
      const watch = await admin.watch(`${mapsOf(namespace)}?watch=true&resourceVersion=${String(version)}`)
      expect(await watch.next()).toMatchObject({
        type: "ERROR",
        object: { kind: "Status", code: 410, reason: "Expired" }
      })
      await expect(watch.next()).rejects.toThrow("the stream ended")
    }
  },
  {
    name: "a watch of one object by its name",
    run: async ({ admin, namespace }) => {
      await admin.post(mapsOf(namespace), configMap("one"))
      await admin.post(mapsOf(namespace), configMap("two"))
      const version = String(meta(await admin.get(mapsOf(namespace)), "resourceVersion"))
      const watch = await admin.watch(
        `${mapsOf(namespace)}?watch=true&fieldSelector=metadata.name%3Done&resourceVersion=${version}`
      )
      for (const name of ["two", "one"]) await admin.merge(`${mapsOf(namespace)}/${name}`, { data: { x: "1" } })
      expect(await watch.nextShort()).toBe("MODIFIED one")
      watch.close()
    }
  },
  {
    name: "a watch that shows tables sends the columns once",
    run: async ({ admin, namespace }) => {
      const version = String(meta(await admin.get(mapsOf(namespace)), "resourceVersion"))
      const watch = await admin.watch(`${mapsOf(namespace)}?watch=true&resourceVersion=${version}`, tableHeader)
      await admin.post(mapsOf(namespace), configMap("a"))
      await admin.post(mapsOf(namespace), configMap("b"))
      const columns = async () => asArray(at(await watch.next(), "object", "columnDefinitions")).length
      expect(await columns()).toBeGreaterThan(0)
      expect(await columns()).toBe(0)
      watch.close()
    }
  },
  {
    name: "a watch is told of an object that is deleted as it was last, with the version of its deletion",
    run: async ({ admin, namespace }) => {
      const made = await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))
      const watch = await admin.watch(
        `${mapsOf(namespace)}?watch=true&resourceVersion=${String(meta(made, "resourceVersion"))}`
      )
      await admin.delete(`${mapsOf(namespace)}/a`)
      const { object, type } = await watch.next()
      expect(type).toBe("DELETED")
      expect(at(object, "data")).toEqual({ x: "1" })
      expect(Number(at(object, "metadata", "resourceVersion"))).toBeGreaterThan(Number(meta(made, "resourceVersion")))
      watch.close()
    }
  },
  {
    name: "a change that changes nothing is not told",
    run: async ({ admin, namespace }) => {
      const made = await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))
      const watch = await admin.watch(
        `${mapsOf(namespace)}?watch=true&resourceVersion=${String(meta(made, "resourceVersion"))}`
      )
      await admin.merge(`${mapsOf(namespace)}/a`, { data: { x: "1" } })
      await admin.post(mapsOf(namespace), configMap("b"))
      expect(await watch.nextShort()).toBe("ADDED b")
      watch.close()
    }
  }
]
