import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { cleanup } from "../../../../src/app/commands/cleanup/cleanup.ts"
import { branchKinds } from "../../../../src/domain/branches/branch-kinds.ts"
import { copyLabel } from "../../../../src/domain/copies/copy-record.ts"
import { scaledDownFrom } from "../../../../src/domain/copies/scaled-down.ts"
import { branchEngines } from "../../../../src/domain/resources/chart-switches.ts"
import { deployments, pods } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentFinalizer } from "../../../../src/domain/sessions/names.ts"
import { KubeError, type KubeErrorReason, type ResourceRef } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"

const parents = mirrordMultiClusterSessions
const children = mirrordClusterSessions

const names = (api: MemoryKubeApi, kind: ResourceRef) => api.peekAll(kind).map(({ metadata }) => metadata.name)

const withSessions = (): MemoryKubeApi => {
  const api = new MemoryKubeApi("primary")
  api.write(parents, "mc-1", { metadata: { finalizers: [parentFinalizer] } })
  api.write(parents, "mc-2", { metadata: { finalizers: [parentFinalizer, "example.com/audit"] } })
  api.write(children, "mc-1-primary", {})
  api.write(children, "0000000000000001", {})
  return api
}

const refusal = (reason: KubeErrorReason, detail: string) =>
  new KubeError({ cluster: "primary", operation: "test", reason, detail })

const ended = Effect.fnUntraced(function* (api: MemoryKubeApi, waitSecs = 30) {
  const running = yield* Effect.forkChild(cleanup(api, { waitSecs }))
  yield* TestClock.adjust("2 minutes")
  return yield* Fiber.join(running)
})

describe("cleanup", () => {
  it.effect("deletes all sessions and takes our finalizer off those that nobody ends", function* () {
    const api = withSessions()
    expect(yield* ended(api)).toEqual([])
    expect(names(api, children)).toEqual([])
    expect(names(api, parents)).toEqual(["mc-2"])
    expect(api.peek(parents, "mc-2")?.metadata.finalizers).toEqual(["example.com/audit"])
  })

  it.effect("leaves the finalizers to a running operator", function* () {
    const api = withSessions()
    const running = yield* Effect.forkChild(cleanup(api, { waitSecs: 30 }))
    yield* TestClock.adjust("5 seconds")
    expect(api.peek(parents, "mc-1")?.metadata.deletionTimestamp).toBeDefined()
    expect(api.calls.filter(({ verb }) => verb === "patch")).toEqual([])
    for (const name of ["mc-1", "mc-2"]) api.erase(parents, name)
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(running)).toEqual([])
    expect(api.calls.filter(({ verb }) => verb === "patch")).toEqual([])
  })

  it.effect("has nothing to do where there are no sessions, and asks once", function* () {
    const api = new MemoryKubeApi("member")
    expect(yield* cleanup(api, { waitSecs: 30 })).toEqual([])
    expect(api.calls.map(({ verb, plural }) => `${verb} ${plural}`)).toEqual([
      "list mirrordmulticlustersessions",
      "list mirrordclustersessions"
    ])
  })

  it.effect("takes a kind that is not served for one without objects", function* () {
    const api = withSessions()
    api.before = ({ plural }) =>
      plural === parents.plural ? Effect.fail(refusal("NotFound", "no such kind")) : Effect.void
    expect(yield* ended(api)).toEqual([])
    expect(names(api, children)).toEqual([])
  })

  it.effect("writes no older list of finalizers over a newer one", function* () {
    const api = withSessions()
    let late = true
    api.before = ({ verb, name }) =>
      Effect.sync(() => {
        if (!late || verb !== "patch" || name !== "mc-2") return
        late = false
        api.write(parents, "mc-2", {
          metadata: { finalizers: [parentFinalizer, "example.com/audit", "example.com/late"] }
        })
      })
    expect(yield* ended(api)).toEqual([])
    expect(api.peek(parents, "mc-2")?.metadata.finalizers).toEqual(["example.com/audit", "example.com/late"])
  })

  it.effect("goes on after a refusal, tells it, and keeps the finalizer of what it could not delete", function* () {
    const api = withSessions()
    api.before = ({ verb, name }) =>
      verb === "delete" && name === "mc-1" ? Effect.fail(refusal("Forbidden", "not yours")) : Effect.void
    expect(yield* ended(api)).toEqual(["deleting multi-cluster session mc-1: not yours."])
    expect(api.peek(parents, "mc-1")?.metadata.finalizers).toEqual([parentFinalizer])
    expect(names(api, children)).toEqual([])
  })

  it.effect("tells when the cluster does not answer", function* () {
    const api = withSessions()
    api.setReachable(false)
    expect(yield* ended(api)).toHaveLength(2)
  })

  it.effect("ends copies of targets and gives workloads their pods back, if it is to", function* () {
    const api = new MemoryKubeApi("single")
    const labels = (from: string) => ({ [scaledDownFrom]: from, "operator.metalbear.co/scaled-down-by": "copy" })
    api.write(pods, "copy", { metadata: { labels: { [copyLabel]: "true" } } }, "default")
    api.write(pods, "other", {}, "default")
    for (const [name, from] of [
      ["ours", "3"],
      ["spoilt", "many"]
    ] as const)
      api.write(deployments, name, { metadata: { labels: labels(from) }, spec: { replicas: 0 } }, "default")
    expect(yield* ended(api)).toEqual([])
    expect(names(api, pods)).toEqual(["copy", "other"])
    const problems = yield* cleanup(api, { waitSecs: 30, copies: true })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain("deployments spoilt in namespace default its pods back: its label")
    expect(names(api, pods)).toEqual(["other"])
    expect(api.peek(deployments, "ours", "default")).toMatchObject({ metadata: { labels: {} }, spec: { replicas: 3 } })
    expect(api.peek(deployments, "spoilt", "default")?.["spec"]).toEqual({ replicas: 0 })
  })

  it.effect("deletes branches of databases, if it is to, and their pods with them", function* () {
    const api = new MemoryKubeApi("single")
    const kinds = branchKinds(branchEngines).map(({ resource }) => resource)
    expect(kinds).toHaveLength(4)
    for (const resource of kinds) {
      const { metadata } = api.write(resource, "branch", {}, "shop")
      const owner = { apiVersion: "v1", kind: resource.kind, name: "branch", uid: metadata.uid ?? "" }
      api.write(pods, resource.plural, { metadata: { ownerReferences: [owner] } }, "shop")
    }
    expect(yield* ended(api)).toEqual([])
    for (const resource of kinds) expect(names(api, resource)).toEqual(["branch"])
    expect(yield* cleanup(api, { waitSecs: 30, branches: true })).toEqual([])
    for (const resource of [...kinds, pods]) expect(names(api, resource)).toEqual([])
  })
})
