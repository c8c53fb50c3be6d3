import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { timestamp } from "../../../src/domain/resources/object-meta.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { observeChild } from "../../../src/domain/sessions/child-observation.ts"
import { childPlan, type ObservedChild } from "../../../src/domain/sessions/child-plan.ts"
import { noSockets } from "../../../src/domain/sessions/liveness.ts"
import { met, type Requirement } from "../../../src/domain/sessions/requirement.ts"

const created = 1_000_000_000_000
interface Extra {
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object | null
}
const read = ({ metadata, spec, status }: Extra = {}) =>
  Result.getOrThrow(
    readResource(mirrordClusterSessions, {
      metadata: {
        name: "mc-1-b",
        uid: "u",
        resourceVersion: "7",
        generation: 1,
        creationTimestamp: timestamp(created),
        ...metadata
      },
      spec: {
        namespace: "default",
        owner: { userId: "u", username: "n", hostname: "h", k8sUsername: "k" },
        multiClusterParentName: "mc-1",
        ...spec
      },
      ...(status === undefined ? {} : { status })
    })
  )
const observed = (change: Partial<ObservedChild<string>> = {}): ObservedChild<string> => ({
  child: read(),
  createdSeenAt: created,
  target: { _tag: "Unresolved" },
  agent: { _tag: "None" },
  requirements: [],
  sockets: noSockets,
  heartbeatSeenAt: undefined,
  operatorSince: created - 1_000_000,
  defaults: { sessionTtlSecs: 60, remoteSessionTimeoutSecs: 300 },
  ...change
})
const tags = (change: Partial<ObservedChild<string>>, now = created) =>
  childPlan(observed(change), now).map(({ _tag }) => _tag)
const conditionOf = (change: Partial<ObservedChild<string>>, now = created) => {
  const patch = childPlan(observed(change), now).find((action) => action._tag === "PatchStatus")
  if (patch?._tag !== "PatchStatus") throw new Error("no patch")
  const child = read({ status: patch.patch })
  return { child, condition: child.status?.conditions?.[0] }
}
const failed = (failures: number, at = created) =>
  ({ _tag: "Failed", at, failures, failure: { reason: "NoSuchTarget", message: "there is no deployment/x" } }) as const
const resolved = { _tag: "Resolved", placement: "pod" } as const

describe("childPlan", () => {
  it("resolves the target, starts the agent, marks the child Ready", () => {
    // No write stands between the first steps, each of which follows the other at once.
    expect(tags({ admission: { _tag: "Unasked" } })).toEqual(["AskAdmission", "RequeueAt"])
    expect(tags({})).toEqual(["ResolveTarget", "RequeueAt"])
    expect(childPlan(observed({ target: resolved }), created)[0]).toEqual({ _tag: "StartAgent", placement: "pod" })
    expect(conditionOf({ target: resolved }).condition).toMatchObject({
      type: "Ready",
      status: "False",
      reason: "Starting",
      observedGeneration: 1
    })
    expect(tags({ target: resolved, agent: { _tag: "Starting" } })).toEqual(["PatchStatus", "RequeueAt"])
    const { child, condition } = conditionOf({ target: resolved, agent: { _tag: "Ready", checkedAt: created } })
    expect(condition).toMatchObject({ status: "True" })
    expect(observeChild(child)).toMatchObject({ _tag: "Present", ready: true, failure: undefined, parentName: "mc-1" })
    expect(tags({ child, target: resolved, agent: { _tag: "Ready", checkedAt: created } })).toEqual(["RequeueAt"])
    // A session that starts over is not ready any more, at once.
    expect(tags({ child })).toEqual(["ResolveTarget", "PatchStatus", "RequeueAt"])
  })

  it.each<[string, ReadonlyArray<Requirement>, object]>([
    ["nothing else", [met], { status: "True", reason: "AgentUsable" }],
    [
      "something that is on its way",
      [met, { _tag: "Pending", message: "The branch is being made." }],
      { status: "False", reason: "Starting", message: "The branch is being made." }
    ],
    [
      "something that cannot be, the first such",
      [
        { _tag: "Failed", failure: { reason: "Forbidden", message: "no rights" } },
        { _tag: "Pending", message: "later" }
      ],
      { status: "False", reason: "Forbidden", message: "no rights" }
    ]
  ])("is ready with its agent if it needs %s", (_what, requirements, expected) => {
    const agent = { _tag: "Ready", checkedAt: created } as const
    expect(conditionOf({ target: resolved, agent, requirements }).condition).toMatchObject(expected)
    const starting = conditionOf({ target: resolved, agent: { _tag: "Starting" }, requirements }).condition
    expect(starting).toMatchObject({ status: "False", reason: "Starting", message: "The agent is starting." })
  })

  it.each<[Requirement, object]>([
    [
      { _tag: "Pending", message: "The pods get other queues.", comesFirst: true },
      { reason: "Starting", message: "The pods get other queues." }
    ],
    [
      { _tag: "Failed", failure: { reason: "QueuesNotSplit", message: "no rights" }, comesFirst: true },
      { reason: "QueuesNotSplit", message: "no rights" }
    ]
  ])("neither looks for pods nor starts an agent before %j", (first, expected) => {
    const requirements = [{ _tag: "Pending", message: "later" } as const, first]
    const silent = { _tag: "Ready", checkedAt: 0, silent: "mirrord-agent-1" } as const
    for (const known of [
      {},
      { target: failed(9) },
      { target: resolved },
      { target: resolved, agent: failed(9) },
      { target: resolved, agent: silent }
    ]) {
      const all = { ...known, requirements, podsChangedAt: created - 4_000 }
      expect(tags(all)).toEqual(["PatchStatus", "RequeueAt"])
      expect(conditionOf(all).condition).toMatchObject({ status: "False", ...expected })
    }
    expect(tags({ requirements, admission: { _tag: "Unasked" } })[0]).toBe("AskAdmission")
    expect(tags({ requirements: requirements.slice(0, 1) })[0]).toBe("ResolveTarget")
  })

  it("is not ready while its agent does not answer, though not failed, and is ready when it answers again", () => {
    const agent = { _tag: "Ready", checkedAt: created } as const
    const silent = conditionOf({ target: resolved, agent: { ...agent, silent: "mirrord-agent-1" } })
    expect(silent.condition).toMatchObject({
      status: "False",
      reason: "AgentSilent",
      message: "The agent mirrord-agent-1 does not answer."
    })
    expect(observeChild(silent.child)).toMatchObject({ ready: false, failure: undefined })
    expect(tags({ child: silent.child, target: resolved, agent: { ...agent, silent: "mirrord-agent-1" } })).toEqual([
      "RequeueAt"
    ])
    expect(conditionOf({ child: silent.child, target: resolved, agent }).condition).toMatchObject({ status: "True" })
  })

  it("says why it fails in the form that the primary reads, and tries again with growing pauses", () => {
    const { child, condition } = conditionOf({ target: failed(1) })
    expect(condition).toMatchObject({ status: "False", reason: "NoSuchTarget", message: "there is no deployment/x" })
    expect(observeChild(child)).toMatchObject({ ready: false, failure: { reason: "NoSuchTarget" } })
    expect(childPlan(observed({ child, target: failed(1) }), created)).toEqual([
      { _tag: "RequeueAt", at: created + 15_000 }
    ])
    expect(tags({ child, target: failed(1) }, created + 15_000)[0]).toBe("ResolveTarget")
    expect(childPlan(observed({ child, target: failed(3) }), created)).toEqual([
      { _tag: "RequeueAt", at: created + 60_000 }
    ])
    const late = childPlan(
      observed({ child, target: failed(50), sockets: { open: 1, lastClosedAt: undefined } }),
      created
    )
    expect(late).toEqual([{ _tag: "RequeueAt", at: created + 300_000 }])
    expect(conditionOf({ target: resolved, agent: failed(1) }).condition).toMatchObject({ reason: "NoSuchTarget" })
  })

  it.each<Partial<ObservedChild<string>>>([
    { target: failed(9) },
    { target: resolved, agent: failed(9) },
    { target: resolved, agent: { _tag: "Ready", checkedAt: created } }
  ])("looks again a second after a pod has changed, and not before: %j", (known) => {
    const changed = { ...known, podsChangedAt: created + 4_000, sockets: { open: 1, lastClosedAt: undefined } }
    expect(childPlan(observed(changed), created + 4_500).at(-1)).toEqual({ _tag: "RequeueAt", at: created + 5_000 })
    expect(tags(changed, created + 5_000)[0]).toMatch(/ResolveTarget|StartAgent|RefreshAgents/)
  })

  describe("of a target without pods", () => {
    const sockets = { open: 1, lastClosedAt: undefined }
    const own = read({ spec: { multiClusterParentName: null } })
    const noPods = (change: Partial<ObservedChild<string>> = {}) =>
      observed({
        child: own,
        sockets,
        target: failed(4, created + 45_000),
        pods: { since: created, seenAt: created + 45_000, cause: undefined, hadPods: true },
        podlessMillis: 60_000,
        ...change
      })
    const last = {
      target: failed(5, created + 60_000),
      pods: { since: created, seenAt: created + 60_000, cause: undefined, hadPods: true }
    }

    it("looks once more when its time is over, whatever the pause, and ends then, for good", () => {
      expect(childPlan(noPods(), created + 50_000).at(-1)).toEqual({ _tag: "RequeueAt", at: created + 60_000 })
      expect(childPlan(noPods(), created + 60_000)[0]).toEqual({ _tag: "ResolveTarget" })
      expect(childPlan(noPods(last), created + 60_000)).toEqual([
        expect.objectContaining({
          _tag: "DeleteChild",
          staysStopped: true,
          why: expect.stringContaining("no usable pod for 60 s") as string
        })
      ])
      expect(childPlan(noPods({ ...last, podlessMillis: undefined }), created + 60_000)[0]?._tag).not.toBe(
        "DeleteChild"
      )
    })

    it("tells its parent instead, if it has one, and goes on to look", () => {
      const child = read()
      const plan = childPlan(noPods({ ...last, child }), created + 60_000)
      expect(plan.map(({ _tag }) => _tag)).toEqual(["PatchStatus", "RequeueAt"])
      const { condition } = conditionOf({ ...noPods({ ...last, child }) }, created + 60_000)
      expect(condition).toMatchObject({ status: "False", reason: "NoPods" })
      expect(childPlan(noPods({ ...last, child }), created + 400_000)[0]).toEqual({ _tag: "ResolveTarget" })
    })

    it("is not ended for want of a link before its parent has heard of it: the next would not know", () => {
      const child = read()
      const alone = {
        child,
        sockets: { open: 0, lastClosedAt: created - 20_000 },
        defaults: { ...observed({}).defaults, sessionTtlSecs: 30 }
      }
      expect(childPlan(noPods(alone), created + 59_000).map(({ _tag }) => _tag)).not.toContain("DeleteChild")
      expect(conditionOf(noPods({ ...alone, ...last }), created + 60_000).condition).toMatchObject({ reason: "NoPods" })
      expect(childPlan(noPods({ ...alone, ...last }), created + 75_000).map(({ _tag }) => _tag)).toEqual([
        "DeleteChild"
      ])
    })

    it("has nothing to lose where its part of a session never had pods", () => {
      const child = read()
      const never = { ...last, child, pods: { ...last.pods, hadPods: false } }
      expect(conditionOf(noPods(never), created + 60_000).condition).toMatchObject({ reason: "NoSuchTarget" })
      // A session of this cluster alone has nothing else.
      expect(childPlan(noPods({ ...never, child: own }), created + 60_000)[0]?._tag).toBe("DeleteChild")
    })
  })

  it("ends when no socket ever came within remoteSessionTimeoutSecs", () => {
    expect(tags({}, created + 299_999)).not.toContain("DeleteChild")
    expect(tags({}, created + 300_000)).toEqual(["DeleteChild"])
    const short = read({ metadata: { annotations: { "operator.metalbear.co/remote-session-timeout-secs": "20" } } })
    // Not before the parent could be gone, be it one that a restarted primary keeps: what ends sooner is made again.
    expect(tags({ child: short }, created + 224_999)).not.toContain("DeleteChild")
    expect(tags({ child: short }, created + 225_000)).toEqual(["DeleteChild"])
    const both = read({
      metadata: {
        annotations: {
          "operator.metalbear.co/remote-session-timeout-secs": "180",
          "operator.metalbear.co/session-ttl-secs": "5"
        }
      }
    })
    expect(tags({ child: both }, created + 179_999)).not.toContain("DeleteChild")
    expect(tags({ child: both }, created + 180_000)).toEqual(["DeleteChild"])
    // A session of a user has no parent that could outlive its client.
    const defaults = { sessionTtlSecs: 20, remoteSessionTimeoutSecs: 20 }
    const own = read({ spec: { multiClusterParentName: null } })
    expect(tags({ child: own, defaults }, created + 20_000)).toEqual(["DeleteChild"])
  })

  it("ends sessionTtlSecs + 15 s after the last socket, by heartbeat or by what it saw itself", () => {
    const sockets = { open: 0, lastClosedAt: created + 500_000 }
    expect(tags({ sockets }, created + 574_999)).not.toContain("DeleteChild")
    expect(tags({ sockets }, created + 575_000)).toEqual(["DeleteChild"])
    const child = read({ status: { connectedTimestamp: timestamp(created + 500_000) } })
    expect(tags({ child }, created + 575_000)).toEqual(["DeleteChild"])
    const short = read({ metadata: { annotations: { "operator.metalbear.co/session-ttl-secs": "5" } } })
    expect(tags({ child: short, sockets }, created + 520_000)).toEqual(["DeleteChild"])
    // No primary is to end a user's own session first.
    const own = read({ spec: { multiClusterParentName: null } })
    expect(tags({ child: own, sockets }, created + 559_999)).not.toContain("DeleteChild")
    expect(tags({ child: own, sockets }, created + 560_000)).toEqual(["DeleteChild"])
  })

  it("does not end while a socket is open, nor for time in which the operator was away", () => {
    fc.assert(
      fc.property(fc.nat(10 ** 10), (ms) => {
        expect(tags({ sockets: { open: 1, lastClosedAt: undefined } }, created + ms)).not.toContain("DeleteChild")
      })
    )
    const child = read({ status: { connectedTimestamp: timestamp(created) } })
    const operatorSince = created + 1_000_000
    expect(tags({ child, operatorSince }, operatorSince + 74_999)).not.toContain("DeleteChild")
    expect(tags({ child, operatorSince }, operatorSince + 75_000)).toEqual(["DeleteChild"])
    const own = read({ spec: { multiClusterParentName: null }, status: { connectedTimestamp: timestamp(created) } })
    expect(tags({ child: own, operatorSince }, operatorSince + 75_000)).not.toContain("DeleteChild")
    expect(tags({ child: own, operatorSince }, operatorSince + 210_000)).toEqual(["DeleteChild"])
    const sockets = { open: 0, lastClosedAt: operatorSince + 10_000 }
    expect(tags({ child: own, operatorSince, sockets }, operatorSince + 70_000)).toEqual(["DeleteChild"])
  })

  it("does nothing for a child that is gone or being deleted, and ignores garbage in annotations", () => {
    expect(childPlan(observed({ child: undefined }), created)).toEqual([])
    expect(tags({ child: read({ metadata: { deletionTimestamp: timestamp(created) } }) }, created + 10 ** 9)).toEqual(
      []
    )
    const garbage = read({ metadata: { annotations: { "operator.metalbear.co/remote-session-timeout-secs": "-1e9" } } })
    expect(tags({ child: garbage }, created + 1)).not.toContain("DeleteChild")
  })

  it("does not count a condition of an older generation", () => {
    const child = read({
      metadata: { generation: 2 },
      status: {
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "AgentUsable",
            message: "",
            lastTransitionTime: timestamp(created),
            observedGeneration: 1
          }
        ]
      }
    })
    expect(observeChild(child)).toMatchObject({ ready: false, failure: undefined })
  })
})
