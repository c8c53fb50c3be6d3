/** A primary whose replicas share its members: random stories, and a fleet that has outgrown one replica. */

import { describe, expect, it } from "vitest"
import { membersOf, ownedClusters, runningOwner } from "../../lab/simulation/invariants/shards.ts"
import { sharingReplicas } from "../../lab/simulation/story/sharded-story.ts"
import type { TimedEvent } from "../../lab/simulation/world/world-event.ts"
import { defaultPlan, World } from "../../lab/simulation/world/world.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../src/domain/fleet/cluster-name.ts"
import { leases } from "../../src/domain/resources/core-kinds.ts"
import { rendezvousOwner } from "../../src/domain/sharding/rendezvous.ts"
import { movesAtOnce } from "../../src/domain/sharding/shard-plan.ts"
import seeds from "../seeds.json" with { type: "json" }
import { testRandomStories } from "./random-stories.ts"

describe("random stories of shared members", () => {
  testRandomStories(seeds.stories.sharded)
})

/** `npm run test:long` has the fleet for which replicas share. */
const fleetSize = process.env["BRAID_TEST_LONG"] === "true" ? 200 : 60
/** Virtual ms. */
const lookEvery = 1_000

/** The world of the large fleet, and what was counted in it. */
class LargeFleet {
  readonly world: World
  leaseWrites = 0
  /** Virtual ms for which each member has been without an owner that runs, up to now, and at most. */
  maxOwnerless = 0
  maxTimesOwnerless = 0
  readonly #since = new Map<string, number>()

  constructor() {
    this.world = new World(
      {
        ...defaultPlan,
        seed: "large fleet",
        clusters: Array.from({ length: fleetSize }, (_, i) => ({ name: `c${i}`, pods: 1 })),
        defaultCluster: "c0",
        replicas: { primary: sharingReplicas },
        sharding: true
      },
      [(event) => this.#on(event)]
    )
  }

  #on(event: TimedEvent): void {
    const isWrite = event._tag === "Called" && event.call.resource === leases.plural && event.call.verb === "patch"
    if (isWrite) this.leaseWrites++
  }

  /** By member: the pod of its owner. */
  get owners(): ReadonlyMap<string, string> {
    return new Map(
      membersOf(this.world).flatMap((member) => {
        const name = runningOwner(this.world, member)?.pod?.name
        return name === undefined ? [] : [[member, name] as const]
      })
    )
  }

  /** How many members the replicas watch that run. */
  get watched(): number {
    return this.world.primary.host.replicas
      .filter(({ process }) => process?.state === "running")
      .reduce((sum, { holdings }) => sum + (holdings.get(ownedClusters) ?? 0), 0)
  }

  /** Lets time pass, and looks every second who owns what. No member may be watched by two replicas. */
  pass(ms: number): void {
    const end = this.world.now + ms
    while (this.world.now < end) {
      this.world.pass(lookEvery)
      const { owners } = this
      for (const member of membersOf(this.world)) {
        if (owners.has(member)) this.#since.delete(member)
        else {
          const since = this.#since.get(member) ?? this.world.now - lookEvery
          this.#since.set(member, since)
          this.maxOwnerless = Math.max(this.maxOwnerless, this.world.now - since)
        }
      }
      this.maxTimesOwnerless = Math.max(this.maxTimesOwnerless, fleetSize - owners.size)
      expect(this.watched).toBeLessThanOrEqual(fleetSize)
    }
  }

  /** Begins to count again. */
  forget(): void {
    this.maxOwnerless = 0
    this.maxTimesOwnerless = 0
  }
}

/** The members whose owner is another one now. */
const moved = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ReadonlyArray<string> =>
  [...before].filter(([member, owner]) => after.get(member) !== owner).map(([member]) => member)

describe(`${sharingReplicas} replicas and ${fleetSize} members`, () => {
  it("share them without two owners, take over within 30 s, and move no more than needed", () => {
    const fleet = new LargeFleet()
    const { host } = fleet.world.primary
    fleet.pass(30_000)
    const first = fleet.owners
    expect(first.size).toBe(fleetSize)
    for (const { pod } of host.replicas)
      expect([...first.values()].filter((owner) => owner === pod?.name).length).toBeGreaterThan(fleetSize / 6)
    const client = fleet.world.startClient({ name: "s1", user: "u", shape: "exec", target: "deployment.myapp" })
    fleet.pass(15_000)
    expect(client.isServing).toBe(true)

    // The node of a replica is lost: its members alone move.
    fleet.forget()
    const lost = host.replicas.find(({ holdsLease }) => !holdsLease)
    const name = lost?.pod?.name ?? ""
    lost?.loseNode()
    fleet.pass(30_000)
    const second = fleet.owners
    expect(second.size).toBe(fleetSize)
    expect(fleet.maxOwnerless).toBeLessThanOrEqual(30_000)
    expect(moved(first, second)).toEqual([...first].filter(([, owner]) => owner === name).map(([member]) => member))
    expect(client.isServing).toBe(true)

    // Another pod takes its place: it gets its share, a few members at a time.
    fleet.forget()
    fleet.pass(90_000)
    const third = fleet.owners
    const newcomer = lost?.pod?.name ?? ""
    const all = host.replicas.map(({ pod }) => ({ name: pod?.name ?? "", weight: 1 }))
    expect(third.size).toBe(fleetSize)
    expect(moved(second, third)).toEqual([...third].filter(([, owner]) => owner === newcomer).map(([member]) => member))
    for (const [member, owner] of third) expect(owner).toBe(rendezvousOwner(clusterName(member), all, sha256Hex))
    expect(fleet.maxTimesOwnerless).toBeLessThanOrEqual(sharingReplicas * movesAtOnce)

    // A replica is stopped for longer than its Leases last: others have its members, and it gives them up.
    fleet.forget()
    const stopped = host.replicas.find(({ holdsLease }) => !holdsLease)
    stopped?.pause()
    fleet.pass(30_000)
    expect(fleet.owners.size).toBe(fleetSize)
    expect(fleet.maxOwnerless).toBeLessThanOrEqual(30_000)

    stopped?.resume()
    fleet.world.pass(1_000)
    fleet.pass(60_000)
    expect(fleet.watched).toBe(fleetSize)

    const [from, before] = [fleet.world.now, fleet.leaseWrites]
    fleet.pass(60_000)
    const perSecond = ((fleet.leaseWrites - before) * 1_000) / (fleet.world.now - from)
    process.stdout.write(`Lease writes per second: ${perSecond.toFixed(1)}\n`)
    expect(perSecond).toBeLessThan(50)
    expect(client.isServing).toBe(true)
  })
})
