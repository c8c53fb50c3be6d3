import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Owner, ownPods, replicaSetsOf } from "../../../src/domain/targets/pod-owner.ts"

const apps = (kind: string, name: string): Owner => ({ group: "apps", kind, name })
const web = apps("Deployment", "web")
const stateful = apps("StatefulSet", "web")
const ref = ({ group, kind, name }: Owner, controller = true) => ({
  apiVersion: group === "" ? "v1" : `${group}/v1`,
  kind,
  name,
  uid: "u",
  ...(controller ? { controller } : {})
})
const owned = (...owners: ReadonlyArray<ReturnType<typeof ref>>) => ({ metadata: { ownerReferences: owners } })
const setOf = (owner: Owner) => owned(ref(owner)).metadata

/** Workloads with pods, some by replica sets; and pods of nobody. */
const anyCluster = fc.array(
  fc.record({
    owner: fc.constantFrom(
      web,
      apps("Deployment", "web-canary"),
      stateful,
      { group: "argoproj.io", kind: "Rollout", name: "web" },
      { group: "example.com", kind: "Deployment", name: "web" },
      undefined
    ),
    sets: fc.constantFrom("1", "2"),
    pods: fc.integer({ min: 0, max: 3 })
  }),
  { maxLength: 8 }
)

describe("the pods of a workload", () => {
  it("are those that it owns, before those of nobody, and none of another workload", () => {
    fc.assert(
      fc.property(anyCluster, fc.constantFrom(web, stateful), (cluster, target) => {
        const sets = new Map<string, ReturnType<typeof setOf>>()
        const pods = cluster.flatMap(({ owner, pods: count, sets: number }) => {
          const name = owner && `${owner.group} ${owner.kind} ${owner.name} ${number}`
          const bySet = owner?.kind === "Deployment" || owner?.kind === "Rollout"
          if (owner !== undefined && bySet) sets.set(`${name}`, setOf(owner))
          const owners = owner === undefined ? [] : [ref(bySet ? apps("ReplicaSet", `${name}`) : owner)]
          return Array.from({ length: count }, () => ({ ...owned(...owners), owner }))
        })
        const found = ownPods(pods, [target], sets)
        const [own, free] = [target, undefined].map((of) => pods.filter(({ owner }) => owner === of))
        expect(found.pods).toEqual([...(own ?? []), ...(free ?? [])])
        expect(found.others).toEqual(pods.filter(({ owner }) => owner !== target && owner !== undefined))
        const read = replicaSetsOf(pods, [target])
        expect(new Set(read).size).toBe(read.length)
        expect(read.every((name) => sets.has(name))).toBe(true)
        if (target.kind === "StatefulSet") expect(read).toEqual([])
      })
    )
  })

  it("are not those of a replica set that is gone", () => {
    const pod = owned(ref(apps("ReplicaSet", "web-1")))
    expect(ownPods([pod], [web], new Map())).toEqual({ pods: [], others: [pod] })
  })

  it("have the owner that controls them, or any if none says that it does", () => {
    const foreign = apps("ReplicaSet", "other-1")
    const sets = new Map([
      ["web-1", setOf(web)],
      ["other-1", setOf(apps("Deployment", "other"))]
    ])
    const mine = apps("ReplicaSet", "web-1")
    const controlled = owned(ref(mine, false), ref(foreign))
    const uncontrolled = owned(ref(mine, false), ref(foreign, false))
    expect(ownPods([controlled, uncontrolled], [web], sets)).toEqual({ pods: [uncontrolled], others: [controlled] })
  })

  it("of a rollout are its own and those of the deployment from which it takes over", () => {
    const rollout: Owner = { group: "argoproj.io", kind: "Rollout", name: "web" }
    const sets = new Map([
      ["new", setOf(rollout)],
      ["old", setOf(web)],
      ["other", setOf(apps("Deployment", "other"))]
    ])
    const of = (name: string) => owned(ref(apps("ReplicaSet", name)))
    const found = ownPods([of("new"), of("old"), of("other")], [rollout, web], sets)
    expect(found).toEqual({ pods: [of("new"), of("old")], others: [of("other")] })
  })
})
