import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { planBranch, type ObservedBranch } from "../../../src/domain/branches/branch-plan.ts"
import { branchPodState, type BranchPodState } from "../../../src/domain/branches/branch-pod-state.ts"
import type { ObservedMigrations } from "../../../src/domain/branches/migrations/migration-plan.ts"
import type { MigrationRun, RunState } from "../../../src/domain/branches/migrations/migration-run.ts"
import { originAnnotations } from "../../../src/domain/branches/sync/synced-branch.ts"
import type { BranchStatus } from "../../../src/domain/resources/branches/branch-shapes.ts"

const start = 1_800_000_000_000
const ttlMillis = 300_000
const owner = { userId: "u", username: "ann", hostname: "box", k8sUsername: "ann" }
const session = { a: { id: "a", owner } }

const observed = (change: Partial<ObservedBranch>): ObservedBranch => ({
  metadata: { name: "b", uid: "u", resourceVersion: "1" },
  status: undefined,
  podName: "b-pod",
  refusal: undefined,
  ttlMillis,
  pod: { _tag: "Absent" },
  isChanged: false,
  password: "Known",
  migrations: undefined,
  sessions: {},
  sessionsChangeAt: undefined,
  awaitedUntil: undefined,
  ...change
})

/** The observation after a plan was carried out, as the API server would show it. */
const after = (before: ObservedBranch, now: number): ObservedBranch | undefined => {
  let next: ObservedBranch | undefined = before
  for (const action of planBranch(before, now)) {
    if (action._tag === "DeleteBranch") next = undefined
    if (action._tag === "MakePod" && next !== undefined) next = { ...next, pod: { _tag: "Starting" } }
    if (action._tag === "PatchStatus" && next !== undefined) {
      const fields = Object.entries({ ...next.status, ...action.patch }).filter(([, value]) => value !== null)
      // Names of sessions are replaced here as a whole; the patch names those that are gone.
      const status = { ...Object.fromEntries(fields), sessionInfo: {} } as unknown as BranchStatus
      const phase = status.phase
      next = { ...next, status: { ...status, sessionInfo: phase === "Ready" ? next.sessions : {} } }
    }
  }
  return next
}

const pods: ReadonlyArray<BranchPodState> = [
  { _tag: "Absent" },
  { _tag: "Starting" },
  { _tag: "Ready" },
  { _tag: "Over", reason: "OOMKilled" }
]
const order = { none: 0, Init: 1, Pending: 2, Ready: 3, Failed: 4 }

const step = fc.record({
  wait: fc.integer({ min: 0, max: 400_000 }),
  pod: fc.option(fc.constantFrom(...pods), { nil: undefined }),
  used: fc.boolean()
})

const ready = (now: number, change: Partial<ObservedBranch> = {}): ObservedBranch => {
  const status: BranchStatus = {
    phase: "Ready",
    expireTime: new Date(now + ttlMillis).toISOString(),
    podName: "b-pod",
    sessionInfo: {}
  }
  return observed({ status, pod: { _tag: "Ready" }, ...change })
}

describe("the plan for a branch", () => {
  it("comes to rest, goes forward only, and deletes nothing that is used", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.option(fc.string(), { nil: undefined }), (steps, refusal) => {
        let now = start
        let current: ObservedBranch | undefined = observed({ refusal })
        for (const { pod, used, wait } of steps) {
          if (current === undefined) return
          now += wait
          current = { ...current, ...(pod === undefined ? {} : { pod }), sessions: used ? session : {} }
          const phase = current.status?.phase ?? "none"
          const deletes = planBranch(current, now).some(({ _tag }) => _tag === "DeleteBranch")
          if (used && phase === "Ready" && current.status !== undefined) expect(deletes).toBe(false)
          current = after(current, now)
          if (current === undefined) return
          expect(order[current.status?.phase ?? "none"]).toBeGreaterThanOrEqual(order[phase])
          expect(current.status?.expireTime).toBeDefined()
          // Two more turns at most: a pod that was made is named in the status.
          const rested = after(after(current, now) ?? current, now)
          if (rested === undefined) return
          const left = planBranch(rested, now)
          expect(left.map(({ _tag }) => _tag)).toEqual(["RequeueAt"])
          for (const action of left) if (action._tag === "RequeueAt") expect(action.at).toBeGreaterThan(now)
        }
      })
    )
  })

  it("makes the pod at once, with a status that a person can read", () => {
    expect(planBranch(observed({}), start)).toEqual([
      {
        _tag: "PatchStatus",
        patch: { phase: "Pending", expireTime: new Date(start + 1_800_000).toISOString(), sessionInfo: {} },
        precondition: { uid: "u", resourceVersion: "1" }
      },
      { _tag: "MakePod" },
      { _tag: "RequeueAt", at: start + 1_800_000 }
    ])
  })

  it("refuses at once what cannot be made, and takes the failure away so that the name is free again", () => {
    const refused = after(observed({ refusal: "spec.image is not allowed." }), start)
    expect(refused?.status).toMatchObject({ phase: "Failed", error: "spec.image is not allowed." })
    expect(refused?.pod).toEqual({ _tag: "Absent" })
    if (refused === undefined) return
    expect(after(refused, start + 19_999)).toBeDefined()
    expect(after(refused, start + 20_000)).toBeUndefined()
  })

  it("keeps the failure of a copy longer, as its primary may be away", () => {
    const annotations = Object.fromEntries(Object.values(originAnnotations).map((annotation) => [annotation, "1"]))
    const metadata = { name: "b", uid: "u", resourceVersion: "1", annotations }
    const refused = after(observed({ metadata, refusal: "spec.image is not allowed." }), start)
    if (refused === undefined) return expect.unreachable()
    expect(after(refused, start + 599_999)).toBeDefined()
    expect(after(refused, start + 600_000)).toBeUndefined()
  })

  it("keeps a branch for its TTL after the last session", () => {
    const used = after(ready(start, { sessions: session }), start + 299_999)
    expect(used?.status?.expireTime).toBe(new Date(start + 599_999).toISOString())
    const left = after({ ...(used ?? ready(start)), sessions: {} }, start + 500_000)
    expect(left?.status).toMatchObject({ expireTime: new Date(start + 800_000).toISOString(), sessionInfo: {} })
    expect(after(left ?? ready(start), start + 799_999)).toBeDefined()
    expect(after(left ?? ready(start), start + 800_000)).toBeUndefined()
  })

  it("extends the time of a branch in use when half of it is over, and not before", () => {
    const used = after(ready(start, { sessions: session }), start) ?? ready(start)
    expect(planBranch(used, start + 149_999)).toEqual([{ _tag: "RequeueAt", at: start + 150_000 }])
    expect(after(used, start + 150_000)?.status?.expireTime).toBe(new Date(start + 450_000).toISOString())
  })

  it("keeps a branch for a session that has named it and may still be starting, and says so", () => {
    const awaitedUntil = start + ttlMillis + 100_000
    const expireTime = new Date(awaitedUntil).toISOString()
    for (const now of [start, start + ttlMillis, awaitedUntil - 1]) {
      const kept = after(ready(start, { awaitedUntil }), now)
      expect(kept?.status).toMatchObject({ phase: "Ready", expireTime })
    }
    expect(after(ready(start, { awaitedUntil }), awaitedUntil)).toBeUndefined()
    // The last session of others ends meanwhile.
    const released = { ...ready(start, { awaitedUntil }).status, sessionInfo: session } as BranchStatus
    expect(after(ready(start, { awaitedUntil, status: released }), start)?.status?.expireTime).toBe(expireTime)
  })

  it("never makes a second pod for a branch whose pod is gone", () => {
    for (const pod of pods.filter(({ _tag }) => _tag === "Absent" || _tag === "Over")) {
      const lost = after(ready(start, { pod, sessions: session }), start + 1)
      expect(lost?.status).toMatchObject({ phase: "Failed" })
      expect(lost?.pod).toEqual(pod)
    }
    const making = observed({
      status: { phase: "Pending", expireTime: new Date(start + 1_000).toISOString(), podName: "b-pod" }
    })
    expect(after(making, start)?.status?.error).toContain("pod is gone")
  })

  it("gives up a copy that never ends", () => {
    const making = after(observed({}), start)
    expect(after(making ?? observed({}), start + 1_800_000)?.status?.error).toContain("not complete after 30 minutes")
  })

  it("leaves a branch alone that is being deleted", () => {
    const metadata = { name: "b", deletionTimestamp: "2026-01-01T00:00:00Z" }
    expect(planBranch(ready(start, { metadata, pod: { _tag: "Absent" } }), start)).toEqual([])
  })
})

describe("the plan for a branch with migrations", () => {
  const pod = { _tag: "Ready" } as const
  const metadata = { name: "b", uid: "u", resourceVersion: "1", generation: 3 }
  const migrations = (run: MigrationRun): ObservedMigrations => ({
    digest: "d",
    refusal: undefined,
    obstacle: undefined,
    run
  })
  const job = (state: RunState, digest = "d"): MigrationRun => ({
    _tag: "Job",
    name: "j",
    uid: "j",
    generation: 3,
    digest,
    state
  })
  const expireTime = new Date(start + 1_000).toISOString()
  const runs = fc.constantFrom<MigrationRun>(
    { _tag: "None" },
    { _tag: "Ending" },
    ...["d", "other"].flatMap((digest) => [
      job({ _tag: "Waiting", hasPod: false }, digest),
      job({ _tag: "Running" }, digest),
      job({ _tag: "Succeeded" }, digest),
      job({ _tag: "Failed", reason: "no" }, digest),
      job({ _tag: "Stuck", reason: "no image" }, digest),
      job({ _tag: "Lost", reason: "gone", since: start }, digest)
    ])
  )

  it("makes no branch ready before its migrations have succeeded, and fails a new one with them", () => {
    const observedPods = fc.constantFrom(...pods)
    fc.assert(
      fc.property(runs, observedPods, fc.constantFrom("Known", "Unread"), (run, found, password) => {
        const status: BranchStatus = { phase: "Pending", expireTime, podName: "b-pod" }
        const before = observed({ metadata, status, pod: found, password, migrations: migrations(run) })
        const next = after(before, start)?.status
        if (next?.phase === "Ready") {
          expect(found).toEqual(pod)
          expect(run).toEqual(job({ _tag: "Succeeded" }))
          expect(next.migrations).toEqual({ observedGeneration: 3, phase: "Succeeded" })
        }
        if (next?.migrations?.phase === "Failed") expect(next.error).toContain("The migrations failed: ")
      })
    )
  })

  it("never fails a branch that is ready for its migrations, whatever becomes of them", () => {
    fc.assert(
      fc.property(runs, (run) => {
        const before = ready(start, { metadata, migrations: migrations(run) })
        const next = after(before, start)?.status
        expect(next?.phase).toBe("Ready")
        expect(next?.migrations?.observedGeneration).toBe(3)
      })
    )
  })

  it("keeps an unused branch while they run, and no longer for those that can come to no end", () => {
    const stored = { observedGeneration: 3, phase: "Running" } as const
    const left = (run: MigrationRun, change: Partial<ObservedBranch> = {}) => {
      const before = ready(start, { metadata, migrations: migrations(run), ...change })
      const status = { ...(before.status ?? { phase: "Ready", expireTime }), migrations: stored }
      return after({ ...before, status }, start + ttlMillis)?.status?.phase
    }
    expect(left(job({ _tag: "Running" }))).toBe("Ready")
    expect(left({ _tag: "Ending" })).toBeUndefined()
    expect(left({ _tag: "None" }, { pod: { _tag: "Starting" } })).toBeUndefined()
  })
})

describe("the pod of a branch", () => {
  const pod = (status: object) => branchPodState({ metadata: { name: "p" }, status: { phase: "Pending", ...status } })
  const ended = (terminated: object) => ({ name: "copy", state: { terminated } })

  it("starts, and is ready", () => {
    expect(branchPodState(undefined)).toEqual({ _tag: "Absent" })
    expect(pod({ initContainerStatuses: [ended({ exitCode: 0 })] })).toEqual({ _tag: "Starting" })
    expect(pod({ conditions: [{ type: "Ready", status: "True" }] })).toEqual({ _tag: "Ready" })
    const message = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }]
    expect(pod({ conditions })).toEqual({ _tag: "Starting", noNode: message.slice(0, -1) })
  })

  it.each([
    [
      {
        initContainerStatuses: [
          ended({ exitCode: 1, reason: "Error", message: "a\nb\nc\npsql: postgres://u:p@s/s@h/d\n" })
        ]
      },
      'container "copy" ended (exit code 1): b c psql: postgres://…'
    ],
    [
      {
        initContainerStatuses: [
          ended({ exitCode: 1, reason: "Error", message: "a\nERROR: b\nc\nERROR: d\n\ne\nf at http://s/x\ng\nh\n" })
        ]
      },
      'container "copy" ended (exit code 1): ERROR: d e f at http://… g h'
    ],
    [
      { initContainerStatuses: [ended({ exitCode: 137, reason: "OOMKilled" })] },
      'container "copy" ended (OOMKilled, exit code 137)'
    ],
    [
      {
        containerStatuses: [{ name: "database", state: { waiting: { reason: "ImagePullBackOff", message: "no x" } } }]
      },
      'container "database" cannot start (ImagePullBackOff): no x',
      { isPull: true }
    ],
    [
      { containerStatuses: [{ name: "database", state: { terminated: { exitCode: 0 } } }] },
      'container "database" ended (exit code 0)'
    ],
    [
      { phase: "Failed", reason: "Evicted", message: "low on disk", containerStatuses: [ended({ exitCode: 137 })] },
      "Evicted: low on disk"
    ],
    [{ phase: "Failed", reason: "Evicted", message: "The node was low on disk." }, "Evicted: The node was low on disk"]
  ])("is over, with the reason and without credentials", (status, reason, more?) =>
    expect(pod(status)).toEqual({ _tag: "Over", reason, ...more })
  )
})

describe("a container that a webhook has added to a branch's pod", () => {
  const state = (status: object) =>
    branchPodState({
      metadata: { name: "p" },
      status: { phase: "Running", containerStatuses: [{ name: "a-proxy", ...status }] }
    })

  it("may end and crash as it likes, and must be there", () => {
    expect(state({ state: { terminated: { exitCode: 1 } } })).toEqual({ _tag: "Starting" })
    expect(state({ state: { waiting: { reason: "CrashLoopBackOff" } } })).toEqual({ _tag: "Starting" })
    expect(state({ state: { waiting: { reason: "CreateContainerError" } } })).toMatchObject({ _tag: "Over" })
  })
})

describe("the plan for a branch of another process", () => {
  const status: BranchStatus = { phase: "Pending", expireTime: new Date(start + 1_000).toISOString(), podName: "b-pod" }
  const pod = { _tag: "Ready" } as const
  const tags = (change: Partial<ObservedBranch>) =>
    planBranch(observed({ status, pod, ...change }), start).map(({ _tag }) => _tag)

  it("reads the password before the branch is ready, and never without a pod", () => {
    expect(tags({ password: "Unread" })).toEqual(["ReadPassword", "RequeueAt"])
    expect(tags({})).toEqual(["PatchStatus", "RequeueAt"])
    expect(tags({ password: "Unread", pod: { _tag: "Absent" }, status: undefined })).toEqual([
      "PatchStatus",
      "MakePod",
      "RequeueAt"
    ])
  })

  it("fails a branch whose spec asks for another database than its pod has", () =>
    expect(after(observed({ status, pod, isChanged: true }), start)?.status?.error).toContain("spec was changed"))

  it("fails a branch whose password is gone", () =>
    expect(after(observed({ status, pod, password: "Gone" }), start)?.status?.error).toContain("password is gone"))

  it("is looked at again when sessions that may return are given up", () => {
    const ready: BranchStatus = { ...status, phase: "Ready", expireTime: new Date(start + ttlMillis).toISOString() }
    const change = { status: { ...ready, sessionInfo: session }, sessions: session, sessionsChangeAt: start + 5 }
    expect(planBranch(observed({ pod, ...change }), start)).toContainEqual({ _tag: "RequeueAt", at: start + 5 })
  })
})
