import { expect } from "vitest"
import { type Answer, eventually, namesOf } from "../../lab/cluster/api-client.ts"
import { type ConformanceCase, configMap, mapsOf, meta, expectStatus } from "./context.ts"

export const deletionCases: ReadonlyArray<ConformanceCase> = [
  {
    name: "finalizers hold an object back until the last one is gone",
    run: async ({ admin, namespace }) => {
      const path = `${mapsOf(namespace)}/held`
      await admin.post(mapsOf(namespace), {
        ...configMap("held"),
        metadata: { name: "held", finalizers: ["example.com/a", "example.com/b"] }
      })
      const deleted = await admin.delete(path, {})
      expect(deleted.code).toBe(200)
      expect(meta(deleted, "deletionTimestamp")).toBeDefined()
      expectStatus(
        await admin.merge(path, { metadata: { finalizers: ["example.com/a", "example.com/b", "example.com/c"] } }),
        422,
        "Invalid",
        /no new finalizers can be added/
      )
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
            ownerReferences: [
              { apiVersion: "v1", kind: "ConfigMap", name: meta(owner, "name"), uid: meta(owner, "uid") }
            ]
          }
        })
      const owner = await admin.post(mapsOf(namespace), configMap("owner"))
      await child("grandchild", await child("child", owner))
      await admin.delete(`${mapsOf(namespace)}/owner`)
      await eventually(
        () => admin.get(`${mapsOf(namespace)}/grandchild`),
        (answer) => answer.code === 404
      )
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
            ownerReferences: [
              { apiVersion: "v1", kind: "ConfigMap", name, uid: meta(owner, "uid"), blockOwnerDeletion: true }
            ]
          }
        })
      }
      await family("front", ["example.com/wait"])
      await admin.delete(`${mapsOf(namespace)}/front`, { propagationPolicy: "Foreground" })
      await eventually(
        () => admin.get(`${mapsOf(namespace)}/front-child`),
        (answer) => meta(answer, "deletionTimestamp") !== undefined
      )
      expect(meta(await admin.get(`${mapsOf(namespace)}/front`), "finalizers")).toEqual(["foregroundDeletion"])
      await admin.merge(`${mapsOf(namespace)}/front-child`, { metadata: { finalizers: null } })
      await eventually(
        () => admin.get(`${mapsOf(namespace)}/front`),
        (answer) => answer.code === 404
      )
      await family("orphan", [])
      await admin.delete(`${mapsOf(namespace)}/orphan`, { propagationPolicy: "Orphan" })
      await eventually(
        () => admin.get(`${mapsOf(namespace)}/orphan`),
        (answer) => answer.code === 404
      )
      expect(meta(await admin.get(`${mapsOf(namespace)}/orphan-child`), "ownerReferences")).toBeUndefined()
    }
  },
  {
    name: "a namespace takes its contents along and accepts nothing while it ends",
    needs: "controllers",
    run: async ({ admin, namespace }) => {
      const doomed = `${namespace}-doomed`
      await admin.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: doomed } })
      await admin.post(mapsOf(doomed), {
        ...configMap("held"),
        metadata: { name: "held", finalizers: ["example.com/a"] }
      })
      expect((await admin.delete(`/api/v1/namespaces/${doomed}`)).body).toMatchObject({
        kind: "Namespace",
        status: { phase: "Terminating" }
      })
      expectStatus(
        await admin.post(mapsOf(doomed), configMap("late")),
        403,
        "Forbidden",
        `configmaps "late" is forbidden: unable to create new content in namespace ${doomed} because it is being ` +
          "terminated"
      )
      await eventually(
        () => admin.get(`${mapsOf(doomed)}/held`),
        (answer) => meta(answer, "deletionTimestamp") !== undefined
      )
      await admin.merge(`${mapsOf(doomed)}/held`, { metadata: { finalizers: null } })
      await eventually(
        () => admin.get(`/api/v1/namespaces/${doomed}`),
        (answer) => answer.code === 404
      )
    }
  },
  {
    name: "deletecollection deletes what is selected",
    run: async ({ admin, namespace }) => {
      for (const [name, app] of [
        ["a", "x"],
        ["b", "x"],
        ["c", "y"]
      ] as const)
        await admin.post(mapsOf(namespace), configMap(name, {}, { app }))
      expect((await admin.delete(`${mapsOf(namespace)}?labelSelector=app%3Dx`)).code).toBe(200)
      expect(namesOf(await admin.get(`${mapsOf(namespace)}?labelSelector=app`))).toEqual(["c"])
    }
  }
]
