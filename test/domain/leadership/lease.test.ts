import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { holderIdentity } from "../../../src/domain/leadership/identity.ts"
import { defaultLeaseTimes as times } from "../../../src/domain/leadership/lease-times.ts"
import {
  type LeaseSpec,
  type LeaseStep,
  leaseStep,
  observeLease,
  type ObservedLease,
  releaseStep
} from "../../../src/domain/leadership/lease.ts"
import type { Lease } from "../../../src/domain/resources/core-kinds.ts"

const me = holderIdentity({ name: "operator-0", uid: "u0" }, "p1")
const other = holderIdentity({ name: "operator-1", uid: "u1" }, "p1")
const lease = (spec: Partial<LeaseSpec>, resourceVersion = "7"): Lease => ({
  metadata: { name: "mirrord-operator", resourceVersion },
  spec: {
    holderIdentity: other,
    leaseDurationSeconds: 15,
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:00.000000Z",
    leaseTransitions: 4,
    ...spec
  }
})
const standingBy = (elapsed: number, now = 0) => ({ identity: me, term: undefined, elapsed, now })

describe("a Lease", () => {
  it("is made by whoever finds none, with times that a real API server reads", () => {
    expect(leaseStep(undefined, standingBy(5, Date.UTC(2026, 0, 2, 3, 4, 5, 6)), times)).toEqual({
      _tag: "Create",
      spec: {
        holderIdentity: me,
        leaseDurationSeconds: 15,
        acquireTime: "2026-01-02T03:04:05.006000Z",
        renewTime: "2026-01-02T03:04:05.006000Z",
        leaseTransitions: 0
      }
    })
  })

  it("is left to another holder for its duration since the last seen change, then acquired with a new epoch", () => {
    const seen = observeLease(undefined, lease({}), 1_000)
    expect(leaseStep(seen, standingBy(15_999), times)).toEqual({ _tag: "StandBy", holder: other, until: 16_000 })
    expect(leaseStep(seen, standingBy(16_000), times)).toMatchObject({
      _tag: "Acquire",
      version: "7",
      spec: { holderIdentity: me, leaseTransitions: 5 }
    })
    const renewed = observeLease(seen, lease({ renewTime: "2026-01-01T00:00:02.000000Z" }, "8"), 15_000)
    expect(leaseStep(renewed, standingBy(16_000), times)).toMatchObject({ _tag: "StandBy", until: 30_000 })
  })

  it("is not renewed by a write that changes nothing of it", () => {
    const seen = observeLease(undefined, lease({}), 1_000)
    expect(observeLease(seen, lease({}, "9"), 12_000)).toEqual({ ...seen, version: "9" })
  })

  it("is waited for as long as its holder promises", () => {
    const seen = observeLease(undefined, lease({ leaseDurationSeconds: 60 }), 0)
    expect(leaseStep(seen, standingBy(59_999), times)._tag).toBe("StandBy")
    const without = observeLease(undefined, lease({ leaseDurationSeconds: 0 }), 0)
    expect(leaseStep(without, standingBy(14_999), times)._tag).toBe("StandBy")
  })

  it("is acquired at once when it was released, and when its holder was this pod before a restart", () => {
    for (const holderIdentity of ["", "operator-0_u0_p0"]) {
      expect(leaseStep(observeLease(undefined, lease({ holderIdentity }), 0), standingBy(0), times)).toMatchObject({
        _tag: "Acquire",
        spec: { leaseTransitions: 5 }
      })
    }
    for (const holderIdentity of ["operator-0_another-uid_p0", "operator-0", "operator-01_u0_p0"]) {
      expect(leaseStep(observeLease(undefined, lease({ holderIdentity }), 0), standingBy(0), times)._tag).toBe(
        "StandBy"
      )
    }
  })

  it("is renewed in the same epoch while the term runs, and begins a new one after it", () => {
    const held = observeLease(undefined, lease({ holderIdentity: me }), 0)
    expect(leaseStep(held, { ...standingBy(3), term: { epoch: 4 } }, times)).toMatchObject({
      _tag: "Renew",
      spec: { leaseTransitions: 4, acquireTime: "2026-01-01T00:00:00.000000Z" }
    })
    expect(leaseStep(held, standingBy(3), times)).toMatchObject({ _tag: "Acquire", spec: { leaseTransitions: 5 } })
  })

  it("is released by its holder only", () => {
    const held = observeLease(undefined, lease({ holderIdentity: me }), 0)
    expect(releaseStep(held, { identity: me, now: 0 })).toMatchObject({
      version: "7",
      spec: { holderIdentity: "", leaseTransitions: 4 }
    })
    expect(releaseStep(held, { identity: other, now: 0 })).toBeUndefined()
    expect(releaseStep(undefined, { identity: me, now: 0 })).toBeUndefined()
  })

  it("is decided about without regard to what clocks of other hosts say, and to the own one", () => {
    const time = fc
      .integer({ min: -600_000, max: 600_000 })
      .map((ms) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString())
    fc.assert(
      fc.property(
        time,
        time,
        fc.nat(40_000),
        fc.nat(600_000),
        fc.nat(600_000),
        (renewTime, acquireTime, elapsed, now, later) => {
          const tag = (spec: Partial<LeaseSpec>, wall: number): string =>
            leaseStep(observeLease(undefined, lease(spec), 0), standingBy(elapsed, wall), times)._tag
          expect(tag({ renewTime, acquireTime }, now)).toBe(tag({}, later))
        }
      )
    )
  })
})

/**
 * Replicas on one API server, which answers at once but whose answers take their time; each replica may be paused at
 * any point.
 */
class Election {
  readonly log: Array<{ readonly replica: number; readonly epoch: number; readonly from: number; until: number }> = []
  now = 0
  #stored: Lease | undefined
  #version = 0
  readonly #replicas: Array<Replica>

  constructor(count: number, clocks: ReadonlyArray<number>) {
    this.#replicas = Array.from({ length: count }, (_, index) => ({
      identity: holderIdentity({ name: `operator-${index}`, uid: `u${index}` }, "p"),
      skew: clocks[index % Math.max(1, clocks.length)] ?? 0,
      observed: undefined,
      sent: undefined,
      step: undefined,
      term: undefined
    }))
  }

  /** The next thing that a replica does after `ms`: it reads, or it decides and sends, or its write arrives. */
  act(index: number, ms: number): void {
    this.now += ms
    const replica = this.#replicas[index % this.#replicas.length]
    if (replica === undefined) return
    const { term } = replica
    if (term !== undefined && this.now >= term.until && replica.sent === undefined) {
      // As the elector does: what could not be renewed for the lease's duration is over once an attempt after that
      // fails.
      if (this.#stored?.spec?.holderIdentity !== replica.identity || this.#stored.spec.leaseTransitions !== term.epoch)
        replica.term = undefined
    }
    if (replica.sent !== undefined) return this.#arrives(replica)
    if (replica.step === undefined) {
      if (this.#stored !== undefined) replica.observed = observeLease(replica.observed, this.#stored, this.now)
      replica.step = leaseStep(
        replica.observed,
        { identity: replica.identity, term: replica.term, elapsed: this.now, now: this.now + replica.skew },
        times
      )
      return
    }
    if (replica.step._tag !== "StandBy") replica.sent = { at: this.now, step: replica.step }
    replica.step = undefined
  }

  #arrives(replica: Replica): void {
    const { sent } = replica
    replica.sent = undefined
    if (sent === undefined) return
    const { at, step } = sent
    const fits =
      step._tag === "Create" ? this.#stored === undefined : this.#stored?.metadata.resourceVersion === step.version
    if (!fits) {
      if (step._tag === "Renew") replica.term = undefined
      return
    }
    this.#stored = { metadata: { name: "l", resourceVersion: String(++this.#version) }, spec: step.spec }
    const until = at + times.renewDeadline
    if (step._tag === "Renew" && replica.term !== undefined) replica.term.until = until
    else
      this.log.push(
        (replica.term = {
          replica: this.#replicas.indexOf(replica),
          epoch: step.spec.leaseTransitions,
          from: this.now,
          until
        })
      )
    replica.observed = observeLease(replica.observed, this.#stored, this.now)
  }

  /** Every replica that is well does its part, one every 500 ms. */
  run(ms: number, well: ReadonlyArray<number>): void {
    for (const end = this.now + ms; this.now < end;) for (const index of well) this.act(index, 500 / well.length)
  }
}

interface Replica {
  readonly identity: string
  readonly skew: number
  observed: ObservedLease | undefined
  step: LeaseStep | undefined
  sent: { readonly at: number; readonly step: Exclude<LeaseStep, { readonly _tag: "StandBy" }> } | undefined
  term: { readonly replica: number; readonly epoch: number; readonly from: number; until: number } | undefined
}

const clocks = fc.array(fc.integer({ min: -600_000, max: 600_000 }), { minLength: 3, maxLength: 3 })
/** Which replica does its next things, how many of them, and after how many ms. */
const acts = fc.array(
  fc.tuple(fc.nat(2), fc.constantFrom(1, 2, 3, 3), fc.constantFrom(0, 300, 2_000, 4_000, 9_000, 16_000)),
  { minLength: 40, maxLength: 80 }
)
const perform = (election: Election, plan: ReadonlyArray<readonly [number, number, number]>): void => {
  for (const [replica, count, ms] of plan) for (let i = 0; i < count; i++) election.act(replica, i === 0 ? ms : 1)
}

describe("replicas that follow these steps", () => {
  it("never lead at the same time, however paused or wrong their clocks are; writes on the way have 5 s", () => {
    let changes = 0
    fc.assert(
      fc.property(clocks, acts, (skews, plan) => {
        const election = new Election(3, skews)
        perform(election, plan)
        const terms = election.log
        for (const [index, term] of terms.entries()) {
          const next = terms[index + 1]
          if (next === undefined) continue
          changes++
          expect(next.epoch).toBeGreaterThan(term.epoch)
          if (next.replica !== term.replica)
            expect(next.from).toBeGreaterThanOrEqual(term.until + times.leaseDuration - times.renewDeadline)
        }
      }),
      { numRuns: 500, seed: 5 }
    )
    // The plans do make leaders change.
    expect(changes).toBeGreaterThan(100)
  })

  it("have a leader soon after the one before has died", () => {
    fc.assert(
      fc.property(clocks, acts, (skews, plan) => {
        const election = new Election(3, skews)
        perform(election, plan)
        election.run(40_000, [1, 2])
        const last = election.log.at(-1)
        expect([1, 2]).toContain(last?.replica)
        expect(last?.until).toBeGreaterThan(election.now)
      })
    )
  })
})
