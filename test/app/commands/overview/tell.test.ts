import { describe, expect, it } from "vitest"
import { type Output, toldText } from "../../../../src/app/commands/overview/tell.ts"

describe("a finding of others' texts", () => {
  const nasty = "evil\u001b[2J\u009b\u202e"
  it.each<Output>(["json", "yaml"])("as %s holds nothing that a terminal obeys, at any depth", (output) => {
    const text = toldText(output, {
      value: { rows: [{ user: nasty, clusters: [nasty] }], age: 5 },
      lines: [],
      notes: []
    })
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
    expect(text).not.toContain("\\u001b")
    expect(text).toContain("evil\ufffd[2J\ufffd\ufffd")
  })
  it("is otherwise as it is", () => {
    const value = { name: "Größe 🎉", list: [1, null, true], none: undefined }
    expect(toldText("json", { value, lines: [], notes: [] })).toBe(JSON.stringify(value, null, 2))
  })
  it("has the person's own fields whole", () => {
    const own = { pem: "-----\n".repeat(1_000) }
    const told = { value: { user: "ann" }, own, lines: [], notes: [] }
    expect(JSON.parse(toldText("json", told))).toEqual({ user: "ann", ...own })
  })
})
