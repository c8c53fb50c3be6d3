import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { defaultPlan, World } from "../../../lab/simulation/world/world.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { sessionId as toSessionId, sessionIdHex } from "../../../src/domain/sessions/session-id.ts"

const id = 0xabcn
const parent = "mc-0000000000000abc"

interface Line {
  readonly process: string
  readonly details: Readonly<Record<string, unknown>>
}

/** A world whose audit lines are heard. */
const audited = (): {
  readonly world: World
  readonly lines: () => ReadonlyArray<Line>
  readonly acts: (process: string) => ReadonlyArray<unknown>
} => {
  const lines: Array<Line> = []
  const world = new World(
    {
      ...defaultPlan,
      seed: "audit",
      clusters: [
        { name: "a", pods: 1 },
        { name: "b", pods: 1 }
      ],
      defaultCluster: "a"
    },
    [
      (event) => {
        if (event._tag === "Log" && event.line.details["audit"] === true)
          lines.push({ process: event.process, details: event.line.details })
      }
    ]
  )
  return {
    world,
    lines: () => lines,
    acts: (process) => lines.filter((line) => line.process === process).map(({ details }) => details["act"])
  }
}
const client = { name: "s1", user: "ann", shape: "exec", target: "deployment.myapp", sessionId: id } as const

describe("the audit of a session", () => {
  it("has one line for each act: who, what, where, and what the client only claims", () => {
    const { acts, lines, world } = audited()
    world.startClient(client)
    world.pass(60_000)
    const [created, ...others] = lines().filter(({ process }) => process === "operator-primary-1")
    const who = {
      audit: true,
      decision: "allowed",
      session: parent,
      user: "ann",
      groups: ["developers"],
      claimedUsername: "ann",
      owner: "ann",
      namespace: "default",
      target: "deployment.myapp",
      clusters: ["a", "b"]
    }
    expect(created?.details).toMatchObject({ act: "created", ...who })
    expect(created?.details["userId"]).toMatch(/^[A-Za-z0-9+/]{43}$/u)
    expect(others.length).toBeGreaterThan(0)
    for (const { details } of others) expect(details).toMatchObject(who)
    // The client looks whether it can connect, then its proxy does.
    expect(acts("operator-primary-1").slice(0, 2)).toEqual(["created", "connected"])
    // A member sees the primary's identity, and knows its own name from the child's.
    expect(acts("operator-b-1")).toContain("connected")
    for (const { details } of lines().filter(({ process }) => process === "operator-b-1")) {
      expect(details).toMatchObject({
        user: "system:serviceaccount:mirrord:mirrord-operator-envoy",
        session: `${parent}-b`,
        clusters: ["b"],
        owner: "ann",
        target: "deployment.myapp"
      })
      expect(details).not.toHaveProperty("userId")
    }
  })

  it("says that a client left, and that the operator ended its session for want of one", () => {
    const { acts, lines, world } = audited()
    world.startClient(client)
    world.pass(60_000)
    world.client("s1").process.kill()
    world.pass(200_000)
    expect(acts("operator-primary-1").slice(-2)).toEqual(["disconnected", "ended"])
    expect(
      lines()
        .filter(({ process }) => process === "operator-primary-1")
        .at(-1)?.details
    ).toMatchObject({
      user: "the operator",
      session: parent,
      owner: "ann",
      cause: "Expired",
      why: "No client was connected for 60 s."
    })
  })

  it("says who stopped a session, and that its client comes back in vain", () => {
    const { acts, lines, world } = audited()
    world.startClient(client)
    world.pass(60_000)
    const by = { user: "admin", groups: ["system:masters"], extra: {}, from: "10.0.0.7" }
    world.primary.host.ask(
      (facade) => facade.deleteSession(sessionIdHex(toSessionId(id)), by),
      () => {}
    )
    world.pass(60_000)
    const ended = lines().find(({ details }) => details["cause"] === "Stopped")
    expect(ended?.details).toMatchObject({
      act: "ended",
      user: "admin",
      groups: ["system:masters"],
      from: "10.0.0.7",
      session: parent,
      owner: "ann"
    })
    expect(acts("operator-primary-1").filter((act) => act === "ended")).toEqual(["ended"])
  })

  it("says that a session's object was deleted past the operator, but not by whom", () => {
    const { acts, lines, world } = audited()
    world.startClient(client)
    world.pass(60_000)
    world.primary.server.objects.delete(mirrordMultiClusterSessions, parent, {}, world.now)
    world.pass(200_000)
    const ended = lines().filter(({ details }) => details["act"] === "ended")
    expect(ended.map(({ details, process }) => [process, details["cause"], details["session"]])).toEqual([
      ["operator-primary-1", "Deleted", parent]
    ])
    expect(ended[0]?.details).toMatchObject({ owner: "ann", target: "deployment.myapp", clusters: ["a", "b"] })
    expect(ended[0]?.details).not.toHaveProperty("user")
    expect(acts("operator-b-1")).not.toContain("ended")
  })

  it("has one line for an end, however often it is asked for", () => {
    const { lines, world } = audited()
    world.startClient(client)
    world.pass(60_000)
    const stop = (user: string) =>
      world.primary.host.ask(
        (facade) => facade.deleteSession(sessionIdHex(toSessionId(id)), { user, groups: [], extra: {} }),
        () => {}
      )
    stop("admin")
    stop("another")
    world.pass(5)
    stop("a third")
    world.pass(60_000)
    expect(
      lines()
        .filter(({ details }) => details["act"] === "ended")
        .map(({ details }) => [details["cause"], details["user"]])
    ).toEqual([["Stopped", "admin"]])
  })

  it("says of a session that failed, too, that somebody deleted it", () => {
    const { lines, world } = audited()
    world.startClient({ ...client, target: "deployment.nowhere" })
    world.pass(20_000)
    expect(world.primary.server.objects.peek(mirrordMultiClusterSessions, parent)?.["status"]).toMatchObject({
      phase: "Failed"
    })
    world.primary.server.objects.delete(mirrordMultiClusterSessions, parent, {}, world.now)
    world.pass(60_000)
    expect(
      lines()
        .filter(({ details }) => details["act"] === "ended")
        .map(({ details }) => details["cause"])
    ).toEqual(["Deleted"])
  })

  it("says that somebody was refused another one's session, and why", () => {
    const { lines, world } = audited()
    world.startClient(client)
    world.pass(60_000)
    world.startClient({ ...client, name: "s2", user: "bob" })
    world.pass(30_000)
    const refused = lines().find(({ details }) => details["act"] === "refused")
    expect(refused?.details).toMatchObject({
      decision: "denied",
      user: "bob",
      session: parent,
      code: 403,
      reason: "Forbidden",
      namespace: "default",
      target: "deployment.myapp"
    })
    expect(refused?.details["why"]).toContain("belongs to another user")
  })

  it("says that all sessions were stopped, each by its line", () => {
    const { lines, world } = audited()
    world.startClient(client)
    world.pass(60_000)
    world.primary.host.ask(
      (facade) => Effect.asVoid(facade.deleteSessions("All", { user: "admin", groups: [], extra: {} })),
      () => {}
    )
    world.pass(10_000)
    expect(
      lines()
        .filter(({ details }) => details["cause"] === "AllStopped")
        .map(({ details }) => details["session"])
    ).toEqual([parent])
  })
})
