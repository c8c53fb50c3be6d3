/** L-B1 to L-B7: what must become of branches of databases. Each rule hears a wrong story, and a right one. */

import { describe, expect, it } from "vitest"
import {
  branchesAreDecided,
  failedNamesAreFreed,
  unusedBranchesGo
} from "../../../../lab/simulation/invariants/branches-at-rest.ts"
import type { Invariant } from "../../../../lab/simulation/invariants/invariant.ts"
import { bothSidesAgree } from "../../../../lab/simulation/invariants/lb03-both-sides-agree.ts"
import { statusComesSoon } from "../../../../lab/simulation/invariants/lb04-status-comes-soon.ts"
import { branchesRest } from "../../../../lab/simulation/invariants/lb06-branches-rest.ts"
import { ordersAreAnswered } from "../../../../lab/simulation/invariants/lb07-orders-are-answered.ts"
import { timedOut } from "../../../../lab/simulation/world/branch-order.ts"
import type { TimedEvent } from "../../../../lab/simulation/world/world-event.ts"
import { branchName, BranchWorld, copyIn } from "./branch-world.ts"
import { at, called, find, findAtRest } from "./fixture.ts"

/** The events as if they had happened so long ago, ms. */
const aged = (events: ReadonlyArray<TimedEvent>, ms: number): ReadonlyArray<TimedEvent> =>
  events.map((event) => ({ ...event, at: event.at - ms }))

const rest = (rule: Invariant, { events, world }: BranchWorld, ago = 0, moment: "healed" | "left" = "healed") =>
  findAtRest(rule, world, moment, aged(events, ago))

describe("L-B1", () => {
  it("finds a branch that is not decided after a minute, and waits for no cluster that is gone", () => {
    for (const phase of [undefined, "Init", "Pending"]) {
      const story = new BranchWorld()
      story.branch("a", { status: { phase } }, 61_000)
      expect(rest(branchesAreDecided, story)).toEqual([
        `The branch default/${branchName} in a is ${phase ?? "without a phase"}.`
      ])
      story.world.cluster("a").host.leaveForEver()
      expect(rest(branchesAreDecided, story)).toEqual([])
    }
  })

  it("holds for a new branch, and for one that is Ready or Failed", () => {
    const story = new BranchWorld()
    story.branch("a", { status: { phase: "Pending" } }, 30_000)
    expect(rest(branchesAreDecided, story)).toEqual([])
    for (const phase of ["Ready", "Failed"]) {
      const decided = new BranchWorld()
      decided.branch("primary", { status: { phase } }, 61_000)
      expect(rest(branchesAreDecided, decided)).toEqual([])
    }
  })
})

describe("L-B2", () => {
  it("finds a branch that is there long after everybody has left", () => {
    const story = new BranchWorld()
    story.branch("a", { status: { phase: "Ready" } }, 501_000)
    expect(rest(unusedBranchesGo, story, 0, "left")).toEqual([
      `The branch default/${branchName} in a is still there: Ready.`
    ])
    expect(rest(unusedBranchesGo, story, 0, "healed")).toEqual([])
  })

  it("holds for a younger branch, and for a failure whose primary is away", () => {
    const story = new BranchWorld()
    story.branch("a", { status: { phase: "Ready" } }, 400_000)
    expect(rest(unusedBranchesGo, story, 0, "left")).toEqual([])
    const failed = new BranchWorld()
    failed.copy("origin", { status: { phase: "Failed" } }, 501_000)
    expect(rest(unusedBranchesGo, failed, 0, "left")).toHaveLength(1)
    failed.world.primary.host.leaveForEver()
    expect(rest(unusedBranchesGo, failed, 0, "left")).toEqual([])
  })
})

describe("L-B3", () => {
  it("holds where both sides are there with one spec, and for a copy of somebody else", () => {
    const story = new BranchWorld()
    const origin = story.branch("primary")
    story.branch("primary", { status: { copy: copyIn("a", story.copy(origin.metadata.uid ?? "")) } })
    expect(rest(bothSidesAgree, story)).toEqual([])
    const foreign = new BranchWorld()
    foreign.branch("a", { metadata: foreign.marks("gone", "another-primary") })
    expect(rest(bothSidesAgree, foreign)).toEqual([])
  })

  it("finds a copy without origin, unless a session uses it", () => {
    const story = new BranchWorld()
    story.copy("gone")
    expect(rest(bothSidesAgree, story)).toEqual([`The copy default/${branchName} in a has no origin.`])
    story.branch("a", { status: { sessionInfo: { s1: {} } } })
    expect(rest(bothSidesAgree, story)).toEqual([])
  })

  it("finds another spec, and an origin without copy that has not failed", () => {
    const story = new BranchWorld()
    const origin = story.branch("primary")
    const copy = story.copy(origin.metadata.uid ?? "")
    story.branch("primary", { spec: { ttlSecs: 90 }, status: { phase: "Ready", copy: copyIn("a", copy) } })
    expect(rest(bothSidesAgree, story)).toEqual([
      `The copy default/${branchName} in a has another spec than its origin.`
    ])
    story.erase("a")
    expect(rest(bothSidesAgree, story)).toEqual([`The origin default/${branchName} has no copy.`])
    story.branch("primary", { status: { phase: "Failed" } })
    expect(rest(bothSidesAgree, story)).toEqual([])
  })
})

describe("L-B4", () => {
  /** A copy is Ready; its origin has said so after so many ms, or not yet. */
  const mirrored = (after: number | undefined) => {
    const story = new BranchWorld()
    const origin = story.branch("primary", { status: { phase: "Init" } })
    const copy = story.copy(origin.metadata.uid ?? "", { status: { phase: "Ready" } })
    const { length } = story.events
    const status = after === undefined ? { copy: copyIn("a", copy) } : { phase: "Ready", copy: copyIn("a", copy) }
    story.branch("primary", { status })
    const later = story.events.slice(length).map((event) => ({ ...event, at: event.at + (after ?? 0) }))
    const end = at(story.world.now + 5_000, { _tag: "Step", text: "" })
    return { story, events: [...story.events.slice(0, length), ...later, end] }
  }

  it("finds a status that is late, unless something was wrong before", () => {
    const { events, story } = mirrored(undefined)
    expect(find(statusComesSoon, events, story.world)).toContain("has not got the status of its copy after 2 s")
    expect(
      find(statusComesSoon, [at(1, { _tag: "Fault", kind: "cut", text: "" }), ...events], story.world)
    ).toBeUndefined()
  })

  it("measures no time where a sweep lets a call fail", () => {
    const { events, story } = mirrored(undefined)
    story.world.faultPlans.push(() => undefined)
    expect(find(statusComesSoon, events, story.world)).toBeUndefined()
  })

  it("holds for a status that comes soon", () => {
    const { events, story } = mirrored(1_900)
    expect(find(statusComesSoon, events, story.world)).toBeUndefined()
  })

  it("finds another status at rest, and lets a new one be on its way", () => {
    const { story } = mirrored(undefined)
    expect(rest(statusComesSoon, story, 10_000)).toEqual([
      `The status of the origin default/${branchName} is not that of its copy.`
    ])
    expect(rest(statusComesSoon, story, 1_000)).toEqual([])
    expect(rest(statusComesSoon, mirrored(0).story, 10_000)).toEqual([])
  })
})

describe("L-B5", () => {
  const failed = (): BranchWorld => {
    const story = new BranchWorld()
    story.branch("a", { status: { phase: "Failed" } })
    return story
  }

  it("finds a failure that stays, and lets a new one be read", () => {
    expect(rest(failedNamesAreFreed, failed(), 31_000)).toEqual([
      `The branch default/${branchName} in a has been Failed for too long.`
    ])
    expect(rest(failedNamesAreFreed, failed(), 29_000)).toEqual([])
  })

  it("leaves a copy to its primary, as long as that is there", () => {
    const story = new BranchWorld()
    story.copy("origin", { status: { phase: "Failed" } })
    expect(rest(failedNamesAreFreed, story, 31_000)).toHaveLength(1)
    const foreign = new BranchWorld()
    foreign.branch("a", { metadata: foreign.marks("origin", "another-primary"), status: { phase: "Failed" } })
    expect(rest(failedNamesAreFreed, foreign, 31_000)).toEqual([])
  })
})

describe("L-B6", () => {
  /** A branch that has been Ready for five minutes; an operator has written about it so long ago, ms. */
  const written = (ago: number, sessionInfo = {}, before = {}) => {
    const story = new BranchWorld()
    story.branch("a", { status: { phase: "Ready", expireTime: story.timeIn(60_000), sessionInfo: before } })
    const old = aged(story.events, 300_000)
    story.branch("a", { status: { sessionInfo } })
    const call = { verb: "patch", operator: "a", to: "a", resource: "branchdatabases", namespace: "default" } as const
    const write = called(story.world.now - ago, { ...call, name: branchName }, "operator-a-1")
    const events = [...old, ...aged(story.events.slice(old.length), 200_000), write]
    return findAtRest(branchesRest, story.world, "healed", events)
  }

  it("finds a write about a branch that nobody uses", () => {
    expect(written(10_000)).toMatchObject([expect.stringContaining("operator-a-1 patches")])
  })

  it("holds for an older write, and where a session uses the branch", () => {
    expect(written(61_000)).toEqual([])
    expect(written(10_000, { s1: {} })).toEqual([])
  })
})

describe("L-B7", () => {
  const story = new BranchWorld()
  const { world } = story
  world.pass(2_000)
  const wish = {
    ids: ["shop"],
    engine: "pg",
    ttlSecs: 60,
    isLocal: false,
    image: undefined,
    isMigrated: false
  } as const
  for (const [name, patience] of [
    ["s1", 60_000],
    ["s2", 5_000]
  ] as const)
    world.startClient({ name, user: "ann", shape: "exec", target: "deployment.myapp", branches: { ...wish, patience } })

  const order = (client: string, message: string, ...between: ReadonlyArray<TimedEvent>): string | undefined => {
    const asked = at(world.now, { _tag: "BranchesAsked", client })
    const ended = at(world.now + 60_000, { _tag: "ClientEnded", client, rule: undefined, message })
    return find(ordersAreAnswered, [asked, ...between, ended], world)
  }

  it("finds an order that is answered by nothing while all is well", () => {
    expect(order("s1", timedOut)).toContain("s1 was told nothing about its branch")
  })

  it("holds for a reason, a client without patience, and a fault meanwhile", () => {
    expect(order("s1", "database branching failed: no such table")).toBeUndefined()
    expect(order("s2", timedOut)).toBeUndefined()
    expect(order("s1", timedOut, at(world.now + 1, { _tag: "Fault", kind: "cut", text: "" }))).toBeUndefined()
  })
})
