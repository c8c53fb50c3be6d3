import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type IsolatablePod, isolatablePods, isolateStep } from "../../../src/domain/queues/isolate-step.ts"
import { ordersPod, owner, split } from "./reviewed-pod.ts"

const start = 1_800_000_000_500
const podOf = (name: string, change: Partial<IsolatablePod> = {}): IsolatablePod => ({
  name,
  uid: name,
  bornAt: start - 5_000,
  isReady: true,
  isolatedAt: undefined,
  ...change
})

/** How long pods take to be ready, ms; of new ones in turn. */
const delays = fc.array(fc.constantFrom(0, 3_000, 30_000, 90_000, Infinity), { minLength: 1, maxLength: 4 })

describe("pods that are isolated", () => {
  it("are replaced one after the other, all of them, each when its replacement is ready or a minute later", () => {
    fc.assert(
      fc.property(delays, delays, fc.integer({ min: 100, max: 20_000 }), (old, made, tick) => {
        let [now, acted, born] = [start, start, 0]
        const readyAt = new Map(old.map((delay, index) => [`old-${index}`, start - 5_000 + delay]))
        let pods: ReadonlyArray<IsolatablePod> = [...readyAt.keys()].map((name) => podOf(name))
        const [out, gone]: [Array<string>, Array<string>] = [[], []]
        for (;;) {
          pods = pods.map((pod) => ({ ...pod, isReady: now >= (readyAt.get(pod.name) ?? 0) }))
          const inSet = pods.filter(({ isolatedAt }) => isolatedAt === undefined)
          const step = isolateStep(pods, { bornBefore: start, replicas: old.length }, now)
          if (step._tag === "Done") break
          expect(now - acted).toBeLessThan(60_000 + tick)
          if (step._tag === "Wait") {
            now += Math.min(tick, step.until - now)
            // The set has made up for the pod by then.
            if (inSet.length < old.length) {
              const name = `new-${born++}`
              readyAt.set(name, now + (made[born % made.length] ?? 0))
              pods = [...pods, podOf(name, { bornAt: Math.floor(now / 1_000) * 1_000 })]
            }
          } else if (step._tag === "Isolate") {
            expect([out, step.until]).toEqual([gone, now + 60_000])
            out.push(step.pod.name)
            const isolatedAt = now
            pods = pods.map((pod) => (pod.name === step.pod.name ? { ...pod, isolatedAt } : pod))
            acted = now
          } else {
            const ready = inSet.filter(({ isReady }) => isReady).length
            expect(ready === old.length || now >= acted + 60_000).toBe(true)
            gone.push(step.pod.name)
            pods = pods.filter(({ name }) => name !== step.pod.name)
            acted = now
          }
        }
        expect(gone.toSorted()).toEqual(old.map((_, index) => `old-${index}`))
      })
    )
  })

  const step = (pods: ReadonlyArray<IsolatablePod>, bornBefore = start) =>
    isolateStep(pods, { bornBefore, replicas: 2 }, start)

  it.each([
    ["those that do no work first", [podOf("a", { bornAt: 0 }), podOf("b", { isReady: false })], "Isolate b"],
    ["then the oldest", [podOf("b"), podOf("a"), podOf("c", { bornAt: start - 6_000 })], "Isolate c"],
    ["then by name", [podOf("b"), podOf("a")], "Isolate a"],
    ["none that may have been born since", [podOf("a", { bornAt: start - 999 })], "Done "],
    ["but one that was born before", [podOf("a", { bornAt: start - 1_000 })], "Isolate a"]
  ])("come in order: %s", (_, pods, expected) => {
    const next = step(pods)
    expect(`${next._tag} ${"pod" in next ? next.pod.name : ""}`).toBe(expected)
  })

  it("are not forgotten if their split is", () => {
    const out = podOf("out", { isolatedAt: start - 1_000 })
    expect(step([out, podOf("a")], 0)).toEqual({ _tag: "Wait", until: start + 59_000 })
    expect(step([out, podOf("a"), podOf("b")], 0)).toEqual({ _tag: "Delete", pod: out })
    expect(step([podOf("a"), podOf("b")], 0)).toEqual({ _tag: "Done" })
  })

  const mark = { "operator.metalbear.co/isolated": "no" }
  const from = (workload: string) => ({ "operator.metalbear.co/isolated-from": workload })
  it.each([
    ["in the set", {}, "Running", undefined],
    ["out of it, with a mark that is spoilt", { labels: mark, annotations: from("deployment/orders") }, "Pending", 0],
    ["out of another workload's set", { labels: mark, annotations: from("rollout/orders") }, "Running", "none"],
    ["of another's set", { ownerReferences: [owner("ReplicaSet", "x-5d4f")] }, "Running", "none"],
    ["being deleted", { deletionTimestamp: "2026-01-01T00:00:00Z" }, "Running", "none"],
    ["failed", {}, "Failed", "none"],
    ["done", {}, "Succeeded", "none"]
  ])("are found among the pods of their namespace: %s", (_, change, phase, isolatedAt) => {
    const metadata = { ...ordersPod.metadata, name: "p", ...change }
    const [found] = isolatablePods([{ metadata, status: { phase, conditions: null } }], split.workload)
    expect(found === undefined ? "none" : found.isolatedAt).toBe(isolatedAt)
  })
})
