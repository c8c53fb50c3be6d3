import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { conditionCatalogue } from "../../../src/domain/catalogue/conditions.ts"
import type { SessionEvent } from "../../../src/domain/events/event-catalogue.ts"
import { parentEvents } from "../../../src/domain/events/parent-events.ts"
import type {
  ClusterSessionStatus,
  MirrordMultiClusterSession
} from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { perform, step } from "../sessions/session-steps.ts"
import { a, b, c, SessionWorld } from "../sessions/session-world.ts"

interface Write {
  readonly before: MirrordMultiClusterSession
  readonly after: MirrordMultiClusterSession
  readonly events: ReadonlyArray<SessionEvent>
}

/** A session's world that listens to what each write of a status would have recorded. */
class Told extends SessionWorld {
  readonly writes: Array<Write> = []
  override patchStatus(patch: object): void {
    const before = this.view()
    super.patchStatus(patch)
    const after = this.view()
    if (before !== undefined && after !== undefined)
      this.writes.push({ before, after, events: parentEvents(before, after) })
  }
  /** Reasons in order, with the cluster where there is one. */
  told(): ReadonlyArray<string> {
    return this.writes.flatMap(({ events }) =>
      events.map(({ cluster, reason }) => (cluster === undefined ? reason : `${reason} ${cluster}`))
    )
  }
  last(): string {
    return this.writes.at(-1)?.events.at(-1)?.message ?? ""
  }
}

const standing = (entry: ClusterSessionStatus | undefined): string =>
  entry?.ready === true ? "ready" : (entry?.error ?? "awaited")
const conditionsOf = ({ status }: MirrordMultiClusterSession) =>
  new Map((status?.conditions ?? []).map((one) => [one.type, one.status]))

/** The parts that changed: the phase, and each cluster's part. */
const changesOf = ({ after, before }: Write): ReadonlyArray<string> => {
  const phase = after.status?.phase === before.status?.phase ? [] : ["phase"]
  if (after.status?.phase === "Failed") return phase
  const clusters = Object.entries(after.status?.clusterSessions ?? {}).flatMap(([cluster, entry]) =>
    standing(before.status?.clusterSessions?.[cluster]) === standing(entry) ? [] : [cluster]
  )
  return [...phase, ...clusters]
}

const random = fc.tuple(fc.array(step, { maxLength: 25 }), fc.constantFrom("default" as const, "all" as const))
const play = ([steps, sessionStart]: typeof random extends fc.Arbitrary<infer S> ? S : never): Told => {
  const world = new Told([a, b, c])
  world.settings = { ...world.settings, sessionStart }
  for (const one of steps) {
    perform(world, one, [a, b, c])
    world.settle()
  }
  return world
}

describe("Events of a multi-cluster session: in random lives", () => {
  it("there is exactly one for each change of its phase and of each cluster's part, and none for anything else", () => {
    fc.assert(
      fc.property(random, (life) => {
        for (const write of play(life).writes) {
          const told = write.events.map(({ cluster }) => cluster ?? "phase")
          expect(told.toSorted()).toEqual(changesOf(write).toSorted())
        }
      }),
      { numRuns: 150 }
    )
  })
  it("no condition changes its status without one, and nothing is told twice", () => {
    fc.assert(
      fc.property(random, (life) => {
        for (const { after, before, events } of play(life).writes) {
          const [old, now] = [conditionsOf(before), conditionsOf(after)]
          // A condition that says for the first time that something is not so yet is no change.
          const flipped = [...now].some(
            ([type, status]) => old.get(type) !== status && (old.has(type) || status === "True")
          )
          if (flipped) expect(events).not.toEqual([])
          expect(parentEvents(after, after)).toEqual([])
        }
      }),
      { numRuns: 150 }
    )
  })
  it("every condition that is set is in the catalogue", () => {
    const known = new Set(
      conditionCatalogue
        .filter(({ on }) => on === "MirrordMultiClusterSession")
        .map(({ reason, status, type }) => `${type} ${status} ${reason}`)
    )
    fc.assert(
      fc.property(random, (life) => {
        for (const { after } of play(life).writes) {
          for (const { reason, status, type } of after.status?.conditions ?? [])
            expect(known).toContain(`${type} ${status} ${reason}`)
        }
      }),
      { numRuns: 100 }
    )
  })
  it("each is a sentence that names its cluster and holds no list of JSON", () => {
    fc.assert(
      fc.property(random, (life) => {
        for (const { events } of play(life).writes) {
          for (const { cluster, message } of events) {
            expect(message).toMatch(/^[A-Z].*\.$/u)
            if (cluster !== undefined) expect(message).toContain(cluster)
          }
        }
      }),
      { numRuns: 100 }
    )
  })
})

describe("Events of a multi-cluster session", () => {
  it("tell the life of one that works", () => {
    const world = new Told([a, b])
    world.settle()
    world.makeReady(a)
    world.makeReady(b)
    world.heartbeat()
    world.deleteParent()
    world.settle()
    expect(world.told()).toEqual([
      "Accepted",
      "Pending",
      "ClusterReady cluster-a",
      "ClusterReady cluster-b",
      "Ready",
      "Terminating"
    ])
    expect(world.writes[0]?.events[0]?.message).toBe(
      "A session for deployment.myapp in namespace default, in clusters cluster-a (default), cluster-b."
    )
  })
  it("tell why a member is left out, and that it joins by itself", () => {
    const world = new Told([a, b])
    world.settle()
    world.makeReady(a)
    world.fail(b, { reason: "NoSuchTarget", message: "there is no deployment.myapp in namespace default" })
    expect(world.told().slice(-2)).toEqual(["ClusterLeftOut cluster-b", "Ready"])
    expect(world.writes.at(-1)?.events[0]?.message).toBe(
      "Cluster cluster-b takes no part in the session for now: there is no deployment.myapp in namespace " +
        "default. Check that cluster; it joins by itself as soon as it is ready."
    )
    expect(world.last()).toBe("The session is ready: 1 of 2 clusters ready, without cluster-b.")
    world.makeReady(b)
    expect(world.told().at(-1)).toBe("ClusterReady cluster-b")
  })
  it("tell that the default cluster is away, and that it is back", () => {
    const world = new Told([a, b])
    world.settle()
    world.makeReady(a)
    world.makeReady(b)
    const from = world.told().length
    world.member(a).reachable = false
    world.settle()
    expect(world.view()?.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      reason: "DefaultNotReady"
    })
    world.member(a).reachable = true
    world.settle()
    expect(world.told().slice(from)).toEqual(["DefaultClusterLost cluster-a", "ClusterReady cluster-a"])
  })
  it("tell once why a session failed, with cluster, cause and cure", () => {
    const world = new Told([a, b])
    world.settle()
    world.fail(a, { reason: "Forbidden", message: "the operator may not look up deployment.myapp: no" })
    expect(world.told()).toEqual(["Accepted", "Pending", "Failed"])
    expect(world.last()).toMatch(
      /^The session failed in cluster cluster-a: the operator may not look up deployment\.myapp: no; ask the administrator/
    )
  })
})
