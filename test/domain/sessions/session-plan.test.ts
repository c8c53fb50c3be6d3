import { describe, expect, it } from "vitest"
import { connectVerdict } from "../../../src/domain/sessions/connect-verdict.ts"
import { ownerLabel, splitAnnotations } from "../../../src/domain/sessions/names.ts"
import { leftOutWarnings, recordedFailure } from "../../../src/domain/sessions/parent-view.ts"
import { failedRetention } from "../../../src/domain/sessions/session-plan.ts"
import { memberGrace, splitStartSecs } from "../../../src/domain/sessions/session-start.ts"
import { a, b, c, SessionWorld } from "./session-world.ts"

const tags = (world: SessionWorld) => world.plan().map((action) => action._tag)

/** A session of which every cluster is ready. */
const readyWorld = (clusters = [a, b]) => {
  const world = new SessionWorld(clusters)
  world.settle()
  for (const name of clusters) world.makeReady(name)
  expect(world.phase()).toBe("Ready")
  return world
}

const view = (world: SessionWorld) => {
  const parent = world.view()
  if (parent === undefined) throw new Error("the parent is gone")
  return parent
}

describe("plan: a cluster that is new in the fleet", () => {
  const joined = (metadata: object, spec: object = {}) => {
    const world = readyWorld()
    world.parent = {
      ...world.parent,
      metadata: { ...world.metadata(), ...metadata },
      spec: { ...world.spec(), ...spec }
    }
    world.join(c)
    return world
  }

  it("becomes one of a running session's clusters, which goes on meanwhile", () => {
    const world = joined({ labels: ownerLabel })
    expect(world.plan()[0]).toMatchObject({ _tag: "JoinClusters", clusters: [a, b, c] })
    world.settle()
    expect([world.phase(), world.recordedNames().length]).toEqual(["Ready", 3])
    expect(view(world).status?.readyClusters, "the column of kubectl").toBe("2/3")
    world.makeReady(c)
    expect(world.entry(c)["ready"]).toBe(true)
    expect(view(world).status?.readyClusters).toBe("3/3")
    expect(tags(world).filter((tag) => tag !== "RequeueAt")).toEqual([])
  })

  it("is none of a session before the cluster is known to answer", () => {
    for (const away of [{ isConnecting: true }, { reachable: false }]) {
      const world = joined({ labels: ownerLabel })
      Object.assign(world.member(c), away)
      expect(tags(world)).not.toContain("JoinClusters")
      Object.assign(world.member(c), { isConnecting: false, reachable: true })
      expect(tags(world)[0]).toBe("JoinClusters")
    }
  })

  it.each([
    ["made by hand", {}, {}],
    ["on a copy of its target", { labels: ownerLabel }, { copyTarget: { scaledown: false } }],
    ["whose default cluster is not in the fleet", { labels: ownerLabel }, { defaultCluster: "nowhere" }]
  ])("is none of a session %s", (_what, metadata, spec) =>
    expect(tags(joined(metadata, spec))).not.toContain("JoinClusters")
  )
})

describe("plan: a session that splits queues", () => {
  const splitting = () => {
    const world = new SessionWorld([a, b])
    world.parent = {
      ...world.parent,
      metadata: { ...world.metadata(), annotations: { [splitAnnotations.wish]: "wish" } }
    }
    world.settle()
    return world
  }
  const notesOf = (world: SessionWorld, cluster: string) =>
    world.log.flatMap((action) =>
      action._tag === "CreateChild" && action.cluster === cluster ? [action.child.metadata.annotations] : []
    )[0]

  it("begins in its other clusters with the queues that the default one has made", () => {
    const world = splitting()
    expect(notesOf(world, a)).toMatchObject({ [splitAnnotations.wish]: "wish" })
    expect(notesOf(world, a)).not.toHaveProperty([splitAnnotations.given])
    expect(notesOf(world, b)).toBeUndefined()
    world.child(a).madeQueues = "queues"
    world.settle()
    expect(notesOf(world, b)).toMatchObject({ [splitAnnotations.wish]: "wish", [splitAnnotations.given]: "queues" })
  })

  it("waits longer for its clusters, which have pods replaced", () => {
    const world = splitting()
    world.child(a).madeQueues = "queues"
    world.settings = { ...world.settings, remoteSessionTimeoutSecs: 60 }
    world.settle()
    world.now += 100_000
    world.settle()
    world.makeReady(a)
    world.now += memberGrace
    world.settle()
    expect(world.phase()).toBe("Pending")
    world.now += 90_000
    world.settle()
    expect(world.phase()).toBe("Ready")
  })

  it("starts without a cluster where they are not split, which says why, but not without the default one", () => {
    const world = splitting()
    world.child(a).madeQueues = "queues"
    world.settle()
    world.fail(b, { reason: "QueuesNotSplit", message: "it has no queue of this id" })
    world.makeReady(a)
    expect([world.phase(), world.entry(b)["error"]]).toEqual(["Ready", "it has no queue of this id"])
    world.fail(a, { reason: "QueuesNotSplit", message: "the queue is gone" })
    expect(recordedFailure(view(world))).toMatchObject({ reason: "QueuesNotSplit" })
  })

  it.each([true, false])("keeps a new cluster waiting for a default that is away, and says so; back: %s", (isBack) => {
    const world = splitting()
    world.child(a).madeQueues = "queues"
    for (const name of [a, b]) world.makeReady(name)
    world.parent = { ...world.parent, metadata: { ...world.metadata(), labels: ownerLabel } }
    Object.assign(world.member(a), { reachable: false, silentSince: world.now })
    world.join(c)
    world.settle()
    expect(leftOutWarnings(view(world), { unsplit: undefined }).join()).toMatch(
      /cluster cluster-c takes no part .* waits for the default/u
    )
    if (isBack) {
      Object.assign(world.member(a), { reachable: true, silentSince: undefined })
      world.settle()
      expect(notesOf(world, c)).toMatchObject({ [splitAnnotations.given]: "queues" })
      world.makeReady(c)
      expect(leftOutWarnings(view(world), { unsplit: undefined })).toEqual([])
    } else {
      world.now += Math.max(splitStartSecs, world.settings.remoteSessionTimeoutSecs) * 1_000
      world.settle()
      expect(recordedFailure(view(world))).toMatchObject({ reason: "DefaultLost" })
    }
  })
})

describe("plan: start", () => {
  it("takes the steps in order: finalizer, record, create", () => {
    const world = new SessionWorld()
    expect(tags(world)).toEqual(["AddFinalizer"])
    for (const action of world.plan()) world.execute(action)
    expect(tags(world)[0]).toBe("RecordChild")
    for (const action of world.plan()) world.execute(action)
    expect(world.phase()).toBe("Initializing")
    expect(world.recordedNames()).toEqual(["mc-4dbe55ab68bba16c-cluster-a", "mc-4dbe55ab68bba16c-cluster-b"])
    expect(tags(world)).toEqual(["CreateChild", "CreateChild", "PatchStatus", "RequeueAt"])
    world.settle()
    expect(world.phase()).toBe("Pending")
  })

  it("creates children from the parent's spec, without connect parameters", () => {
    const world = new SessionWorld()
    world.settle()
    const created = world.log.find((action) => action._tag === "CreateChild")
    expect(created).toMatchObject({
      cluster: "cluster-a",
      child: {
        metadata: {
          name: "mc-4dbe55ab68bba16c-cluster-a",
          annotations: { "operator.metalbear.co/session-ttl-secs": "60" }
        },
        spec: {
          namespace: "default",
          multiClusterParentName: "mc-4dbe55ab68bba16c",
          target: { kind: "Deployment", name: "myapp" }
        }
      }
    })
  })

  it("is Ready when all are, and not before the default is", () => {
    const world = new SessionWorld()
    world.settle()
    world.makeReady(b)
    world.advance(20_000)
    expect(world.phase()).toBe("Pending")
    world.makeReady(a)
    expect(world.phase()).toBe("Ready")
    expect(world.entry(b)).toEqual({ sessionName: "mc-4dbe55ab68bba16c-cluster-b", ready: true })
    expect(leftOutWarnings(view(world), { unsplit: undefined })).toEqual([])
  })

  it("leaves a member out 15 s after the default is ready, warns once, and lets it join later", () => {
    const world = new SessionWorld()
    world.settle()
    world.advance(40_000)
    world.makeReady(a)
    world.advance(14_999)
    expect(world.phase()).toBe("Pending")
    world.advance(1)
    expect(world.phase()).toBe("Ready")
    expect(world.entry(b)["error"]).toMatch(/not ready 15 s after/u)
    expect(leftOutWarnings(view(world), { unsplit: undefined })).toHaveLength(1)
    expect(leftOutWarnings(view(world), { unsplit: "a split" })[0]).toMatch(/cluster-b(?!.*a split)/u)
    world.makeReady(b)
    expect(world.entry(b)).toEqual({ sessionName: "mc-4dbe55ab68bba16c-cluster-b", ready: true })
    expect(leftOutWarnings(view(world), { unsplit: undefined })).toEqual([])
  })

  it("writes a short part of a member's words into the status, and comes to rest", () => {
    const words = `${".".repeat(200_000)}\u001b[2J\u202e${"x".repeat(200_000)}`
    const leaving = new SessionWorld()
    leaving.settle()
    leaving.makeReady(a)
    leaving.fail(b, { reason: "NoSuchTarget", message: words })
    expect(leaving.plan().filter(({ _tag }) => _tag === "PatchStatus")).toEqual([])
    const failing = new SessionWorld()
    failing.settle()
    failing.fail(a, { reason: "Error", message: words })
    expect(failing.phase()).toBe("Failed")
    for (const status of [view(leaving).status, view(failing).status]) {
      const text = JSON.stringify(status)
      expect(text.length).toBeLessThan(10_000)
      expect(text).not.toMatch(/\\u001b|\p{Bidi_Control}/u)
      for (const { error = "" } of Object.values(status?.clusterSessions ?? {}))
        expect(error.length).toBeLessThanOrEqual(1_024)
      for (const { message } of status?.conditions ?? []) expect(message.length).toBeLessThanOrEqual(1_024)
      expect((status?.closed ?? "").length).toBeLessThanOrEqual(1_024)
    }
  })

  it("leaves a member without the target out at once, but waits the 15 s for any other failure", () => {
    const without = new SessionWorld()
    without.settle()
    without.fail(b, { reason: "NoSuchTarget", message: "there is no deployment/myapp in namespace default" })
    without.makeReady(a)
    expect(without.phase()).toBe("Ready")
    expect(without.entry(b)["error"]).toContain("no deployment/myapp")

    const broken = new SessionWorld()
    broken.settle()
    broken.fail(b, { reason: "Error", message: "image pull failed" })
    broken.makeReady(a)
    expect(broken.phase()).toBe("Pending")
    broken.advance(15_000)
    expect(broken.phase()).toBe("Ready")
    expect(broken.entry(b)["error"]).toBe("image pull failed")
  })

  it("leaves a lost member out at once and creates its child when it returns", () => {
    const world = new SessionWorld()
    world.member(b).reachable = false
    world.settle()
    expect(world.member(b).child).toBeUndefined()
    world.makeReady(a)
    expect(world.phase()).toBe("Ready")
    expect(world.entry(b)["error"]).toBe("connection refused")
    world.member(b).reachable = true
    world.settle()
    expect(world.entry(b)).toMatchObject({ ready: false, error: "connection refused" })
    world.makeReady(b)
    expect(world.entry(b)["ready"]).toBe(true)
    expect(world.entry(b)).not.toHaveProperty("error")
  })

  it.each(["NoSuchTarget", "Forbidden", "NotAllowed", "Error"] as const)(
    "fails at once when the default fails with %s, and stays 30 s, for it never had a client",
    (reason) => {
      const world = new SessionWorld()
      world.settle()
      world.fail(a, { reason, message: "the cause" })
      expect(world.phase()).toBe("Failed")
      expect(recordedFailure(view(world))).toMatchObject({ reason })
      expect(String(world.status()["closed"])).toMatch(/cluster-a.*the cause.*;/u)
      expect([...world.members.values()].every((member) => member.child === undefined)).toBe(true)
      expect(failedRetention(reason)).toBe(30_000)
      world.advance(failedRetention(reason) - 1)
      expect(world.parent).toBeDefined()
      world.advance(1)
      expect(world.parent).toBeUndefined()
    }
  )

  it("stays five minutes when it had run, so that its client is told the reason", () => {
    const world = readyWorld()
    world.member(a).reachable = false
    world.advance(300_000)
    expect(recordedFailure(view(world))?.reason).toBe("DefaultLost")
    world.member(a).reachable = true
    world.advance(299_999)
    expect(world.parent).toBeDefined()
    world.advance(1)
    expect(world.parent).toBeUndefined()
  })

  it("starts without a member that does not allow the target, without waiting for it", () => {
    const world = new SessionWorld()
    world.settle()
    world.makeReady(a)
    world.fail(b, { reason: "NotAllowed", message: "its namespace is protected" })
    expect(world.phase()).toBe("Ready")
    expect(world.entry(b)).toMatchObject({ ready: false, error: "its namespace is protected" })
  })

  it("fails at once when the default is known to be lost", () => {
    const world = new SessionWorld()
    world.member(a).reachable = false
    world.settle()
    expect(recordedFailure(view(world))).toMatchObject({ reason: "ClusterLost" })
  })

  describe("when the look that found the default lost is older than the session", () => {
    const begun = () => {
      const world = new SessionWorld()
      Object.assign(world.member(a), { reachable: false, askedAt: world.now - 1 })
      world.settle()
      expect(world.phase()).toBe("Pending")
      return world
    }

    it("starts as soon as a younger one finds it well", () => {
      const world = begun()
      world.advance(900)
      world.member(a).reachable = true
      world.settle()
      for (const name of [a, b]) world.makeReady(name)
      expect(world.phase()).toBe("Ready")
    })

    it("fails as soon as a younger one finds it lost too, which is asked for each second", () => {
      const world = begun()
      expect(world.plan().at(-1)).toEqual({ _tag: "RequeueAt", at: world.now + 1_000 })
      world.member(a).askedAt = world.now
      world.settle()
      expect(recordedFailure(view(world))).toMatchObject({ reason: "ClusterLost" })
    })

    it("fails after 8 s without a younger one", () => {
      const world = begun()
      world.advance(7_999)
      expect(world.phase()).toBe("Pending")
      world.advance(1)
      expect(recordedFailure(view(world))).toMatchObject({ reason: "ClusterLost" })
    })

    it("does not wait for a member that it can start without", () => {
      const world = new SessionWorld()
      Object.assign(world.member(b), { reachable: false, askedAt: world.now - 1 })
      world.settle()
      world.makeReady(a)
      expect(world.phase()).toBe("Ready")
    })

    it("waits for each cluster where all are demanded", () => {
      const world = new SessionWorld()
      world.settings = { ...world.settings, sessionStart: "all" }
      Object.assign(world.member(b), { reachable: false, askedAt: world.now - 1 })
      world.settle()
      expect(world.phase()).toBe("Pending")
      world.member(b).askedAt = world.now
      world.settle()
      expect(recordedFailure(view(world))).toMatchObject({ reason: "ClusterLost" })
    })
  })

  it("fails after remoteSessionTimeoutSecs when the default never gets ready", () => {
    const world = new SessionWorld()
    world.advance(299_999)
    expect(world.phase()).toBe("Pending")
    world.advance(1)
    expect(recordedFailure(view(world))).toMatchObject({ reason: "TimedOut" })
    expect(String(world.status()["closed"])).toContain("cluster-a")
  })

  it("gives a session that is older than this leader its time again", () => {
    const world = new SessionWorld()
    world.advance(290_000)
    world.leaderSince = world.now
    world.advance(299_999)
    expect(world.phase()).toBe("Pending")
    world.advance(1)
    expect(world.phase()).toBe("Failed")
  })

  it("with sessionStart all demands every member", () => {
    const waiting = new SessionWorld()
    waiting.settings = { ...waiting.settings, sessionStart: "all" }
    waiting.settle()
    waiting.makeReady(a)
    waiting.advance(100_000)
    expect(waiting.phase()).toBe("Pending")
    waiting.makeReady(b)
    expect(waiting.phase()).toBe("Ready")

    const failing = new SessionWorld()
    failing.settings = { ...failing.settings, sessionStart: "all" }
    failing.settle()
    failing.fail(b, { reason: "NoSuchTarget", message: "there is no deployment/myapp" })
    expect(recordedFailure(view(failing))).toMatchObject({ reason: "NoSuchTarget" })
    expect(String(failing.status()["closed"])).toContain(
      "The session failed in cluster cluster-b, without which no session starts here (sessionStart: all): there is no"
    )
  })

  it("with sessionStart all goes on without a cluster that is taken out of the fleet, but not the default one", () => {
    const begun = () => {
      const world = new SessionWorld([a, b, c])
      world.settings = { ...world.settings, sessionStart: "all" }
      world.settle()
      return world
    }
    const world = begun()
    world.members.delete(b)
    world.makeReady(a)
    expect([world.phase(), world.entry(b)["error"]]).toEqual(["Pending", "it is no longer configured"])
    world.makeReady(c)
    expect(world.phase()).toBe("Ready")

    const failing = begun()
    failing.members.delete(a)
    failing.settle()
    expect(String(failing.status()["closed"])).toContain("cluster-a")
  })

  it("fails when a create is refused by the default, and tries again later where a member refuses", () => {
    const fatal = new SessionWorld()
    fatal.member(a).refusal = { reason: "Forbidden", message: "may not create mirrordclustersessions" }
    fatal.settle()
    expect(recordedFailure(view(fatal))).toMatchObject({ reason: "Forbidden" })

    const member = new SessionWorld()
    member.member(b).refusal = { reason: "Forbidden", message: "may not create mirrordclustersessions" }
    member.settle()
    member.makeReady(a)
    member.advance(15_000)
    expect(member.phase()).toBe("Ready")
    const creates = member.log.filter((action) => action._tag === "CreateChild" && action.cluster === b).length
    expect(creates).toBe(2)
    member.member(b).refusal = undefined
    member.advance(15_000)
    member.makeReady(b)
    expect(member.entry(b)["ready"]).toBe(true)
  })

  it("replaces a child that an earlier parent of the same name left behind, and leaves others' objects alone", () => {
    const leftover = new SessionWorld()
    leftover.member(b).child = {
      name: "mc-4dbe55ab68bba16c-cluster-b",
      uid: "old",
      ready: true,
      deleting: false,
      failure: undefined,
      parentName: "mc-4dbe55ab68bba16c",
      parentUid: "old-parent"
    }
    leftover.settle()
    expect(leftover.child(b).parentUid).toBe("parent-uid")

    const foreign = new SessionWorld()
    foreign.member(b).child = {
      name: "mc-4dbe55ab68bba16c-cluster-b",
      uid: "other",
      ready: true,
      deleting: false,
      failure: undefined,
      parentName: undefined,
      parentUid: undefined
    }
    foreign.settle()
    foreign.makeReady(a)
    foreign.advance(15_000)
    expect(foreign.entry(b)["error"]).toContain("another object")
    foreign.deleteParent()
    foreign.settle()
    expect(foreign.parent).toBeUndefined()
    expect(foreign.child(b).uid).toBe("other")
  })

  it("fails with a clear text when the spec names no default cluster", () => {
    const world = new SessionWorld()
    const spec = world.parent?.["spec"]
    if (typeof spec === "object" && spec !== null) Object.assign(spec, { defaultCluster: "elsewhere" })
    world.settle()
    expect(String(world.status()["closed"])).toContain("elsewhere is not among its clusters")
  })
})

describe("plan: running", () => {
  it("stays Ready when the default is lost, and fails past the bound with DefaultLost", () => {
    const world = readyWorld()
    world.member(a).reachable = false
    world.settle()
    expect(world.phase()).toBe("Ready")
    expect(world.entry(a)).toMatchObject({ ready: false, error: "connection refused" })
    world.advance(299_999)
    expect(world.phase()).toBe("Ready")
    world.advance(1)
    expect(recordedFailure(view(world))).toMatchObject({ reason: "DefaultLost" })
  })

  it("fails at once when the default says that its pods are gone for good, and goes on without another's", () => {
    const world = readyWorld()
    const failure = { reason: "NoPods", message: "The target has had no usable pod for 60 s." } as const
    Object.assign(world.child(b), { ready: false, failure })
    world.settle()
    expect(world.phase()).toBe("Ready")
    expect(world.entry(b)["error"]).toBe(failure.message)
    Object.assign(world.child(a), { ready: false, failure })
    world.settle()
    expect(recordedFailure(view(world))).toMatchObject({ reason: "NoPods" })
    world.advance(299_999)
    expect(world.parent).toBeDefined()
  })

  it("makes its own child again when somebody took the parent's name out, and leaves another's object alone", () => {
    const world = readyWorld()
    const { uid } = world.child(b)
    Object.assign(world.child(b), { parentName: "nobody" })
    world.settle()
    expect(world.child(b)).toMatchObject({ parentName: "mc-4dbe55ab68bba16c", parentUid: "parent-uid" })
    expect(world.child(b).uid).not.toBe(uid)
    Object.assign(world.child(b), { parentName: "nobody", parentUid: undefined })
    const other = world.child(b).uid
    world.settle()
    expect(world.child(b).uid).toBe(other)
    expect(world.entry(b)["error"]).toMatch(/another object there already has the name/u)
  })

  it("creates a child again that vanished", () => {
    const world = readyWorld()
    world.member(b).child = undefined
    world.settle()
    expect(world.child(b).ready).toBe(false)
    expect(world.entry(b)["ready"]).toBe(false)
    expect(world.phase()).toBe("Ready")
  })

  it("says of a member that was ready that it starts again, not that it was late", () => {
    const world = readyWorld()
    world.child(b).ready = false
    world.settle()
    expect(world.entry(b)).toMatchObject({ ready: false, error: "it was ready before and is being started again" })
    const before = world.log.filter(({ _tag }) => _tag === "PatchStatus").length
    world.advance(60_000)
    expect(world.entry(b)["error"]).toBe("it was ready before and is being started again")
    expect(world.log.filter(({ _tag }) => _tag === "PatchStatus")).toHaveLength(before)
    world.makeReady(b)
    expect(world.entry(b)).not.toHaveProperty("error")
    world.fail(b, { reason: "Error", message: "image pull failed" })
    expect(world.entry(b)["error"]).toBe("image pull failed")
  })

  it("does not take a new leader's ignorance for the loss of a member", () => {
    const world = readyWorld()
    world.leaderSince = world.now
    world.member(b).silentSince = world.now
    world.settle()
    expect(world.entry(b)["ready"]).toBe(true)
    world.advance(8_000)
    expect(world.entry(b)["ready"]).toBe(false)
    world.member(b).silentSince = undefined
    world.settle()
    expect(world.entry(b)["ready"]).toBe(true)
  })
})

describe("connectVerdict", () => {
  it("creates, holds, attaches and refuses as the parent stands", () => {
    expect(connectVerdict(undefined)).toEqual({ _tag: "Create" })
    const starting = new SessionWorld()
    starting.settle()
    expect(connectVerdict(view(starting))).toEqual({ _tag: "Hold" })
    starting.fail(a, { reason: "NoSuchTarget", message: "there is no deployment/myapp" })
    expect(connectVerdict(view(starting))).toMatchObject({ _tag: "Refuse", status: { code: 404, reason: "NotFound" } })

    const running = readyWorld()
    expect(connectVerdict(view(running))).toEqual({ _tag: "Attach" })
    running.member(a).reachable = false
    running.settle()
    expect(connectVerdict(view(running))).toEqual({ _tag: "Hold" })
    running.advance(300_000)
    expect(connectVerdict(view(running))).toMatchObject({
      _tag: "Refuse",
      status: { code: 410, reason: "ReconnectNotPossible" }
    })

    const ending = readyWorld()
    ending.member(b).reachable = false
    ending.deleteParent()
    ending.settle()
    expect(connectVerdict(view(ending))).toMatchObject({
      _tag: "Refuse",
      status: { code: 410, reason: "ReconnectNotPossible" }
    })
  })
})

describe("plan: end", () => {
  it("ends a session one TTL after its last heartbeat, children included", () => {
    const world = readyWorld()
    world.advance(600_000)
    world.heartbeat()
    world.forgetSockets()
    world.advance(59_999)
    expect(world.parent).toBeDefined()
    world.advance(1)
    expect(world.parent).toBeUndefined()
    expect([...world.members.values()].every((member) => member.child === undefined)).toBe(true)
  })

  it("does not count time before this leader's start + 150 s for sessions older than the leader", () => {
    const world = readyWorld()
    world.advance(600_000)
    world.forgetSockets()
    world.leaderSince = world.now
    world.advance(209_999)
    expect(world.parent).toBeDefined()
    world.advance(1)
    expect(world.parent).toBeUndefined()
  })

  it("deletes a child whose operator is gone for ever, as its API server takes it: nothing is owed", () => {
    const world = readyWorld()
    world.member(b).operatorGone = true
    world.settle()
    expect(world.entry(b)["ready"]).toBe(false)
    world.deleteParent()
    world.settle()
    expect([world.parent, world.member(b).child]).toEqual([undefined, undefined])
    expect(world.debts.size).toBe(0)
  })

  it("deletes its own child also when somebody took the parent's name out of it", () => {
    const world = readyWorld()
    Object.assign(world.child(b), { parentName: undefined })
    world.deleteParent()
    world.settle()
    expect([world.parent, world.member(b).child]).toEqual([undefined, undefined])
  })

  it("asks for no deletion where neither operator nor API server answer, and owes what is there", () => {
    const world = readyWorld()
    world.member(b).reachable = false
    world.member(b).silentSince = world.now
    world.settle()
    const before = world.log.length
    world.deleteParent()
    world.advance(60_000)
    expect(world.parent).toBeUndefined()
    expect(world.log.slice(before)).not.toContainEqual(expect.objectContaining({ _tag: "DeleteChild", cluster: b }))
    expect([...world.debts]).toEqual(["mc-4dbe55ab68bba16c-cluster-b"])
  })

  it("deletes children in reachable clusters and owes the others after the grace", () => {
    const world = readyWorld([a, b, c])
    world.member(b).reachable = false
    world.deleteParent()
    world.settle()
    expect(world.phase()).toBe("Terminating")
    expect(world.member(a).child).toBeUndefined()
    expect(world.member(c).child).toBeUndefined()
    expect(world.parent).toBeDefined()
    world.advance(60_000)
    expect(world.parent).toBeUndefined()
    expect([...world.debts]).toEqual(["mc-4dbe55ab68bba16c-cluster-b"])
  })

  it("pays instead of owing when the cluster returns within the grace", () => {
    const world = readyWorld()
    world.member(b).reachable = false
    world.deleteParent()
    world.advance(30_000)
    world.member(b).reachable = true
    world.settle()
    expect(world.parent).toBeUndefined()
    expect(world.debts.size).toBe(0)
    expect(world.member(b).child).toBeUndefined()
  })

  it("asks the cluster itself before it forgets a child that its cache does not hold", () => {
    const world = readyWorld()
    Object.assign(world.member(b), { child: undefined, confirmed: false })
    world.deleteParent()
    const actions = world.plan()
    expect(actions.filter((action) => action._tag === "DeleteChild").map((action) => action.cluster)).toEqual([a, b])
    expect(actions.map((action) => action._tag)).not.toContain("RemoveFinalizer")
  })

  it("waits for a child that is being deleted without deleting it again", () => {
    const world = readyWorld()
    world.child(b).deleting = true
    world.deleteParent()
    const deleted = world.plan().flatMap((action) => (action._tag === "DeleteChild" ? [action.cluster] : []))
    expect(deleted).toEqual([a])
  })

  it("does nothing for a parent that is gone or that others hold", () => {
    const world = readyWorld()
    world.deleteParent()
    world.settle()
    expect(world.plan()).toEqual([])
  })
})
