import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { impossibleSession, judgeLink } from "../../../../src/domain/commands/join/link-answer.ts"
import { parseSessionIdHeader } from "../../../../src/domain/sessions/session-id.ts"

const refusal = Result.getOrThrow(Result.flip(parseSessionIdHeader(impossibleSession.toString()))).message

describe("the answer to a link that cannot be a session's", () => {
  it("is good if the operator refuses the id, in its own words", () =>
    expect(judgeLink({ code: 400, detail: refusal })).toMatchObject({ status: "ok" }))
  it.each([
    [{ code: 400, detail: "Bad Request" }, "HTTP 400: Bad Request"],
    [{ code: 403, detail: 'targets is forbidden: User "x" cannot proxy' }, "cannot proxy"],
    [{ code: 401, detail: "Unauthorized" }, "HTTP 401"],
    [{ code: 503, detail: `${refusal}` }, "HTTP 503"],
    [{ code: undefined, detail: "socket hang up" }, "(socket hang up)"]
  ])("is bad in all other cases: %j", (answer, part) => {
    const finding = judgeLink(answer)
    expect(finding).toMatchObject({ status: "failed", message: expect.stringContaining(part) })
    expect(finding.fix).toMatch(/\.$/u)
  })
})
