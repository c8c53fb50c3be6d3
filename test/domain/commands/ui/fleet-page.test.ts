import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { fleetPage, staleFleetPage, sharedFleetPage } from "../../../../src/domain/commands/ui/fleet-page.ts"
import { readLocalSession } from "../../../../src/domain/commands/ui/local-session.ts"
import { timestamp } from "../../../../src/domain/resources/object-meta.ts"
import recorded from "../../../app/commands/ui/session-sockets.json" with { type: "json" }
import { aCluster, aFleet, aListedSession, aPage, aSession, now } from "./pages.ts"

const lane = (page: ReturnType<typeof aPage>, cluster: string) =>
  page.sessions[0]?.cells.find((cell) => cell.cluster === cluster)

describe("the clusters of the page", () => {
  it("are there with state, age, role, version and the end of the credentials", () => {
    expect(aPage().clusters[0]).toEqual({
      name: "a",
      look: "ready",
      state: "ready",
      age: "1m",
      reason: "",
      fix: "",
      roles: "default",
      version: "3.250.0",
      credentials: "end in 1h",
      credentialsLook: "ready",
      sessions: "1",
      text: "a: ready for 1m; default; operator 3.250.0; credentials end in 1h"
    })
  })

  it.each([
    ["Lost", "braid doctor --cluster b"],
    ["CredentialsRefused", "braid join b --apply --wait"],
    ["RightMissing", "names the right"],
    ["NotUsable", "its Secret"],
    ["SomethingNewer", "braid doctor --cluster b"]
  ])("say for %s why, and what to do", (reason, fix) => {
    const { clusters } = aPage({ clusters: [aCluster("b", reason, "It is away.")] })
    expect(clusters[0]).toMatchObject({ look: "failed", state: "not ready", reason: "It is away." })
    expect(clusters[0]?.fix).toContain(fix)
    expect(clusters[0]?.text).toContain("It is away.")
  })

  it("are shown by the operator's object to a person who may not read theirs", () => {
    const { clusters } = aPage({ clusters: undefined })
    expect(clusters.map(({ name, reason, state }) => [name, state, reason])).toEqual([
      ["a", "ready", ""],
      ["b", "not ready", "it does not answer"]
    ])
  })

  it("tell that credentials were refused, have ended, or end and are not renewed", () => {
    const ending = { type: "CredentialsLast", status: "False", reason: "EndsSoon", message: "", lastTransitionTime: "" }
    const own = aCluster("b")
    const statuses = [
      aCluster("b", "CredentialsRefused", "401"),
      { ...own, status: { ...own.status, credentialsExpireAt: timestamp(now) } },
      {
        ...own,
        status: { ...own.status, conditions: [...own.status.conditions, { ...ending, status: "False" as const }] }
      }
    ].map((cluster) => aPage({ clusters: [cluster] }).clusters[0])
    expect(statuses.map((cluster) => [cluster?.credentials, cluster?.credentialsLook])).toEqual([
      ["refused", "failed"],
      ["ended 2026-11-29 12:00 UTC", "failed"],
      ["end in 1h and are not renewed", "waiting"]
    ])
  })
})

describe("the lane of a session", () => {
  it("has a cell for each cluster: ready, starting, left out with reason and cure, or no part", () => {
    const page = aPage({
      clusters: [aCluster("a"), aCluster("b", "Lost", "It is away."), aCluster("c"), aCluster("d")],
      sessions: [
        aSession({
          clusters: [
            { name: "a", ready: true, reason: undefined },
            { name: "b", ready: false, reason: "b is lost" },
            { name: "c", ready: false, reason: undefined }
          ]
        })
      ]
    })
    expect(page.lanes).toEqual(["a", "b", "c", "d"])
    expect(page.sessions[0]?.look).toBe("degraded")
    expect(page.sessions[0]?.cells.map(({ look, word }) => [look, word])).toEqual([
      ["ready", "ready"],
      ["failed", "left out"],
      ["waiting", "starting"],
      [undefined, "no part"]
    ])
    expect(lane(page, "b")).toMatchObject({ reason: "b is lost", fix: expect.stringContaining("doctor --cluster b") })
    expect(lane(page, "c")?.fix).toBe("")
  })

  it("keeps a cluster that has left the fleet, and ends everywhere when the session ends", () => {
    const page = aPage({ clusters: [aCluster("a")], sessions: [aSession({ phase: "Terminating" })] })
    expect(page.lanes).toEqual(["a", "b", "c"])
    expect(page.sessions[0]?.cells.map(({ word }) => word)).toEqual(["ending", "ending", "ending"])
  })

  it("has key and stolen ports from the operator's list, and who else steals the same port of the target", () => {
    const bob = { id: "1", user: "bob/bob@desk", locked_ports: [{ port: 80, kind: "steal", filter: "x-user: bob" }] }
    const elsewhere = aListedSession({ id: "2", target: "deployment/other", user: "eve/eve@desk" })
    const fleet = aFleet({ sessions: [aSession()] }, [aListedSession(), aListedSession(bob), elsewhere])
    const [session] = fleetPage(fleet, now).sessions
    expect(session).toMatchObject({
      id: "FF",
      key: "ann-key",
      age: "1m30s",
      ports: ["80, beside bob/bob@desk by x-user: bob"]
    })
  })

  it("has the branches and the splits of the session, by its id in any form", () => {
    const branch = {
      name: "mirrord-pg-branch-1",
      namespace: "shop",
      cluster: "a",
      engine: "PostgreSQL",
      phase: "Ready",
      id: "shop-1",
      target: "deployment/web",
      ttlSecs: 60,
      expiresAt: undefined,
      users: ["ann"],
      sessions: ["FF"],
      reason: undefined,
      uid: "1",
      copyUid: undefined
    }
    const queue = {
      cluster: "b",
      namespace: "shop",
      workload: "deployment/web",
      queue: "orders",
      phase: undefined,
      main: undefined,
      pods: undefined,
      createdAt: undefined,
      sessions: [
        { session: "00000000000000FF", user: "ann", phase: "Pending" as const, message: "waits for pods", filters: [] },
        { session: "0000000000000001", user: "bob", phase: "Ready" as const, filters: [] }
      ]
    }
    const [session] = aPage({ branches: [branch, { ...branch, sessions: ["1"] }], queues: [queue] }).sessions
    expect(session?.branches).toEqual(["shop-1 (PostgreSQL in a): Ready"])
    expect(session?.queues).toEqual(["orders of deployment/web in b: Pending, waits for pods"])
    expect(session?.text.split("\n")).toEqual([
      "Session FF (mc-00000000000000ff): Ready",
      "  ann at deployment/web/container/app in shop, 1m30s",
      "  key ann-key",
      "  a: ready",
      "  b: ready",
      "  c: ready",
      "  steals port 80",
      "  branch shop-1 (PostgreSQL in a): Ready",
      "  splits orders of deployment/web in b: Pending, waits for pods"
    ])
  })

  it("has the processes of this machine that belong to it, by the same id", () => {
    const local = [readLocalSession({ ...recorded.info, session_id: "FF" }) ?? recorded.read]
    const [session] = aPage({ local }).sessions
    const hint = expect.stringContaining("list their paths in feature.fs.read_only")
    expect(session?.local).toEqual(["process 4711, node", "port 8080 (steal)", "mirrord 3.250.0", hint])
    expect(session?.text).toContain("\n  on this machine: process 4711, node\n")
    expect(aPage().sessions[0]?.local).toEqual([])
  })

  it("cannot be stopped where it is a part of a session of another cluster", () => {
    const name = "mc-00000000000000ff-a"
    const [session] = aPage({ sessions: [aSession({ name, parent: "mc-00000000000000ff", clusters: [] })] }).sessions
    expect([session?.canStop, session?.id]).toEqual([false, "FF"])
  })
})

describe("the page as a whole", () => {
  it("says how empty tables fill, and that the rest is old while the cluster does not answer", () => {
    const empty = aPage({ sessions: [] })
    expect(empty.empty.sessions).toContain("mirrord exec --target")
    expect(empty.empty.clusters).toBeUndefined()
    expect(aPage({ clusters: [] }).empty.clusters).toContain("braid join NAME")
    const problem = { message: "The cluster does not answer.", fix: "braid doctor says more." }
    expect(staleFleetPage(empty, problem)).toEqual({ ...empty, problem })
  })

  it("has the deeds of local processes in sessions of the fleet, and of no others, and none for others to see", () => {
    const event = { at: now - 1_000, text: "looks up db", count: 2 }
    const page = aPage({
      local: [{ ...recorded.info, session_id: "FF" }],
      localEvents: new Map([
        ["FF", [event]],
        ["1", [event]]
      ])
    })
    expect(page.events.map(({ about, kind, text }) => [about, kind, text])).toEqual([
      ["FF", "local", "looks up db (2 times)"]
    ])
    expect(sharedFleetPage(page)).toEqual(aPage())
  })

  it("tells the fleet's own troubles apart from what the person may not see", () => {
    const condition = {
      type: "ConfigurationInUse",
      status: "False",
      reason: "R",
      message: "bad",
      lastTransitionTime: ""
    }
    const { operator } = aFleet()
    const status = { sessions: [], conditions: [{ ...condition, status: "False" as const }] }
    const page = aPage({ operator: { ...operator, status }, notes: ["You may not read Events."] })
    expect([page.notes, page.unseen]).toEqual([
      ["The changed configuration is not used, the last good one stays: bad"],
      ["You may not read Events."]
    ])
  })

  it("has the operator's Events, newest first, those of sessions by the session's id", () => {
    const event = (name: string, at: number, more: object = {}) => ({
      metadata: { name: `${name}.1` },
      involvedObject: { kind: "MirrordMultiClusterSession", name },
      reason: "ClusterLeftOut",
      type: "Warning",
      message: "b is left out.",
      lastTimestamp: timestamp(at),
      ...more
    })
    const { events } = aPage({
      events: [
        event("mc-00000000000000ff", now - 5_000, { count: 3 }),
        event("b", now - 1_000, { involvedObject: { kind: "MirrordCluster", name: "b" }, type: "Normal" }),
        event("mc-00000000000000ff", now, { lastTimestamp: null })
      ]
    })
    expect(events.map(({ about, look, text, time }) => [time, about, look, text])).toEqual([
      ["2026-11-29 11:59:59 UTC", "b", "running", "ClusterLeftOut: b is left out."],
      ["2026-11-29 11:59:55 UTC", "FF", "failed", "ClusterLeftOut: b is left out. (3 times)"]
    ])
  })

  it("has no text that could change the order of the text around it, whatever others write", () => {
    const nasty = fc.string({ unit: fc.constantFrom("a", "/", "0", "\n", "\u0007", "\u009b", "\u202e", "\u2066") })
    fc.assert(
      fc.property(nasty, nasty, (one, other) => {
        const page = fleetPage(
          aFleet(
            {
              clusters: [aCluster(one, other, one)],
              notes: [one],
              sessions: [aSession({ name: one, user: other, target: one, reason: other, namespace: other, phase: one })]
            },
            [aListedSession({ id: one, key: other, locked_ports: [{ port: 1, kind: "steal", filter: one }] })]
          ),
          now
        )
        const { sessions, ...rest } = page
        const texts = JSON.stringify([rest, sessions.map(({ text, ...session }) => [session, text.split("\n")])])
        expect(texts).not.toMatch(/[\p{Bidi_Control}\u0080-\u009f]|\\u00[01]|\\n/u)
      }),
      { numRuns: 200 }
    )
  })
})
