import { describe, expect, it } from "vitest"
import { distantSplit } from "../../../src/domain/queues/distant-split.ts"
import { splitStateNote } from "../../../src/domain/queues/split-state.ts"
import { wishNote } from "../../../src/domain/queues/split-wish.ts"
import { withQueuesOf } from "../../../src/domain/queues/sqs-session.ts"
import type { MirrordClusterSession } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { SqsSessionStatus } from "../../../src/domain/resources/queues/queue-sessions.ts"
import { owner, place, wantedSplit } from "../../support/queue-split.ts"

const filters = new Map([["orders", { attributes: { to: "^ann$" }, program: undefined }]])
const wish = { ...wantedSplit(place, filters), workload: undefined }
const details = (queue: string) => ({
  queueNames: { [`orders::${queue}`]: { originalName: queue, outputName: "tmp" } },
  envUpdates: {}
})
const queues = [{ id: "orders", type: "sqs", queue: "or\nders" }]
const podsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `p${n}`, patched: n < count - 2, ready: n > 0 }))
const noteOf = (targetPods: ReturnType<typeof podsOf>) =>
  splitStateNote({ split: { phase: "Pending", queues, targetPods }, sqs: { Ready: details("orders") } })

const child = (
  annotations: Readonly<Record<string, string>>,
  change: Partial<MirrordClusterSession["spec"]> = {},
  reason?: string
): MirrordClusterSession => ({
  metadata: { name: "mc-00000000000000ff-b", annotations: { ...wishNote(wish), ...annotations } },
  spec: {
    namespace: "shop",
    owner,
    multiClusterParentName: "mc-00000000000000ff",
    target: { apiVersion: "apps/v1", kind: "Deployment", name: "consumer", container: "" },
    ...change
  },
  status: {
    conditions:
      reason === undefined
        ? []
        : [
            {
              type: "Ready",
              status: reason === "Ok" ? "True" : "False",
              reason,
              message: "Why.",
              lastTransitionTime: ""
            }
          ]
  }
})
const seen = (...of: Parameters<typeof child>) =>
  distantSplit(child(...of), { name: "B", slug: "b-1", lost: undefined }, () => "")

describe("a cluster's part in a session, at the primary", () => {
  it("tells no more than 50 pods, those first that take no part, and texts that harm no terminal", () => {
    const { object } = seen(noteOf(podsOf(60))) ?? {}
    expect(object).toMatchObject({
      metadata: { name: "00000000000000ff.consumer.deployment.b-1" },
      spec: { session: "00000000000000FF", cluster: "B" },
      status: { queues: [{ queue: "or ders" }] }
    })
    expect(object?.status.targetPods.slice(0, 4).map(({ name }) => name)).toEqual(["p0", "p58", "p59", "p1"])
    expect(object?.status.targetPods).toHaveLength(50)
    expect(noteOf(podsOf(60).toReversed())).toEqual(noteOf(podsOf(60)))
  })

  it.each([
    [undefined, "Pending"],
    ["Starting", "Pending"],
    ["QueuesNotSplit", "Failed"],
    ["Ok", "Ready"]
  ])("is what its condition %s says until its operator has spoken", (reason, phase) => {
    expect(seen({}, {}, reason)).toMatchObject({ object: { status: { phase, queues: [], targetPods: [] } } })
    expect(seen(wishNote({ ...wish, isAutomatic: true }), {}, reason)).toBeUndefined()
  })

  it("is none of a session of another sort", () => {
    expect([seen({}, { target: null }), seen({}, { multiClusterParentName: "other" })]).toEqual([undefined, undefined])
  })

  it("is one with those of other clusters in the older kind", () => {
    const { sqs } = seen(noteOf([])) ?? {}
    if (sqs === undefined) throw new Error("it has no queues")
    const of = (status: SqsSessionStatus) => ({ ...sqs, status })
    const other = of({ RegisteringFilters: details("other") })
    expect(Object.keys(withQueuesOf(sqs, other).status?.Ready?.queueNames ?? {})).toHaveLength(2)
    expect(withQueuesOf(of({ StartError: { statusCode: 400, reason: "no" } }), other)).toBe(other)
    expect(withQueuesOf(sqs, of({ Starting: { start_time_utc: "" } })).status).toEqual(sqs.status)
  })
})
