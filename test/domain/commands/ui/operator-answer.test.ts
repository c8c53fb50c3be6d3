import { describe, expect, it } from "vitest"
import { operatorAnswer, operatorNotices } from "../../../../src/domain/commands/ui/operator-answer.ts"
import recorded from "../../../app/commands/ui/session-api.json" with { type: "json" }
import { now } from "./pages.ts"

const answer = operatorAnswer(recorded.operator, now)

describe("an operator's answer", () => {
  it("has its sessions in the form of mirrord's aggregator, without those that have no id or key", () => {
    expect(answer).toEqual({
      sessions: recorded.summaries,
      previewSessions: recorded.previews,
      license: recorded.license
    })
  })

  it("is empty for an operator that says nothing", () => {
    expect(operatorAnswer({}, now)).toEqual({
      sessions: [],
      previewSessions: [],
      license: { fingerprint: null, organization: "" }
    })
  })
})

describe("the news between two looks", () => {
  it("tell what came, what is there, changed or not, and what has gone", () => {
    const [first, second] = answer.sessions
    if (first === undefined || second === undefined) throw new Error("two sessions are recorded")
    expect(operatorNotices([first], [{ ...first, durationSecs: 95 }, second])).toEqual([
      { type: "operator_session_updated", session: { ...first, durationSecs: 95 } },
      { type: "operator_session_added", session: second }
    ])
    expect(operatorNotices([first, second], [second])).toEqual([
      { type: "operator_session_updated", session: second },
      { type: "operator_session_removed", id: first.id }
    ])
  })
})
