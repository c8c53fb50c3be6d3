import { expect, it } from "vitest"
import { sessionsHere } from "../../../../src/domain/commands/overview/sessions-here.ts"

const session = (id: string) => ({ id, duration_secs: 1, user: "ann/ann@laptop", target: "deployment/web" })
const parent = (id: string) => ({
  id,
  durationSecs: 1,
  user: "ann/ann@laptop",
  target: "deployment/web",
  namespace: "default",
  clusters: ["a"],
  phase: "Ready"
})

it("leaves out the sessions over many clusters, which have a list of their own under another id", () => {
  const sessions = [session("FF"), session("AB"), session("mc-by-hand")]
  const status = { sessions, multi_cluster_sessions: [parent("mc-00000000000000ff"), parent("mc-by-hand")] }
  expect(sessionsHere(status).map(({ id }) => id)).toEqual(["AB"])
})

it("takes all sessions of an operator without a fleet, and none of nothing", () => {
  expect(sessionsHere({ sessions: [session("FF")] })).toHaveLength(1)
  expect(sessionsHere(undefined)).toEqual([])
})
