import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { copyPlan, type CopyState } from "../../../src/domain/copies/copy-life.ts"
import { fleetCopyPlan, type MemberCopy, type ObservedFleetCopy } from "../../../src/domain/copies/fleet-copy.ts"
import { type ClusterName, clusterName } from "../../../src/domain/fleet/cluster-name.ts"

const [a, b, c] = ["a", "b", "c"].map(clusterName) as [ClusterName, ClusterName, ClusterName]
const ready = { _tag: "Present", state: { phase: "Ready" } } as const
const starting = { _tag: "Present", state: { phase: "InProgress" } } as const
const refused = { _tag: "Refused", why: "there is no deployment/x in namespace default" } as const

const observed = (others: Readonly<Record<string, MemberCopy>>, change: Partial<ObservedFleetCopy> = {}) => ({
  defaultCluster: a,
  atDefault: { phase: "Ready" } as CopyState,
  others: new Map(Object.entries(others).map(([name, copy]) => [clusterName(name), copy] as const)),
  readySince: 0,
  sessionStart: "default" as const,
  splitsQueues: false,
  ...change
})
const phaseAt = (others: Readonly<Record<string, MemberCopy>>, now: number, change?: Partial<ObservedFleetCopy>) =>
  fleetCopyPlan(observed(others, change), now).state.phase

describe("a copy over many clusters", () => {
  it("is ready with the default's and all others that have one", () => {
    expect(phaseAt({ b: ready }, 0)).toBe("Ready")
    expect(phaseAt({ b: starting }, 0)).toBe("InProgress")
    expect(phaseAt({ b: ready }, 0, { atDefault: { phase: "InProgress" }, readySince: undefined })).toBe("InProgress")
  })

  it("goes without a cluster that refuses, and orders none from it again", () => {
    const plan = fleetCopyPlan(observed({ b: refused, c: ready }), 0)
    expect(plan).toEqual({ state: { phase: "Ready" }, leftOut: [{ cluster: b, why: refused.why }], order: [] })
  })

  it("goes at once without a lost cluster, and without a silent or slow one after 15 s", () => {
    expect(phaseAt({ b: { _tag: "Unknown", why: "lost", isLost: true } }, 0)).toBe("Ready")
    for (const copy of [
      { _tag: "Unknown", why: "silent", isLost: false } as const,
      starting,
      { _tag: "Absent" } as const
    ]) {
      expect(phaseAt({ b: copy }, 14_999)).toBe("InProgress")
      expect(phaseAt({ b: copy }, 15_000)).toBe("Ready")
    }
  })

  it("waits 20 s longer where a cluster may wait for the configuration of its queues", () => {
    expect(phaseAt({ b: { _tag: "Absent" } }, 34_999, { splitsQueues: true })).toBe("InProgress")
    const { leftOut } = fleetCopyPlan(observed({ b: starting }, { splitsQueues: true }), 35_000)
    expect(leftOut).toEqual([{ cluster: b, why: "its copy was not ready 35 s after the default cluster's" }])
  })

  it("tells the last problem of a cluster that could not make one in time", () => {
    const absent = { _tag: "Absent", problem: "scaled down already" } as const
    expect(fleetCopyPlan(observed({ b: absent }), 15_000)).toMatchObject({
      leftOut: [{ cluster: b, why: absent.problem }],
      order: []
    })
  })

  it("orders none from a cluster whose time is over: it would take pods from a workload that no session serves", () => {
    const orderAt = (now: number) => fleetCopyPlan(observed({ b: { _tag: "Absent" } }), now).order
    expect([orderAt(14_999), orderAt(15_000)]).toEqual([[b], []])
  })

  it("fails in the words of the default cluster, and orders nothing more", () => {
    const failed = { phase: "Failed", message: "its image cannot be pulled" } as const
    expect(fleetCopyPlan(observed({ b: { _tag: "Absent" } }, { atDefault: failed }), 0)).toEqual({
      state: { phase: "Failed", message: "in cluster a: its image cannot be pulled" },
      leftOut: [],
      order: []
    })
  })

  it("fails for want of any cluster where sessions start with all, but waits for a slow one", () => {
    const all = { sessionStart: "all" } as const
    expect(fleetCopyPlan(observed({ b: refused }, all), 0).state).toEqual({
      phase: "Failed",
      message: `in cluster b: it has no copy of the target: ${refused.why}`
    })
    expect(phaseAt({ b: starting }, 200_000, all)).toBe("InProgress")
  })
})

const state = fc.constantFrom<CopyState>({ phase: "InProgress" }, { phase: "Ready" }, { phase: "Failed", message: "x" })
const memberCopy = fc.oneof(
  fc.record({ _tag: fc.constant("Unknown" as const), why: fc.constant("silent"), isLost: fc.boolean() }),
  fc.constantFrom<MemberCopy>({ _tag: "Absent" }, { _tag: "Absent", problem: "busy" }, refused),
  fc.record({ _tag: fc.constant("Present" as const), state })
)
const anyCopy = fc
  .record({
    atDefault: state,
    others: fc.dictionary(fc.constantFrom("b", "c", "d"), memberCopy),
    since: fc.nat(60_000),
    sessionStart: fc.constantFrom("default" as const, "all" as const),
    now: fc.nat(100_000)
  })
  .map(({ atDefault, now, others, sessionStart, since }) => ({
    now,
    copy: observed(others, {
      atDefault,
      sessionStart,
      readySince: atDefault.phase === "Ready" ? Math.min(since, now) : undefined
    })
  }))

describe("whatever the clusters answer", () => {
  it("orders only from clusters that have none, and do not refuse", () => {
    fc.assert(
      fc.property(anyCopy, ({ copy, now }) => {
        for (const cluster of fleetCopyPlan(copy, now).order) expect(copy.others.get(cluster)?._tag).toBe("Absent")
      })
    )
  })

  it("is ready only if the default is, and each other one is ready or left out, none where all are wanted", () => {
    fc.assert(
      fc.property(anyCopy, ({ copy, now }) => {
        const plan = fleetCopyPlan(copy, now)
        if (plan.state.phase !== "Ready") return
        expect(copy.atDefault.phase).toBe("Ready")
        const without = plan.leftOut.map(({ cluster }) => cluster)
        for (const [cluster, other] of copy.others)
          expect(without.includes(cluster)).not.toBe(other._tag === "Present" && other.state.phase === "Ready")
        if (copy.sessionStart === "all") expect(without).toEqual([])
      })
    )
  })

  it("waits for nobody longer than 15 s after the default, where clusters may be left out", () => {
    fc.assert(
      fc.property(anyCopy, ({ copy }) => {
        if (copy.readySince === undefined || copy.sessionStart === "all") return
        expect(fleetCopyPlan(copy, copy.readySince + 15_000).state.phase).toBe("Ready")
      })
    )
  })
})

/** A cluster of the model below: its copy, when it was last used, and what its operator knows after a crash. */
interface Cluster {
  readonly refuses: boolean
  copy: { readonly madeAt: number; usedAt: number } | undefined
  isCut: boolean
  isDown: boolean
}

type Step = "Poll" | "PrimaryCrashes" | "Cut" | "Heal" | "OperatorCrashes" | "OperatorReturns" | "CopyDeleted" | "Pass"

const steps = fc.array(
  fc.record({
    step: fc.constantFrom<Step>(
      "Poll",
      "Poll",
      "PrimaryCrashes",
      "Cut",
      "Heal",
      "OperatorCrashes",
      "OperatorReturns",
      "CopyDeleted",
      "Pass"
    ),
    at: fc.constantFrom(a, b, c),
    ms: fc.integer({ min: 100, max: 20_000 })
  }),
  { maxLength: 40 }
)
/** A copy of an earlier process of a cluster's operator gets this much time more, ms: longer than any in the model. */
const grace = 150_000

describe("copies in all clusters", () => {
  it("end once nobody asks for them, in whichever order who crashes, and none is made where it is refused", () => {
    fc.assert(
      fc.property(steps, fc.subarray<ClusterName>([b, c]), (story, refusing) => {
        const clusters = new Map(
          [a, b, c].map((name) => [
            name,
            { refuses: refusing.includes(name), copy: undefined, isCut: false, isDown: false } as Cluster
          ])
        )
        let now = 0
        let readySince: number | undefined
        const refusals = new Set<ClusterName>()
        const at = (name: ClusterName): Cluster => {
          const found = clusters.get(name)
          if (found === undefined) throw new Error(name)
          return found
        }
        /** The cluster's own operator ends what is idle, as it does in any cluster. */
        const live = (): void => {
          for (const cluster of clusters.values()) {
            if (cluster.copy === undefined || cluster.isDown) continue
            const { usedAt } = cluster.copy
            const plan = copyPlan({ uid: "u", isInUse: false, usedAt, idleTtl: 30 }, now)
            if (plan.some(({ _tag }) => _tag === "DeleteCopy")) cluster.copy = undefined
          }
        }
        const reachable = ({ isCut, isDown }: Cluster): boolean => !isCut && !isDown
        const asked = (name: ClusterName): MemberCopy => {
          const cluster = at(name)
          if (!reachable(cluster)) return { _tag: "Unknown", why: "silent", isLost: cluster.isCut }
          if (cluster.copy === undefined)
            return refusals.has(name) ? { _tag: "Refused", why: "no" } : { _tag: "Absent" }
          cluster.copy.usedAt = Math.max(cluster.copy.usedAt, now)
          return { _tag: "Present", state: { phase: now >= cluster.copy.madeAt + 5_000 ? "Ready" : "InProgress" } }
        }
        const order = (name: ClusterName): void => {
          const cluster = at(name)
          if (!reachable(cluster)) return
          if (cluster.refuses) refusals.add(name)
          else cluster.copy ??= { madeAt: now, usedAt: now }
        }
        const poll = (): void => {
          const first = asked(a)
          if (first._tag === "Absent") return order(a)
          if (first._tag !== "Present") return
          readySince = first.state.phase === "Ready" ? (readySince ?? now) : undefined
          const others = new Map([b, c].map((name) => [name, asked(name)] as const))
          const copy = {
            defaultCluster: a,
            atDefault: first.state,
            others,
            readySince,
            sessionStart: "default" as const,
            splitsQueues: false
          }
          for (const name of fleetCopyPlan(copy, now).order) order(name)
        }
        for (const { at: name, ms, step } of story) {
          const cluster = at(name)
          if (step === "Poll") poll()
          if (step === "PrimaryCrashes") {
            readySince = undefined
            refusals.clear()
          }
          if (step === "Cut") cluster.isCut = true
          if (step === "Heal") cluster.isCut = false
          if (step === "OperatorCrashes") cluster.isDown = true
          if (step === "OperatorReturns" && cluster.isDown) {
            cluster.isDown = false
            if (cluster.copy !== undefined) cluster.copy.usedAt = now + grace
          }
          if (step === "CopyDeleted") cluster.copy = undefined
          now += ms
          live()
          for (const refuser of refusing) expect(at(refuser).copy).toBeUndefined()
        }
        for (const cluster of clusters.values()) if (cluster.isDown) cluster.isDown = false
        now += grace + 30_000
        live()
        for (const [name, cluster] of clusters) expect([name, cluster.copy]).toEqual([name, undefined])
      })
    )
  })
})
