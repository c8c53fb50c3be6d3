import { describe, expect, it } from "vitest"
import { csvOf } from "../../../src/domain/usage/usage-sheets.ts"

describe("comma-separated values", () => {
  it("quote what would end a field, and leave no formula of a user's name", () => {
    const rows = [["a,b", 'say "hi"', 5, null], ["=HYPERLINK(1)", "@x", "+1", -1], ["a; =1;-2;b"]]
    const lines = ['"a,b","say ""hi""",5,', "'=HYPERLINK(1),'@x,'+1,-1", "a;' =1;'-2;b", ""]
    expect(csvOf({ name: "Users", rows })).toBe(lines.join("\r\n"))
  })
})
