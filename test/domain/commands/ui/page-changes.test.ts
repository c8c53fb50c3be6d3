import { describe, expect, it } from "vitest"
import type { FleetPage } from "../../../../src/domain/commands/ui/fleet-page.ts"
import { rememberedChanges, withChanges } from "../../../../src/domain/commands/ui/page-changes.ts"
import { aCluster, aPage, aSession, now } from "./pages.ts"

const changes = (before: FleetPage, after: FleetPage) =>
  rememberedChanges([], before, after, now).map(({ about, look, text }) => [about, look, text])

const clusters = [aCluster("a"), aCluster("b", "Lost", "It is away."), aCluster("c")]
const without = [
  { name: "a", ready: true, reason: undefined },
  { name: "b", ready: false, reason: "b is lost" },
  { name: "c", ready: true, reason: undefined }
]

describe("the changes between two looks", () => {
  it("are none at the same state, and none for ages", () => {
    expect(changes(aPage(), aPage())).toEqual([])
    expect(changes(aPage(), aPage({ sessions: [aSession({ createdAt: now - 3_600_000 })] }))).toEqual([])
  })

  it("are a cluster that is cut, and the lanes that lose it and get it back", () => {
    const cut = aPage({ clusters, sessions: [aSession({ clusters: without })] })
    expect(changes(aPage(), cut)).toEqual([
      ["b", "failed", "The cluster is not ready: It is away."],
      ["FF", "failed", "b is left out: b is lost"]
    ])
    expect(changes(cut, aPage())).toEqual([
      ["b", "ready", "The cluster is ready."],
      ["FF", "ready", "b is ready."]
    ])
  })

  it("are sessions that begin, fail and end; an ending session does not name its clusters", () => {
    const none = aPage({ sessions: [] })
    expect(changes(none, aPage())).toEqual([
      ["FF", "ready", "The session of ann at deployment/web/container/app began in a, b, c."]
    ])
    expect(changes(aPage(), aPage({ sessions: [aSession({ phase: "Terminating" })] }))).toEqual([
      ["FF", "ending", "The session is Terminating."]
    ])
    expect(changes(aPage(), aPage({ sessions: [aSession({ phase: "Failed", reason: "a is lost" })] }))).toEqual([
      ["FF", "failed", "The session is Failed: a is lost"]
    ])
    expect(changes(aPage(), none)).toEqual([["FF", "ending", "The session of ann has ended."]])
  })

  it("are kept newest first, up to a bound, and stand among the Events by time", () => {
    const none = aPage({ sessions: [] })
    let known = rememberedChanges([], none, aPage(), now)
    known = rememberedChanges(known, aPage(), none, now + 1_000)
    expect(known.map(({ time }) => time)).toEqual(["2026-11-29 12:00:01 UTC", "2026-11-29 12:00:00 UTC"])
    for (let i = 0; i < 600; i++) known = rememberedChanges(known, none, aPage(), now + i)
    expect(known).toHaveLength(500)
    const event = { at: now + 500, time: "", kind: "event", look: "running", about: "", text: "" } as const
    const [early, late] = rememberedChanges([], none, aPage(), now).concat(
      rememberedChanges([], aPage(), none, now + 900)
    )
    const page = withChanges(
      { ...none, events: [event] },
      [late, early].flatMap((one) => one ?? [])
    )
    expect(page.events.map(({ at }) => at - now)).toEqual([900, 500, 0])
  })
})
