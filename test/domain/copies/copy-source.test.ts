import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { copySource, replacedWorkload } from "../../../src/domain/copies/copy-source.ts"
import type { TargetKind } from "../../../src/domain/targets/target.ts"

const template = { metadata: { labels: { app: "x" } }, spec: { containers: [{ name: "x" }] } }
const owned = (kind: string) => ({ metadata: { ownerReferences: [{ kind, name: "owner", controller: true }] } })
const target = (kind: TargetKind) => ({ _tag: "Workload", kind, name: "x", container: undefined }) as const

describe("the source of a copy", () => {
  it.each<readonly [TargetKind, object]>([
    ["deployment", { spec: { template } }],
    ["statefulset", { spec: { template } }],
    ["rollout", { spec: { template } }],
    ["job", { spec: { template } }],
    ["cronjob", { spec: { jobTemplate: { spec: { template } } } }],
    ["replicaset", { ...owned("Deployment"), spec: { template } }],
    ["pod", template]
  ])("of a %s is its pod template", (kind, object) => {
    const source = Result.getOrThrow(copySource(`${kind}/x`, kind, object))
    expect(source).toMatchObject({ _tag: "Template", template })
  })

  it("of a rollout may be the workload that it refers to", () => {
    const object = { spec: { workloadRef: { apiVersion: "apps/v1", kind: "Deployment", name: "y" } } }
    expect(Result.getOrThrow(copySource("rollout/x", "rollout", object))).toEqual({
      _tag: "Reference",
      kind: "deployment",
      name: "y"
    })
  })

  it.each<readonly [string, TargetKind, object, string]>([
    ["volumes of each pod", "statefulset", { spec: { template, volumeClaimTemplates: [{}] } }, "volumes of its own"],
    ["no owner", "replicaset", { spec: { template } }, "belongs to no deployment and no rollout"],
    ["another owner", "replicaset", { ...owned("Other"), spec: { template } }, "belongs to no deployment"],
    ["no template", "deployment", { spec: {} }, "has no pod template"],
    ["a PodTemplate", "rollout", { spec: { workloadRef: { kind: "PodTemplate", name: "y" } } }, "has no pod template"]
  ])("with %s is refused", (_what, kind, object, text) =>
    expect(Result.getOrThrow(Result.flip(copySource(`${kind}/x`, kind, object)))).toContain(text)
  )

  it("names the workload that decides how many pods there are", () => {
    expect(replacedWorkload(target("statefulset"), {})).toEqual({ kind: "statefulset", name: "x" })
    expect(replacedWorkload(target("replicaset"), owned("Rollout"))).toEqual({ kind: "rollout", name: "owner" })
    expect(replacedWorkload(target("job"), {})).toBeUndefined()
  })
})
