import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { isolatePods } from "../../../src/app/queues/isolate-pods.ts"
import { restartToken, restartWorkload } from "../../../src/app/queues/restart-workload.ts"
import { deployments, pods, rollouts, statefulSets } from "../../../src/domain/resources/core-kinds.ts"
import { ordersPod, split } from "../../domain/queues/reviewed-pod.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const kinds = { deployment: deployments, rollout: rollouts, statefulset: statefulSets }
const bornBefore = Date.UTC(2026, 0, 1, 12, 0, 0, 250)
const order = { strategy: "standard" as const, token: "uid-1.1", bornBefore }
const labels = ordersPod.metadata.labels

const world = (replicas: number) => {
  const api = new MemoryKubeApi("c")
  const spec = { replicas, selector: { matchLabels: { app: "orders" } }, template: { spec: { containers: [] } } }
  for (const kind of Object.values(kinds)) api.write(kind, "orders", { spec }, "shop")
  const { spec: _, ...pod } = ordersPod
  const status = { conditions: [{ type: "Ready", status: "True" }] }
  const bear = (name: string, now: number) => api.write(pods, name, { ...pod, status }, "shop", now)
  for (let i = 0; i < replicas; i++) bear(`old-${i}`, bornBefore - 60_000)
  const workload = () => api.peek(deployments, "orders", "shop")
  const token = () => restartToken(workload() ?? { metadata: { name: "" } })
  const writes = () => api.calls.flatMap(({ name, verb }) => (/get|list/u.test(verb) ? [] : [`${verb} ${name}`]))
  return { api, bear, token, workload, writes }
}

describe("a restart", () => {
  it.effect.each([
    ["deployment", "standard", "2026-01-01T12:00:00.250Z", undefined],
    ["statefulset", "isolatePods", "2026-01-01T12:00:00.250Z", undefined],
    ["rollout", "standard", undefined, "2026-01-01T12:00:01.000Z"]
  ] as const)("is one change, with its token, and is ordered once: %s, %s", function* ([kind, strategy, ofPods, at_]) {
    const { api, writes } = world(2)
    const before = api.peek(kinds[kind], "orders", "shop")?.["spec"] as { template: object }
    const restart = restartWorkload(api, { ...split.workload, kind }, { ...order, strategy })
    for (let i = 0; i < 2; i++) expect(yield* restart).toBeUndefined()
    expect(writes()).toEqual(["patch orders"])
    const object = api.peek(kinds[kind], "orders", "shop") ?? { metadata: { name: "" } }
    expect(restartToken(object)).toBe("uid-1.1")
    const metadata = { annotations: { "kubectl.kubernetes.io/restartedAt": ofPods } }
    const template = { ...before.template, ...(ofPods === undefined ? {} : { metadata }) }
    expect(object["spec"]).toEqual({ ...before, template, restartAt: at_ })
    yield* restartWorkload(api, { ...split.workload, kind }, { ...order, token: "uid-1.2" })
    expect(writes()).toHaveLength(2)
  })

  it.effect("does not undo what another process ordered meanwhile", function* () {
    const { api, token } = world(1)
    api.before = ({ verb }) => {
      if (verb === "patch")
        api.write(
          deployments,
          "orders",
          { metadata: { annotations: { "operator.metalbear.co/split-restart": "uid-1.1" } } },
          "shop"
        )
      return Effect.void
    }
    yield* restartWorkload(api, split.workload, order)
    expect(api.peek(deployments, "orders", "shop")?.["spec"]).not.toHaveProperty("template.metadata")
    api.before = ({ verb }) =>
      verb === "patch" ? Effect.fail(api.objects.error("patch", "Conflict", "changed", 409)) : Effect.void
    const again = yield* Effect.flip(restartWorkload(api, split.workload, { ...order, token: "uid-1.2" }))
    expect([again.reason, token()]).toEqual(["Conflict", "uid-1.1"])
  })
})

describe("pods that are isolated", () => {
  const isolating = { ...order, strategy: "isolatePods" as const }

  it.effect("leave their set and go one by one, then the workload has the token", function* () {
    const { api, bear, token, workload, writes } = world(2)
    yield* TestClock.setTime(bornBefore + 5_000)
    const before = workload()?.["spec"]
    const step = restartWorkload(api, split.workload, isolating)
    for (const name of ["old-0", "old-1"]) {
      expect(yield* step).toBe(bornBefore + 65_000)
      const { "pod-template-hash": _, ...left } = labels
      expect(api.peek(pods, name, "shop")?.metadata.labels).toEqual({
        ...left,
        "operator.metalbear.co/isolated": String(bornBefore + 5_000)
      })
      expect(yield* step).toBe(bornBefore + 65_000)
      bear(`new-${name}`, bornBefore + 6_000)
      expect(token()).toBeUndefined()
      expect(yield* step).toBe(bornBefore + 5_000)
    }
    expect(yield* step).toBeUndefined()
    expect(token()).toBe("uid-1.1")
    expect(workload()?.["spec"]).toEqual(before)
    expect(writes()).toEqual(["patch old-0", "delete old-0", "patch old-1", "delete old-1", "patch orders"])
  })

  it.effect("are deleted if the workload is, and if their split is over", function* () {
    const { api, bear, writes } = world(1)
    yield* restartWorkload(api, split.workload, isolating)
    api.erase(deployments, "orders", "shop")
    expect(yield* isolatePods(api, split.workload, 0)).toBe(0)
    expect(api.peek(pods, "old-0", "shop")).toBeUndefined()
    expect(yield* isolatePods(api, split.workload, 0)).toBeUndefined()
    bear("other", 0)
    expect(yield* isolatePods(api, split.workload, 0)).toBeUndefined()
    expect(writes()).toEqual(["patch old-0", "delete old-0"])
  })

  it.effect("may be gone before they are deleted", function* () {
    const { api } = world(1)
    yield* restartWorkload(api, split.workload, isolating)
    yield* TestClock.adjust("61 seconds")
    api.before = ({ verb }) => Effect.sync(() => void (verb === "delete" && api.erase(pods, "old-0", "shop")))
    expect(yield* restartWorkload(api, split.workload, isolating)).toBe(61_000)
  })
})
