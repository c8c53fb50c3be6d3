import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  type MigrationStatus,
  type ObservedMigrations,
  type PodlessJob,
  planMigrations
} from "../../../../src/domain/branches/migrations/migration-plan.ts"
import type { MigrationRun, RunState } from "../../../../src/domain/branches/migrations/migration-run.ts"

const start = 1_800_000_000_000

const run = (generation: number, digest: string, state: RunState): MigrationRun => ({
  _tag: "Job",
  name: `j-${generation}`,
  uid: `u-${generation}`,
  generation,
  digest,
  state
})
const wanted = (change: Partial<ObservedMigrations> = {}): ObservedMigrations => ({
  digest: "d",
  refusal: undefined,
  obstacle: undefined,
  run: { _tag: "None" },
  ...change
})
const succeeded = (observedGeneration: number): MigrationStatus => ({ observedGeneration, phase: "Succeeded" })
const plan = (change: Partial<ObservedMigrations>, stored?: MigrationStatus, generation = 2, now = start) =>
  planMigrations({ generation, stored, wanted: wanted(change), isUp: true }, now)

/** A cluster with one branch, whose runs end as the events say. */
class World {
  generation = 1
  spec: string | undefined = undefined
  stored: MigrationStatus | undefined = undefined
  run: MigrationRun = { _tag: "None" }
  now = start
  isUp = true
  /** The migrations that were run to their end in the branch, in order. */
  readonly applied: Array<string> = []
  /** The programs that run now. */
  programs = 0

  turn(): boolean {
    const { generation, isUp, now, run: current, stored } = this
    const asked = this.spec === undefined ? undefined : wanted({ digest: this.spec, run: current })
    const next = planMigrations({ generation, stored, wanted: asked, isUp }, now)
    const isSame = JSON.stringify(next.status) === JSON.stringify(stored) && next.action === undefined
    this.stored = next.status
    if (next.action?._tag === "MakeMigrations")
      this.run = run(generation, this.spec ?? "", { _tag: "Waiting", hasPod: false })
    if (next.action?._tag === "EndMigrations") {
      if (current._tag === "Job" && current.state._tag === "Running") this.programs += 1
      this.run = { _tag: "None" }
    }
    return isSame
  }

  /** Turns until nothing changes. */
  settle(): number {
    let turns = 0
    while (!this.turn()) turns += 1
    return turns
  }

  state(state: RunState): void {
    if (this.run._tag === "Job" && !["Succeeded", "Failed", "Lost"].includes(this.run.state._tag)) {
      this.run = { ...this.run, state }
      if (state._tag === "Succeeded") this.applied.push(this.run.digest)
    }
  }
}

type Step =
  | { readonly _tag: "Patch"; readonly spec: string }
  | { readonly _tag: "Touch" }
  | { readonly _tag: "Run"; readonly state: RunState }
  | { readonly _tag: "Wait"; readonly by: number }
  | { readonly _tag: "Up"; readonly isUp: boolean }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ _tag: fc.constant("Patch" as const), spec: fc.constantFrom("a", "b", "c") }),
  fc.constant({ _tag: "Touch" as const }),
  fc.record({
    _tag: fc.constant("Run" as const),
    state: fc.constantFrom<RunState>(
      { _tag: "Running" },
      { _tag: "Succeeded" },
      { _tag: "Failed", reason: "no" },
      { _tag: "Stuck", reason: "no image", pulledSince: start },
      { _tag: "Stuck", reason: "no such Secret" },
      { _tag: "Lost", reason: "gone", since: start }
    )
  }),
  fc.record({ _tag: fc.constant("Wait" as const), by: fc.integer({ min: 0, max: 60_000 }) }),
  fc.record({ _tag: fc.constant("Up" as const), isUp: fc.boolean() })
)

const play = (world: World, next: Step): void => {
  switch (next._tag) {
    case "Patch":
      if (world.spec !== next.spec) world.generation += 1
      world.spec = next.spec
      return
    case "Touch":
      world.generation += 1
      return
    case "Run":
      return world.state(next.state)
    case "Wait":
      world.now += next.by
      return
    case "Up":
      world.isUp = next.isUp
  }
}

describe("the plan for migrations", () => {
  it("comes to rest, tells of each generation, and never tells of a success that was another spec's", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const world = new World()
        for (const next of steps) {
          play(world, next)
          expect(world.settle()).toBeLessThan(5)
          if (world.spec === undefined) {
            expect(world.stored).toBeUndefined()
            continue
          }
          expect(world.stored?.observedGeneration).toBe(world.generation)
          if (world.stored?.phase === "Succeeded") expect(world.applied.at(-1)).toBe(world.spec)
          if (world.stored?.phase === "Failed") expect(world.stored.error).toMatch(/\.$/u)
        }
        // Two programs never run at the same time.
        expect(world.programs).toBe(0)
      }),
      { numRuns: 500 }
    )
  })

  it("leaves the status alone where the spec asks for nothing", () => {
    const stored = succeeded(1)
    expect(planMigrations({ generation: 4, stored, wanted: undefined, isUp: true }, start)).toEqual({ status: stored })
  })

  it("asks why a Job has no pod, more and more rarely, and fails when it is told twice in a row", () => {
    const at = (podless: PodlessJob, later: number) =>
      plan({ run: run(3, "d", { _tag: "Waiting", hasPod: false }), podless }, undefined, 3, start + later)
    const running = { observedGeneration: 3, phase: "Running" }
    const fresh = { job: "u-3", since: start }
    const ask = (job: PodlessJob) => ({ _tag: "AskWhyNoPod", job })
    expect(at(fresh, 0)).toEqual({ status: running, lookAt: start + 2_000 })
    expect(at(fresh, 2_000)).toEqual({ status: running, action: ask(fresh), lookAt: start + 4_000 })
    const later = { ...fresh, askedAt: start + 80_000 }
    expect(at(later, 80_000)).toEqual({ status: running, lookAt: start + 100_000 })
    const once = { ...fresh, askedAt: start + 2_000, why: "no" }
    expect(at(once, 4_000)).toEqual({ status: running, action: ask(once), lookAt: start + 6_000 })
    const status = { observedGeneration: 3, phase: "Failed", error: "their pod cannot be made: no." }
    expect(at({ ...once, isLasting: true }, 4_000)).toEqual({ status })
  })

  it("runs nothing again for a change of something else, and says so for the new generation", () => {
    const done = run(2, "d", { _tag: "Succeeded" })
    expect(plan({ run: done }, succeeded(2), 3)).toEqual({ status: succeeded(3) })
    expect(plan({}, succeeded(2), 2)).toEqual({ status: succeeded(2) })
  })

  it("takes the old run away for new migrations, but never while its program runs", () => {
    const running = { observedGeneration: 3, phase: "Running" }
    for (const state of [
      { _tag: "Succeeded" },
      { _tag: "Failed", reason: "x" },
      { _tag: "Waiting", hasPod: false }
    ] as const) {
      expect(plan({ run: run(2, "old", state) }, succeeded(2), 3)).toEqual({
        status: running,
        action: { _tag: "EndMigrations", job: "j-2", uid: "u-2" }
      })
    }
    expect(plan({ run: run(2, "old", { _tag: "Running" }) }, succeeded(2), 3)).toEqual({ status: running })
    expect(plan({ run: { _tag: "Ending" } }, succeeded(2), 3)).toEqual({ status: running })
    expect(plan({}, succeeded(2), 3)).toEqual({ status: running, action: { _tag: "MakeMigrations" } })
  })

  it("keeps a failure of the tool until the spec is changed", () => {
    const failed = run(2, "d", { _tag: "Failed", reason: "checksum mismatch" })
    const status = { observedGeneration: 2, phase: "Failed", error: "checksum mismatch." } as const
    expect(plan({ run: failed })).toEqual({ status })
    expect(plan({ run: failed }, status, 2, start + 86_400_000)).toEqual({ status })
    expect(plan({ run: failed }, status, 3).action).toEqual({ _tag: "EndMigrations", job: "j-2", uid: "u-2" })
  })

  it("tries a run again by itself that was lost, and goes on with one whose image comes", () => {
    const lost = run(2, "d", { _tag: "Lost", reason: "their pod is gone", since: start })
    expect(plan({ run: lost })).toEqual({
      status: { observedGeneration: 2, phase: "Failed", error: "their pod is gone." },
      lookAt: start + 30_000
    })
    expect(plan({ run: lost }, undefined, 2, start + 30_000).action?._tag).toBe("EndMigrations")
    const stuck = run(2, "d", { _tag: "Stuck", reason: "cannot start (ErrImagePull)", pulledSince: start })
    const told = plan({ run: stuck }, undefined, 2, start + 30_000).status
    expect(told).toEqual({ observedGeneration: 2, phase: "Failed", error: "cannot start (ErrImagePull)." })
    const later = run(2, "d", { _tag: "Stuck", reason: "cannot start (ImagePullBackOff)" })
    expect(plan({ run: later }, told).status).toEqual(told)
    expect(plan({ run: run(2, "d", { _tag: "Running" }) }, told).status?.phase).toBe("Running")
  })

  it("tells of an image only when its node has tried more than once, and of all else at once", () => {
    const pulled = run(2, "d", { _tag: "Stuck", reason: "cannot start (ErrImagePull)", pulledSince: start })
    const running = { observedGeneration: 2, phase: "Running" } as const
    expect(plan({ run: pulled }, running, 2, start + 29_999)).toEqual({ status: running, lookAt: start + 30_000 })
    expect(plan({ run: pulled }, running, 2, start + 30_000).status?.phase).toBe("Failed")
    const other = run(2, "d", { _tag: "Stuck", reason: "cannot start (InvalidImageName)" })
    expect(plan({ run: other }, running).status?.error).toBe("cannot start (InvalidImageName).")
  })

  it("tries again what the cluster did not take, and says it meanwhile", () => {
    const obstacle = { why: "The Job cannot be made: quota.", retryAt: start + 5 }
    const status = { observedGeneration: 2, phase: "Failed", error: obstacle.why } as const
    expect(plan({ obstacle })).toEqual({ status, lookAt: start + 5 })
    expect(plan({ obstacle }, status, 2, start + 5)).toEqual({ status, action: { _tag: "MakeMigrations" } })
  })

  it("refuses what cannot be run at all, whatever ran before", () => {
    expect(plan({ refusal: "spec.migrations.flavor is x.", run: run(2, "d", { _tag: "Succeeded" }) })).toEqual({
      status: { observedGeneration: 2, phase: "Failed", error: "spec.migrations.flavor is x." }
    })
  })

  it("makes nothing while the branch cannot be reached", () => {
    const situation = { generation: 2, stored: undefined, wanted: wanted(), isUp: false }
    expect(planMigrations(situation, start)).toEqual({ status: { observedGeneration: 2, phase: "Running" } })
  })

  it("fail once the spec does not ask for them any more, and stay what they are if they are over", () => {
    const without = (stored: MigrationStatus) =>
      planMigrations({ generation: 3, stored, wanted: undefined, isUp: true }, start).status
    expect(without({ observedGeneration: 2, phase: "Running" })).toMatchObject({
      observedGeneration: 3,
      phase: "Failed",
      error: expect.stringContaining("taken out of the spec")
    })
    expect(without(succeeded(2))).toEqual(succeeded(2))
  })
})
