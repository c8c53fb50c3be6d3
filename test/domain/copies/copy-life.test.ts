import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { copyPlan, copyState, type Replacement } from "../../../src/domain/copies/copy-life.ts"
import type { ContainerStatus, Pod } from "../../../src/domain/resources/core-kinds.ts"

const pod = (phase: string, ...containerStatuses: ReadonlyArray<ContainerStatus>): Pod => ({
  metadata: { name: "copy" },
  status: { phase, containerStatuses }
})
const ready = pod("Running", { name: "app", ready: true })

describe("how far a copy is", () => {
  it.each<readonly [string, Pod, Replacement, number, string]>([
    ["a pod that nobody has scheduled yet", pod("Pending"), "NotWanted", 0, "InProgress"],
    ["a pod whose container starts", pod("Running", { name: "app", ready: false }), "NotWanted", 0, "InProgress"],
    [
      "a pod whose other container is ready",
      pod("Running", { name: "sidecar", ready: true }),
      "NotWanted",
      0,
      "InProgress"
    ],
    ["a pod that is ready", ready, "NotWanted", 0, "Ready"],
    ["a ready pod that is to replace its workload, where nobody has looked", ready, "Unknown", 0, "InProgress"],
    ["a ready pod that replaces its workload", ready, "Down", 0, "Ready"],
    ["a ready pod whose workload has pods", ready, "NotDown", 0, "Failed"],
    ["a pod that has ended", pod("Failed"), "NotWanted", 0, "Failed"],
    ["a pod that ran to its end", pod("Succeeded"), "NotWanted", 0, "Failed"],
    ["a pod that is not ready after five minutes", pod("Pending"), "NotWanted", 300_000, "Failed"],
    ["a ready pod of any age", ready, "NotWanted", 10 ** 9, "Ready"]
  ])("%s", (_what, of, replacement, waited, phase) =>
    expect(copyState(of, "app", replacement, waited).phase).toBe(phase)
  )

  it("names the container and the reason that will not pass", () => {
    const waiting = { reason: "ImagePullBackOff", message: "no such image." }
    expect(copyState(pod("Pending", { name: "app", state: { waiting } }), "app", "NotWanted", 0)).toEqual({
      phase: "Failed",
      message: 'pod copy cannot start: container "app" cannot start (ImagePullBackOff): no such image'
    })
  })

  const crashes = { waiting: { reason: "CrashLoopBackOff" } }
  const oom = { terminated: { exitCode: 137, reason: "OOMKilled" } }
  it.each<readonly [string, Pod, number, string | undefined]>([
    [
      "its node refuses",
      { ...pod("Failed"), status: { phase: "Failed", reason: "OutOfcpu", message: "too little" } },
      0,
      "OutOfcpu: too little"
    ],
    [
      "its container was killed",
      pod("Failed", { name: "app", state: oom }),
      0,
      'container "app" ended (OOMKilled, exit code 137)'
    ],
    [
      "its container is never pulled",
      pod("Pending", { name: "app", state: { waiting: { reason: "ErrImageNeverPull" } } }),
      0,
      "(ErrImageNeverPull)"
    ],
    [
      "its own container ends again and again",
      pod("Running", { name: "app", state: crashes, lastState: oom }),
      0,
      '"app" cannot start (CrashLoopBackOff): its last run ended (OOMKilled, exit code 137)'
    ],
    ["another one may find its database yet", pod("Running", { name: "migrate", state: crashes }), 0, undefined],
    [
      "another one does not find it",
      pod("Running", { name: "migrate", state: crashes }),
      300_000,
      'it is Running: container "migrate" cannot start'
    ],
    [
      "no node takes it",
      {
        ...pod("Pending"),
        status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "0/1 nodes." }] }
      },
      300_000,
      "it is Pending: 0/1 nodes"
    ]
  ])("says why a pod is not ready where %s", (_what, of, waited, message) => {
    expect(copyState(of, "app", "NotWanted", waited)).toEqual(
      message === undefined ? { phase: "InProgress" } : { phase: "Failed", message: expect.stringContaining(message) }
    )
  })
})

describe("the end of a copy", () => {
  const observed = { uid: "u", isInUse: false, usedAt: 1_000, idleTtl: 30 }

  it("comes when no session has used it for its idle time, and is asked for at that time at the latest", () => {
    expect(copyPlan(observed, 30_999)).toEqual([{ _tag: "RequeueAt", at: 31_000 }])
    expect(copyPlan(observed, 31_000)).toEqual([
      { _tag: "DeleteCopy", uid: "u", why: "No session has used it for 30 s." }
    ])
  })

  it("never comes while a session uses it, nor before a client that looks every 5 s could connect", () => {
    fc.assert(
      fc.property(fc.option(fc.nat({ max: 3_600 })), fc.nat(), fc.boolean(), (idleTtl, since, isInUse) => {
        const actions = copyPlan({ ...observed, idleTtl, isInUse }, observed.usedAt + since)
        const ends = actions.some(({ _tag }) => _tag === "DeleteCopy")
        expect(ends && (isInUse || since < 15_000)).toBe(false)
        for (const action of actions)
          if (action._tag === "RequeueAt") expect(action.at).toBeGreaterThan(observed.usedAt + since)
        expect(actions).toHaveLength(1)
      })
    )
  })
})
